//! Classes side by side, each with a queue of its own: what `priq`, `drr`, `ets` and `fairq` have in
//! common. Which class sends next is each discipline's own matter.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec::Vec;

use crate::classify::{Classifier, Rule};
use crate::discipline::{Backlog, Dequeued, Discipline, Enqueued, Port, Statistics};
use crate::packet::{PacketId, Packets};
use crate::qdisc::{self, LEAVES, Qdisc};
use crate::subject::Subject;
use crate::tree::{self, Branch, Tree};
use crate::units::Instant;

/// Why classes or their queues are refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The names do not fit together.
    #[error(transparent)]
    Tree(#[from] tree::Error),
    /// These classes stand side by side.
    #[error("class `{0}` has a parent, but here no class is within another: leave its parent out")]
    Parent(String),
    /// The class for unclassified packets does not exist.
    #[error("the default class `{class}` does not exist: name one of {known}")]
    UnknownDefault {
        /// The name given.
        class: String,
        /// The names there are.
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
        /// What is wrong with it.
        error: Box<qdisc::Error>,
    },
}

impl Error {
    /// What it is about.
    pub fn subject(&self) -> Subject<'_> {
        match self {
            Self::Tree(error) => error.subject(),
            Self::Parent(class) => Subject::class(class).at(&["parent"]),
            Self::UnknownDefault { .. } => Subject::settings(&["default_class"]),
            Self::NoLeaf { of, .. } | Self::Queue { of, .. } => Subject::class(of).at(&["queue"]),
        }
    }
}

/// A class as given.
#[derive(Clone, Copy, Debug)]
pub(super) struct ChildSpec<'a> {
    pub(super) name: &'a str,
    pub(super) parent: Option<&'a str>,
    pub(super) queue: &'a qdisc::Parameters,
}

/// Takes the common part out of a list of classes.
macro_rules! given {
    ($classes:expr) => {
        $classes
            .iter()
            .map(|class| $crate::qdisc::leaves::ChildSpec {
                name: &class.name,
                parent: class.parent.as_deref(),
                queue: &class.queue,
            })
            .collect::<alloc::vec::Vec<_>>()
    };
}
pub(super) use given;

#[derive(Debug)]
struct Leaf {
    name: String,
    queue: Qdisc,
}

/// The classes' queues, and what they hold together.
///
/// Numbered as they were given. A class that a change of parameters took away, or gave another kind of
/// queue, stays behind these until the packets in it have left.
#[derive(Debug)]
pub(super) struct Leaves {
    leaves: Vec<Leaf>,
    classifier: Classifier,
    default: usize,
    port: Port,
    backlog: Backlog,
    backlog_bytes_max: u64,
    /// What classes counted that exist no more.
    retired: Statistics,
}

/// Checked, and not yet in force.
struct Checked {
    leaves: Vec<Leaf>,
    classifier: Classifier,
    default: usize,
}

fn check(
    given: &[ChildSpec<'_>],
    filters: &[Rule],
    default: Option<&str>,
    port: Port,
) -> Result<Checked, Error> {
    if let Some(class) = given.iter().find(|class| class.parent.is_some()) {
        return Err(Error::Parent(class.name.into()));
    }
    let branches: Vec<_> =
        given.iter().map(|class| Branch { name: class.name, parent: None }).collect();
    let classifier = Tree::new(&branches, filters)?.classifier;
    let default = match default {
        None => given.len() - 1,
        Some(name) => given.iter().position(|class| class.name == name).ok_or_else(|| {
            let known = tree::list(given.iter().map(|class| class.name));
            Error::UnknownDefault { class: name.into(), known }
        })?,
    };
    let leaves = given.iter().map(|class| leaf(class, port)).collect::<Result<_, _>>()?;
    Ok(Checked { leaves, classifier, default })
}

fn leaf(class: &ChildSpec<'_>, port: Port) -> Result<Leaf, Error> {
    let name = class.queue.name();
    if !LEAVES.contains(&name) {
        return Err(Error::NoLeaf { of: class.name.into(), name });
    }
    match Qdisc::attach(class.queue, port) {
        Ok(queue) => Ok(Leaf { name: class.name.into(), queue }),
        Err(error) => Err(Error::Queue { of: class.name.into(), error: Box::new(error) }),
    }
}

impl Leaves {
    pub(super) fn new(
        given: &[ChildSpec<'_>],
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
            backlog: Backlog::default(),
            backlog_bytes_max: 0,
            retired: Statistics::default(),
        })
    }

    /// Takes new classes; tells for each one there is now which one it was before.
    pub(super) fn change(
        &mut self,
        given: &[ChildSpec<'_>],
        filters: &[Rule],
        default: Option<&str>,
    ) -> Result<Vec<Option<usize>>, Error> {
        let checked = check(given, filters, default, self.port)?;
        let old = core::mem::replace(&mut self.leaves, checked.leaves);
        (self.classifier, self.default) = (checked.classifier, checked.default);
        let mut before: Vec<_> = self.leaves.iter().map(|_| None).collect();
        for (was, leaf) in old.into_iter().enumerate() {
            let now = self.leaves.iter().take(given.len()).position(|new| new.name == leaf.name);
            match now.filter(|&now| before[now].is_none()) {
                Some(now) => {
                    before[now] = Some(was);
                    self.inherit(now, leaf, given[now].queue, &mut before);
                }
                None => self.retire(was, leaf, &mut before),
            }
        }
        Ok(before)
    }

    /// Gives a class the queue that it had.
    fn inherit(
        &mut self,
        index: usize,
        mut leaf: Leaf,
        parameters: &qdisc::Parameters,
        before: &mut Vec<Option<usize>>,
    ) {
        if leaf.queue.change(parameters).is_ok() {
            self.leaves[index] = leaf;
        } else if let Some(was) = before[index] {
            // Another kind of queue: the new one is empty, the old one sends what it has.
            self.retire(was, leaf, before);
        }
    }

    fn retire(&mut self, was: usize, leaf: Leaf, before: &mut Vec<Option<usize>>) {
        if leaf.queue.is_empty() {
            self.retired += leaf.queue.statistics();
        } else {
            self.leaves.push(leaf);
            before.push(Some(was));
        }
    }

    /// Those that have packets.
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

    /// Offers a packet to the class it belongs to, which is told too.
    #[inline]
    pub(super) fn enqueue(
        &mut self,
        packets: &mut Packets,
        packet: PacketId,
        now: Instant,
    ) -> (usize, Enqueued) {
        let index = self.classifier.class_of(packets, packet).unwrap_or(self.default);
        packets[packet].enter_class(index);
        let queue = &mut self.leaves[index].queue;
        let (answer, change) = queue.offer(packets, packet, now);
        self.backlog.follow(change.more);
        self.backlog_bytes_max = self.backlog_bytes_max.max(self.backlog.bytes);
        (index, answer)
    }

    /// The length of the packet that a class would send; `None` if it has none, or would drop all.
    #[inline]
    pub(super) fn head(
        &mut self,
        index: usize,
        packets: &Packets,
        now: Instant,
    ) -> Option<(PacketId, u64)> {
        match self.leaves[index].queue.peek(packets, now) {
            Dequeued::Send(id) => Some((id, packets[id].length.into())),
            _ => None,
        }
    }

    /// Takes the packet that a class sends next; `None` if it had none, or dropped all.
    #[inline]
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
