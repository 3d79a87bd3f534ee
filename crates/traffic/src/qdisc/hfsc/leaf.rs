//! The queue of a class without children, and what it took over from classes that are no more.

use alloc::boxed::Box;
use alloc::collections::VecDeque;

use crate::discipline::{Backlog, Dequeued, Discipline, Enqueued, Statistics};
use crate::packet::{PacketId, Packets};
use crate::qdisc::{Parameters, Qdisc};
use crate::units::Instant;

/// A queue, behind those it inherited; a plain FIFO's first cache line is its own.
#[derive(Debug)]
#[repr(C, align(64))]
pub(super) struct Leaf {
    queue: Qdisc,
    /// Apart, for few have any.
    past: Option<Box<Past>>,
}

#[derive(Debug, Default)]
struct Past {
    /// Queues of removed classes, or of another discipline; they take no packets and go first.
    inherited: VecDeque<Qdisc>,
    /// What inherited queues counted that are empty by now.
    retired: Statistics,
}

impl Past {
    /// What an inherited queue has left goes first; what it counted is not lost.
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

    /// What is queued, with what is behind it.
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

    pub(super) fn flush(&mut self, packets: &mut Packets, now: Instant) {
        if let Some(past) = &mut self.past {
            for mut queue in past.inherited.drain(..) {
                queue.flush(packets, now);
                past.retired += queue.statistics();
            }
        }
        self.queue.flush(packets, now);
    }

    /// Takes over what another class's leaf holds, and its counters.
    pub(super) fn inherit(&mut self, other: Self) {
        let past = self.past.get_or_insert_default();
        if let Some(others) = other.past {
            past.retired += others.retired;
            others.inherited.into_iter().for_each(|queue| past.inherit(queue));
        }
        past.inherit(other.queue);
    }

    /// Goes on from `old` with `parameters`, for which this leaf was attached: a queue of the same
    /// discipline keeps its packets itself, any other one's go before the new one's.
    pub(super) fn follow(&mut self, mut old: Self, parameters: &Parameters, now: Instant) {
        if old.queue.change(parameters, now.into()).is_ok() {
            *self = old;
        } else {
            self.inherit(old);
        }
    }

    /// What is queued.
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
