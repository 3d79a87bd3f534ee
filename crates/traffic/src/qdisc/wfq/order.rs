//! Queues in the order of virtual times.

use crate::qdisc::tournament::{NOBODY, Tournament};

/// The bits for the queue; of equal times the lowest queue is first. 96 bits remain for the time, in units of
/// 2^-20 bit for a unit of weight: a link of 800 Gbit/s needs thirty thousand years to use them up.
const QUEUE_BITS: u32 = 32;

/// Numbered queues, the one with the earliest time first.
#[derive(Debug)]
pub(super) struct Order(Tournament);

impl Default for Order {
    fn default() -> Self {
        Self(Tournament::new(0))
    }
}

impl Order {
    /// Makes room for `queues` queues.
    pub(super) fn extend_to(&mut self, queues: usize) {
        self.0.extend_to(queues);
    }

    /// The earliest time and its queue.
    #[inline]
    pub(super) fn first(&self) -> Option<(u128, usize)> {
        let first = self.0.first();
        (first != NOBODY).then_some((first >> QUEUE_BITS, first as u32 as usize))
    }

    #[inline]
    pub(super) fn contains(&self, queue: usize) -> bool {
        self.0.of(queue) != NOBODY
    }

    /// The time of a queue that takes part.
    pub(super) fn time_of(&self, queue: usize) -> Option<u128> {
        let own = self.0.of(queue);
        (own != NOBODY).then_some(own >> QUEUE_BITS)
    }

    /// Sets the time of a queue that takes no part, or that has a later one.
    #[inline]
    pub(super) fn set_earlier(&mut self, queue: usize, time: u128) {
        self.0.lower(queue, time << QUEUE_BITS | queue as u128);
    }

    /// Sets the time of a queue.
    #[inline]
    pub(super) fn set(&mut self, queue: usize, time: u128) {
        self.0.set(queue, time << QUEUE_BITS | queue as u128);
    }

    /// Takes a queue out, if it takes part.
    #[inline]
    pub(super) fn remove(&mut self, queue: usize) {
        self.0.set(queue, NOBODY);
    }
}
