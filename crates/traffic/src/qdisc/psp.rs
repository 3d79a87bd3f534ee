//! Precise software pacing with gap packets (paper 0, sections 3 and 5; known later as PSPacer).
//!
//! Packets leave back to back with gap frames between them, so the wire itself is the clock and a packet is
//! due to the byte. Each bottleneck is a class with its own rate. A gap is filled with another class's packet
//! or an unclassified one, if there is any, before a gap frame.
//!
//! Laws, all tested: a backlogged class sends at its rate to one byte a packet, because it catches up on the
//! delay by other classes' frames; an idle class earns no credit; a gap too short for a gap frame is carried
//! to the next gap; a class's children together keep to its rate.

use alloc::boxed::Box;
use alloc::collections::{BTreeMap, VecDeque};
use alloc::string::String;
use alloc::vec;
use alloc::vec::Vec;

use crate::classify::Classifier;
use crate::discipline::{
    Backlog, Dequeued, Discipline, Enqueued, Measured, Port, Statistics, WireClock,
};
use crate::many::MANY;
use crate::packets::Packets;
use crate::qdisc::fifo::Fifo;
use crate::qdisc::page::Page;
use base::packet::{ETHERNET_HEADER_AND_FCS, Packet, PacketId};
use base::prefetch::prefetch;
use base::units::{Bytes, Instant};

mod clock;
mod delivery;
mod flows;
mod gap;
mod order;
mod pacer;
mod parameters;

use clock::ByteClock;
use delivery::Delivery;
use gap::GapFrames;
use order::{Order, Turn};
use pacer::Pacer;
pub use parameters::{Class, Error, PacingRate, Parameters};

/// The catalogue page, apart from the settings.
pub(super) const PAGE: Page = Page {
    what: "Between packets it sends gap frames: PAUSE frames that the next switch discards, with exactly the \
         length that gives the configured rate. The link is the clock, so the spacing of packets is exact to \
         the byte. Each class has its own rate, and so has a class with children. A packet of another class \
         is sent in a gap before a gap frame is. With the rate \"measured\", the class measures the \
         bottleneck: the ACKs that return through the port show how fast a train of its packets left the \
         bottleneck, and now and then 16 packets in a row test for a higher rate. This works for TCP only, \
         with any stack.",
    when: "At a sender in front of a long fat pipe whose buffer its bursts would overflow. Set the \
         bottleneck's rate, or let it be measured if it is unknown. Not on a link that other hosts share, \
         which gap frames would fill, unless `gaps` is false.",
    sources: &[
        "Dovrolis, Ramanathan, Moore, \"What Do Packet Dispersion Techniques Measure?\", INFOCOM 2001: \
         a rate that is measured",
        "Takano et al., \"Precise Software Pacing Method for Long Fat Pipe Communication\" \
         (paper 0; later PSPacer), sections 3.1 to 3.4 and 5",
    ],
};

/// A class as it runs. The fields that each packet uses come first, in two cache lines.
#[derive(Debug)]
#[repr(C, align(64))]
struct Node {
    pacer: Pacer,
    /// The byte times that the class may be late and still catch up.
    lateness_max: u64,
    /// The measurement of the rate, if it is measured.
    delivery: Option<Box<Delivery>>,
    parent: Option<u32>,
    /// The queue; empty in a class that has children.
    queue: Fifo,
    name: String,
    /// The place in the file.
    index: usize,
}

/// The cache lines of a class that a packet uses: that of the pacer, and that of the queue.
const LINES: usize = 2;
const _: () = assert!(core::mem::offset_of!(Node, queue) == 64, "the queue starts a cache line");

impl Node {
    /// Records the departure of a packet of a class that measures its rate, and applies the current rate.
    #[inline(never)]
    fn measure(&mut self, packet: &Packet, port: Port, clock: WireClock) {
        let Some(delivery) = &mut self.delivery else { return };
        let waiting = self.queue.backlog().packets;
        let silent = delivery.sent(packet, waiting, clock.now.max(clock.free));
        self.pacer = self.pacer.with_rate(delivery.pace(), port.rate);
        self.pacer.wait(silent);
    }
}

/// The next action of the wire.
enum Choice {
    /// The first packet of a class.
    Class,
    /// The first packet without a class.
    Unclassified,
    /// A gap frame of this length, before the first class is due.
    Gap(Bytes),
    NotBefore(Instant),
    Empty,
}

/// Precise pacing with gap packets.
#[derive(Debug)]
pub struct Psp {
    port: Port,
    /// The gap frames; `None` if the driver's timer makes the gaps.
    gaps: Option<GapFrames>,
    clock: ByteClock,
    classifier: Classifier,
    nodes: Vec<Node>,
    /// The nodes that have packets queued.
    order: Order,
    /// The first of them to send.
    next: Option<Turn>,
    unclassified: Fifo,
    /// The queues of removed classes, and of classes that got children. Their packets go before the unclassified ones.
    left: VecDeque<Fifo>,
    backlog_bytes: u64,
    backlog_bytes_max: u64,
    /// The counters of removed classes.
    retired: Statistics,
}

impl Psp {
    /// Handles the first packet of an empty queue; separate from [`Discipline::enqueue`], to keep that fast.
    #[inline(never)]
    fn wake(&mut self, class: Option<usize>, wire: WireClock) {
        // The packet is in its queue, but its class is not yet in the order.
        let wire_idle = self.next.is_none()
            && self.left.is_empty()
            && (class.is_none() || self.unclassified.is_empty());
        // Without gap frames, the wire idles while a class waits.
        if wire_idle || self.gaps.is_none() {
            self.clock.idle(wire);
        }
        let Some(index) = class else { return };
        let pacer = &mut self.nodes[index].pacer;
        if pacer.due() < self.clock.position() {
            pacer.forfeit_before(self.clock.position_now(wire));
        }
        self.order.set(index, Some(pacer.due()));
        self.next = self.order.first();
    }

    // Forced inline: a call costs a packet 8 % more instructions.
    #[inline(always)]
    fn choose(&self, clock: &ByteClock, wire: WireClock) -> Choice {
        let Some(next) = self.next else {
            return if self.all_have_classes() { Choice::Empty } else { Choice::Unclassified };
        };
        let wait = next.release.saturating_sub(clock.position());
        // A gap too short for a gap frame is carried over: this packet goes early, the next gap is longer.
        let unfillable = self.gaps.map_or(1, |gaps| gaps.wire_min());
        if wait < unfillable {
            return Choice::Class;
        }
        if !self.all_have_classes() {
            return Choice::Unclassified;
        }
        match &self.gaps {
            Some(gaps) => Choice::Gap(gaps.first(wait)),
            None => Choice::NotBefore(clock.instant_of(next.release, wire)),
        }
    }

    fn send_class(&mut self, packets: &mut Packets, clock: WireClock) -> Dequeued {
        let Some(next) = self.next else { return Dequeued::Empty };
        let index = next.leaf as usize;
        let node = &mut self.nodes[index];
        let Some(packet) = node.queue.pop(packets) else {
            return Dequeued::Empty;
        };
        let length = u64::from(packets[packet].length);
        let wire = length + self.port.overhead.0;
        if node.delivery.is_some() {
            node.measure(&packets[packet], self.port, clock);
        }
        node.pacer.forfeit_before(self.clock.position().saturating_sub(node.lateness_max));
        // The parent receives the packet when its child releases it, and not before: a parent with children
        // that do not use its rate earns no credit either.
        let mut start = node.pacer.charge(0, length, wire);
        let due = (!node.queue.is_empty()).then(|| node.pacer.due());
        let mut above = node.parent;
        while let Some(parent) = above {
            let node = &mut self.nodes[parent as usize];
            start = node.pacer.charge(start, length, wire);
            self.order.set_group(parent as usize, node.pacer.due());
            above = node.parent;
        }
        self.order.set(index, due);
        self.next = self.order.first();
        if let Some(next) = self.next
            && self.nodes.len() > MANY
        {
            prefetch(&self.nodes[next.leaf as usize], LINES);
            self.order.prefetch(next);
        }
        self.send(packet, length)
    }

    fn send(&mut self, packet: PacketId, length: u64) -> Dequeued {
        self.clock.occupy(length + self.port.overhead.0);
        self.backlog_bytes -= length;
        Dequeued::Send(packet)
    }

    /// Whether every queued packet is in the queue of a class.
    #[inline]
    fn all_have_classes(&self) -> bool {
        self.unclassified.is_empty() && self.left.is_empty()
    }

    /// Keeps the packets of a queue whose class is gone, or has children now.
    fn leave(&mut self, queue: Fifo) {
        if queue.is_empty() {
            self.retired += queue.statistics();
        } else {
            self.left.push_back(queue);
        }
    }

    /// The queue of the first packet without a class.
    fn first_without_class(&self) -> &Fifo {
        self.left.front().unwrap_or(&self.unclassified)
    }

    // Apart, so that `dequeue` saves no registers for it.
    #[inline(never)]
    fn pop_without_class(&mut self, packets: &Packets) -> Option<PacketId> {
        let Some(first) = self.left.front_mut() else { return self.unclassified.pop(packets) };
        let id = first.pop(packets);
        if first.is_empty() {
            self.retired += first.statistics();
            self.left.pop_front();
        }
        id
    }

    // Apart from the checks before: a kernel's stack is small.
    #[inline(never)]
    fn replace_nodes(&mut self, nodes: Vec<Node>, parameters: &Parameters) {
        let mut old = BTreeMap::new();
        for node in core::mem::replace(&mut self.nodes, nodes) {
            old.insert(node.name.clone(), Box::new(node));
        }
        let mut has_children = vec![false; self.nodes.len()];
        self.nodes
            .iter()
            .filter_map(|node| node.parent)
            .for_each(|p| has_children[p as usize] = true);
        for (index, class) in parameters.classes.iter().enumerate() {
            let Some(mut was) = old.remove(&class.name) else { continue };
            let node = &mut self.nodes[index];
            if let (PacingRate::Measured, Some(known)) = (class.rate, was.delivery) {
                node.delivery = Some(known);
            }
            let measured = node.delivery.as_ref().map(|delivery| delivery.pace());
            let rate = class.rate.given().or(measured).unwrap_or(self.port.rate);
            node.pacer = was.pacer.with_rate(rate, self.port.rate);
            if has_children[index] {
                self.leave(was.queue);
            } else {
                was.queue.limit(&class.queue);
                node.queue = was.queue;
            }
        }
        // Sorted, so that their queued packets keep their order.
        let mut gone: Vec<Box<Node>> = old.into_values().collect();
        gone.sort_unstable_by_key(|node| node.index);
        for gone in gone {
            self.leave(gone.queue);
        }
        let parent = |node: &Node| node.parent.map(|parent| parent as usize);
        let parents: Vec<_> = self.nodes.iter().map(parent).collect();
        self.order = Order::new(&parents);
        for (index, node) in self.nodes.iter().enumerate() {
            self.order.set_group(index, node.pacer.due());
        }
        for (index, node) in self.nodes.iter().enumerate() {
            if !node.queue.is_empty() {
                self.order.set(index, Some(node.pacer.due()));
            }
        }
        self.next = self.order.first();
    }
}

/// The classes of checked parameters, without packets.
fn nodes(
    parameters: &Parameters,
    parents: &[Option<usize>],
    port: Port,
) -> Result<Vec<Node>, Error> {
    let mut children = vec![0; parents.len()];
    parents.iter().flatten().for_each(|&parent| children[parent] += 1);
    let node = |(index, class): (usize, &Class)| {
        let queue = Fifo::attach(&class.queue, port)
            .map_err(|error| Error::Queue { class: class.name.clone(), error })?;
        Ok(Node {
            name: class.name.clone(),
            index,
            parent: parents[index].map(|parent| parent as u32),
            pacer: Pacer::new(class.rate.given().unwrap_or(port.rate), port.rate),
            delivery: match class.rate {
                PacingRate::Given(_) => None,
                PacingRate::Measured => Some(Box::new(Delivery::new(port))),
            },
            lateness_max: lateness_max(parameters, parents, &children, index, port),
            queue,
        })
    };
    parameters.classes.iter().enumerate().map(node).collect()
}

/// The byte times that a class can be late if its ancestors and the link have room for its rate.
///
/// Packets leave in the order of their due times. On the link, at most one packet of every other class and
/// one frame already on the wire precede a packet; within each ancestor, at most one packet of every other
/// child (the delay bound of Goyal, Vin, Cheng: Start-time Fair Queueing, SIGCOMM 1996). A class that falls
/// further behind was promised more than the link has (with frames far below the MTU, preamble and gap cost
/// more than the rates leave); without a bound it would hoard credit.
fn lateness_max(
    parameters: &Parameters,
    parents: &[Option<usize>],
    children: &[u64],
    class: usize,
    port: Port,
) -> u64 {
    let frame = port.mtu.0.saturating_add(ETHERNET_HEADER_AND_FCS.into());
    let wire = frame.saturating_add(port.overhead.0);
    let mut sum = wire
        .saturating_mul(parents.len() as u64 + 1)
        .saturating_add(GapFrames::new(port).wire_min());
    let mut above = parents[class];
    while let Some(ancestor) = above {
        let rate = parameters.classes[ancestor].rate.given().unwrap_or(port.rate);
        let mut pacer = Pacer::new(rate, port.rate);
        pacer.charge(0, frame, wire);
        sum = sum.saturating_add(pacer.due().saturating_mul(children[ancestor]));
        above = parents[ancestor];
    }
    sum
}

impl Discipline for Psp {
    type Parameters = Parameters;
    type Error = Error;

    fn attach(parameters: &Parameters, port: Port) -> Result<Self, Error> {
        let parameters = &*parameters.in_classes()?;
        let checked = parameters::check(parameters, port)?;
        let unclassified =
            Fifo::attach(&parameters.unclassified, port).map_err(Error::Unclassified)?;
        let nodes = nodes(parameters, &checked.parents, port)?;
        Ok(Self {
            port,
            gaps: parameters.gaps.then(|| GapFrames::new(port)),
            clock: ByteClock::new(port.rate),
            classifier: checked.classifier,
            order: Order::new(&checked.parents),
            next: None,
            nodes,
            unclassified,
            left: VecDeque::new(),
            backlog_bytes: 0,
            backlog_bytes_max: 0,
            retired: Statistics::default(),
        })
    }

    fn change(&mut self, parameters: &Parameters, clock: WireClock) -> Result<(), Error> {
        let parameters = &*parameters.in_classes()?;
        let checked = parameters::check(parameters, self.port)?;
        let nodes = nodes(parameters, &checked.parents, self.port)?;
        if self.gaps.is_none() {
            // From now on gap frames may move the clock.
            self.clock.idle(clock);
        }
        self.gaps = parameters.gaps.then(|| GapFrames::new(self.port));
        self.classifier = checked.classifier;
        self.unclassified.limit(&parameters.unclassified);
        self.replace_nodes(nodes, parameters);
        Ok(())
    }

    fn prepare_for(&mut self, _packets: usize) {
        self.nodes
            .iter_mut()
            .filter_map(|node| node.delivery.as_mut())
            .for_each(|delivery| delivery.prepare());
    }

    fn set_port(&mut self, port: Port, clock: WireClock) {
        let wire_idle = self.next.is_none() && self.all_have_classes();
        if wire_idle || self.gaps.is_none() {
            self.clock.idle(clock);
        }
        self.port = port;
        self.clock.set_rate(port.rate);
        self.unclassified.set_port(port, clock);
        self.left.iter_mut().for_each(|left| left.set_port(port, clock));
        for node in &mut self.nodes {
            node.queue.set_port(port, clock);
            node.pacer.set_line(port.rate);
            node.delivery.iter_mut().for_each(|delivery| delivery.set_port(port));
        }
    }

    // Not inlined, like `dequeue`: a port that runs another discipline need not save its registers.
    #[inline(never)]
    fn enqueue(&mut self, packets: &mut Packets, packet: PacketId, wire: WireClock) -> Enqueued {
        if self.nodes.len() > MANY
            && let Some(next) = self.next
            && let Some(first) = self.nodes[next.leaf as usize].queue.head()
        {
            packets.prefetch(first);
        }
        let class = self.classifier.class_of(packets, packet);
        packets[packet].enter_class(class.unwrap_or(self.nodes.len()));
        let queue = match class {
            Some(index) => &mut self.nodes[index].queue,
            None => &mut self.unclassified,
        };
        let class_idle = queue.is_empty();
        let answer = queue.enqueue(packets, packet, wire);
        if answer != Enqueued::Queued {
            return answer;
        }
        self.backlog_bytes += u64::from(packets[packet].length);
        self.backlog_bytes_max = self.backlog_bytes_max.max(self.backlog_bytes);
        if class_idle {
            self.wake(class, wire);
        }
        answer
    }

    #[inline(never)]
    fn dequeue(&mut self, packets: &mut Packets, wire: WireClock) -> Dequeued {
        if self.gaps.is_none() {
            self.clock.idle(wire);
        }
        match self.choose(&self.clock, wire) {
            Choice::Class => self.send_class(packets, wire),
            Choice::Unclassified => match self.pop_without_class(packets) {
                Some(packet) => self.send(packet, packets[packet].length.into()),
                None => Dequeued::Empty,
            },
            Choice::Gap(length) => {
                if let Some(next) = self.next {
                    self.nodes[next.leaf as usize].queue.count_gap(length);
                }
                self.clock.occupy(length.0 + self.port.overhead.0);
                Dequeued::Gap(length)
            }
            Choice::NotBefore(instant) => Dequeued::NotBefore(instant),
            Choice::Empty => Dequeued::Empty,
        }
    }

    fn peek(&mut self, _packets: &Packets, wire: WireClock) -> Dequeued {
        let mut clock = self.clock;
        if self.gaps.is_none() {
            clock.idle(wire);
        }
        let head = |queue: &Fifo| queue.head().map_or(Dequeued::Empty, Dequeued::Send);
        match self.choose(&clock, wire) {
            Choice::Class => {
                self.next.map_or(Dequeued::Empty, |n| head(&self.nodes[n.leaf as usize].queue))
            }
            Choice::Unclassified => head(self.first_without_class()),
            Choice::Gap(length) => Dequeued::Gap(length),
            Choice::NotBefore(instant) => Dequeued::NotBefore(instant),
            Choice::Empty => Dequeued::Empty,
        }
    }

    fn listens(&self) -> bool {
        self.nodes.iter().any(|node| node.delivery.is_some())
    }

    #[inline(never)]
    fn acknowledged(&mut self, packet: &Packet, now: Instant) {
        for node in &mut self.nodes {
            let Some(delivery) = &mut node.delivery else { continue };
            if delivery.acknowledged(packet, now) {
                node.pacer = node.pacer.with_rate(delivery.pace(), self.port.rate);
            }
        }
    }

    fn flush(&mut self, packets: &mut Packets, now: Instant) {
        for node in &mut self.nodes {
            node.queue.flush(packets, now);
        }
        for mut left in self.left.drain(..) {
            left.flush(packets, now);
            self.retired += left.statistics();
        }
        self.unclassified.flush(packets, now);
        self.order.clear();
        self.next = None;
        self.backlog_bytes = 0;
    }

    fn is_empty(&self) -> bool {
        self.next.is_none() && self.all_have_classes()
    }

    fn statistics(&self) -> Statistics {
        let mut sum = self.retired;
        sum += self.unclassified.statistics();
        self.left.iter().for_each(|left| sum += left.statistics());
        for node in &self.nodes {
            sum += node.queue.statistics();
        }
        Statistics { backlog_bytes_max: self.backlog_bytes_max, ..sum }
    }

    fn classes(&self, each: &mut dyn FnMut(usize, &str, Statistics)) {
        for (number, node) in self.nodes.iter().enumerate() {
            each(number, &node.name, node.queue.statistics());
        }
        let mut unclassified = self.unclassified.statistics();
        for left in &self.left {
            let Backlog { packets, bytes } = left.backlog();
            unclassified.backlog_packets += packets;
            unclassified.backlog_bytes += bytes;
        }
        each(self.nodes.len(), "unclassified", unclassified);
    }

    fn measured(&self, each: &mut dyn FnMut(&str, Measured)) {
        for node in &self.nodes {
            if let Some((rate, since)) = node.delivery.as_ref().and_then(|own| own.measured()) {
                each(&node.name, Measured { rate, since });
            }
        }
    }
}
