//! JoBS, joint buffer management and scheduling (Liebeherr and Christin, IWQoS 2001; Christin, Liebeherr and
//! Abdelzaher, "A quantitative assured forwarding service", INFOCOM 2002; ALTQ's `altq_jobs`): classes have a
//! guaranteed delay, loss share or rate, and delays and losses in proportion to each other.
//!
//! There is no admission control. Guarantees that cannot all hold are relaxed in this order, and each case is
//! counted ([`Discipline::relaxed`]):
//!
//! 1. relative delays and losses;
//! 2. delay bounds and rates, of the class listed last first;
//! 3. loss guarantees, of the class listed last first.
//!
//! A packet that has waited long enough to need its guarantee goes first, by earliest due time. Weights that
//! a closed loop sets share the rest ([`sharing`]). A full buffer drops from the end of the class with the
//! least loss relative to its number; a class without a relative loss drops the arriving packet. No class
//! loses packets beyond its guarantee while another one may lose. Each packet costs a look at each class (at
//! most 16), and for each class with a pressing guarantee a look at the other such classes, but never a look
//! at the queued packets.
//!
//! Laws, tested: if the due work fits, no packet waits longer than its bound and one frame's time, and a
//! class with packets has its rate over any time, less two packets; losses stay within the guarantee; delays
//! and losses under steady overload are in the given proportion.
//!
//! Departures from ALTQ: due times keep the guarantees, not rates that should suffice; ALTQ misses guarantees
//! by some packets. Shares are counted in bytes, not in time, so a link that pauses leaves no debt. A class
//! that must lose packets to keep its delay refuses arrivals, one packet at a time, where ALTQ may empty half
//! a queue. The loss guarantee covers the last megabytes, not the time since the counters started.

use alloc::vec;
use alloc::vec::Vec;

use crate::classify::Classifier;
use crate::discipline::{Dequeued, Discipline, Enqueued, Port, Relaxed, Statistics, WireClock};
use crate::packets::Packets;
use crate::qdisc::fifo;
use crate::qdisc::page::Page;
use crate::qdisc::queue::over;
use crate::qdisc::tally::Tally;
use base::drop_reason::DropReason;
use base::packet::{ETHERNET_HEADER_AND_FCS, PacketId};
use base::units::{Bytes, Duration, Instant};

mod brink;
mod class;
mod losses;
mod parameters;
mod plan;
mod sharing;

use class::Node;
pub use parameters::{CLASSES_MAX, Class, Error, Parameters, RELATIVE};
use plan::Plan;
use sharing::Sharing;

/// The catalogue page, apart from the settings.
pub(super) const PAGE: Page = Page {
    what: "Classes have guarantees: a delay, a share of losses or a rate, or delays and losses in proportion \
         to those of other classes. One decision determines which class sends and which loses packets. \
         Guarantees that cannot all be kept are relaxed in a defined order, and this is counted.",
    when: "For service classes on a link without admission control, where the guarantee of each class is \
         known and its load is not. Not for more than 16 classes, nor where a guarantee must never be \
         relaxed: use `hfsc` there, which refuses it in advance.",
    sources: &[
        "Liebeherr and Christin, \"JoBS: Joint Buffer Management and Scheduling for \
         Differentiated Services\", IWQoS 2001",
        "Christin, Liebeherr and Abdelzaher, \"A Quantitative Assured Forwarding Service\", \
         INFOCOM 2002: the closed loop",
        "ALTQ 3.1, `altq_jobs`",
    ],
};

/// Joint buffer management and scheduling.
#[derive(Debug)]
pub struct Jobs {
    port: Port,
    /// The time of the longest frame on the wire.
    frame: Duration,
    limits: fifo::Parameters,
    separate: bool,
    classifier: Classifier,
    default: usize,
    /// The classes as given; behind them removed classes that still have packets.
    nodes: Vec<Node>,
    sharing: Sharing,
    tally: Tally,
}

/// The next packet to send.
#[derive(Clone, Copy)]
struct Choice {
    index: usize,
    /// Whether a guarantee needs the packet sent, rather than its turn.
    urgent: bool,
}

impl Jobs {
    fn choose(&self, now: Instant) -> Option<Choice> {
        if let Some(index) = self.urgent(now) {
            return Some(Choice { index, urgent: true });
        }
        Sharing::choose(&self.nodes).map(|index| Choice { index, urgent: false })
    }

    /// The class that must send now to keep its guarantee.
    fn urgent(&self, now: Instant) -> Option<usize> {
        let mut plan = Plan::new(now, self.frame);
        for (index, node) in self.nodes.iter().enumerate() {
            if let Some(due) = node.due(now) {
                plan.admit(due, index);
            }
        }
        plan.first()
    }

    /// Counts a packet that arrived and is not taken.
    fn refuse(&mut self, index: usize, length: u64, reason: DropReason) -> Enqueued {
        self.nodes[index].lose(length);
        self.nodes[index].tally.refuse(length);
        self.tally.refuse(length);
        Enqueued::Dropped(reason)
    }

    /// The limit that one more packet would exceed.
    fn over(&self, index: usize, length: u64) -> Option<DropReason> {
        let tally = if self.separate { &self.nodes[index].tally } else { &self.tally };
        over(tally, &self.limits, length)
    }

    /// Makes room for a packet of class `arriving`; false if that packet is the one to drop.
    fn make_room(
        &mut self,
        packets: &mut Packets,
        arriving: usize,
        length: u64,
        reason: DropReason,
    ) -> bool {
        let victim = if self.separate { arriving } else { self.victim(packets, arriving, length) };
        if victim == arriving {
            return false;
        }
        let node = &mut self.nodes[victim];
        let Some(id) = node.pop_last(packets) else { return false };
        let length = packets[id].length.into();
        node.lose(length);
        self.tally.discard(length);
        packets.discard(id, reason);
        true
    }

    /// The class that loses a packet to a full buffer; if it is `arriving`, the arriving packet.
    fn victim(&mut self, packets: &Packets, arriving: usize, length: u64) -> usize {
        let own = &self.nodes[arriving];
        if own.class.relative_loss.is_none() && own.may_lose(length) {
            return arriving;
        }
        let mut candidates = Candidates::default();
        for (index, node) in self.nodes.iter_mut().enumerate() {
            let length = match node.last() {
                _ if index == arriving => length,
                Some(id) => packets[id].length.into(),
                None => continue,
            };
            candidates.look(index, node, length);
        }
        let Candidates { proportional, relative, longest, last } = candidates;
        let victim = relative.or(longest).map_or(last, |(_, index)| index);
        if let Some((_, kept)) = proportional.filter(|&(_, index)| index != victim) {
            self.nodes[kept].relaxed.relative_loss += 1;
        }
        victim
    }
}

/// The classes that could lose a packet, each with its criterion.
#[derive(Default)]
struct Candidates {
    /// The class with the least loss by its number, ignoring guarantees.
    proportional: Option<(u128, usize)>,
    /// The class with the least loss among those that may lose a packet within their guarantees.
    relative: Option<(u128, usize)>,
    /// Among the other classes that may lose a packet, the one with the most bytes queued.
    longest: Option<(u128, usize)>,
    /// The class listed last.
    last: usize,
}

impl Candidates {
    fn look(&mut self, index: usize, node: &Node, length: u64) {
        let least = |best: &mut Option<(u128, usize)>, key| {
            if best.is_none_or(|(least, _)| key <= least) {
                *best = Some((key, index));
            }
        };
        self.last = index;
        let allowed = node.may_lose(length);
        if let Some(relative) = node.class.relative_loss {
            let lost = node.losses.by(relative);
            least(&mut self.proportional, lost);
            if allowed {
                least(&mut self.relative, lost);
            }
        } else if allowed {
            least(&mut self.longest, u128::from(u64::MAX - node.tally.bytes()));
        }
    }
}

/// The time of the longest frame on the wire.
fn frame_time(port: Port) -> Duration {
    port.rate.time_for(port.mtu + Bytes(ETHERNET_HEADER_AND_FCS.into()) + port.overhead)
}

impl Discipline for Jobs {
    type Parameters = Parameters;
    type Error = Error;

    fn attach(parameters: &Parameters, port: Port) -> Result<Self, Error> {
        let (classifier, default) = parameters::check(parameters, port)?;
        Ok(Self {
            port,
            frame: frame_time(port),
            limits: parameters.limits(),
            separate: parameters.separate,
            classifier,
            default,
            nodes: parameters.classes.iter().map(|class| Node::new(class, port)).collect(),
            sharing: Sharing::default(),
            tally: Tally::default(),
        })
    }

    fn change(&mut self, parameters: &Parameters, _clock: WireClock) -> Result<(), Error> {
        (self.classifier, self.default) = parameters::check(parameters, self.port)?;
        (self.limits, self.separate) = (parameters.limits(), parameters.separate);
        let classes = &parameters.classes;
        let new = classes.iter().map(|class| Node::new(class, self.port)).collect();
        let mut kept = vec![false; classes.len()];
        for mut node in core::mem::replace(&mut self.nodes, new) {
            let place = classes.iter().position(|class| class.name == node.class.name);
            if let Some(index) = place.filter(|&index| !kept[index]) {
                kept[index] = true;
                node.change(classes[index].clone());
                self.nodes[index] = node;
            } else if !node.is_empty() {
                let name = node.class.name.clone();
                node.change(Class { name, ..Class::default() });
                self.nodes.push(node);
            }
        }
        Ok(())
    }

    fn prepare_for(&mut self, packets: usize) {
        self.nodes.iter_mut().for_each(|node| node.prepare_for(packets));
    }

    fn set_port(&mut self, port: Port, _clock: WireClock) {
        (self.port, self.frame) = (port, frame_time(port));
        self.nodes.iter_mut().for_each(|node| node.set_port(port));
    }

    fn enqueue(
        &mut self,
        packets: &mut Packets,
        packet: PacketId,
        WireClock { now, .. }: WireClock,
    ) -> Enqueued {
        let index = self.classifier.class_of(packets, packet).unwrap_or(self.default);
        let length = packets[packet].length.into();
        let node = &mut self.nodes[index];
        node.losses.arrive(length);
        if node.is_hopeless(length) && node.may_lose(length) {
            node.relaxed.relative_loss += u64::from(node.class.relative_loss.is_some());
            return self.refuse(index, length, DropReason::Early);
        }
        while let Some(reason) = self.over(index, length) {
            if !self.make_room(packets, index, length, reason) {
                return self.refuse(index, length, reason);
            }
        }
        packets[packet].queued = now;
        packets[packet].enter_class(index);
        let node = &mut self.nodes[index];
        if node.is_empty() {
            self.sharing.wake(node);
        }
        node.push(packets, packet, now);
        node.tally.peak();
        self.tally.take(length);
        self.tally.peak();
        Enqueued::Queued
    }

    fn dequeue(&mut self, packets: &mut Packets, WireClock { now, .. }: WireClock) -> Dequeued {
        let Some(Choice { index, urgent }) = self.choose(now) else { return Dequeued::Empty };
        let Some(id) = self.nodes[index].first() else { return Dequeued::Empty };
        let length = packets[id].length.into();
        let frame = self.frame;
        let time = self.port.rate.time_for(Bytes(length) + self.port.overhead);
        for (place, node) in self.nodes.iter_mut().enumerate() {
            node.record_frame(now, time, place == index, frame);
        }
        let node = &mut self.nodes[index];
        node.pop(packets, now, frame);
        self.tally.send(length);
        if !urgent {
            self.sharing.learn(node, now.since(packets[id].queued));
            self.sharing.charge(&mut self.nodes, index, length + self.port.overhead.0);
        } else if node.class.relative_delay.is_some() {
            node.relaxed.relative_delay += 1;
        }
        sharing::adjust_weights(&mut self.nodes);
        Dequeued::Send(id)
    }

    fn peek(&mut self, _packets: &Packets, WireClock { now, .. }: WireClock) -> Dequeued {
        let id = self.choose(now).and_then(|choice| self.nodes[choice.index].first());
        id.map_or(Dequeued::Empty, Dequeued::Send)
    }

    fn flush(&mut self, packets: &mut Packets, _now: Instant) {
        for node in &mut self.nodes {
            while let Some(id) = node.pop_last(packets) {
                self.tally.discard(packets[id].length.into());
                packets.discard(id, DropReason::Flushed);
            }
        }
    }

    fn is_empty(&self) -> bool {
        self.tally.packets() == 0
    }

    fn statistics(&self) -> Statistics {
        self.tally.statistics()
    }

    fn classes(&self, each: &mut dyn FnMut(usize, &str, Statistics)) {
        for (number, node) in self.nodes.iter().enumerate() {
            each(number, &node.class.name, node.tally.statistics());
        }
    }

    fn relaxed(&self, each: &mut dyn FnMut(&str, Relaxed)) {
        for node in &self.nodes {
            each(&node.class.name, node.relaxed);
        }
    }
}
