//! Exact fair queueing: the packet that the fluid link would finish first is sent first (packet-by-packet
//! generalised processor sharing: Parekh and Gallager, IEEE/ACM ToN 1(3), 1993).
//!
//! Their theorem 1: no packet leaves later than the fluid link finishes it by more than the time of one
//! longest packet. A packet costs O(log n) for n flows with packets.

use super::fluid::Fluid;
use super::order::Order;
use crate::discipline::Port;
use crate::qdisc::flow_numbers::FlowNumbers;
use alloc::vec::Vec;
use base::units::{Bytes, Instant};

/// A queue for each flow, in the order of the fluid link.
#[derive(Debug)]
pub(super) struct Exact {
    flows: FlowNumbers,
    /// The key of the flow in each queue.
    keys: Vec<u64>,
    fluid: Fluid,
    /// The queues that have packets, by the finish of the first packet.
    order: Order,
    overhead: Bytes,
}

impl Exact {
    pub(super) fn new(port: Port) -> Self {
        Self {
            flows: FlowNumbers::new(port.seed),
            keys: Vec::new(),
            fluid: Fluid::new(port.rate),
            order: Order::default(),
            overhead: port.overhead,
        }
    }

    /// Takes another port, from `now` on.
    pub(super) fn set_port(&mut self, port: Port, now: Instant) {
        self.fluid.set_rate(port.rate, now);
        self.overhead = port.overhead;
    }

    /// The number of queues.
    pub(super) fn queues(&self) -> usize {
        self.flows.end()
    }

    /// The queue for a packet of this flow that arrives now.
    #[inline]
    pub(super) fn queue_of(&mut self, key: u64, now: Instant) -> usize {
        self.fluid.advance(now);
        while let Some(queue) = self.fluid.take_done() {
            self.release(queue);
        }
        let queue = self.flows.number_of(key);
        self.extend_to(self.flows.end());
        self.keys[queue] = key;
        queue
    }

    /// Takes the memory for `queues` flows in all.
    pub(super) fn extend_to(&mut self, queues: usize) {
        if queues > self.keys.len() {
            self.flows.reserve(queues);
            self.keys.resize(queues, 0);
            self.fluid.extend_to(queues);
            self.order.extend_to(queues);
        }
    }

    /// Releases the flow's queue, unless the queue or the fluid link still has data of the flow.
    fn release(&mut self, queue: usize) {
        if !self.order.contains(queue) && !self.fluid.serves(queue) {
            self.flows.forget(self.keys[queue]);
        }
    }

    /// Adds a packet of `length` bytes to a queue; `first` if the queue was empty. Returns the packet's
    /// virtual finish.
    #[inline]
    pub(super) fn arrive(&mut self, queue: usize, weight: u32, length: u64, first: bool) -> u64 {
        let finish = self.fluid.arrive(queue, weight, length + self.overhead.0);
        if first {
            self.order.set_earlier(queue, self.fluid.whole(finish));
        }
        finish
    }

    /// The queue that sends the next packet.
    #[inline]
    pub(super) fn next(&self) -> Option<usize> {
        self.order.first().map(|(_, queue)| queue)
    }

    /// The first packet left a queue; the finish of the one behind it, if there is one.
    #[inline]
    pub(super) fn advance(&mut self, queue: usize, finish: Option<u64>) {
        match finish {
            Some(finish) => self.order.set(queue, self.fluid.whole(finish)),
            None => self.empty(queue),
        }
    }

    /// Handles the drop of a queue's last packet, of `length` bytes; `empty` if no other is left.
    pub(super) fn withdraw(&mut self, queue: usize, length: u64, empty: bool) {
        self.fluid.withdraw(queue, length + self.overhead.0);
        if empty {
            self.empty(queue);
        }
    }

    /// A queue has no packet.
    pub(super) fn empty(&mut self, queue: usize) {
        self.order.remove(queue);
        self.release(queue);
    }
}
