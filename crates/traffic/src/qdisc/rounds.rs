//! Deficit round robin over numbered queues (Shreedhar and Varghese, SIGCOMM 1995 and IEEE/ACM ToN 4(3),
//! 1996): on its turn a queue may send as much as its quantum and what it could not use before.
//!
//! A packet costs O(1) where every quantum is at least what the longest packet costs: then no turn passes
//! without a packet.

use alloc::vec::Vec;

use crate::ring::Ring;

#[derive(Clone, Copy, Debug, Default)]
struct Queue {
    /// What a turn adds.
    quantum: u64,
    /// What it may still send; nothing while it is empty.
    deficit: u64,
    /// Whether it is in the round.
    active: bool,
}

/// What comes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// The first packet of this queue.
    Send(usize),
    /// This queue's turn, but it has no packet that could be sent.
    Barren(usize),
}

/// The round of the queues that have packets.
#[derive(Debug)]
pub(super) struct Rounds {
    queues: Vec<Queue>,
    /// The first one's turn it is.
    active: Ring<usize>,
    /// Whether the first one has got its quantum for this turn.
    granted: bool,
}

impl Rounds {
    /// Queues with these quanta, of which none has packets.
    pub(super) fn new(quanta: impl IntoIterator<Item = u64>) -> Self {
        let queue = |quantum: u64| Queue { quantum: quantum.max(1), ..Queue::default() };
        let queues = quanta.into_iter().map(queue).collect();
        Self { queues, active: Ring::new(), granted: false }
    }

    /// How many have packets.
    pub(super) fn len(&self) -> usize {
        self.active.len()
    }

    /// A packet came into this queue.
    #[inline]
    pub(super) fn wake(&mut self, index: usize) {
        let queue = &mut self.queues[index];
        if !queue.active {
            queue.active = true;
            self.active.push(index);
        }
    }

    /// A packet came into this queue, which has this quantum from now on if it was empty.
    #[inline]
    pub(super) fn wake_with(&mut self, index: usize, quantum: u64) {
        let queue = &mut self.queues[index];
        if !queue.active {
            queue.quantum = quantum.max(1);
            self.wake(index);
        }
    }

    /// Goes on until a queue's turn has come that can pay for its first packet, whose cost `head` tells.
    #[inline]
    pub(super) fn next(&mut self, mut head: impl FnMut(usize) -> Option<u64>) -> Option<Turn> {
        loop {
            let index = self.active.first()?;
            let queue = &mut self.queues[index];
            if !self.granted {
                queue.deficit = queue.deficit.saturating_add(queue.quantum);
                self.granted = true;
            }
            match head(index) {
                None => return Some(Turn::Barren(index)),
                Some(cost) if cost <= queue.deficit => return Some(Turn::Send(index)),
                Some(_) => self.pass_on(),
            }
        }
    }

    /// The first queue's turn ends.
    fn pass_on(&mut self) {
        if let Some(index) = self.active.pop() {
            self.active.push(index);
        }
        self.granted = false;
    }

    /// The first queue's turn ends, and it forfeits what it did not use.
    pub(super) fn forfeit(&mut self) {
        if let Some(index) = self.active.first() {
            self.queues[index].deficit = 0;
            self.pass_on();
        }
    }

    /// The first queue sent a packet of this cost, and is now empty or not.
    #[inline]
    pub(super) fn charge(&mut self, cost: u64, empty: bool) {
        let Some(index) = self.active.first() else { return };
        let queue = &mut self.queues[index];
        queue.deficit = queue.deficit.saturating_sub(cost);
        if empty {
            self.retire();
        }
    }

    /// The first queue is empty: it leaves the round, and what it did not use is lost.
    pub(super) fn retire(&mut self) {
        if let Some(index) = self.active.pop() {
            let queue = &mut self.queues[index];
            (queue.deficit, queue.active) = (0, false);
        }
        self.granted = false;
    }

    /// All queues are empty.
    pub(super) fn clear(&mut self) {
        while !self.active.is_empty() {
            self.retire();
        }
    }
}
