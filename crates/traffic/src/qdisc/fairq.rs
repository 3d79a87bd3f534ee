//! Fair queueing within priorities (DragonFly's addition to ALTQ, now also in FreeBSD: `altq_fairq`): each
//! class hashes its flows into buckets, and takes a packet of each in turn.
//!
//! A class above its bandwidth lets lower ones go first, but sends when they have nothing: it is not a
//! shaper. A bucket below the hog limit may keep its turn after a packet, and a bucket that gets its first
//! packet goes to the front: short and thin flows pass those that hog the class.
//!
//! Departures from FreeBSD: a bucket's rate is computed for the current time, so silence counts; every packet
//! has a bucket, so a flow stays in order; the next packet counts towards the class's rate, which is
//! otherwise a seventh too high; a change of parameters loses no packet.

use alloc::collections::VecDeque;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use crate::discipline::{Enqueued, Port, Statistics};
use crate::packets::Packets;
use crate::qdisc::chains::Chains;
use crate::qdisc::class_queue::{Change, ClassQueue, Sent};
use crate::qdisc::flat::{Flat, Scheduler, flat_parameters};
use crate::qdisc::hash::{self, HashBy};
use crate::qdisc::leaves::{self, ClassSpec, Leaves};
use crate::qdisc::page::Page;
use crate::qdisc::priorities::{self, Priorities};
use crate::qdisc::tally::Tally;
use base::drop_reason::DropReason;
use base::packet::PacketId;
use base::setting::{errors, settings};
use base::units::{Instant, PS_PER_SECOND, Rate};

/// The catalogue page, apart from the settings.
pub(super) const PAGE: Page = Page {
    what: "Up to eight classes by priority; within each class, flows send packets in turn. A class above its \
         bandwidth lets classes of lower priority send first. A flow below the hog limit keeps its turn and \
         starts at the front.",
    when: "On an access link, for interactive flows beside downloads in the same class, with one or two \
         classes by urgency. Not as a shaper: a class above its bandwidth sends whenever the others have \
         nothing to send.",
    sources: &["DragonFly BSD and FreeBSD, `altq_fairq`; pf.conf(5), \"fairq\""],
};

/// The highest priority.
pub const PRIORITY_MAX: u32 = 7;
/// The most buckets of a class.
pub const BUCKETS_MAX: u32 = 2_048;

settings! {
    /// The flows of one priority.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Class {
        /// Its name, unique within the discipline.
        pub name: String,
        /// Always `None`: these classes are not nested.
        pub parent: Option<String>,
        /// Priority of the class, the highest first; each class has a different one. 1 unless given.
        #[range(..=PRIORITY_MAX)]
        pub priority: u32,
        /// Rate, in frame bits, above which the class lets lower classes go first; none unless given.
        pub bandwidth: Option<Rate>,
        /// Rate, in frame bits, below which a bucket may continue to send and goes to the front; none unless given.
        pub hogs: Option<Rate>,
        /// Hash buckets for flows; 256 unless given, as in FreeBSD.
        #[range(1..=BUCKETS_MAX)]
        pub buckets: u32,
        /// Maximum packets queued in each bucket; 50 unless given, as in FreeBSD.
        #[range(1..)]
        pub packets: u64,
    }
}

impl Default for Class {
    /// FreeBSD's defaults.
    fn default() -> Self {
        let (name, parent, bandwidth, hogs) = (String::new(), None, None, None);
        Self { name, parent, priority: 1, bandwidth, hogs, buckets: 256, packets: 50 }
    }
}

flat_parameters!();

errors! {
    /// Why parameters are refused.
    pub enum Error from {
        /// The classes.
        Leaves(leaves::Error),
        /// The classes' priorities are refused.
        Priorities(priorities::Error),
    }
}

/// A rate over the latest packets: with each packet the counts lose an eighth.
#[derive(Clone, Copy, Debug, Default)]
struct Meter {
    bytes: u64,
    /// The picoseconds in which `bytes` were sent.
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

    /// Whether the rate, with `more` bytes sent, is this rate or a higher one; unknown before two packets.
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

/// The queue of a class: its buckets, and their turns.
#[derive(Debug)]
pub struct Buckets {
    class: Class,
    /// The seed of the hash.
    seed: u64,
    chains: Chains<PacketId>,
    buckets: Vec<Bucket>,
    /// The buckets that have packets; the first one has the turn.
    active: VecDeque<usize>,
    meter: Meter,
    tally: Tally,
}

impl ClassSpec for Class {
    type Queue = Buckets;

    fn name(&self) -> &str {
        &self.name
    }

    fn parent(&self) -> Option<&str> {
        self.parent.as_deref()
    }

    fn attach(&self, port: Port) -> Result<Buckets, leaves::Error> {
        let buckets = self.buckets as usize;
        Ok(Buckets {
            class: self.clone(),
            seed: port.seed,
            chains: Chains::new(buckets),
            buckets: vec![Bucket::default(); buckets],
            active: VecDeque::with_capacity(buckets),
            meter: Meter::default(),
            tally: Tally::default(),
        })
    }

    fn change(&self, queue: &mut Buckets, _now: Instant) -> bool {
        let same = self.buckets == queue.class.buckets;
        if same {
            queue.class = self.clone();
        }
        same
    }
}

impl Buckets {
    /// Whether a bucket is known to be below the hog limit.
    fn is_thin(&self, bucket: usize, now: Instant) -> bool {
        let meter = &self.buckets[bucket].meter;
        self.class.hogs.is_some_and(|hogs| meter.time > 0 && !meter.is_above(hogs, 0, now))
    }

    /// Whether its next packet would take it above its bandwidth.
    fn is_over(&self, packets: &Packets, now: Instant) -> bool {
        let length = self.first().map_or(0, |id| packets[id].length.into());
        self.class.bandwidth.is_some_and(|rate| self.meter.is_above(rate, length, now))
    }

    fn first(&self) -> Option<PacketId> {
        self.chains.first(*self.active.front()?)
    }

    /// Takes the next packet, and updates the turn of its bucket.
    #[inline]
    fn pop(&mut self, packets: &Packets, now: Instant) -> Option<Sent> {
        let bucket = *self.active.front()?;
        let id = self.chains.pop(bucket)?;
        let length = packets[id].length;
        self.tally.send(length.into());
        self.meter.charge(length.into(), now);
        self.buckets[bucket].meter.charge(length.into(), now);
        self.buckets[bucket].packets -= 1;
        if self.chains.is_empty(bucket) {
            self.active.pop_front();
        } else if !self.is_thin(bucket, now) {
            self.active.rotate_left(1);
        }
        Some((id, length))
    }

    #[inline]
    fn push(&mut self, packets: &mut Packets, id: PacketId, now: Instant) -> Enqueued {
        let (key, length) = (HashBy::Full.key(&packets[id]), packets[id].length.into());
        let bucket = hash::queue_of(key, self.seed, self.class.buckets);
        if self.buckets[bucket].packets >= self.class.packets {
            self.tally.refuse(length);
            return Enqueued::Dropped(DropReason::QueuePackets);
        }
        packets[id].queued = now;
        self.tally.take(length);
        self.tally.peak();
        if self.chains.is_empty(bucket) {
            if self.is_thin(bucket, now) {
                self.active.push_front(bucket);
            } else {
                self.active.push_back(bucket);
            }
        }
        self.chains.push(bucket, id);
        self.buckets[bucket].packets += 1;
        Enqueued::Queued
    }
}

impl ClassQueue for Buckets {
    fn prepare_for(&mut self, packets: usize) {
        self.chains.reserve(packets);
    }

    #[inline]
    fn offer(&mut self, packets: &mut Packets, id: PacketId, now: Instant) -> (Enqueued, Change) {
        let answer = self.push(packets, id, now);
        (answer, Change::offered(answer, packets[id].length, self.is_empty()))
    }

    #[inline]
    fn take(&mut self, packets: &mut Packets, now: Instant) -> (Option<Sent>, Change) {
        let sent = self.pop(packets, now);
        (sent, Change::taken(sent, self.is_empty()))
    }

    #[inline]
    fn head(&mut self, _packets: &Packets, _now: Instant) -> Option<PacketId> {
        self.first()
    }

    fn flush(&mut self, packets: &mut Packets, _now: Instant) {
        while let Some(bucket) = self.active.pop_front() {
            self.buckets[bucket].packets = 0;
            while let Some(id) = self.chains.pop(bucket) {
                self.tally.discard(packets[id].length.into());
                packets.discard(id, DropReason::Flushed);
            }
        }
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.active.is_empty()
    }

    fn statistics(&self) -> Statistics {
        self.tally.statistics()
    }
}

/// Fair queueing within priorities.
pub type Fairq = Flat<FairPriority>;

/// The order of the classes.
#[derive(Debug)]
pub struct FairPriority(Priorities);

impl FairPriority {
    /// The class that sends next: the first one below its bandwidth, or else the first of all.
    #[inline]
    fn choose(&self, leaves: &mut Leaves<Class>, packets: &Packets, now: Instant) -> Option<usize> {
        let mut first = None;
        for &class in self.0.order() {
            if leaves.is_empty_at(class) || leaves.is_stopped(class, packets, now) {
                continue;
            }
            if !leaves.queue(class).is_over(packets, now) {
                return Some(class);
            }
            first = first.or(Some(class));
        }
        first
    }
}

impl Scheduler for FairPriority {
    type Class = Class;
    type Parameters = Parameters;
    type Error = Error;
    const DISTINGUISHES_FLOWS: bool = true;

    fn new(classes: &[Class], _port: Port) -> Result<Self, Error> {
        let classes: Vec<_> = classes.iter().map(|c| (c.name.as_str(), c.priority)).collect();
        Ok(Self(Priorities::new(&classes)?))
    }

    fn take_over(&mut self, old: &Self, leaving: &[usize], _leaves: &Leaves<Class>) {
        self.0.extend(&old.0, leaving);
    }

    fn take(
        &mut self,
        leaves: &mut Leaves<Class>,
        packets: &mut Packets,
        now: Instant,
    ) -> Option<PacketId> {
        let class = self.choose(leaves, packets, now)?;
        leaves.take(class, packets, now)
    }

    fn head(
        &mut self,
        leaves: &mut Leaves<Class>,
        packets: &Packets,
        now: Instant,
    ) -> Option<PacketId> {
        let class = self.choose(leaves, packets, now)?;
        leaves.head(class, packets, now)
    }
}
