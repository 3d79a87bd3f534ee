//! Enhanced transmission selection (IEEE 802.1Q, clause 37, once 802.1Qaz): strict classes first, in
//! their order; what they leave is shared by percentages.
//!
//! Law, tested: the classes that have packets all the while share what the strict ones leave in the
//! proportion of their percentages, to within 1 %; what one does not use goes to the others in the same
//! proportion. The shares are of bytes of frames.

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
use crate::units::Instant;

/// Its page of the catalogue, beside its settings.
pub(super) const PAGE: Page = Page {
    what: "Strict classes go first, in their order; what they leave is shared among the others by \
         percentages, and what one of these does not use by the rest in proportion.",
    when: "On a converged Ethernet, for storage, cluster and LAN traffic as switches divide them, \
         with control traffic strict. Not where a strict class may fill the link, since nothing \
         holds it back.",
    sources: &["IEEE Std 802.1Q, clause 37 (once 802.1Qaz): enhanced transmission selection"],
};

settings! {
    /// A traffic class.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Class {
        /// Its name, unique within the discipline.
        pub name: String,
        /// None: these classes stand side by side.
        pub parent: Option<String>,
        /// Its share of what the strict classes leave, in percent, from 1 to 100; the shares are at most
        /// 100 together. Without it the class is strict: it goes before all shares, and before the strict
        /// classes listed after it.
        pub percent: Option<u32>,
        /// Its queue: any that has no classes and holds nothing back; a FIFO unless given.
        pub queue: qdisc::Parameters,
    }
}

impl Default for Class {
    /// Strict, with an interface's FIFO.
    fn default() -> Self {
        let queue = qdisc::Parameters::Fifo(Default::default());
        Self { name: String::new(), parent: None, percent: None, queue }
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
    /// Such a class would never send.
    #[error("class `{0}` has 0 percent: give it at least 1, or leave it out to make it strict")]
    Nothing(String),
    /// More than there is.
    #[error("the classes have {0} percent together: lower them to 100 in all")]
    Sum(u64),
}

impl Error {
    /// What it is about.
    pub fn subject(&self) -> Subject<'_> {
        match self {
            Self::Leaves(error) => error.subject(),
            Self::Nothing(class) => Subject::class(class).at(&["percent"]),
            Self::Sum(_) => Subject::WHOLE,
        }
    }
}

/// Enhanced transmission selection.
#[derive(Debug)]
pub struct Ets {
    leaves: Leaves,
    /// For each class its percentage; `None` if it is strict.
    percents: Vec<Option<u32>>,
    /// The strict classes in their order.
    strict: Vec<usize>,
    /// The others' turns.
    rounds: Rounds,
    /// What a byte costs there. With a quantum of so many longest frames as a class has percent, and this
    /// the least percentage, the shares are exact and each class sends a frame at least on its turn.
    byte_cost: u64,
    port: Port,
}

fn check(classes: &[Class]) -> Result<(), Error> {
    if let Some(class) = classes.iter().find(|class| class.percent == Some(0)) {
        return Err(Error::Nothing(class.name.clone()));
    }
    let sum = classes.iter().filter_map(|class| class.percent).map(u64::from).sum();
    if sum > 100 { Err(Error::Sum(sum)) } else { Ok(()) }
}

impl Ets {
    /// Begins the round anew.
    fn arrange(&mut self, percents: Vec<Option<u32>>) {
        let frame = self.port.mtu.0.saturating_add(ETHERNET_HEADER_AND_FCS.into());
        let share = |percent: &Option<u32>| u64::from(percent.unwrap_or(0)).saturating_mul(frame);
        self.rounds = Rounds::new(percents.iter().map(share));
        self.byte_cost = percents.iter().flatten().min().copied().unwrap_or(1).into();
        let is_strict = |&index: &usize| percents[index].is_none();
        self.strict = (0..percents.len()).filter(is_strict).collect();
        for index in self.leaves.backlogged().filter(|&index| percents[index].is_some()) {
            self.rounds.wake(index);
        }
        self.percents = percents;
    }
}

/// The packet that a class would send, and what it costs there.
fn cost(head: Option<(PacketId, u64)>, byte_cost: u64) -> Option<u64> {
    head.map(|(_, length)| length * byte_cost)
}

impl Discipline for Ets {
    type Parameters = Parameters;
    type Error = Error;

    fn attach(parameters: &Parameters, port: Port) -> Result<Self, Error> {
        let Parameters { classes, filters, default_class } = parameters;
        let leaves = Leaves::new(&given!(classes), filters, default_class.as_deref(), port)?;
        check(classes)?;
        let (percents, strict, rounds) = (Vec::new(), Vec::new(), Rounds::new([]));
        let mut ets = Self { leaves, percents, strict, rounds, byte_cost: 1, port };
        ets.arrange(classes.iter().map(|class| class.percent).collect());
        Ok(ets)
    }

    fn change(&mut self, parameters: &Parameters) -> Result<(), Error> {
        let Parameters { classes, filters, default_class } = parameters;
        check(classes)?;
        let before = self.leaves.change(&given!(classes), filters, default_class.as_deref())?;
        let mut percents: Vec<_> = classes.iter().map(|class| class.percent).collect();
        let leaving = before.into_iter().skip(classes.len()).flatten();
        percents.extend(leaving.map(|was| self.percents[was]));
        self.arrange(percents);
        Ok(())
    }

    fn enqueue(&mut self, packets: &mut Packets, packet: PacketId, now: Instant) -> Enqueued {
        let (index, answer) = self.leaves.enqueue(packets, packet, now);
        if answer == Enqueued::Queued && self.percents[index].is_some() {
            self.rounds.wake(index);
        }
        answer
    }

    fn dequeue(&mut self, packets: &mut Packets, now: Instant) -> Dequeued {
        let Self { leaves, strict, rounds, byte_cost, .. } = self;
        for &index in &*strict {
            if leaves.is_empty_at(index) {
                continue;
            }
            if let Some(id) = leaves.take(index, packets, now) {
                return Dequeued::Send(id);
            }
        }
        while let Some(turn) = rounds.next(|i| cost(leaves.head(i, packets, now), *byte_cost)) {
            let (Turn::Send(index) | Turn::Barren(index)) = turn;
            match leaves.take(index, packets, now) {
                Some(id) => {
                    let cost = u64::from(packets[id].length) * *byte_cost;
                    rounds.charge(cost, leaves.is_empty_at(index));
                    return Dequeued::Send(id);
                }
                None => rounds.retire(),
            }
        }
        Dequeued::Empty
    }

    fn peek(&mut self, packets: &Packets, now: Instant) -> Dequeued {
        let Self { leaves, strict, rounds, byte_cost, .. } = self;
        let mut heads = strict.iter().map(|&index| leaves.head(index, packets, now));
        if let Some((id, _)) = heads.find_map(|head| head) {
            return Dequeued::Send(id);
        }
        for _ in 0..=rounds.len() {
            match rounds.next(|i| cost(leaves.head(i, packets, now), *byte_cost)) {
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
