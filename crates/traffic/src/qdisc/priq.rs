//! Strict priorities: a class sends only while all of higher priority are empty (ALTQ's PRIQ).
//!
//! An urgent class may starve the others; use `ets`, `cbq` or `hfsc` to prevent that.

use alloc::string::String;
use alloc::vec::Vec;

use crate::discipline::Port;
use crate::packets::Packets;
use crate::qdisc::flat::{Flat, Scheduler, flat_parameters, queue_of_choice};
use crate::qdisc::leaves::{self, Leaves};
use crate::qdisc::page::Page;
use crate::qdisc::priorities::{self, Priorities};
use crate::qdisc::{self, fifo};
use base::packet::PacketId;
use base::setting::{errors, settings};
use base::units::Instant;

/// The catalogue page, apart from the settings.
pub(super) const PAGE: Page = Page {
    what: "Up to 16 classes, each with a priority and a queue of its own. A class sends only while all \
         classes of higher priority are empty.",
    when: "For a little traffic that must never wait, such as voice and routing, if something else limits \
         its rate. Not where the class of the highest priority may fill the link: it starves the others; use \
         `ets`, `cbq` or `hfsc` there.",
    sources: &["ALTQ 3.0, `altq_priq`; altq.conf(5), \"PRIQ\""],
};

/// The most urgent priority: ALTQ has 16 of them.
pub const PRIORITY_MAX: u32 = 15;

settings! {
    /// The packets of one priority.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Class {
        /// Its name, unique within the discipline.
        pub name: String,
        /// Always `None`: these classes are not nested.
        pub parent: Option<String>,
        /// Priority of the class, the highest first; each class has a different one. 1 unless given, as in ALTQ.
        #[range(..=PRIORITY_MAX)]
        pub priority: u32,
        /// Queue of the class: a work-conserving discipline without classes; a FIFO of 50 packets unless
        /// given, as in ALTQ.
        pub queue: qdisc::Parameters,
    }
}

impl Default for Class {
    /// ALTQ's defaults: priority 1, 50 packets.
    fn default() -> Self {
        let queue = qdisc::Parameters::Fifo(fifo::Parameters::of_packets(50));
        Self { name: String::new(), parent: None, priority: 1, queue }
    }
}

queue_of_choice!();
flat_parameters!();

errors! {
    /// Why parameters are refused.
    pub enum Error from {
        /// The classes or their queues.
        Leaves(leaves::Error),
        /// The classes' priorities are refused.
        Priorities(priorities::Error),
    }
}

/// Strict priorities.
pub type Priq = Flat<StrictPriority>;

/// The order of the classes.
#[derive(Debug)]
pub struct StrictPriority(Priorities);

impl Scheduler for StrictPriority {
    type Class = Class;
    type Parameters = Parameters;
    type Error = Error;

    fn new(classes: &[Class], _port: Port) -> Result<Self, Error> {
        let classes: Vec<_> = classes.iter().map(|c| (c.name.as_str(), c.priority)).collect();
        Ok(Self(Priorities::new(&classes)?))
    }

    fn take_over(&mut self, old: &Self, leaving: &[usize], _leaves: &Leaves<Class>) {
        self.0.extend(&old.0, leaving);
    }

    #[inline]
    fn take(
        &mut self,
        leaves: &mut Leaves<Class>,
        packets: &mut Packets,
        now: Instant,
    ) -> Option<PacketId> {
        leaves.take_first(self.0.order(), packets, now)
    }

    fn head(
        &mut self,
        leaves: &mut Leaves<Class>,
        packets: &Packets,
        now: Instant,
    ) -> Option<PacketId> {
        leaves.first_head(self.0.order(), packets, now)
    }
}
