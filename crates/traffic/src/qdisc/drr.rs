//! Deficit round robin among classes (Shreedhar and Varghese, "Efficient Fair Queuing Using Deficit
//! Round-Robin", IEEE/ACM ToN 4(3), 1996): each class with packets gets its quantum once a round.
//!
//! Law, tested: two classes that always have packets, with quanta p and q, send bytes in the ratio of p to q,
//! to within the sum of their quanta and longest packets (the paper's theorem on fairness). A packet costs
//! O(1) for any number of classes.

use alloc::string::String;
use alloc::vec::Vec;

use crate::discipline::Port;
use crate::packets::Packets;
use crate::qdisc;
use crate::qdisc::flat::{Flat, Scheduler, flat_parameters, queue_of_choice};
use crate::qdisc::leaves::{self, Leaves};
use crate::qdisc::page::Page;
use crate::qdisc::rounds::Rounds;
use base::packet::{ETHERNET_HEADER_AND_FCS, PacketId};
use base::setting::{errors, settings};
use base::subject::Subject;
use base::units::{Bytes, Instant};

/// The catalogue page, apart from the settings.
pub(super) const PAGE: Page = Page {
    what: "Classes take turns, and each may send its quantum of bytes per turn. If the next packet is longer \
         than the rest of the quantum, the rest is kept for the next turn. So classes share the link by \
         bytes, whatever the lengths of their packets.",
    when: "For simple shares of a link at the lowest cost per packet, with any number of classes. Not for \
         short delays: in each turn, a class waits for the quanta of all others.",
    sources: &[
        "Shreedhar and Varghese, \"Efficient Fair Queuing Using Deficit Round-Robin\", IEEE/ACM \
         Transactions on Networking 4(3), 1996: the algorithm, and its theorem on fairness",
    ],
};

/// The greatest weight: enough for shares of 100 Gbit/s and 2 Mbit/s on one link.
pub const WEIGHT_MAX: u32 = 65_535;

settings! {
    /// A class, which shares the link's rate with the others.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Class {
        /// Its name, unique within the discipline.
        pub name: String,
        /// Always `None`: these classes are not nested.
        pub parent: Option<String>,
        /// Bytes of frames that the class may send in a round; at least the port's longest frame. That times `weight`
        /// unless given.
        pub quantum: Option<Bytes>,
        /// Share of the rate relative to the other classes, where `quantum` is not given; 1 unless given.
        #[range(1..=WEIGHT_MAX)]
        pub weight: u32,
        /// Queue of the class: a work-conserving discipline without classes; a FIFO unless given.
        pub queue: qdisc::Parameters,
    }
}

impl Default for Class {
    /// Weight 1, an interface's FIFO.
    fn default() -> Self {
        let queue = qdisc::Parameters::Fifo(Default::default());
        Self { name: String::new(), parent: None, quantum: None, weight: 1, queue }
    }
}

queue_of_choice!();
flat_parameters!();

errors! {
    /// Why parameters are refused.
    pub enum Error from {
        /// The classes or their queues.
        Leaves(leaves::Error),
    } or {
        /// The quantum is too small for a packet in each round.
        #[error(
            "class `{class}` has a quantum of {quantum}, less than the port's longest frame: give it at \
             least {frame}"
        )]
        Quantum {
            /// The class.
            class: String,
            /// The class's quantum.
            quantum: Bytes,
            /// The port's longest frame.
            frame: Bytes,
        },
    } at {
        Self::Quantum { class, .. } => Subject::class(class).at(&["quantum"]),
    }
}

fn quantum(class: &Class, port: Port) -> Result<u64, Error> {
    let frame = port.mtu.0.saturating_add(ETHERNET_HEADER_AND_FCS.into());
    match class.quantum {
        None => Ok(frame.saturating_mul(class.weight.into())),
        Some(quantum) if quantum.0 >= frame => Ok(quantum.0),
        Some(quantum) => {
            let (class, frame) = (class.name.clone(), Bytes(frame));
            Err(Error::Quantum { class, quantum, frame })
        }
    }
}

/// Deficit round robin.
pub type Drr = Flat<DeficitRoundRobin>;

/// The turns of the classes.
#[derive(Debug)]
pub struct DeficitRoundRobin(Rounds);

impl Scheduler for DeficitRoundRobin {
    type Class = Class;
    type Parameters = Parameters;
    type Error = Error;

    fn new(classes: &[Class], port: Port) -> Result<Self, Error> {
        let quanta = classes.iter().map(|class| quantum(class, port));
        Ok(Self(Rounds::new(quanta.collect::<Result<Vec<_>, _>>()?)))
    }

    /// The round restarts.
    fn take_over(&mut self, old: &Self, leaving: &[usize], leaves: &Leaves<Class>) {
        self.0.extend(&old.0, leaving);
        leaves.backlogged().for_each(|class| self.0.wake(class));
    }

    #[inline]
    fn wake(&mut self, class: usize) {
        self.0.wake(class);
    }

    #[inline]
    fn take(
        &mut self,
        leaves: &mut Leaves<Class>,
        packets: &mut Packets,
        now: Instant,
    ) -> Option<PacketId> {
        self.0.take(1, leaves, packets, now)
    }

    fn head(
        &mut self,
        leaves: &mut Leaves<Class>,
        packets: &Packets,
        now: Instant,
    ) -> Option<PacketId> {
        self.0.head(1, leaves, packets, now)
    }

    fn clear(&mut self) {
        self.0.clear();
    }
}
