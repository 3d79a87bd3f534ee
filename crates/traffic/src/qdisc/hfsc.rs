//! Hierarchical fair service curves: a class's delay and its share of the link are set separately (Stoica,
//! Zhang, Ng: A hierarchical fair service curve algorithm, SIGCOMM 1997 and IEEE/ACM Transactions on
//! Networking 8(2), 2000; the upper limit is ALTQ's).
//!
//! Two criteria choose the packet. While a guaranteed class is eligible, that is, waiting longer could break
//! some guarantee, the class with the earliest deadline sends (real time). Otherwise, from the top of the
//! tree down, the sibling with the least virtual time sends, among those within their upper limit
//! (link-sharing).
//!
//! Laws, all tested: a guaranteed packet is sent at most one longest frame's time after its deadline;
//! siblings that stay backlogged receive the service of their link-share curves, to one packet each;
//! link-sharing exceeds no upper limit by more than one packet.
//!
//! Departures from the paper and from ALTQ:
//! - A class that becomes backlogged starts at the virtual time of the sibling that sent last, not in the
//!   middle between the least and the greatest. Start-time fair queueing does the same (Goyal, Vin, Cheng,
//!   SIGCOMM 1996), so its bound for fairness holds, and there is no need to find the greatest one.
//! - Minima of curves are exact also where ALTQ keeps one of the two (see [`curve`]).
//! - A class may catch up with its upper limit for the delay by other classes' frames, but not more; ALTQ
//!   allows a tick of its clock.

use alloc::boxed::Box;
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use crate::classify::Classifier;
use crate::discipline::{Backlog, Dequeued, Discipline, Enqueued, Port, Statistics, WireClock};
use crate::packets::Packets;
use crate::qdisc::page::Page;
use crate::qdisc::promises::{PastPromise, Reservations};
use crate::reservation::{Refusal, Request};
use base::packet::{ETHERNET_HEADER_AND_FCS, PacketId};
use base::units::{Bytes, Duration, Instant};

mod admission;
mod curve;
mod early;
mod error;
mod leaf;
mod parameters;
mod reservation;
mod takeover;
mod turns;

use admission::Guarantee;
use curve::RuntimeCurve;
pub use error::{Error, Kind};
use leaf::Leaf;
use parameters::{Checked, Curves};
pub use parameters::{Class, Parameters};
use turns::{Criterion, HeapIndex, Turns};

/// The catalogue page, apart from the settings.
pub(super) const PAGE: Page = Page {
    what: "A tree of classes, each with up to three curves: its real-time guarantee, its weight among \
         siblings, and its upper limit when it sends by weight. A curve has two slopes, so a class may have \
         a short delay without a high rate.",
    when: "For delay bounds of voice and video beside bulk traffic, with the remaining rate divided by a \
         tree. Real-time curves together must fit the link. Not where only rates matter: `cbq` or `drr` need \
         fewer lines for that.",
    sources: &[
        "Stoica, Zhang and Ng, \"A Hierarchical Fair Service Curve Algorithm for Link-Sharing, \
         Real-Time and Priority Services\", SIGCOMM 1997; IEEE/ACM Transactions on Networking \
         8(2), 2000: both criteria, curves of two pieces",
        "Goyal, Vin and Cheng, \"Start-time Fair Queuing\", SIGCOMM 1996: where a class's \
         virtual time starts",
        "ALTQ 3.1, `altq_hfsc`: the upper limit",
    ],
};

/// A class at run time: its curves in two cache lines, then its queue.
#[derive(Debug)]
#[repr(C, align(64))]
struct Node {
    /// Deadlines against time, at the service received by the real-time criterion.
    real_time: Option<RuntimeCurve>,
    /// Virtual time of its parent, at all service received.
    link_share: Option<RuntimeCurve>,
    /// Time, at all service received.
    upper_limit: Option<Box<RuntimeCurve>>,
    /// The bytes that the next packet counts for; known while the class has a guarantee and packets.
    next_bytes: u64,
    /// The parent, or [`Hfsc::root`].
    parent: u32,
    /// Whether the class has no children.
    is_leaf: bool,
    /// Whether the class, a leaf, takes part because it has packets.
    active: bool,
    /// Whether its guarantee continues, rather than starts, when it takes part again after a change.
    goes_on: bool,
    /// Whether its turns among its siblings continue then.
    goes_on_sharing: bool,
    /// The queue, used if the class has no children.
    leaf: Leaf,
}

const _: () = assert!(core::mem::offset_of!(Node, leaf) <= 128, "curves are in two cache lines");

/// The link-sharing turns of the children of a class, or of the classes at the top.
#[derive(Debug)]
struct Siblings {
    /// Turns by virtual time, each from its fit time on.
    turns: Turns,
    /// The virtual time of the child that sent last.
    virtual_time: u128,
    /// The greatest virtual time of a child when it became idle.
    virtual_time_last: u128,
}

/// The next action of the wire.
enum Choice {
    /// The first packet of a leaf, by the real-time criterion or by link-sharing.
    Leaf {
        index: usize,
        real_time: bool,
    },
    NotBefore(Instant),
    Empty,
}

/// Hierarchical fair service curves.
#[derive(Debug)]
pub struct Hfsc {
    port: Port,
    overhead: u64,
    /// The time of a longest frame on the wire, in picoseconds.
    frame_time: u128,
    classifier: Classifier,
    default: usize,
    nodes: Vec<Node>,
    names: Vec<String>,
    /// The turns of each class's children, and last those of the classes at the top.
    siblings: Vec<Siblings>,
    /// Turns by deadline, each from its eligible time on.
    deadlines: Turns,
    seats: HeapIndex,
    /// Leaves that take part.
    active: u64,
    /// Leaves that were empty at a peek but may hold packets to discard.
    emptied: Vec<usize>,
    /// The class that is expected to send next, if its record was asked for.
    expected: usize,
    backlog: Backlog,
    backlog_bytes_max: u64,
    /// The newest `now` seen.
    latest: Instant,
    /// The parameters with the reservations' classes.
    parameters: Parameters,
    /// The parameters without them.
    base: Parameters,
    reservations: Reservations,
    past_promises: Vec<PastPromise<Guarantee>>,
}

fn ps(instant: Instant) -> u128 {
    instant.as_ps().into()
}

/// The time of a curve in the clock's range, which is shorter than that of some curves.
#[inline]
fn clock(ps: u128) -> u64 {
    u64::try_from(ps).unwrap_or(u64::MAX)
}

/// The time of a longest frame on the wire.
fn wire_time_max(port: Port) -> Duration {
    let frame = port.mtu.0.saturating_add(u64::from(ETHERNET_HEADER_AND_FCS));
    port.rate.time_for(Bytes(frame.saturating_add(port.overhead.0)))
}

impl Hfsc {
    /// The most that a packet counts for.
    fn frame_max(&self) -> u64 {
        self.port.mtu.0.saturating_add(u64::from(ETHERNET_HEADER_AND_FCS) + self.overhead)
    }

    /// The place of the classes at the top in [`Hfsc::siblings`].
    fn root(&self) -> usize {
        self.nodes.len()
    }

    /// Chooses the class that sends, and the criterion.
    #[inline]
    fn choose(&mut self, now: Instant) -> Choice {
        let at = now.as_ps();
        if let Some(index) = self.deadlines.first(at, &mut self.seats) {
            return Choice::Leaf { index, real_time: true };
        }
        let mut within = self.root();
        while let Some(index) = self.siblings[within].turns.first(at, &mut self.seats) {
            if self.nodes[index].is_leaf {
                return Choice::Leaf { index, real_time: false };
            }
            within = index;
        }
        // A class is fit no earlier than one of its children, so the way down ends at a leaf.
        debug_assert_eq!(within, self.root());
        let shared = self.siblings[within].turns.earliest(at, &mut self.seats);
        let guaranteed = self.deadlines.earliest(at, &mut self.seats);
        match [guaranteed, shared].into_iter().flatten().min() {
            Some(then) => Choice::NotBefore(Instant::from_ps(then)),
            None => Choice::Empty,
        }
    }

    /// Updates the turns of a class with packets or active children, after its virtual time, its fit time or
    /// its children changed; then those of its ancestors.
    fn take_turns(&mut self, mut index: usize, now: Instant) {
        while index != self.root() {
            let parent = self.nodes[index].parent as usize;
            self.take_turn(index, now);
            index = parent;
        }
    }

    #[inline]
    fn take_turn(&mut self, index: usize, now: Instant) {
        let node = &self.nodes[index];
        let Some(share) = &node.link_share else { return };
        let children = if node.is_leaf {
            node.active.then_some(0)
        } else {
            self.siblings[index].turns.earliest(now.as_ps(), &mut self.seats)
        };
        let (parent, virtual_time) = (node.parent as usize, share.position());
        let siblings = &mut self.siblings[parent];
        let Some(children) = children else {
            siblings.turns.leave(index, &mut self.seats);
            siblings.virtual_time_last = siblings.virtual_time_last.max(virtual_time);
            if siblings.turns.is_empty() {
                siblings.virtual_time = siblings.virtual_time.max(siblings.virtual_time_last);
            }
            return;
        };
        let fit =
            node.upper_limit.as_ref().map_or(0, |limit| clock(limit.position())).max(children);
        siblings.turns.set(index, fit, virtual_time, now.as_ps(), &mut self.seats);
    }

    /// Lets a leaf take part from `now` on; separate from [`Discipline::enqueue`], to keep that fast.
    #[inline(never)]
    fn activate(&mut self, index: usize, now: Instant) {
        self.active += 1;
        let node = &mut self.nodes[index];
        node.active = true;
        if let Some(course) = &mut node.real_time
            && !node.goes_on
        {
            course.restart(ps(now));
        }
        self.set_deadline(index, now);
        let mut at = index;
        while at != self.root() {
            let node = &mut self.nodes[at];
            if !self.seats.is_taken(at, Criterion::LinkShare) && !node.goes_on_sharing {
                if let Some(course) = &mut node.link_share {
                    course.restart(self.siblings[node.parent as usize].virtual_time);
                }
                if let Some(course) = &mut node.upper_limit {
                    course.restart(ps(now));
                }
            }
            let parent = node.parent as usize;
            self.take_turn(at, now);
            at = parent;
        }
    }

    /// Removes an empty leaf from the turns.
    #[cold]
    fn deactivate(&mut self, index: usize, now: Instant) {
        self.active -= 1;
        self.nodes[index].active = false;
        self.deadlines.leave(index, &mut self.seats);
        self.take_turns(index, now);
    }

    /// The deadline of a leaf's next packet (paper, eq. 6 and 7).
    #[inline]
    fn set_deadline(&mut self, index: usize, now: Instant) {
        let node = &self.nodes[index];
        let Some(course) = &node.real_time else { return };
        let (eligible, deadline) = (course.eligible(), course.position_after(node.next_bytes));
        let seats = &mut self.seats;
        self.deadlines.set(index, clock(eligible), deadline, now.as_ps(), seats);
    }

    /// Determines the bytes that the leaf's next packet counts for, if they are needed.
    #[inline]
    fn look(&mut self, index: usize, packets: &Packets, now: Instant) {
        let node = &mut self.nodes[index];
        if node.real_time.is_some()
            && let Dequeued::Send(id) = node.leaf.peek(packets, now)
        {
            node.next_bytes = u64::from(packets[id].length) + self.overhead;
        }
    }

    /// Counts a packet that a leaf sent in its curves and those of its ancestors, and updates their turns.
    #[inline]
    fn charge(&mut self, index: usize, bytes: u64, real_time: bool, now: Instant) {
        let (frame_time, active) = (self.frame_time, u128::from(self.active));
        let mut at = index;
        while let Some(node) = self.nodes.get_mut(at) {
            let parent = node.parent as usize;
            if let Some(course) = &mut node.link_share
                && self.seats.is_taken(at, Criterion::LinkShare)
            {
                if !real_time {
                    let siblings = &mut self.siblings[parent];
                    // A class that its upper limit held back has no claim to the service of others in the
                    // meantime.
                    course.hold_until(siblings.virtual_time);
                    siblings.virtual_time = course.position();
                }
                course.advance(bytes);
            }
            if let Some(course) = &mut node.upper_limit {
                // How late a packet released by its limit may be sent without losing time: one longest frame
                // of each other class before it, and one already on the wire.
                course.catch_up(ps(now).saturating_sub(frame_time * active));
                course.advance(bytes);
            }
            self.take_turn(at, now);
            at = parent;
        }
    }

    /// Takes a packet from a leaf; `None` if it had none left to send.
    #[inline]
    fn send(
        &mut self,
        index: usize,
        real_time: bool,
        packets: &mut Packets,
        now: Instant,
    ) -> Option<PacketId> {
        let Dequeued::Send(id) = self.dequeue_leaf(index, packets, now) else {
            self.deactivate(index, now);
            return None;
        };
        let bytes = u64::from(packets[id].length) + self.overhead;
        let node = &mut self.nodes[index];
        if real_time && let Some(course) = &mut node.real_time {
            course.advance(bytes);
        }
        let is_empty = node.leaf.is_empty();
        let is_next_looked_at = !is_empty && node.real_time.is_some();
        if is_empty {
            node.active = false;
            self.deadlines.leave(index, &mut self.seats);
        } else if is_next_looked_at {
            node.leaf.prefetch_first(packets);
        }
        self.charge(index, bytes, real_time, now);
        if is_next_looked_at {
            self.look(index, packets, now);
            self.set_deadline(index, now);
        }
        self.active -= u64::from(is_empty);
        Some(id)
    }

    /// Dequeues from a leaf, which may discard packets too.
    #[inline]
    fn dequeue_leaf(&mut self, index: usize, packets: &mut Packets, now: Instant) -> Dequeued {
        let leaf = &mut self.nodes[index].leaf;
        let before = leaf.backlog();
        let answer = leaf.dequeue(packets, now);
        self.backlog.account(before, leaf.backlog());
        answer
    }

    /// Lets leaves that were empty at a peek discard the packets that they will not send.
    #[cold]
    fn drain_emptied(&mut self, packets: &mut Packets, now: Instant) {
        while let Some(index) = self.emptied.pop() {
            if !self.nodes[index].active {
                self.dequeue_leaf(index, packets, now);
            }
        }
    }

    #[inline(never)]
    fn build(checked: Checked, base: Parameters, parameters: Parameters, port: Port) -> Self {
        let classes = parameters.classes.len();
        let root = classes;
        let node = |(index, leaf): (usize, Leaf)| {
            let Curves { real_time, link_share, upper_limit } = checked.curves[index];
            let course = |curve| RuntimeCurve::starting(curve, 0);
            Node {
                real_time: real_time.map(course),
                link_share: link_share.map(course),
                upper_limit: upper_limit.map(|curve| Box::new(course(curve))),
                next_bytes: port.mtu.0.saturating_add(u64::from(ETHERNET_HEADER_AND_FCS)),
                parent: checked.tree.parents[index].unwrap_or(root) as u32,
                is_leaf: checked.tree.children[index].is_empty(),
                active: false,
                goes_on: false,
                goes_on_sharing: false,
                leaf,
            }
        };
        let nodes = checked.leaves.into_iter().enumerate().map(node).collect();
        let mut ranks = vec![0; classes];
        for children in checked.tree.children.iter().chain([&checked.tree.tops]) {
            (0..).zip(children).for_each(|(rank, &child)| ranks[child] = rank);
        }
        let children = checked.tree.children.iter().chain([&checked.tree.tops]);
        let siblings = |children: &Vec<usize>| Siblings {
            turns: Turns::new(Criterion::LinkShare, children.len()),
            virtual_time: 0,
            virtual_time_last: 0,
        };
        let siblings = children.map(siblings).collect();
        Self {
            port,
            overhead: parameters.overhead.0,
            frame_time: wire_time_max(port).as_ps().into(),
            classifier: checked.tree.classifier,
            default: checked.default,
            nodes,
            names: parameters.classes.iter().map(|class| class.name.clone()).collect(),
            siblings,
            deadlines: Turns::new(Criterion::RealTime, classes),
            seats: HeapIndex::new(&ranks),
            active: 0,
            emptied: Vec::with_capacity(classes),
            expected: usize::MAX,
            backlog: Backlog::default(),
            backlog_bytes_max: 0,
            latest: Instant::ZERO,
            parameters,
            base,
            reservations: Reservations::default(),
            past_promises: Vec::new(),
        }
    }
}

impl Discipline for Hfsc {
    type Parameters = Parameters;
    type Error = Error;

    fn attach(parameters: &Parameters, port: Port) -> Result<Self, Error> {
        let checked = parameters::check(parameters, port)?;
        Ok(Self::build(checked, parameters.clone(), parameters.clone(), port))
    }

    fn change(&mut self, parameters: &Parameters, clock: WireClock) -> Result<(), Error> {
        self.reconfigure(parameters.clone(), self.reservations.clone(), clock.now)
    }

    fn set_port(&mut self, port: Port, clock: WireClock) {
        self.port = port;
        self.nodes.iter_mut().for_each(|node| node.leaf.set_port(port, clock));
    }

    fn reserve(&mut self, request: &Request, clock: WireClock) -> Result<(), Refusal> {
        Ok(self.reconfigure(self.base.clone(), self.reservations.with(request)?, clock.now)?)
    }

    /// Queued packets of the class go to the default class.
    fn release(&mut self, name: &str, clock: WireClock) -> Result<(), Refusal> {
        Ok(self.reconfigure(self.base.clone(), self.reservations.without(name)?, clock.now)?)
    }

    fn reservations(&self) -> &[Request] {
        self.reservations.list()
    }

    fn prepare_for(&mut self, packets: usize) {
        self.nodes.iter_mut().for_each(|node| node.leaf.prepare_for(packets));
    }

    #[inline(never)]
    fn enqueue(
        &mut self,
        packets: &mut Packets,
        packet: PacketId,
        WireClock { now, .. }: WireClock,
    ) -> Enqueued {
        self.latest = now;
        self.prefetch_packet(packets);
        let index = self.classifier.class_of(packets, packet).unwrap_or(self.default);
        packets[packet].enter_class(index);
        let node = &mut self.nodes[index];
        let before = node.leaf.backlog();
        let answer = node.leaf.enqueue(packets, packet, now);
        self.backlog.account(before, node.leaf.backlog());
        self.backlog_bytes_max = self.backlog_bytes_max.max(self.backlog.bytes);
        // A leaf with packets takes part, unless it was found empty: most packets need no look at its
        // curves.
        let may_be_idle = before.packets == 0 || !self.emptied.is_empty();
        if may_be_idle && !node.active && !node.leaf.is_empty() {
            self.look(index, packets, now);
            self.activate(index, now);
        }
        answer
    }

    #[inline(never)]
    fn dequeue(&mut self, packets: &mut Packets, WireClock { now, .. }: WireClock) -> Dequeued {
        self.latest = now;
        if !self.emptied.is_empty() {
            self.drain_emptied(packets, now);
        }
        loop {
            match self.choose(now) {
                Choice::Leaf { index, real_time } => {
                    if let Some(id) = self.send(index, real_time, packets, now) {
                        if self.has_many() {
                            self.prefetch_class(now);
                        }
                        return Dequeued::Send(id);
                    }
                }
                Choice::NotBefore(then) => return Dequeued::NotBefore(then),
                Choice::Empty => return Dequeued::Empty,
            }
        }
    }

    fn peek(&mut self, packets: &Packets, WireClock { now, .. }: WireClock) -> Dequeued {
        loop {
            match self.choose(now) {
                Choice::Leaf { index, .. } => match self.nodes[index].leaf.peek(packets, now) {
                    Dequeued::Send(id) => return Dequeued::Send(id),
                    _ => {
                        // Not at `now`, which may be a look ahead.
                        self.deactivate(index, self.latest);
                        self.emptied.push(index);
                    }
                },
                Choice::NotBefore(then) => return Dequeued::NotBefore(then),
                Choice::Empty => return Dequeued::Empty,
            }
        }
    }

    fn flush(&mut self, packets: &mut Packets, now: Instant) {
        self.latest = now;
        for index in 0..self.nodes.len() {
            self.nodes[index].leaf.flush(packets, now);
            if self.nodes[index].active {
                self.deactivate(index, now);
            }
        }
        self.emptied.clear();
        self.backlog = Backlog::default();
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.backlog.packets == 0
    }

    fn statistics(&self) -> Statistics {
        let mut sum = Statistics::default();
        for node in &self.nodes {
            sum += node.leaf.statistics();
        }
        Statistics { backlog_bytes_max: self.backlog_bytes_max, ..sum }
    }

    fn classes(&self, each: &mut dyn FnMut(usize, &str, Statistics)) {
        for (number, (name, node)) in self.names.iter().zip(&self.nodes).enumerate() {
            each(number, name, node.leaf.statistics());
        }
    }
}
