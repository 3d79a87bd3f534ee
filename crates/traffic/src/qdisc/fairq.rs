//! Fair queueing within priorities (DragonFly's ALTQ addition, since in FreeBSD: `altq_fairq`): each class
//! hashes its flows into buckets, and takes a packet of each in turn.
//!
//! A class above its bandwidth lets lower ones go first, but sends when they have nothing: it is no
//! shaper. A bucket below the hog limit need not give its turn up after a packet, and one that gets its
//! first packet goes to the front: short and thin flows pass those that hog the class.
//!
//! Departures from FreeBSD's: a bucket's rate is looked at as of now, so silence counts; every packet has
//! a bucket, so a flow stays in order; the packet that is to be sent counts towards the class's rate, which
//! is a seventh too high without; a change of parameters loses no packet.

use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;
use core::cmp::Reverse;

use crate::classify::{Classifier, Rule};
use crate::discipline::{Dequeued, Discipline, DropReason, Enqueued, Port, Statistics};
use crate::packet::{PacketId, Packets};
use crate::qdisc::Page;
use crate::qdisc::chains::Chains;
use crate::qdisc::wfq::{HashBy, hash};
use crate::setting::settings;
use crate::subject::Subject;
use crate::tree::{self, Branch, Tree};
use crate::units::{Instant, PS_PER_SECOND, Rate};

/// Its page of the catalogue, beside its settings.
pub(super) const PAGE: Page = Page {
    what: "Up to eight classes by priority, and in each the flows take packets in turn. A class \
         above its bandwidth lets lower ones go first; a flow below the hog limit keeps its \
         turn and starts at the front.",
    when: "On an access link, for interactive flows beside downloads in the same class, with a \
         class or two by urgency. Not as a shaper: a class above its bandwidth sends whenever \
         the others have nothing.",
    sources: &["DragonFly BSD and FreeBSD, `altq_fairq`; pf.conf(5), \"fairq\""],
};

/// The highest priority.
pub const PRIORITY_MAX: u32 = 7;
/// The most buckets of a class.
pub const BUCKETS_MAX: u32 = 2_048;

settings! {
    /// Flows of one priority.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Class {
        /// Its name, unique within the discipline.
        pub name: String,
        /// None: these classes stand side by side.
        pub parent: Option<String>,
        /// Its priority, from 0 to 7, the highest first; each class has its own. 1 unless given.
        pub priority: u32,
        /// The rate, by frame bits, above which it lets lower classes go first; none unless given.
        pub bandwidth: Option<Rate>,
        /// The rate, by frame bits, below which a bucket may go on sending and goes to the front; none
        /// unless given.
        pub hogs: Option<Rate>,
        /// Buckets that flows are hashed into, from 1 to 2048; 256 unless given, as in FreeBSD.
        pub buckets: u32,
        /// The most packets queued in each bucket, at least 1; 50 unless given, as in FreeBSD.
        pub packets: u64,
    }
}

impl Default for Class {
    /// FreeBSD's.
    fn default() -> Self {
        let (name, parent, bandwidth, hogs) = (String::new(), None, None, None);
        Self { name, parent, priority: 1, bandwidth, hogs, buckets: 256, packets: 50 }
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
    /// The names of classes and filters do not fit together.
    #[error(transparent)]
    Tree(#[from] tree::Error),
    /// These classes stand side by side.
    #[error("class `{0}` has a parent, but here no class is within another: leave its parent out")]
    Parent(String),
    /// The class for unclassified packets does not exist.
    #[error("the default class `{0}` does not exist: name one of the classes")]
    UnknownDefault(String),
    /// Beyond the highest.
    #[error("class `{0}` has priority {1}: give it one from 0 to 7")]
    Priority(String, u32),
    /// Which of them would be first?
    #[error("the classes `{0}` and `{1}` both have priority {2}: give each its own")]
    SamePriority(String, String, u32),
    /// None, or too many.
    #[error("class `{0}` has {1} buckets: give it from 1 to 2048")]
    Buckets(String, u32),
    /// Such a class would drop everything.
    #[error("class `{0}` has room for no packet in a bucket: give it room for at least one")]
    NoRoom(String),
}

impl Error {
    /// What it is about.
    pub fn subject(&self) -> Subject<'_> {
        match self {
            Self::Tree(error) => error.subject(),
            Self::Parent(class) => Subject::class(class).at(&["parent"]),
            Self::UnknownDefault(_) => Subject::settings(&["default_class"]),
            Self::Priority(class, _) | Self::SamePriority(_, class, _) => {
                Subject::class(class).at(&["priority"])
            }
            Self::Buckets(class, _) => Subject::class(class).at(&["buckets"]),
            Self::NoRoom(class) => Subject::class(class).at(&["packets"]),
        }
    }
}

/// A rate over the last packets: each leaves an eighth of what was counted before behind.
#[derive(Clone, Copy, Debug, Default)]
struct Meter {
    bytes: u64,
    /// Picoseconds in which they were sent.
    time: u64,
    last: Instant,
}

impl Meter {
    /// A silence of more than 8 s counts as 8 s.
    fn elapsed(&self, now: Instant) -> u64 {
        now.since(self.last).as_ps().min(8 * PS_PER_SECOND)
    }

    fn charge(&mut self, bytes: u64, now: Instant) {
        self.time += self.elapsed(now);
        self.bytes += bytes;
        self.last = now;
        self.time -= self.time >> 3;
        self.bytes -= self.bytes >> 3;
    }

    /// Whether that is this rate or a higher one, if `more` bytes are sent too; unknown before two packets.
    fn is_above(&self, rate: Rate, more: u64, now: Instant) -> bool {
        let time = u128::from(self.time + self.elapsed(now)) * u128::from(rate.bits_per_second());
        u128::from(self.bytes + more) * 8 * u128::from(PS_PER_SECOND) >= time && self.time > 0
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    packets: u64,
    meter: Meter,
}

/// A class as it runs.
#[derive(Debug)]
struct Node {
    class: Class,
    chains: Chains<PacketId>,
    buckets: Vec<Bucket>,
    /// The buckets that have packets; the first one's turn it is.
    active: VecDeque<usize>,
    meter: Meter,
    statistics: Statistics,
}

impl Node {
    fn new(class: &Class) -> Self {
        let buckets = class.buckets as usize;
        Self {
            class: class.clone(),
            chains: Chains::new(buckets),
            buckets: vec![Bucket::default(); buckets],
            active: VecDeque::with_capacity(buckets),
            meter: Meter::default(),
            statistics: Statistics::default(),
        }
    }

    fn is_empty(&self) -> bool {
        self.active.is_empty()
    }

    /// Whether a bucket is known to be below the hog limit.
    fn is_thin(&self, bucket: usize, now: Instant) -> bool {
        let meter = &self.buckets[bucket].meter;
        self.class.hogs.is_some_and(|hogs| meter.time > 0 && !meter.is_above(hogs, 0, now))
    }

    /// Whether its next packet would take it above its bandwidth.
    fn is_over(&self, packets: &Packets, now: Instant) -> bool {
        let length = self.head().map_or(0, |id| packets[id].length.into());
        self.class.bandwidth.is_some_and(|rate| self.meter.is_above(rate, length, now))
    }

    fn enqueue(&mut self, id: PacketId, key: u64, seed: u64, length: u64, now: Instant) -> bool {
        let bucket = hash::queue_of(key, seed, self.class.buckets);
        let s = &mut self.statistics;
        if self.buckets[bucket].packets >= self.class.packets {
            s.dropped_packets += 1;
            s.dropped_bytes += length;
            return false;
        }
        s.enqueued_packets += 1;
        s.enqueued_bytes += length;
        s.backlog_packets += 1;
        s.backlog_bytes += length;
        s.backlog_bytes_max = s.backlog_bytes_max.max(s.backlog_bytes);
        if self.chains.is_empty(bucket) {
            if self.is_thin(bucket, now) {
                self.active.push_front(bucket);
            } else {
                self.active.push_back(bucket);
            }
        }
        self.chains.push(bucket, id);
        self.buckets[bucket].packets += 1;
        true
    }

    fn head(&self) -> Option<PacketId> {
        self.chains.first(*self.active.front()?)
    }

    /// Takes the next packet out of its bucket, whose turn ends or not.
    fn take(&mut self, packets: &Packets, now: Instant) -> Option<PacketId> {
        let bucket = *self.active.front()?;
        let id = self.chains.pop(bucket)?;
        let length = u64::from(packets[id].length);
        self.statistics.backlog_packets -= 1;
        self.statistics.backlog_bytes -= length;
        self.meter.charge(length, now);
        self.buckets[bucket].meter.charge(length, now);
        self.buckets[bucket].packets -= 1;
        if self.chains.is_empty(bucket) {
            self.active.pop_front();
        } else if !self.is_thin(bucket, now) {
            self.active.rotate_left(1);
        }
        Some(id)
    }
}

/// Fair queueing within priorities.
#[derive(Debug)]
pub struct Fairq {
    port: Port,
    classifier: Classifier,
    default: usize,
    /// As given; behind them those that only send what they have.
    nodes: Vec<Node>,
    /// The nodes, the most urgent first.
    order: Vec<usize>,
    backlog_bytes_max: u64,
    /// What classes counted that exist no more.
    retired: Statistics,
}

fn check_class(class: &Class, before: &[Class]) -> Result<(), Error> {
    let Class { name, priority, buckets, .. } = class;
    let same = before.iter().find(|other| other.priority == *priority);
    if class.parent.is_some() {
        Err(Error::Parent(name.clone()))
    } else if *priority > PRIORITY_MAX {
        Err(Error::Priority(name.clone(), *priority))
    } else if !(1..=BUCKETS_MAX).contains(buckets) {
        Err(Error::Buckets(name.clone(), *buckets))
    } else if class.packets == 0 {
        Err(Error::NoRoom(name.clone()))
    } else if let Some(other) = same {
        Err(Error::SamePriority(other.name.clone(), name.clone(), *priority))
    } else {
        Ok(())
    }
}

fn check(parameters: &Parameters) -> Result<(Classifier, usize), Error> {
    let Parameters { classes, filters, default_class } = parameters;
    let branches: Vec<_> =
        classes.iter().map(|class| Branch { name: &class.name, parent: None }).collect();
    let classifier = Tree::new(&branches, filters)?.classifier;
    for (index, class) in classes.iter().enumerate() {
        check_class(class, &classes[..index])?;
    }
    let place = |name: &String| {
        let place = classes.iter().position(|class| class.name == *name);
        place.ok_or_else(|| Error::UnknownDefault(name.clone()))
    };
    let default = default_class.as_ref().map_or(Ok(classes.len() - 1), place)?;
    Ok((classifier, default))
}

impl Fairq {
    /// Of two with one priority, the one that only sends what it has goes first.
    fn arrange(&mut self) {
        self.order = (0..self.nodes.len()).collect();
        let nodes = &self.nodes;
        self.order.sort_by_key(|&index| Reverse((nodes[index].class.priority, index)));
    }

    /// The class that sends next: the first that is below its bandwidth, or else the first of all.
    fn choose(&self, packets: &Packets, now: Instant) -> Option<usize> {
        let mut some = self.order.iter().copied().filter(|&index| !self.nodes[index].is_empty());
        let first = some.next()?;
        let mut all = core::iter::once(first).chain(some);
        Some(all.find(|&index| !self.nodes[index].is_over(packets, now)).unwrap_or(first))
    }

    fn backlog_bytes(&self) -> u64 {
        self.nodes.iter().map(|node| node.statistics.backlog_bytes).sum()
    }
}

impl Discipline for Fairq {
    type Parameters = Parameters;
    type Error = Error;

    fn attach(parameters: &Parameters, port: Port) -> Result<Self, Error> {
        let (classifier, default) = check(parameters)?;
        let nodes = parameters.classes.iter().map(Node::new).collect();
        let (order, retired) = (Vec::new(), Statistics::default());
        let mut fairq =
            Self { port, classifier, default, nodes, order, backlog_bytes_max: 0, retired };
        fairq.arrange();
        Ok(fairq)
    }

    fn change(&mut self, parameters: &Parameters) -> Result<(), Error> {
        (self.classifier, self.default) = check(parameters)?;
        let classes = &parameters.classes;
        let new = classes.iter().map(Node::new).collect();
        let mut kept = vec![false; classes.len()];
        for mut node in core::mem::replace(&mut self.nodes, new) {
            let same = |class: &Class| {
                class.name == node.class.name && class.buckets == node.class.buckets
            };
            match classes.iter().position(same).filter(|&index| !kept[index]) {
                Some(index) => {
                    kept[index] = true;
                    node.class = classes[index].clone();
                    self.nodes[index] = node;
                }
                None if node.is_empty() => self.retired += node.statistics,
                None => self.nodes.push(node),
            }
        }
        self.arrange();
        Ok(())
    }

    fn enqueue(&mut self, packets: &mut Packets, packet: PacketId, now: Instant) -> Enqueued {
        let class = self.classifier.class_of(packets, packet).unwrap_or(self.default);
        let (key, length) = (HashBy::Full.key(&packets[packet]), packets[packet].length.into());
        if !self.nodes[class].enqueue(packet, key, self.port.seed, length, now) {
            return Enqueued::Dropped(DropReason::QueuePackets);
        }
        packets[packet].queued = now;
        packets[packet].enter_class(class);
        self.backlog_bytes_max = self.backlog_bytes_max.max(self.backlog_bytes());
        Enqueued::Queued
    }

    fn dequeue(&mut self, packets: &mut Packets, now: Instant) -> Dequeued {
        let Some(index) = self.choose(packets, now) else { return Dequeued::Empty };
        let node = &mut self.nodes[index];
        let Some(id) = node.take(packets, now) else { return Dequeued::Empty };
        node.statistics.sent_packets += 1;
        node.statistics.sent_bytes += u64::from(packets[id].length);
        Dequeued::Send(id)
    }

    fn peek(&mut self, packets: &Packets, now: Instant) -> Dequeued {
        let head = self.choose(packets, now).and_then(|index| self.nodes[index].head());
        head.map_or(Dequeued::Empty, Dequeued::Send)
    }

    fn flush(&mut self, packets: &mut Packets, _now: Instant) {
        for node in &mut self.nodes {
            while let Some(bucket) = node.active.pop_front() {
                node.buckets[bucket].packets = 0;
                while let Some(id) = node.chains.pop(bucket) {
                    node.statistics.dropped_packets += 1;
                    node.statistics.dropped_bytes += u64::from(packets[id].length);
                    packets.discard(id, DropReason::Flushed);
                }
            }
            (node.statistics.backlog_packets, node.statistics.backlog_bytes) = (0, 0);
        }
    }

    fn is_empty(&self) -> bool {
        self.nodes.iter().all(Node::is_empty)
    }

    fn statistics(&self) -> Statistics {
        let mut sum = self.retired;
        for node in &self.nodes {
            sum += node.statistics;
        }
        Statistics { backlog_bytes_max: self.backlog_bytes_max, ..sum }
    }

    fn classes(&self, each: &mut dyn FnMut(usize, &str, Statistics)) {
        for (number, node) in self.nodes.iter().enumerate() {
            each(number, &node.class.name, node.statistics);
        }
    }
}
