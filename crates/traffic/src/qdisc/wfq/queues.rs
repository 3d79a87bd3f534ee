//! The flows' queues, their order, and the search for the longest.

use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;

use super::exact::Exact;
use super::parameters::{Mode, Parameters};
use crate::discipline::Port;
use crate::many::MANY;
use crate::packets::Packets;
use crate::qdisc::chains::Chains;
use crate::qdisc::hash;
use crate::qdisc::longest::Longest;
use crate::qdisc::rounds::{Rounds, Turn};
use base::drop_reason::DropReason;
use base::packet::PacketId;
use base::prefetch::prefetch;
use base::units::{Bytes, Instant};

/// Turns are counted in hundredths of a byte, so that quota * weight / 100 is whole.
const PARTS: u64 = 100;
/// A queue's length divided by its weight is in units of 2^-24 bytes: below 2^62, because there are at most
/// 2^38 bytes.
const INVERSE_ONE: u32 = 1 << 24;

/// A packet in its queue.
#[derive(Clone, Copy, Debug)]
struct Queued {
    id: PacketId,
    /// The virtual finish in exact mode.
    finish: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Queue {
    bytes: u64,
    /// 2^24 / weight.
    inverse: u32,
}

impl Queue {
    /// The length of the queue relative to its weight.
    #[inline]
    fn length(&self) -> u64 {
        self.bytes * u64::from(self.inverse)
    }
}

#[derive(Debug)]
enum Order {
    Stochastic { rounds: Rounds, queues: u32, quota: Bytes, seed: u64 },
    Exact(Box<Exact>),
}

/// Queues in the order of one mode.
#[derive(Debug)]
pub(super) struct Queues {
    chains: Chains<Queued>,
    queues: Vec<Queue>,
    longest: Longest,
    order: Order,
    /// Packets in all of them.
    packets: u64,
}

/// A packet on its way in.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival {
    pub(super) id: PacketId,
    pub(super) key: u64,
    pub(super) weight: u32,
    pub(super) length: u64,
}

impl Queues {
    pub(super) fn new(parameters: &Parameters, port: Port) -> Self {
        let (count, order) = match parameters.mode {
            Mode::Exact => (0, Order::Exact(Box::new(Exact::new(port)))),
            Mode::Stochastic => {
                let (queues, quota) = (parameters.queues, parameters.quota);
                let rounds = Rounds::new(vec![1; queues as usize]);
                (queues as usize, Order::Stochastic { rounds, queues, quota, seed: port.seed })
            }
        };
        Self {
            chains: Chains::new(count),
            queues: vec![Queue::default(); count],
            longest: Longest::new(count),
            order,
            packets: 0,
        }
    }

    /// Takes the memory for `packets` packets, in exact mode each of a flow of its own.
    pub(super) fn prepare_for(&mut self, packets: usize) {
        self.chains.reserve(packets);
        if let Order::Exact(exact) = &mut self.order {
            exact.extend_to(packets);
            self.extend_to(packets);
        }
    }

    #[inline(never)]
    fn extend_to(&mut self, queues: usize) {
        if queues > self.queues.len() {
            self.queues.resize(queues, Queue::default());
            self.chains.extend_to(queues);
            self.longest.extend_to(queues);
        }
    }

    /// Whether these queues can continue under the new parameters.
    pub(super) fn can_continue(&self, parameters: &Parameters) -> bool {
        match (&self.order, parameters.mode) {
            (Order::Exact(_), Mode::Exact) => true,
            (Order::Stochastic { queues, .. }, Mode::Stochastic) => *queues == parameters.queues,
            _ => false,
        }
    }

    /// Sets the quota, which may change while packets are queued; each queue applies it after it was empty.
    pub(super) fn set_quota(&mut self, new: Bytes) {
        if let Order::Stochastic { quota, .. } = &mut self.order {
            *quota = new;
        }
    }

    /// Takes another port, from `now` on.
    pub(super) fn set_port(&mut self, port: Port, now: Instant) {
        if let Order::Exact(exact) = &mut self.order {
            exact.set_port(port, now);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.packets == 0
    }

    /// The queue of a flow, if that is fixed.
    pub(super) fn hashed(&self, key: u64) -> Option<usize> {
        match &self.order {
            Order::Stochastic { queues, seed, .. } => Some(hash::queue_of(key, *seed, *queues)),
            Order::Exact(_) => None,
        }
    }

    #[inline]
    fn queue_of(&mut self, key: u64, now: Instant) -> usize {
        match &mut self.order {
            Order::Stochastic { queues, seed, .. } => hash::queue_of(key, *seed, *queues),
            Order::Exact(exact) => {
                let (queue, queues) = (exact.queue_of(key, now), exact.queues());
                self.extend_to(queues);
                queue
            }
        }
    }

    #[inline]
    fn lengthen(&mut self, queue: usize, length: u64) {
        let queue_now = &mut self.queues[queue];
        queue_now.bytes += length;
        self.longest.grow(queue, queue_now.length());
        self.packets += 1;
    }

    #[inline]
    fn shorten(&mut self, queue: usize, length: u64) {
        self.queues[queue].bytes -= length;
        self.packets -= 1;
    }

    /// Takes a packet, and drops `excess` bytes of the longest queues; passes the length of each dropped
    /// packet to `count`. Returns false if this packet itself is dropped; then it is not taken.
    #[inline]
    pub(super) fn enqueue(
        &mut self,
        packets: &mut Packets,
        arrival: Arrival,
        mut excess: u64,
        now: Instant,
        mut count: impl FnMut(u64),
    ) -> bool {
        let Arrival { id, key, weight, length } = arrival;
        if let Order::Exact(exact) = &self.order
            && self.queues.len() > MANY
            && let Some(first) = exact.next().and_then(|next| self.chains.first(next))
        {
            packets.prefetch(first.id);
        }
        let queue = self.queue_of(key, now);
        let first = self.chains.is_empty(queue);
        if first {
            self.queues[queue].inverse = INVERSE_ONE / weight;
        }
        self.chains.push(queue, Queued { id, finish: 0 });
        self.lengthen(queue, length);
        while excess > 0 {
            let Some((victim, length)) = self.drop_longest(packets, id) else { break };
            if victim == id {
                return false;
            }
            packets.discard(victim, DropReason::QueueBytes);
            count(length);
            excess = excess.saturating_sub(length);
        }
        match &mut self.order {
            Order::Stochastic { rounds, quota, .. } => {
                rounds.wake_with(queue, quota.0.saturating_mul(weight.into()));
            }
            Order::Exact(exact) => {
                let finish = exact.arrive(queue, weight, length, first);
                if let Some(last) = self.chains.last_mut(queue) {
                    last.finish = finish;
                }
            }
        }
        true
    }

    /// Drops a packet of the longest queue; `arriving` is not yet in the order.
    #[inline(never)]
    fn drop_longest(&mut self, packets: &Packets, arriving: PacketId) -> Option<(PacketId, u64)> {
        let queue = self.longest.longest(|queue| self.queues[queue].length())?;
        let id = match &self.order {
            Order::Stochastic { .. } => self.chains.pop(queue)?.id,
            Order::Exact(_) => self.chains.pop_last(queue)?.id,
        };
        let length = u64::from(packets[id].length);
        self.shorten(queue, length);
        let empty = self.chains.is_empty(queue);
        if let Order::Exact(exact) = &mut self.order {
            if id != arriving {
                exact.withdraw(queue, length, empty);
            } else if empty {
                exact.empty(queue);
            }
        }
        Some((id, length))
    }

    /// The queue that sends the next packet.
    // Forced: a call here costs a packet 4 % more instructions.
    #[inline(always)]
    fn next(&mut self, packets: &Packets) -> Option<usize> {
        let Self { chains, order, .. } = self;
        match order {
            Order::Exact(exact) => exact.next(),
            Order::Stochastic { rounds, .. } => {
                let cost = |first: Queued| u64::from(packets[first.id].length) * PARTS;
                loop {
                    match rounds.next(|queue| chains.first(queue).map(cost))? {
                        Turn::Send(queue) => return Some(queue),
                        // Drops for other queues emptied this one.
                        Turn::Barren(_) => rounds.retire(),
                    }
                }
            }
        }
    }

    /// The next packet.
    pub(super) fn peek(&mut self, packets: &Packets) -> Option<PacketId> {
        let queue = self.next(packets)?;
        self.chains.first(queue).map(|first| first.id)
    }

    /// Takes the next packet.
    #[inline]
    pub(super) fn dequeue(&mut self, packets: &Packets) -> Option<PacketId> {
        let queue = self.next(packets)?;
        let id = self.chains.pop(queue)?.id;
        let length = u64::from(packets[id].length);
        self.shorten(queue, length);
        let behind = self.chains.first(queue);
        match &mut self.order {
            Order::Stochastic { rounds, .. } => rounds.charge(length * PARTS, behind.is_none()),
            Order::Exact(exact) => {
                exact.advance(queue, behind.map(|behind| behind.finish));
                if let Some(next) = exact.next()
                    && self.queues.len() > MANY
                {
                    self.chains.prefetch_ends(next);
                    prefetch(&self.queues[next], 1);
                }
            }
        }
        Some(id)
    }
}
