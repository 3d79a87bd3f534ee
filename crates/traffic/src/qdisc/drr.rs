//! Deficit round robin among classes (Shreedhar and Varghese, "Efficient Fair Queuing Using Deficit
//! Round-Robin", IEEE/ACM ToN 4(3), 1996): each class that has packets gets its quantum once a round.
//!
//! Law, tested: two classes that have packets all the while, with quanta p and q, send bytes in the
//! proportion of p to q, to within the sum of their quanta and longest packets (the paper's theorem on
//! fairness). A packet costs O(1), however many classes there are.

use alloc::string::String;
use alloc::vec::Vec;

use crate::classify::Rule;
use crate::discipline::{Dequeued, Discipline, Enqueued, Port, Statistics};
use crate::packet::{ETHERNET_HEADER_AND_FCS, PacketId, Packets};
use crate::qdisc;
use crate::qdisc::Page;
use crate::qdisc::leaves::{self, Leaves, given};
use crate::qdisc::rounds::{Rounds, Turn};
use crate::setting::settings;
use crate::subject::Subject;
use crate::units::{Bytes, Instant};

/// Its page of the catalogue, beside its settings.
pub(super) const PAGE: Page = Page {
    what: "Classes take turns, and each may send its quantum of bytes a turn; what a packet was \
         too long for is kept for the next turn. So classes share by bytes, whatever the \
         lengths of their packets.",
    when: "For plain shares of a link at the least cost a packet, with any number of classes. Not \
         for delay: a class waits for all others' quanta in each turn.",
    sources: &[
        "Shreedhar and Varghese, \"Efficient Fair Queuing Using Deficit Round-Robin\", IEEE/ACM \
         Transactions on Networking 4(3), 1996: the algorithm, and its theorem on fairness",
    ],
};

/// The greatest weight: enough to tell 100 Gbit/s from 2 Mbit/s.
pub const WEIGHT_MAX: u32 = 65_535;

settings! {
    /// Packets that share the link's rate with the other classes'.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Class {
        /// Its name, unique within the discipline.
        pub name: String,
        /// None: these classes stand side by side.
        pub parent: Option<String>,
        /// What it may send in a round, in bytes of frames; at least the port's longest frame. That times
        /// `weight` unless given.
        pub quantum: Option<Bytes>,
        /// Its part of the rate against the others' where `quantum` is not given, from 1 to 65535; 1
        /// unless given.
        pub weight: u32,
        /// Its queue: any that has no classes and holds nothing back; a FIFO unless given.
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

settings! {
    classes: Class;
    /// The classes, and which packets go to which.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct Parameters {
        /// At least one.
        pub classes: Vec<Class>,
        /// Tried in this order.
        pub filters: Vec<Rule>,
        /// The class for packets that no filter matches; the last one unless given.
        pub default_class: Option<String>,
    }
}

/// Why parameters are refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The classes or their queues.
    #[error(transparent)]
    Leaves(#[from] leaves::Error),
    /// Too small for a packet a round.
    #[error(
        "class `{class}` has a quantum of {quantum}, less than the port's longest frame: give it at \
         least {frame}"
    )]
    Quantum {
        /// The class.
        class: String,
        /// Its quantum.
        quantum: Bytes,
        /// The port's longest frame.
        frame: Bytes,
    },
    /// No part, or too large a one.
    #[error("class `{class}` has weight {weight}: give it one from 1 to {WEIGHT_MAX}")]
    Weight {
        /// The class.
        class: String,
        /// Its weight.
        weight: u32,
    },
}

impl Error {
    /// What it is about.
    pub fn subject(&self) -> Subject<'_> {
        match self {
            Self::Leaves(error) => error.subject(),
            Self::Quantum { class, .. } => Subject::class(class).at(&["quantum"]),
            Self::Weight { class, .. } => Subject::class(class).at(&["weight"]),
        }
    }
}

/// Deficit round robin.
#[derive(Debug)]
pub struct Drr {
    leaves: Leaves,
    /// For each class what it may send in a round.
    quanta: Vec<u64>,
    rounds: Rounds,
    port: Port,
}

fn quantum(class: &Class, port: Port) -> Result<u64, Error> {
    let frame = port.mtu.0.saturating_add(ETHERNET_HEADER_AND_FCS.into());
    if !(1..=WEIGHT_MAX).contains(&class.weight) {
        return Err(Error::Weight { class: class.name.clone(), weight: class.weight });
    }
    match class.quantum {
        None => Ok(frame.saturating_mul(class.weight.into())),
        Some(quantum) if quantum.0 >= frame => Ok(quantum.0),
        Some(quantum) => {
            let (class, frame) = (class.name.clone(), Bytes(frame));
            Err(Error::Quantum { class, quantum, frame })
        }
    }
}

fn quanta(classes: &[Class], port: Port) -> Result<Vec<u64>, Error> {
    classes.iter().map(|class| quantum(class, port)).collect()
}

impl Discipline for Drr {
    type Parameters = Parameters;
    type Error = Error;

    fn attach(parameters: &Parameters, port: Port) -> Result<Self, Error> {
        let Parameters { classes, filters, default_class } = parameters;
        let leaves = Leaves::new(&given!(classes), filters, default_class.as_deref(), port)?;
        let quanta = quanta(classes, port)?;
        Ok(Self { leaves, rounds: Rounds::new(quanta.iter().copied()), quanta, port })
    }

    /// The round begins anew.
    fn change(&mut self, parameters: &Parameters) -> Result<(), Error> {
        let Parameters { classes, filters, default_class } = parameters;
        let mut quanta = quanta(classes, self.port)?;
        let before = self.leaves.change(&given!(classes), filters, default_class.as_deref())?;
        let leaving = before.into_iter().skip(quanta.len()).flatten();
        quanta.extend(leaving.map(|was| self.quanta[was]));
        self.quanta = quanta;
        self.rounds = Rounds::new(self.quanta.iter().copied());
        self.leaves.backlogged().for_each(|index| self.rounds.wake(index));
        Ok(())
    }

    fn enqueue(&mut self, packets: &mut Packets, packet: PacketId, now: Instant) -> Enqueued {
        let (index, answer) = self.leaves.enqueue(packets, packet, now);
        if answer == Enqueued::Queued {
            self.rounds.wake(index);
        }
        answer
    }

    fn dequeue(&mut self, packets: &mut Packets, now: Instant) -> Dequeued {
        let Self { leaves, rounds, .. } = self;
        while let Some(turn) = rounds.next(|i| leaves.head(i, packets, now).map(|head| head.1)) {
            let (Turn::Send(index) | Turn::Barren(index)) = turn;
            match leaves.take(index, packets, now) {
                Some(id) => {
                    rounds.charge(packets[id].length.into(), leaves.is_empty_at(index));
                    return Dequeued::Send(id);
                }
                None => rounds.retire(),
            }
        }
        Dequeued::Empty
    }

    fn peek(&mut self, packets: &Packets, now: Instant) -> Dequeued {
        let Self { leaves, rounds, .. } = self;
        for _ in 0..=rounds.len() {
            match rounds.next(|i| leaves.head(i, packets, now).map(|head| head.1)) {
                None => return Dequeued::Empty,
                Some(Turn::Barren(_)) => rounds.forfeit(),
                Some(Turn::Send(index)) => match leaves.head(index, packets, now) {
                    Some((id, _)) => return Dequeued::Send(id),
                    None => return Dequeued::Empty,
                },
            }
        }
        Dequeued::Empty
    }

    fn flush(&mut self, packets: &mut Packets, now: Instant) {
        self.leaves.flush(packets, now);
        self.rounds.clear();
    }

    fn is_empty(&self) -> bool {
        self.leaves.is_empty()
    }

    fn statistics(&self) -> Statistics {
        self.leaves.statistics()
    }

    fn classes(&self, each: &mut dyn FnMut(usize, &str, Statistics)) {
        self.leaves.classes(each);
    }
}
