//! Deficit round robin over numbered queues (Shreedhar and Varghese, SIGCOMM 1995 and IEEE/ACM ToN 4(3),
//! 1996): on its turn a queue may send its quantum and the rest of earlier quanta.
//!
//! A packet costs O(1) if every quantum is at least the cost of the longest packet: then no turn passes
//! without a packet.

use alloc::vec::Vec;

use crate::packets::Packets;
use crate::qdisc::leaves::{ClassSpec, Leaves};
use base::packet::PacketId;
use base::ring::Ring;
use base::units::Instant;

#[derive(Clone, Copy, Debug, Default)]
struct Queue {
    /// The quantum that a turn adds.
    quantum: u64,
    /// The remaining allowance; zero while the queue is empty.
    deficit: u64,
    /// Whether it is in the round.
    active: bool,
}

/// The next turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Turn {
    /// The first packet of this queue.
    Send(usize),
    /// It is this queue's turn, but it has no packet to send.
    Barren(usize),
}

/// The round of the queues that have packets.
#[derive(Debug)]
pub(super) struct Rounds {
    queues: Vec<Queue>,
    /// The active queues; the first one has the turn.
    active: Ring<usize>,
    /// Whether the first queue has got its quantum for this turn.
    granted: bool,
}

impl Rounds {
    /// Queues with these quanta, all of them empty.
    pub(super) fn new(quanta: impl IntoIterator<Item = u64>) -> Self {
        let queue = |quantum: u64| Queue { quantum: quantum.max(1), ..Queue::default() };
        let queues: Vec<_> = quanta.into_iter().map(queue).collect();
        let mut active = Ring::new();
        active.reserve(queues.len());
        Self { queues, active, granted: false }
    }

    /// Appends the queues that had the numbers `leaving` in `old`, with their quanta.
    pub(super) fn extend(&mut self, old: &Self, leaving: &[usize]) {
        let queue = |&was: &usize| Queue { quantum: old.queues[was].quantum, ..Queue::default() };
        self.queues.extend(leaving.iter().map(queue));
        self.active.reserve(self.queues.len());
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

    /// Handles a packet that arrived in this queue. If the queue was empty, it gets this quantum.
    #[inline]
    pub(super) fn wake_with(&mut self, index: usize, quantum: u64) {
        let queue = &mut self.queues[index];
        if !queue.active {
            queue.quantum = quantum.max(1);
            self.wake(index);
        }
    }

    /// Passes the turn on to the next queue that can pay for its first packet, or has none; `head` gives the
    /// packet's cost.
    // Forced: a call here costs a packet of wfq 5 % more instructions.
    #[inline(always)]
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

    /// Ends the first queue's turn; it forfeits its unused allowance.
    pub(super) fn forfeit(&mut self) {
        if let Some(index) = self.active.first() {
            self.queues[index].deficit = 0;
            self.pass_on();
        }
    }

    /// Counts a packet of this cost that the first queue sent; `empty` if the queue is empty now.
    #[inline]
    pub(super) fn charge(&mut self, cost: u64, empty: bool) {
        let Some(index) = self.active.first() else { return };
        let queue = &mut self.queues[index];
        queue.deficit = queue.deficit.saturating_sub(cost);
        if empty {
            self.retire();
        }
    }

    /// Removes the first queue, which is empty, from the round; its unused allowance is lost.
    pub(super) fn retire(&mut self) {
        if let Some(index) = self.active.pop() {
            let queue = &mut self.queues[index];
            (queue.deficit, queue.active) = (0, false);
        }
        self.granted = false;
    }

    /// Removes all queues from the round, because all are empty.
    pub(super) fn clear(&mut self) {
        while !self.active.is_empty() {
            self.retire();
        }
    }
}

/// Classes with packets that cost `byte_cost` for each byte.
impl Rounds {
    /// Takes a packet of the class that has the turn.
    #[inline]
    pub(super) fn take<C: ClassSpec>(
        &mut self,
        byte_cost: u64,
        leaves: &mut Leaves<C>,
        packets: &mut Packets,
        now: Instant,
    ) -> Option<PacketId> {
        if leaves.stops_some() {
            self.retire_stopped(leaves, packets, now);
        }
        let cost = |packets: &Packets, id| u64::from(packets[id].length) * byte_cost;
        while let Some(turn) =
            self.next(|class| leaves.head(class, packets, now).map(|id| cost(packets, id)))
        {
            let (Turn::Send(class) | Turn::Barren(class)) = turn;
            match leaves.take(class, packets, now) {
                Some(id) => {
                    self.charge(cost(packets, id), leaves.is_empty_at(class));
                    return Some(id);
                }
                None => self.retire(),
            }
        }
        None
    }

    /// Removes the classes with a paused first packet from the round. A change of the paused priorities wakes
    /// them.
    #[cold]
    #[inline(never)]
    fn retire_stopped<C: ClassSpec>(
        &mut self,
        leaves: &mut Leaves<C>,
        packets: &Packets,
        now: Instant,
    ) {
        let turn = (self.active.first(), self.granted);
        for _ in 0..self.active.len() {
            let Some(class) = self.active.first() else { break };
            if leaves.is_stopped(class, packets, now) {
                self.retire();
            } else {
                self.active.pop();
                self.active.push(class);
            }
        }
        // The others are in their order again.
        self.granted = turn == (self.active.first(), true);
    }

    /// The packet that [`Rounds::take`] would take.
    pub(super) fn head<C: ClassSpec>(
        &mut self,
        byte_cost: u64,
        leaves: &mut Leaves<C>,
        packets: &Packets,
        now: Instant,
    ) -> Option<PacketId> {
        if leaves.stops_some() {
            self.retire_stopped(leaves, packets, now);
        }
        let cost = |id| u64::from(packets[id].length) * byte_cost;
        for _ in 0..=self.active.len() {
            match self.next(|class| leaves.head(class, packets, now).map(cost))? {
                Turn::Barren(_) => self.forfeit(),
                Turn::Send(class) => return leaves.head(class, packets, now),
            }
        }
        None
    }
}
