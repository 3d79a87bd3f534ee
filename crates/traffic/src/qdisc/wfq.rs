//! Weighted fair queueing, in two modes: ALTQ's, which hashes flows into a fixed number of queues (paper
//! 1, section 4.1.3; stochastic fairness queueing, McKenney, INFOCOM 1990), and exact.
//!
//! In stochastic mode a packet waits until its queue's quota covers it (deficit round robin), where ALTQ lets
//! a queue overdraw. The shares are the same, and a queue is never ahead of its share.
//!
//! Laws, tested: flows in different queues share in the proportion of their weights; in exact mode no flow's
//! service is behind the fluid ideal by more than the longest packet.

use alloc::vec::Vec;

use crate::classify::Classifier;
use crate::discipline::{Dequeued, Discipline, Enqueued, Port, Statistics, WireClock};
use crate::packets::Packets;
use crate::qdisc::page::Page;
use base::drop_reason::DropReason;
use base::packet::{Packet, PacketId};
use base::units::Instant;

mod exact;
mod fluid;
mod order;
mod parameters;
mod queues;

pub use crate::qdisc::hash::HashBy;
pub use parameters::{BYTES_MAX, Class, Error, Mode, Parameters, QUEUES_MAX, QUOTA_MIN, WEIGHTS};
use queues::{Arrival, Queues};

/// The catalogue page, apart from the settings.
pub(super) const PAGE: Page = Page {
    what: "Flows share the link by their weights, without a class for each. In stochastic mode, flows are \
         hashed to a fixed number of queues that take turns, as in ALTQ. In exact mode, each flow has its \
         own queue, and its service is within one packet of the fluid ideal.",
    when: "To isolate flows that cannot be listed in advance. Exact mode where a bound on delay is needed; \
         stochastic mode for a very large number of flows. Not against a standing queue that a flow builds \
         itself: use `fq_codel` there.",
    sources: &[
        "Cho, \"Traffic Management by Alternate Queueing\" (paper 1), section 4.1.3",
        "McKenney, \"Stochastic Fairness Queueing\", INFOCOM 1990",
        "Parekh and Gallager, \"A Generalized Processor Sharing Approach to Flow Control in \
         Integrated Services Networks: The Single-Node Case\", IEEE/ACM Transactions on \
         Networking 1(3), 1993, section III and theorem 1: the exact mode",
        "Demers, Keshav and Shenker, \"Analysis and Simulation of a Fair Queueing Algorithm\", \
         SIGCOMM 1989",
    ],
};

/// Weighted fair queueing.
#[derive(Debug)]
pub struct Wfq {
    port: Port,
    hash: HashBy,
    limit_bytes: u64,
    classifier: Classifier,
    /// The weight of the flows of each class.
    weights: Vec<u32>,
    /// The weight of all other flows.
    weight: u32,
    queues: Queues,
    /// The packets queued before a change of mode, the oldest first; they are sent before the rest.
    leaving: Vec<Queues>,
    statistics: Statistics,
}

impl Wfq {
    /// The queue of a packet in stochastic mode (ALTQ's `WFQ_GET_QID`); `None` in exact mode, where each flow
    /// has its own.
    pub fn queue_of(&self, packet: &Packet) -> Option<usize> {
        self.queues.hashed(self.hash.key(packet))
    }

    fn refuse(&mut self, length: u64) -> Enqueued {
        self.statistics.dropped_packets += 1;
        self.statistics.dropped_bytes += length;
        Enqueued::Dropped(DropReason::QueueBytes)
    }

    fn arrival(&self, packets: &Packets, id: PacketId) -> Arrival {
        let packet = &packets[id];
        let class = self.classifier.class_of(packets, id);
        let weight = class.map_or(self.weight, |class| self.weights[class]);
        Arrival { id, key: self.hash.key(packet), weight, length: packet.length.into() }
    }
}

/// The packet left the queue.
fn count_out(statistics: &mut Statistics, length: u64) {
    statistics.backlog_packets -= 1;
    statistics.backlog_bytes -= length;
}

impl Discipline for Wfq {
    type Parameters = Parameters;
    type Error = Error;
    const DISTINGUISHES_FLOWS: bool = true;

    fn attach(parameters: &Parameters, port: Port) -> Result<Self, Error> {
        let classifier = parameters::check(parameters, port)?;
        Ok(Self {
            port,
            hash: parameters.hash_by(),
            limit_bytes: parameters.bytes.0,
            classifier,
            weights: parameters.classes.iter().map(|class| class.weight).collect(),
            weight: parameters.weight,
            queues: Queues::new(parameters, port),
            leaving: Vec::new(),
            statistics: Statistics::default(),
        })
    }

    /// A queue keeps its weight until it is empty.
    fn change(&mut self, parameters: &Parameters, _clock: WireClock) -> Result<(), Error> {
        let new = Self::attach(parameters, self.port)?;
        if !self.queues.can_continue(parameters) || self.hash != new.hash {
            let old = core::mem::replace(&mut self.queues, new.queues);
            if !old.is_empty() {
                self.leaving.push(old);
            }
        }
        self.queues.set_quota(parameters.quota);
        (self.hash, self.limit_bytes) = (new.hash, new.limit_bytes);
        (self.classifier, self.weights, self.weight) = (new.classifier, new.weights, new.weight);
        Ok(())
    }

    fn prepare_for(&mut self, packets: usize) {
        self.queues.prepare_for(packets);
    }

    fn set_port(&mut self, port: Port, WireClock { now, .. }: WireClock) {
        self.port = port;
        self.queues.set_port(port, now);
    }

    fn enqueue(
        &mut self,
        packets: &mut Packets,
        packet: PacketId,
        WireClock { now, .. }: WireClock,
    ) -> Enqueued {
        let arrival = self.arrival(packets, packet);
        let length = arrival.length;
        if length > self.limit_bytes {
            return self.refuse(length);
        }
        let excess = (self.statistics.backlog_bytes + length).saturating_sub(self.limit_bytes);
        let Self { queues, statistics: s, .. } = self;
        let taken = queues.enqueue(packets, arrival, excess, now, |length| {
            count_out(s, length);
            s.dropped_packets += 1;
            s.dropped_bytes += length;
        });
        if !taken {
            return self.refuse(length);
        }
        packets[packet].queued = now;
        let s = &mut self.statistics;
        s.enqueued_packets += 1;
        s.enqueued_bytes += length;
        s.backlog_packets += 1;
        s.backlog_bytes += length;
        s.backlog_bytes_max = s.backlog_bytes_max.max(s.backlog_bytes);
        Enqueued::Queued
    }

    fn dequeue(&mut self, packets: &mut Packets, _: WireClock) -> Dequeued {
        let queues = self.leaving.first_mut().unwrap_or(&mut self.queues);
        let Some(id) = queues.dequeue(packets) else { return Dequeued::Empty };
        if self.leaving.first().is_some_and(Queues::is_empty) {
            self.leaving.remove(0);
        }
        let length = u64::from(packets[id].length);
        count_out(&mut self.statistics, length);
        self.statistics.sent_packets += 1;
        self.statistics.sent_bytes += length;
        Dequeued::Send(id)
    }

    fn peek(&mut self, packets: &Packets, _: WireClock) -> Dequeued {
        let queues = self.leaving.first_mut().unwrap_or(&mut self.queues);
        queues.peek(packets).map_or(Dequeued::Empty, Dequeued::Send)
    }

    fn flush(&mut self, packets: &mut Packets, _now: Instant) {
        for queues in self.leaving.iter_mut().chain([&mut self.queues]) {
            while let Some(id) = queues.dequeue(packets) {
                let length = u64::from(packets[id].length);
                count_out(&mut self.statistics, length);
                self.statistics.dropped_packets += 1;
                self.statistics.dropped_bytes += length;
                packets.discard(id, DropReason::Flushed);
            }
        }
        self.leaving.clear();
    }

    fn is_empty(&self) -> bool {
        self.statistics.backlog_packets == 0
    }

    fn statistics(&self) -> Statistics {
        self.statistics
    }
}
