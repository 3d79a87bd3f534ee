//! Class-based queueing (Floyd and Van Jacobson: Link-sharing and Resource Management Models for Packet
//! Networks, IEEE/ACM ToN 3(4), 1995), as ALTQ made it usable (paper 1, section 4.1.1).
//!
//! A class within its rate sends; among several, those of the highest priority, by weighted round robin. A
//! class over its limit borrows unused time of a class above it, if it may; otherwise it is regulated: it
//! waits, and the answer is "not before". Within a priority, classes that need not borrow go first, then
//! those that borrow from the nearest level.
//!
//! Departures from the paper and from ALTQ, and why:
//! - The estimator forgets nothing (see [`Estimator`]), so the rates are exact.
//! - A group counts as unsatisfied only if a class within it has packets and may borrow from it. Taken
//!   literally, the paper lets a group block all other borrowing although its own classes may not borrow.
//! - `efficient` lets any class over its limit send, not only those that may borrow: the link then never
//!   idles while packets wait.
//! - A class's use is counted when its packet starts on the wire, not when it is off it.
//!
//! A reserved class ([`Discipline::reserve`]) is another class of the highest priority. It is admitted if the
//! tree's sums and the delay bounds of all reservations still hold (see the module `reservation`).
//!
//! Laws, tested: a backlogged class gets its rate to within a packet per turn, for any packet lengths; a
//! class that may not borrow never sends more than its rate allows and `maxburst` packets; the cost of a
//! packet does not grow with the number of classes (rings of classes that may send; a heap of alarms for
//! those that wait).

use alloc::collections::BinaryHeap;
use alloc::vec::Vec;

use crate::discipline::{Dequeued, Discipline, Enqueued, Port, Statistics, WireClock};
use crate::many::MANY;
use crate::packets::Packets;
use crate::qdisc::Qdisc;
use crate::qdisc::class_queue::{self, Change};
use crate::qdisc::page::Page;
use crate::qdisc::promises::{PastPromise, Reservations};
use crate::reservation::{Refusal, Request};
use base::packet::PacketId;
use base::prefetch::prefetch;
use base::units::{Bytes, Duration, Instant, Pace};

mod meter;
mod nodes;
mod parameters;
mod reservation;
mod rings;
mod sharing;

use meter::Departure;
use nodes::{LINES, Leaf, Nodes, own_ring};
pub use parameters::{Class, Error, Estimator, LinkSharing, Parameters};
pub use reservation::Late;
use reservation::Rival;
use sharing::{Alarm, Pick};

/// The catalogue page, apart from the settings.
pub(super) const PAGE: Page = Page {
    what: "A tree of classes, each with a rate. A class within its rate sends, by priority and then by \
         weighted round robin. A class above its rate borrows what its parent leaves unused, or waits.",
    when: "To divide a link among organisations or kinds of traffic: each has its rate guaranteed, and \
         others may use what it leaves. Not for delays that are independent of rates, which `hfsc` \
         guarantees.",
    sources: &[
        "Floyd and Jacobson, \"Link-sharing and Resource Management Models for Packet \
         Networks\", IEEE/ACM Transactions on Networking 3(4), 1995: the formal and the \
         top-level guidelines, and the estimator",
        "Cho, \"Traffic Management by Alternate Queueing\" (paper 1), section 4.1.1",
        "ALTQ's altqd, for defaults",
    ],
};

/// A device may take packets ahead of the wire. Its time counts up to this many full frames, or a quarter of
/// them where a frame takes more than 10 ms (ALTQ's `maxiftime`).
const AHEAD_FRAMES: u64 = 16;
const AHEAD_SLOW: Duration = Duration::from_ms(10);
/// The wire may end a packet this much later than counted here without having idled: the remainder below a
/// picosecond.
const ROUNDING: Duration = Duration::from_ps(1);

/// The busy time of the wire by the charges of the classes.
///
/// This is not a copy of the wire's clock, which the port has. A device that takes packets far ahead of its
/// wire counts only up to a limit, and the charge for a packet begins there. Reservations, which come without
/// a clock, look at the end of the time charged.
#[derive(Clone, Copy, Debug)]
struct WireTime {
    /// When the current busy time began, as of the previous packet.
    since: Instant,
    /// When the packets before are off the wire.
    free: Instant,
    /// The maximum of `free` ahead of now.
    ahead_max: Duration,
    pace: Pace,
}

impl WireTime {
    fn new(port: Port) -> Self {
        let frame = port.rate.time_for(Bytes(parameters::frame_max(port)) + port.overhead);
        let frames = if frame > AHEAD_SLOW { AHEAD_FRAMES / 4 } else { AHEAD_FRAMES };
        let (pace, ahead_max) = (Pace::new(port.rate), frame.times(frames));
        Self { since: Instant::ZERO, free: Instant::ZERO, ahead_max, pace }
    }

    /// When a packet taken at `now` starts on the wire.
    fn start(&self, now: Instant) -> Instant {
        if self.free <= now { now } else { self.free.min(now + self.ahead_max) }
    }

    /// The start of the wire's busy time, if a packet is taken at `now`.
    fn busy_since(&self, now: Instant) -> Instant {
        if now.since(self.free) > ROUNDING { now } else { self.since }
    }
}

/// Class-based queueing.
#[derive(Debug)]
pub struct Cbq {
    port: Port,
    sharing: LinkSharing,
    efficient: bool,
    nodes: Nodes,
    /// Alarms of the leaves and groups that wait, the earliest first.
    alarms: BinaryHeap<Alarm>,
    /// The highest level that may lend under top-level sharing, 0 if none; 0 under formal sharing.
    top_level: usize,
    wire: WireTime,
    /// Leaves with packets.
    backlogged: usize,
    /// The bytes queued in all leaves together, and their maximum.
    bytes: u64,
    bytes_max: u64,
    /// The counters of removed classes.
    retired: Statistics,
    /// Leaves found empty because they dropped all their packets; kept for its memory.
    drained: Vec<usize>,
    /// The leaf that is expected to send next, if its queue was asked for.
    expected: usize,
    /// The parameters without the reservations' classes.
    base: Parameters,
    reservations: Reservations,
    past_promises: Vec<PastPromise<Rival>>,
}

impl Cbq {
    /// The first packet came into a leaf.
    fn activate(&mut self, leaf: usize, now: Instant) {
        self.backlogged += 1;
        let node = &mut self.nodes.leaves[leaf];
        node.meter.forfeit(now);
        node.allowance = 0;
        let mut above = node.parent;
        while let Some(group) = above {
            let group = &mut self.nodes.groups[group as usize];
            if group.backlogged == 0 {
                group.meter.forfeit(now);
            }
            group.backlogged += 1;
            above = group.parent;
        }
        self.link(leaf, false);
    }

    /// A leaf's queue is no longer empty, or is now.
    #[inline(never)]
    fn relink(&mut self, leaf: usize, now: Instant) {
        if self.nodes.leaves[leaf].linked {
            self.deactivate(leaf);
        } else {
            self.activate(leaf, now);
        }
    }

    /// The last packet left a leaf.
    #[inline(never)]
    fn deactivate(&mut self, leaf: usize) {
        self.backlogged -= 1;
        self.unlink(leaf);
        let mut above = self.nodes.leaves[leaf].parent;
        while let Some(group) = above {
            let group = &mut self.nodes.groups[group as usize];
            group.backlogged -= 1;
            above = group.parent;
        }
    }

    /// A packet of a leaf goes out at `now`, and starts on the wire at `at`.
    // Forced inline, with `send`, `within_rate` and the parts of RED, the classifier and the class queue that
    // it uses. If left to the compiler, a packet costs 23 % more instructions in `benches/cost cbq-10`.
    #[inline(always)]
    fn depart(&mut self, pick: Pick, length: u32, now: Instant, at: Instant) {
        let length = Bytes(length.into());
        let wire = self.wire.pace.time_for(length + self.port.overhead);
        let busy = self.wire.busy_since(now);
        let since = busy.max(Instant::from_ps(at.as_ps().saturating_sub(self.nodes.round.as_ps())));
        let leaf = &mut self.nodes.leaves[pick.leaf()];
        leaf.meter.charge(Departure { length, at, wire, since }, Duration::ZERO);
        leaf.allowance -= length.0 as i64;
        if let Some(parent) = leaf.parent {
            self.charge_groups(parent, Departure { length, at, wire, since });
        }
        if let Some(lender) = pick.lender() {
            self.pass_turn(lender, pick.leaf());
        }
        self.wire.since = busy;
        self.wire.free = at + wire;
    }

    /// Counts a packet for a group and those above it.
    #[inline(never)]
    fn charge_groups(&mut self, parent: u32, departure: Departure) {
        let mut above = Some(parent);
        while let Some(group) = above {
            let group = &mut self.nodes.groups[group as usize];
            group.meter.charge(departure, group.debt + self.nodes.round);
            above = group.parent;
        }
    }

    /// Takes a packet of a leaf for the wire; `None` if its queue has dropped all it had.
    #[inline(always)]
    fn send(
        &mut self,
        pick: Pick,
        packets: &mut Packets,
        now: Instant,
        at: Instant,
    ) -> Option<PacketId> {
        let queue = &mut self.nodes.leaves[pick.leaf()].queue;
        let (sent, Change { more, empty }) = class_queue::ClassQueue::take(queue, packets, now);
        self.bytes = self.bytes.wrapping_add(more.bytes);
        let Some((id, length)) = sent else {
            self.deactivate(pick.leaf());
            return None;
        };
        self.depart(pick, length, now, at);
        if empty {
            self.deactivate(pick.leaf());
        }
        self.departed(pick);
        Some(id)
    }

    /// Asks for the records that the next packets need, in the order of the round robin: the queue of the leaf that sends
    /// next, whose own record was asked for before, and the leaf after it.
    #[inline(never)]
    fn prefetch_leaves(&mut self) {
        let Some(priority) = self.nodes.rings.occupied(0).checked_ilog2() else { return };
        let Some(head) = self.nodes.rings.head(own_ring(priority as usize)) else { return };
        let keeps_turn = self.nodes.leaves[head].allowance > 0;
        self.expected = if keeps_turn { head } else { self.nodes.rings.after(head) };
        let after = self.nodes.rings.after(self.expected);
        prefetch(&self.nodes.leaves[after], LINES);
        self.nodes.rings.prefetch(after);
        if let Qdisc::Red(queue) = &self.nodes.leaves[self.expected].queue {
            prefetch(&**queue, 1);
        }
    }

    /// Asks for the first packet of that queue, once the queue is near.
    #[inline]
    fn prefetch_packet(&self, packets: &Packets) {
        let first = match self.nodes.leaves.get(self.expected).map(|leaf| &leaf.queue) {
            Some(Qdisc::Red(queue)) => queue.head(),
            Some(Qdisc::Fifo(queue)) => queue.head(),
            _ => None,
        };
        if let Some(first) = first {
            packets.prefetch(first);
        }
    }

    /// The general path of [`Cbq::dequeue`]: chooses among all leaves.
    #[inline(never)]
    fn dequeue_any(&mut self, packets: &mut Packets, now: Instant, at: Instant) -> Dequeued {
        while let Some(pick) = self.choose(at) {
            if let Some(id) = self.send(pick, packets, now, at) {
                return Dequeued::Send(id);
            }
        }
        self.wait()
    }

    fn adopt(&mut self, parameters: &Parameters) {
        self.sharing = parameters.link_sharing;
        self.efficient = parameters.efficient;
        self.alarms = BinaryHeap::with_capacity(self.nodes.leaves.len() + self.nodes.groups.len());
        self.top_level = match self.sharing {
            LinkSharing::TopLevel => self.nodes.levels - 1,
            LinkSharing::Formal => 0,
        };
        self.drained = Vec::with_capacity(self.nodes.leaves.len());
        self.expected = usize::MAX;
        self.backlogged = 0;
        let now = Instant::ZERO;
        for leaf in 0..self.nodes.leaves.len() {
            if !self.nodes.leaves[leaf].queue.is_empty() {
                self.activate(leaf, now);
            }
        }
    }

    /// Lets the new nodes of these parameters continue from the running ones.
    #[inline(never)]
    fn take_over(&mut self, fresh: Nodes, parameters: &Parameters, now: Instant) {
        let old = core::mem::replace(&mut self.nodes, fresh);
        let link = self.nodes.link();
        for group in &old.groups[..old.link()] {
            let same = |new: &&mut nodes::Group| new.name == group.name;
            if let Some(new) = self.nodes.groups[..link].iter_mut().find(same) {
                new.meter.continue_from(&group.meter);
            }
        }
        let mut leaving = Vec::new();
        for leaf in old.leaves {
            let Some(leaf) = self.hand_over(leaf, parameters, now) else { continue };
            if leaf.queue.is_empty() {
                self.retired += leaf.queue.statistics();
            } else {
                leaving.push(leaf);
            }
        }
        self.nodes.join(leaving, parameters.efficient, self.port);
        self.adopt(parameters);
    }

    /// Lets the class of the same name continue from a leaf. Returns the leaf if the class cannot take its
    /// queue. A removed class does not come back.
    #[inline(never)]
    fn hand_over(&mut self, mut old: Leaf, parameters: &Parameters, now: Instant) -> Option<Leaf> {
        let same = |leaf: &&mut Leaf| leaf.name == old.name && !old.leaving;
        let Some(new) = self.nodes.leaves.iter_mut().find(same) else { return Some(old) };
        new.meter.continue_from(&old.meter);
        let class = parameters.classes.iter().find(|class| class.name == old.name);
        if class.is_none_or(|class| old.queue.change(&class.queue, now.into()).is_err()) {
            return Some(old);
        }
        new.queue = old.queue;
        None
    }
}

impl Discipline for Cbq {
    type Parameters = Parameters;
    type Error = Error;

    fn attach(parameters: &Parameters, port: Port) -> Result<Self, Error> {
        let checked = parameters::check(parameters, port)?;
        let mut cbq = Self {
            port,
            sharing: parameters.link_sharing,
            efficient: parameters.efficient,
            nodes: Nodes::new(parameters, checked, port),
            alarms: BinaryHeap::new(),
            top_level: 0,
            wire: WireTime::new(port),
            backlogged: 0,
            bytes: 0,
            bytes_max: 0,
            retired: Statistics::default(),
            drained: Vec::new(),
            expected: usize::MAX,
            base: parameters.clone(),
            reservations: Reservations::default(),
            past_promises: Vec::new(),
        };
        cbq.adopt(parameters);
        Ok(cbq)
    }

    fn prepare_for(&mut self, packets: usize) {
        self.nodes.leaves.iter_mut().for_each(|leaf| leaf.queue.prepare_for(packets));
    }

    fn enqueue(
        &mut self,
        packets: &mut Packets,
        packet: PacketId,
        WireClock { now, .. }: WireClock,
    ) -> Enqueued {
        self.prefetch_packet(packets);
        let class = self.nodes.classifier.class_of(packets, packet).unwrap_or(self.nodes.default);
        let leaf = self.nodes.leaf_of[class] as usize;
        packets[packet].enter_class(leaf);
        let node = &mut self.nodes.leaves[leaf];
        let (answer, Change { more, empty }) =
            class_queue::ClassQueue::offer(&mut node.queue, packets, packet, now);
        let linked = node.linked;
        self.bytes = self.bytes.wrapping_add(more.bytes);
        self.bytes_max = self.bytes_max.max(self.bytes);
        if linked == empty {
            self.relink(leaf, now);
        }
        // A refused packet counts too: it shows that its class has demand (as in ALTQ).
        if self.top_level > 0 {
            self.arrived(leaf, now);
        }
        answer
    }

    fn dequeue(&mut self, packets: &mut Packets, WireClock { now, .. }: WireClock) -> Dequeued {
        let at = self.wire.start(now);
        self.wake(at);
        if let Some(leaf) = self.usual_choice(at)
            && let Some(id) = self.send(Pick::own(leaf), packets, now, at)
        {
            if self.nodes.leaves.len() > MANY {
                self.prefetch_leaves();
            }
            return Dequeued::Send(id);
        }
        self.dequeue_any(packets, now, at)
    }

    fn peek(&mut self, packets: &Packets, WireClock { now, .. }: WireClock) -> Dequeued {
        let at = self.wire.start(now);
        let answer = loop {
            let Some(pick) = self.choose(at) else { break self.wait() };
            match self.nodes.leaves[pick.leaf()].queue.peek(packets, now.into()) {
                // The queue will drop all it has: look past it.
                Dequeued::Empty => {
                    self.unlink(pick.leaf());
                    self.drained.push(pick.leaf());
                }
                answer => break answer,
            }
        };
        while let Some(leaf) = self.drained.pop() {
            self.link(leaf, true);
        }
        answer
    }

    fn flush(&mut self, packets: &mut Packets, now: Instant) {
        for leaf in 0..self.nodes.leaves.len() {
            self.nodes.leaves[leaf].queue.flush(packets, now);
            if self.nodes.leaves[leaf].linked {
                self.deactivate(leaf);
            }
        }
        self.bytes = 0;
    }

    fn change(&mut self, parameters: &Parameters, clock: WireClock) -> Result<(), Error> {
        self.reconfigure(parameters.clone(), self.reservations.clone(), clock.now)
    }

    fn set_port(&mut self, port: Port, clock: WireClock) {
        let WireTime { since, free, .. } = self.wire;
        (self.port, self.wire) = (port, WireTime { since, free, ..WireTime::new(port) });
        self.nodes.leaves.iter_mut().for_each(|leaf| leaf.queue.set_port(port, clock));
    }

    fn reserve(&mut self, request: &Request, clock: WireClock) -> Result<(), Refusal> {
        Ok(self.reconfigure(self.base.clone(), self.reservations.with(request)?, clock.now)?)
    }

    /// Queued packets of the class are sent after all others, at its rate or faster.
    fn release(&mut self, name: &str, clock: WireClock) -> Result<(), Refusal> {
        Ok(self.reconfigure(self.base.clone(), self.reservations.without(name)?, clock.now)?)
    }

    fn reservations(&self) -> &[Request] {
        self.reservations.list()
    }

    fn is_empty(&self) -> bool {
        self.backlogged == 0
    }

    fn statistics(&self) -> Statistics {
        let mut sum = self.retired;
        for leaf in &self.nodes.leaves {
            sum += leaf.queue.statistics();
        }
        Statistics { backlog_bytes_max: self.bytes_max, ..sum }
    }

    fn classes(&self, each: &mut dyn FnMut(usize, &str, Statistics)) {
        let leaves = self.nodes.leaves.iter().enumerate();
        for (number, leaf) in leaves.filter(|(_, leaf)| !leaf.leaving || !leaf.queue.is_empty()) {
            each(number, &leaf.name, leaf.queue.statistics());
        }
    }
}
