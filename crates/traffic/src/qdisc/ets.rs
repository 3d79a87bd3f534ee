//! Enhanced transmission selection (IEEE 802.1Q, clause 37, formerly 802.1Qaz): strict classes go first, in
//! their order; the others share the remaining bandwidth by percentages.
//!
//! Law, tested: classes that always have packets share the bandwidth that strict classes leave in the
//! proportion of their percentages, to within 1 %. Unused shares go to the others in the same proportion.
//! Shares count frame bytes.

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
use base::priorities::Priorities;
use base::setting::{errors, settings};
use base::subject::Subject;
use base::units::Instant;

/// The catalogue page, apart from the settings.
pub(super) const PAGE: Page = Page {
    what: "Strict classes are served first, in their order. The others share the remaining rate by \
         percentages, and what one of them does not use goes to the rest in proportion.",
    when: "On a converged Ethernet, for storage, cluster and LAN traffic as switches divide them, with \
         control traffic strict. Not where a strict class may fill the link, because nothing limits it.",
    sources: &["IEEE Std 802.1Q, clause 37 (once 802.1Qaz): enhanced transmission selection"],
};

settings! {
    /// A traffic class.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Class {
        /// Its name, unique within the discipline.
        pub name: String,
        /// Always `None`: these classes are not nested.
        pub parent: Option<String>,
        /// Share of the bandwidth that the strict classes leave, in percent; the shares are at most 100 together.
        /// Without it the class is strict: it goes before all shares, and before the strict classes listed after it.
        #[range(1..=100)]
        pub percent: Option<u32>,
        /// Priorities of the packets of this class, unless a filter assigns them elsewhere; none unless given.
        pub priorities: Priorities,
        /// Queue of the class: a work-conserving discipline without classes; a FIFO unless given.
        pub queue: qdisc::Parameters,
    }
}

impl Default for Class {
    /// A strict class with an interface's FIFO.
    fn default() -> Self {
        let queue = qdisc::Parameters::Fifo(Default::default());
        let priorities = Priorities::NONE;
        Self { name: String::new(), parent: None, percent: None, priorities, queue }
    }
}

queue_of_choice!(priorities);
flat_parameters!();

errors! {
    /// Why parameters are refused.
    pub enum Error from {
        /// The classes or their queues.
        Leaves(leaves::Error),
    } or {
        /// The percentages exceed 100.
        #[error("the classes have {0} percent together: lower them to 100 in all")]
        Sum(u64),
    } at {
        Self::Sum(_) => Subject::WHOLE,
    }
}

/// Enhanced transmission selection.
pub type Ets = Flat<TransmissionSelection>;

/// The strict classes and the shares.
#[derive(Debug)]
pub struct TransmissionSelection {
    /// The percentage of each class; `None` if it is strict.
    percents: Vec<Option<u32>>,
    /// The strict classes in their order.
    strict: Vec<usize>,
    /// Among the first 64 classes the strict ones that may have packets, one bit each.
    awake: u64,
    /// The turns of the other classes.
    rounds: Rounds,
    /// The cost of a byte in these turns: the least percentage. A class's quantum is its percentage times the
    /// longest frame. The shares are then exact, and each class sends at least one frame on its turn.
    byte_cost: u64,
}

fn check(classes: &[Class]) -> Result<(), Error> {
    let sum = classes.iter().filter_map(|class| class.percent).map(u64::from).sum();
    if sum > 100 { Err(Error::Sum(sum)) } else { Ok(()) }
}

impl TransmissionSelection {
    fn of(percents: Vec<Option<u32>>, port: Port) -> Self {
        let frame = port.mtu.0.saturating_add(ETHERNET_HEADER_AND_FCS.into());
        let share = |percent: &Option<u32>| u64::from(percent.unwrap_or(0)).saturating_mul(frame);
        let rounds = Rounds::new(percents.iter().map(share));
        let byte_cost = percents.iter().flatten().min().copied().unwrap_or(1).into();
        let strict = (0..percents.len()).filter(|&class| percents[class].is_none()).collect();
        Self { percents, strict, awake: 0, rounds, byte_cost }
    }
}

impl TransmissionSelection {
    /// Takes a packet of the first awake strict class that sends one.
    #[inline]
    fn take_strict(
        &mut self,
        leaves: &mut Leaves<Class>,
        packets: &mut Packets,
        now: Instant,
    ) -> Option<PacketId> {
        if self.percents.len() > u64::BITS as usize {
            return leaves.take_first(&self.strict, packets, now);
        }
        let mut left = self.awake;
        while left != 0 {
            let class = left.trailing_zeros() as usize;
            left &= left - 1;
            if leaves.is_empty_at(class) {
                self.awake &= !(1 << class);
            } else if !leaves.is_stopped(class, packets, now)
                && let Some(id) = leaves.take(class, packets, now)
            {
                return Some(id);
            }
        }
        None
    }
}

impl Scheduler for TransmissionSelection {
    type Class = Class;
    type Parameters = Parameters;
    type Error = Error;

    fn new(classes: &[Class], port: Port) -> Result<Self, Error> {
        check(classes)?;
        Ok(Self::of(classes.iter().map(|class| class.percent).collect(), port))
    }

    /// The round restarts.
    fn take_over(&mut self, old: &Self, leaving: &[usize], leaves: &Leaves<Class>) {
        let mut percents = core::mem::take(&mut self.percents);
        percents.extend(leaving.iter().map(|&was| old.percents[was]));
        *self = Self::of(percents, leaves.port());
        leaves.backlogged().for_each(|class| self.wake(class));
    }

    #[inline]
    fn wake(&mut self, class: usize) {
        if self.percents[class].is_some() {
            self.rounds.wake(class);
        } else {
            self.awake |= 1_u64.wrapping_shl(class as u32);
        }
    }

    /// Only a strict class passes: the turns of the others have accounts.
    #[inline]
    fn passes(&self, class: usize) -> bool {
        self.percents[class].is_none()
    }

    #[inline]
    fn take(
        &mut self,
        leaves: &mut Leaves<Class>,
        packets: &mut Packets,
        now: Instant,
    ) -> Option<PacketId> {
        let strict = self.take_strict(leaves, packets, now);
        strict.or_else(|| self.rounds.take(self.byte_cost, leaves, packets, now))
    }

    fn head(
        &mut self,
        leaves: &mut Leaves<Class>,
        packets: &Packets,
        now: Instant,
    ) -> Option<PacketId> {
        let strict = leaves.first_head(&self.strict, packets, now);
        strict.or_else(|| self.rounds.head(self.byte_cost, leaves, packets, now))
    }

    fn clear(&mut self) {
        self.awake = 0;
        self.rounds.clear();
    }
}
