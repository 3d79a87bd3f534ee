//! The queue of a class without children, and the queues that it took over from removed classes.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use crate::discipline::{Backlog, Dequeued, Discipline, Enqueued, Port, Statistics, WireClock};
use crate::packets::Packets;
use crate::qdisc::{Parameters, Qdisc};
use base::packet::PacketId;
use base::units::Instant;

/// A queue, behind inherited ones; the first cache line of a plain FIFO is its own.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Leaf {
    queue: Qdisc,
    /// Separate, because few leaves have any.
    past: Option<Box<Past>>,
}

#[derive(Debug, Default)]
struct Past {
    /// Queues of removed classes, or of another discipline; they take no packets and go first.
    inherited: VecDeque<Qdisc>,
    /// The counters of inherited queues that are empty by now.
    retired: Statistics,
}

impl Past {
    /// Takes over a queue: its packets go first, and its counters are kept.
    fn inherit(&mut self, queue: Qdisc) {
        if queue.is_empty() {
            self.retired += queue.statistics();
        } else {
            self.inherited.push_back(queue);
        }
    }

    #[cold]
    fn dequeue(&mut self, packets: &mut Packets, now: Instant) -> Dequeued {
        while let Some(mut first) = self.inherited.pop_front() {
            let answer = first.dequeue(packets, now.into());
            if first.is_empty() {
                self.retired += first.statistics();
            } else {
                self.inherited.push_front(first);
            }
            if answer != Dequeued::Empty {
                return answer;
            }
        }
        Dequeued::Empty
    }

    #[cold]
    fn peek(&mut self, packets: &Packets, now: Instant) -> Dequeued {
        let mut answers = self.inherited.iter_mut().map(|queue| queue.peek(packets, now.into()));
        answers.find(|&answer| answer != Dequeued::Empty).unwrap_or(Dequeued::Empty)
    }

    /// The backlog, with that of the queues behind.
    #[cold]
    fn behind(&self, mut sum: Backlog) -> Backlog {
        for queue in &self.inherited {
            sum.account(Backlog::default(), queue.backlog());
        }
        sum
    }
}

impl Leaf {
    pub(super) fn new(queue: Qdisc) -> Self {
        Self { queue, past: None }
    }

    /// [`Discipline::prepare_for`].
    pub(super) fn prepare_for(&mut self, packets: usize) {
        self.queue.prepare_for(packets);
    }

    /// Takes another port. Queues that only empty themselves keep their own.
    pub(super) fn set_port(&mut self, port: Port, clock: WireClock) {
        self.queue.set_port(port, clock);
    }

    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty() && self.past.as_ref().is_none_or(|past| past.inherited.is_empty())
    }

    #[inline]
    pub(super) fn enqueue(
        &mut self,
        packets: &mut Packets,
        packet: PacketId,
        now: Instant,
    ) -> Enqueued {
        self.queue.enqueue(packets, packet, now.into())
    }

    #[inline]
    pub(super) fn dequeue(&mut self, packets: &mut Packets, now: Instant) -> Dequeued {
        match self.past.as_mut().map(|past| past.dequeue(packets, now)) {
            None | Some(Dequeued::Empty) => self.queue.dequeue(packets, now.into()),
            Some(answer) => answer,
        }
    }

    #[inline]
    pub(super) fn peek(&mut self, packets: &Packets, now: Instant) -> Dequeued {
        match self.past.as_mut().map(|past| past.peek(packets, now)) {
            None | Some(Dequeued::Empty) => self.queue.peek(packets, now.into()),
            Some(answer) => answer,
        }
    }

    /// Asks for the first packet, if that is known without a look at it.
    #[inline]
    pub(super) fn prefetch_first(&self, packets: &Packets) {
        if let Qdisc::Fifo(queue) = &self.queue
            && let Some(id) = queue.head()
        {
            packets.prefetch(id);
        }
    }

    pub(super) fn flush(&mut self, packets: &mut Packets, now: Instant) {
        if let Some(past) = &mut self.past {
            for mut queue in past.inherited.drain(..) {
                queue.flush(packets, now);
                past.retired += queue.statistics();
            }
        }
        self.queue.flush(packets, now);
    }

    /// Takes over the queues and counters of another class's leaf.
    pub(super) fn inherit(&mut self, other: Self) {
        let past = self.past.get_or_insert_default();
        if let Some(others) = other.past {
            past.retired += others.retired;
            others.inherited.into_iter().for_each(|queue| past.inherit(queue));
        }
        past.inherit(other.queue);
    }

    /// Continues from `old` with `parameters`, for which this leaf was attached. A queue of the same
    /// discipline keeps its packets; packets of another discipline go before the new ones.
    pub(super) fn follow(&mut self, mut old: Self, parameters: &Parameters, now: Instant) {
        if old.queue.change(parameters, now.into()).is_ok() {
            *self = old;
        } else {
            self.inherit(old);
        }
    }

    /// The backlog.
    #[inline]
    pub(super) fn backlog(&self) -> Backlog {
        let own = self.queue.backlog();
        self.past.as_ref().map_or(own, |past| past.behind(own))
    }

    pub(super) fn statistics(&self) -> Statistics {
        let mut sum = self.queue.statistics();
        if let Some(past) = &self.past {
            sum += past.retired;
            past.inherited.iter().for_each(|queue| sum += queue.statistics());
        }
        sum
    }
}
