//! Strict priorities: a class sends only when every more urgent one is empty (ALTQ's PRIQ).
//!
//! Nothing keeps an urgent class from starving the others; for that there are `ets`, `cbq` and `hfsc`.

use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Reverse;

use crate::classify::Rule;
use crate::discipline::{Dequeued, Discipline, Enqueued, Port, Statistics};
use crate::packet::{PacketId, Packets};
use crate::qdisc::Page;
use crate::qdisc::leaves::{self, Leaves, given};
use crate::qdisc::{self, fifo};
use crate::setting::settings;
use crate::subject::Subject;
use crate::units::Instant;

/// Its page of the catalogue, beside its settings.
pub(super) const PAGE: Page = Page {
    what: "Up to 16 classes, each with a priority and a queue of its own. A class sends only \
         while every more urgent one is empty.",
    when: "For little traffic that must never wait, such as voice and routing, when something \
         else holds it to its share. Not where the urgent class may fill the link: it starves \
         the others, for which there are `ets`, `cbq` and `hfsc`.",
    sources: &["ALTQ 3.0, `altq_priq`; altq.conf(5), \"PRIQ\""],
};

/// The most urgent priority: ALTQ has 16 of them.
pub const PRIORITY_MAX: u32 = 15;

settings! {
    /// Packets of one urgency.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Class {
        /// Its name, unique within the discipline.
        pub name: String,
        /// None: these classes stand side by side.
        pub parent: Option<String>,
        /// How urgent it is, from 0 to 15, the highest first; each class has its own. 1 unless given, as
        /// in ALTQ.
        pub priority: u32,
        /// Its queue: any that has no classes and holds nothing back; a FIFO of 50 packets unless given,
        /// as in ALTQ.
        pub queue: qdisc::Parameters,
    }
}

impl Default for Class {
    /// ALTQ's: priority 1, 50 packets.
    fn default() -> Self {
        let queue = qdisc::Parameters::Fifo(fifo::Parameters::of_packets(50));
        Self { name: String::new(), parent: None, priority: 1, queue }
    }
}

settings! {
    classes: Class;
    /// The classes, and which packets go to which.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct Parameters {
        /// At least one; they need not be in the order of their priorities.
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
    /// Beyond the highest.
    #[error("class `{class}` has priority {priority}: give it one from 0 to 15")]
    TooHigh {
        /// The class.
        class: String,
        /// Its priority.
        priority: u32,
    },
    /// Which of them would be first?
    #[error(
        "the classes `{first}` and `{second}` both have priority {priority}: give each its own"
    )]
    SamePriority {
        /// A class.
        first: String,
        /// Another one.
        second: String,
        /// What they share.
        priority: u32,
    },
}

impl Error {
    /// What it is about.
    pub fn subject(&self) -> Subject<'_> {
        match self {
            Self::Leaves(error) => error.subject(),
            Self::TooHigh { class, .. } => Subject::class(class).at(&["priority"]),
            Self::SamePriority { second, .. } => Subject::class(second).at(&["priority"]),
        }
    }
}

/// Strict priorities.
#[derive(Debug)]
pub struct Priq {
    leaves: Leaves,
    /// For each class its priority.
    priorities: Vec<u32>,
    /// The classes, the most urgent first.
    order: Vec<usize>,
}

fn check(classes: &[Class]) -> Result<(), Error> {
    for (index, class) in classes.iter().enumerate() {
        let priority = class.priority;
        if priority > PRIORITY_MAX {
            return Err(Error::TooHigh { class: class.name.clone(), priority });
        }
        if let Some(other) = classes[..index].iter().find(|other| other.priority == priority) {
            let (first, second) = (other.name.clone(), class.name.clone());
            return Err(Error::SamePriority { first, second, priority });
        }
    }
    Ok(())
}

/// Of two that share a priority, the one that is only emptying itself goes first: its packets are older.
fn order(priorities: &[u32]) -> Vec<usize> {
    let mut order: Vec<_> = (0..priorities.len()).collect();
    order.sort_by_key(|&index| Reverse((priorities[index], index)));
    order
}

impl Discipline for Priq {
    type Parameters = Parameters;
    type Error = Error;

    fn attach(parameters: &Parameters, port: Port) -> Result<Self, Error> {
        let Parameters { classes, filters, default_class } = parameters;
        let leaves = Leaves::new(&given!(classes), filters, default_class.as_deref(), port)?;
        check(classes)?;
        let priorities: Vec<_> = classes.iter().map(|class| class.priority).collect();
        Ok(Self { leaves, order: order(&priorities), priorities })
    }

    fn change(&mut self, parameters: &Parameters) -> Result<(), Error> {
        let Parameters { classes, filters, default_class } = parameters;
        check(classes)?;
        let before = self.leaves.change(&given!(classes), filters, default_class.as_deref())?;
        let priority = |(index, &was): (usize, &Option<usize>)| {
            let old = || was.map_or(0, |was| self.priorities[was]);
            classes.get(index).map_or_else(old, |class| class.priority)
        };
        self.priorities = before.iter().enumerate().map(priority).collect();
        self.order = order(&self.priorities);
        Ok(())
    }

    fn enqueue(&mut self, packets: &mut Packets, packet: PacketId, now: Instant) -> Enqueued {
        self.leaves.enqueue(packets, packet, now).1
    }

    fn dequeue(&mut self, packets: &mut Packets, now: Instant) -> Dequeued {
        for &index in &self.order {
            if self.leaves.is_empty_at(index) {
                continue;
            }
            if let Some(id) = self.leaves.take(index, packets, now) {
                return Dequeued::Send(id);
            }
        }
        Dequeued::Empty
    }

    fn peek(&mut self, packets: &Packets, now: Instant) -> Dequeued {
        let mut heads = self.order.iter().map(|&index| self.leaves.head(index, packets, now));
        heads.find_map(|head| head).map_or(Dequeued::Empty, |(id, _)| Dequeued::Send(id))
    }

    fn flush(&mut self, packets: &mut Packets, now: Instant) {
        self.leaves.flush(packets, now);
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
