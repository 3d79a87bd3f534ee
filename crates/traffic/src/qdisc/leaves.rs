//! Classes without hierarchy, each with its own queue; they drop and count packets.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use crate::classify::{Classifier, Rule};
use crate::discipline::{Backlog, Discipline, Enqueued, Port, Statistics, WireClock};
use crate::packets::Packets;
use crate::qdisc::class_queue::ClassQueue;
use crate::qdisc::{self, LEAVES, Qdisc};
use crate::tree::{self, Branch, Tree};
use base::packet::PacketId;
use base::priorities::PRIORITIES;
use base::priorities::Priorities;
use base::subject::Subject;
use base::units::Instant;

/// Why classes or their queues are refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The names do not fit together.
    #[error(transparent)]
    Tree(#[from] tree::Error),
    /// A class has a parent, but these classes have no hierarchy.
    #[error("class `{0}` has a parent, but these classes are not nested: remove its parent")]
    Parent(String),
    /// A priority belongs to two classes.
    #[error("class `{class}` has priority {priority}, which class `{other}` has: leave it to one")]
    Priority {
        /// The class that has the priority.
        class: String,
        /// The priority.
        priority: u8,
        /// The other class with the priority, listed before.
        other: String,
    },
    /// The class for unclassified packets does not exist.
    #[error("the default class `{class}` does not exist: name one of {known}")]
    UnknownDefault {
        /// The name given.
        class: String,
        /// The existing names.
        known: String,
    },
    /// A discipline that cannot be a class's queue.
    #[error(
        "class `{of}` has a queue {name}, which holds packets back or has classes of its own: \
             give it one without, such as fifo"
    )]
    NoLeaf {
        /// The class.
        of: String,
        /// The discipline.
        name: &'static str,
    },
    /// A queue's own parameters make no sense.
    #[error("the queue of class `{of}`: {error}")]
    Queue {
        /// The class.
        of: String,
        /// The reason for the refusal.
        error: Box<qdisc::Error>,
    },
}

impl Error {
    /// The subject of the error.
    pub fn subject(&self) -> Subject<'_> {
        match self {
            Self::Tree(error) => error.subject(),
            Self::Priority { class, .. } => Subject::class(class).at(&["priorities"]),
            Self::Parent(class) => Subject::class(class).at(&["parent"]),
            Self::UnknownDefault { .. } => Subject::settings(&["default_class"]),
            Self::NoLeaf { of, .. } | Self::Queue { of, .. } => Subject::class(of).at(&["queue"]),
        }
    }
}

/// A class as given.
pub trait ClassSpec {
    /// The queue at run time.
    type Queue: ClassQueue;

    /// The name of the class.
    fn name(&self) -> &str;

    /// The name of the parent, if given.
    fn parent(&self) -> Option<&str>;

    /// The priorities of the packets that go to this class if no filter matches.
    fn priorities(&self) -> Priorities {
        Priorities::NONE
    }

    /// Creates the empty queue.
    fn attach(&self, port: Port) -> Result<Self::Queue, Error>;

    /// Applies the parameters to the running queue; false if it must be replaced.
    fn change(&self, queue: &mut Self::Queue, now: Instant) -> bool;
}

/// The queue of the class `of`, one of [`LEAVES`].
pub(super) fn attach(of: &str, queue: &qdisc::Parameters, port: Port) -> Result<Qdisc, Error> {
    let name = queue.name();
    if !LEAVES.contains(&name) {
        return Err(Error::NoLeaf { of: of.into(), name });
    }
    Qdisc::attach(queue, port)
        .map_err(|error| Error::Queue { of: of.into(), error: Box::new(error) })
}

#[derive(Debug)]
struct Leaf<Q> {
    name: String,
    queue: Q,
}

/// The classes' queues, and their joint backlog.
///
/// Classes are numbered in the given order. A class that a change of parameters removed, or gave another kind
/// of queue, stays behind these until its packets have left.
#[derive(Debug)]
pub struct Leaves<C: ClassSpec> {
    leaves: Vec<Leaf<C::Queue>>,
    classifier: Classifier,
    /// The class of packets that no filter matches, by priority.
    default: [usize; PRIORITIES],
    port: Port,
    /// The paused priorities: their packets stay queued.
    stopped: Priorities,
    backlog: Backlog,
    backlog_bytes_max: u64,
    /// The counters of removed classes.
    retired: Statistics,
}

/// Checked parameters that are not yet in force.
struct Checked<Q> {
    leaves: Vec<Leaf<Q>>,
    classifier: Classifier,
    default: [usize; PRIORITIES],
}

fn check<C: ClassSpec>(
    given: &[C],
    filters: &[Rule],
    default: Option<&str>,
    port: Port,
) -> Result<Checked<C::Queue>, Error> {
    if let Some(class) = given.iter().find(|class| class.parent().is_some()) {
        return Err(Error::Parent(class.name().into()));
    }
    let branches: Vec<_> =
        given.iter().map(|class| Branch { name: class.name(), parent: None }).collect();
    let classifier = Tree::new(&branches, filters)?.classifier;
    let default = match default {
        None => given.len() - 1,
        Some(name) => given.iter().position(|class| class.name() == name).ok_or_else(|| {
            let known = tree::list(given.iter().map(ClassSpec::name));
            Error::UnknownDefault { class: name.into(), known }
        })?,
    };
    let default = by_priority(given, default)?;
    let leaf = |class: &C| Ok(Leaf { name: class.name().into(), queue: class.attach(port)? });
    let leaves = given.iter().map(leaf).collect::<Result<_, Error>>()?;
    Ok(Checked { leaves, classifier, default })
}

/// The class of each priority, or class number `other` for the rest.
fn by_priority<C: ClassSpec>(given: &[C], other: usize) -> Result<[usize; PRIORITIES], Error> {
    let mut classes = [None; PRIORITIES];
    for (number, class) in given.iter().enumerate() {
        for priority in class.priorities().iter() {
            if let Some(before) = classes[usize::from(priority)].replace(number) {
                let (class, other) = (class.name().into(), given[before].name().into());
                return Err(Error::Priority { class, priority, other });
            }
        }
    }
    Ok(classes.map(|class| class.unwrap_or(other)))
}

impl<C: ClassSpec> Leaves<C> {
    pub(super) fn new(
        given: &[C],
        filters: &[Rule],
        default: Option<&str>,
        port: Port,
    ) -> Result<Self, Error> {
        let Checked { leaves, classifier, default } = check(given, filters, default, port)?;
        Ok(Self {
            leaves,
            classifier,
            default,
            port,
            stopped: Priorities::NONE,
            backlog: Backlog::default(),
            backlog_bytes_max: 0,
            retired: Statistics::default(),
        })
    }

    /// [`Discipline::prepare_for`](crate::Discipline::prepare_for).
    pub(super) fn prepare_for(&mut self, packets: usize) {
        self.leaves.iter_mut().for_each(|leaf| leaf.queue.prepare_for(packets));
    }

    /// Replaces the classes. Removed classes with queued packets stay behind the new ones until they are
    /// empty; returns their old numbers.
    pub(super) fn change(
        &mut self,
        given: &[C],
        filters: &[Rule],
        default: Option<&str>,
        now: Instant,
    ) -> Result<Vec<usize>, Error> {
        let checked = check(given, filters, default, self.port)?;
        let old = core::mem::replace(&mut self.leaves, checked.leaves);
        (self.classifier, self.default) = (checked.classifier, checked.default);
        let (mut kept, mut leaving) = (vec![false; given.len()], Vec::new());
        for (was, mut leaf) in old.into_iter().enumerate() {
            let same = given.iter().position(|class| class.name() == leaf.name);
            let same = same.filter(|&to| !kept[to] && given[to].change(&mut leaf.queue, now));
            match same {
                Some(to) => {
                    kept[to] = true;
                    self.leaves[to] = leaf;
                }
                None if leaf.queue.is_empty() => self.retired += leaf.queue.statistics(),
                None => {
                    leaving.push(was);
                    self.leaves.push(leaf);
                }
            }
        }
        Ok(leaving)
    }

    /// Takes another port, for all queues too.
    pub(super) fn set_port(&mut self, port: Port, clock: WireClock) {
        self.port = port;
        self.leaves.iter_mut().for_each(|leaf| leaf.queue.set_port(port, clock));
    }

    /// The port that they are on.
    pub(super) const fn port(&self) -> Port {
        self.port
    }

    /// The classes that have packets.
    pub(super) fn backlogged(&self) -> impl Iterator<Item = usize> {
        (0..self.leaves.len()).filter(|&index| !self.is_empty_at(index))
    }

    #[inline]
    pub(super) fn is_empty_at(&self, index: usize) -> bool {
        self.leaves[index].queue.is_empty()
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.backlog.packets == 0
    }

    /// A class's queue.
    #[inline]
    pub(super) fn queue(&self, index: usize) -> &C::Queue {
        &self.leaves[index].queue
    }

    /// The class that a packet belongs to.
    #[inline]
    fn class_of(&self, packets: &Packets, packet: PacketId) -> usize {
        self.classifier
            .class_of(packets, packet)
            .unwrap_or_else(|| self.default[usize::from(packets[packet].priority) % PRIORITIES])
    }

    /// Passes a packet straight on if no packet is queued, and if its class and the class's queue allow it.
    #[inline]
    pub(super) fn pass(
        &mut self,
        packets: &mut Packets,
        packet: PacketId,
        passes: impl FnOnce(usize) -> bool,
    ) -> bool {
        if !self.is_empty() || self.stops_some() {
            return false;
        }
        let index = self.class_of(packets, packet);
        let passed = passes(index) && self.leaves[index].queue.pass(packets, packet);
        if passed {
            packets[packet].enter_class(index);
            let length = u64::from(packets[packet].length);
            self.backlog_bytes_max = self.backlog_bytes_max.max(length);
        }
        passed
    }

    /// Offers a packet to its class. Returns the class's index too.
    #[inline]
    pub(super) fn enqueue(
        &mut self,
        packets: &mut Packets,
        packet: PacketId,
        now: Instant,
    ) -> (usize, Enqueued) {
        let index = self.class_of(packets, packet);
        packets[packet].enter_class(index);
        let queue = &mut self.leaves[index].queue;
        let (answer, change) = queue.offer(packets, packet, now);
        self.backlog.follow(change.more);
        self.backlog_bytes_max = self.backlog_bytes_max.max(self.backlog.bytes);
        (index, answer)
    }

    /// Pauses these priorities: their packets are not sent from now on, others are.
    pub(super) fn hold(&mut self, stopped: Priorities) {
        self.stopped = stopped;
    }

    /// Whether a class may not send its first packet now.
    #[inline]
    pub(super) fn is_stopped(&mut self, index: usize, packets: &Packets, now: Instant) -> bool {
        self.stops_some() && self.is_held(index, packets, now)
    }

    #[cold]
    #[inline(never)]
    fn is_held(&mut self, index: usize, packets: &Packets, now: Instant) -> bool {
        let first = self.leaves[index].queue.head(packets, now);
        first.is_some_and(|id| self.stopped.contains(packets[id].priority))
    }

    /// The packet that a class would send if it were not paused; `None` if it has none, or would drop all.
    #[inline]
    pub(super) fn head(
        &mut self,
        index: usize,
        packets: &Packets,
        now: Instant,
    ) -> Option<PacketId> {
        self.leaves[index].queue.head(packets, now)
    }

    /// The packet that a class would send; `None` if it has none, would drop all, or is paused.
    pub(super) fn sendable(
        &mut self,
        index: usize,
        packets: &Packets,
        now: Instant,
    ) -> Option<PacketId> {
        self.head(index, packets, now).filter(|&id| !self.stopped.contains(packets[id].priority))
    }

    /// Whether any priority is stopped.
    #[inline]
    pub(super) const fn stops_some(&self) -> bool {
        !self.stopped.is_empty()
    }

    /// Takes the next packet of a class that is not paused; `None` if it had none, or dropped all.
    // Forced inline, because ets takes from two places: a call costs each of its packets 3 % more
    // instructions.
    #[inline(always)]
    pub(super) fn take(
        &mut self,
        index: usize,
        packets: &mut Packets,
        now: Instant,
    ) -> Option<PacketId> {
        let (sent, change) = self.leaves[index].queue.take(packets, now);
        self.backlog.follow(change.more);
        sent.map(|(id, _)| id)
    }

    /// Takes a packet of the first of these classes that sends one.
    #[inline]
    pub(super) fn take_first(
        &mut self,
        order: &[usize],
        packets: &mut Packets,
        now: Instant,
    ) -> Option<PacketId> {
        for &index in order {
            if self.is_empty_at(index) || self.is_stopped(index, packets, now) {
                continue;
            }
            if let Some(id) = self.take(index, packets, now) {
                return Some(id);
            }
        }
        None
    }

    /// The packet that [`Self::take_first`] would take.
    pub(super) fn first_head(
        &mut self,
        order: &[usize],
        packets: &Packets,
        now: Instant,
    ) -> Option<PacketId> {
        order.iter().find_map(|&index| self.sendable(index, packets, now))
    }

    pub(super) fn flush(&mut self, packets: &mut Packets, now: Instant) {
        for leaf in &mut self.leaves {
            leaf.queue.flush(packets, now);
        }
        self.backlog = Backlog::default();
    }

    pub(super) fn statistics(&self) -> Statistics {
        let mut sum = self.retired;
        for leaf in &self.leaves {
            sum += leaf.queue.statistics();
        }
        Statistics { backlog_bytes_max: self.backlog_bytes_max, ..sum }
    }

    pub(super) fn classes(&self, each: &mut dyn FnMut(usize, &str, Statistics)) {
        for (number, leaf) in self.leaves.iter().enumerate() {
            each(number, &leaf.name, leaf.queue.statistics());
        }
    }
}
