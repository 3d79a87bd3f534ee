//! The queue of a class without children, and what it took over from classes that are no more.

use alloc::collections::VecDeque;

use crate::discipline::{Backlog, Dequeued, Discipline, Enqueued, Statistics};
use crate::packet::{PacketId, Packets};
use crate::qdisc::{Parameters, Qdisc};
use crate::units::Instant;

/// A queue, behind those it inherited.
#[derive(Debug)]
pub(super) struct Leaf {
    queue: Qdisc,
    /// Queues of removed classes, or of another discipline; they take no packets and go first.
    inherited: VecDeque<Qdisc>,
    /// What inherited queues counted that are empty by now.
    retired: Statistics,
}

impl Leaf {
    pub(super) fn new(queue: Qdisc) -> Self {
        Self { queue, inherited: VecDeque::new(), retired: Statistics::default() }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.inherited.is_empty()
    }

    #[inline]
    pub(super) fn enqueue(
        &mut self,
        packets: &mut Packets,
        packet: PacketId,
        now: Instant,
    ) -> Enqueued {
        self.queue.enqueue(packets, packet, now)
    }

    #[inline]
    pub(super) fn dequeue(&mut self, packets: &mut Packets, now: Instant) -> Dequeued {
        while let Some(first) = self.inherited.front_mut() {
            let answer = first.dequeue(packets, now);
            if first.is_empty() {
                self.retired += first.statistics();
                self.inherited.pop_front();
            }
            if answer != Dequeued::Empty {
                return answer;
            }
        }
        self.queue.dequeue(packets, now)
    }

    #[inline]
    pub(super) fn peek(&mut self, packets: &Packets, now: Instant) -> Dequeued {
        for queue in self.inherited.iter_mut().chain([&mut self.queue]) {
            let answer = queue.peek(packets, now);
            if answer != Dequeued::Empty {
                return answer;
            }
        }
        Dequeued::Empty
    }

    pub(super) fn flush(&mut self, packets: &mut Packets, now: Instant) {
        for mut queue in self.inherited.drain(..) {
            queue.flush(packets, now);
            self.retired += queue.statistics();
        }
        self.queue.flush(packets, now);
    }

    /// Takes over what another class's leaf holds, and its counters.
    pub(super) fn inherit(&mut self, other: Self) {
        let Self { queue, inherited, retired } = other;
        self.retired += retired;
        for queue in inherited.into_iter().chain([queue]) {
            if queue.is_empty() {
                self.retired += queue.statistics();
            } else {
                self.inherited.push_back(queue);
            }
        }
    }

    /// Goes on from `old` with `parameters`, for which this leaf was attached: a queue of the same
    /// discipline keeps its packets itself, any other one's go before the new one's.
    pub(super) fn follow(&mut self, mut old: Self, parameters: &Parameters) {
        if old.queue.change(parameters).is_ok() {
            *self = old;
        } else {
            self.inherit(old);
        }
    }

    /// What is queued.
    #[inline]
    pub(super) fn backlog(&self) -> Backlog {
        let mut sum = self.queue.backlog();
        for queue in &self.inherited {
            sum.account(Backlog::default(), queue.backlog());
        }
        sum
    }

    pub(super) fn statistics(&self) -> Statistics {
        let mut sum = self.retired;
        for queue in self.inherited.iter().chain([&self.queue]) {
            sum += queue.statistics();
        }
        sum
    }
}
