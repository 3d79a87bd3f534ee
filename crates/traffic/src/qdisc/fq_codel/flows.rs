//! The queues of `fq_codel`: one for each bucket of the hash, with packets in a pool of slots that is
//! allocated once, and the two lists that give them turns (RFC 8290, section 4).

use alloc::vec;
use alloc::vec::Vec;

use crate::packets::Packets;
use crate::qdisc::codel::control::Control;
use base::packet::{FlowId, PacketId};
use base::prefetch::prefetch;

/// No slot, or no flow.
const NONE: u32 = u32::MAX;

/// A packet in line.
#[derive(Clone, Copy, Debug)]
struct Slot {
    packet: PacketId,
    length: u32,
    /// The hash of the flow, for a change of the number of queues.
    hash: u32,
    next: u32,
}

/// The list of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Turn {
    /// No list: the queue has nothing to send, and takes no turns.
    #[default]
    Idle,
    /// The list of the queues that have just begun to send.
    New,
    Old,
}

/// One queue, in a cache line.
#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct Flow {
    control: Control,
    first: u32,
    last: u32,
    /// The bytes that the queue may still send in this turn; negative after it sent too much.
    credit: i64,
    turn: Turn,
    /// The next queue in its list.
    next: u32,
}

/// A list of queues.
#[derive(Clone, Copy, Debug)]
struct List {
    first: u32,
    last: u32,
}

const EMPTY: List = List { first: NONE, last: NONE };
const _: () = assert!(size_of::<Flow>() == 64, "a queue touches one cache line");

impl Flow {
    /// A queue that never had a packet.
    fn idle() -> Self {
        Self { first: NONE, last: NONE, next: NONE, ..Self::default() }
    }
}

/// All queues.
#[derive(Debug)]
pub(crate) struct Flows {
    flows: Vec<Flow>,
    /// The bytes in each queue: separate from the rest for the search of the longest.
    bytes: Vec<u64>,
    /// Bytes in all of them.
    backlog: u64,
    slots: Vec<Slot>,
    /// The first free slot; the others follow it.
    free: u32,
    new: List,
    old: List,
}

impl Flows {
    /// Creates `flows` queues with room for `packets` packets in all.
    pub(crate) fn new(flows: usize, packets: usize) -> Self {
        let mut all = Self {
            flows: vec![Flow::idle(); flows],
            bytes: vec![0; flows],
            backlog: 0,
            slots: Vec::new(),
            free: NONE,
            new: EMPTY,
            old: EMPTY,
        };
        all.reserve(packets);
        all
    }

    /// Makes room for `packets` packets in all, if there is less.
    pub(crate) fn reserve(&mut self, packets: usize) {
        self.slots.reserve_exact(packets.saturating_sub(self.slots.len()));
        while self.slots.len() < packets {
            let (packet, next) = (PacketId::default(), self.free);
            self.free = self.slots.len() as u32;
            self.slots.push(Slot { packet, length: 0, hash: 0, next });
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.flows.len()
    }

    /// The queue of a flow with this hash: the hash as a fraction, times the number of queues.
    #[inline]
    fn index(&self, hash: u32) -> usize {
        ((u64::from(hash) * self.flows.len() as u64) >> 32) as usize
    }

    // Forced: it has one caller, and the compiler's own choice, which depends on how it divides the crate, costs a packet
    // 4 % more instructions.
    /// Puts a packet into its queue, and gives the queue turns if it had none (section 4.1).
    #[inline(always)]
    pub(crate) fn push(&mut self, packet: PacketId, length: u32, hash: u32, quantum: i64) {
        let index = self.index(hash);
        let free = self.free;
        let Some(slot) = self.slots.get_mut(free as usize) else {
            // Unreachable: there is a slot for each packet within the limit and one more.
            return;
        };
        self.free = slot.next;
        *slot = Slot { packet, length, hash, next: NONE };
        let flow = &mut self.flows[index];
        let last = core::mem::replace(&mut flow.last, free);
        match self.slots.get_mut(last as usize) {
            Some(last) => last.next = free,
            None => flow.first = free,
        }
        self.bytes[index] += u64::from(length);
        self.backlog += u64::from(length);
        if flow.turn == Turn::Idle {
            (flow.turn, flow.credit) = (Turn::New, quantum);
            self.append(index, Turn::New);
        }
    }

    /// Takes a queue's first packet.
    #[inline]
    pub(crate) fn pop(&mut self, index: usize) -> Option<PacketId> {
        let flow = &mut self.flows[index];
        let first = flow.first;
        let slot = self.slots.get_mut(first as usize)?;
        flow.first = slot.next;
        if slot.next == NONE {
            flow.last = NONE;
        }
        self.bytes[index] -= u64::from(slot.length);
        self.backlog -= u64::from(slot.length);
        slot.next = self.free;
        self.free = first;
        Some(slot.packet)
    }

    /// Bytes in a queue.
    #[inline]
    pub(crate) fn bytes(&self, index: usize) -> u64 {
        self.bytes[index]
    }

    /// Bytes in all queues.
    #[inline]
    pub(crate) const fn backlog(&self) -> u64 {
        self.backlog
    }

    /// The longest queue, by bytes.
    pub(crate) fn longest(&self) -> usize {
        let longest = self.bytes.iter().enumerate().max_by_key(|&(_, bytes)| *bytes);
        longest.map_or(0, |(index, _)| index)
    }

    pub(crate) fn control(&self, index: usize) -> Control {
        self.flows[index].control
    }

    /// Records what came of a queue's turn: the state of its control, and the bytes of the packet that it sends, which its
    /// credit pays for.
    #[inline]
    pub(crate) fn spend(&mut self, index: usize, control: Control, length: u32) {
        let flow = &mut self.flows[index];
        flow.control = control;
        flow.credit -= i64::from(length);
    }

    /// The queue that has the turn: the first new one with credit left, or else the first old one. A queue
    /// without credit gets a quantum and goes to the end (section 4.2).
    #[inline]
    pub(crate) fn turn(&mut self, quantum: i64) -> Option<usize> {
        loop {
            let first = if self.new.first == NONE { self.old.first } else { self.new.first };
            let flow = self.flows.get_mut(first as usize)?;
            if flow.credit > 0 {
                return Some(first as usize);
            }
            flow.credit += quantum;
            self.move_on(first as usize);
        }
    }

    /// Asks for the first packet of the queue that has the next turn, if no new one comes.
    #[inline]
    pub(crate) fn prefetch_packet(&self, packets: &Packets) {
        let queue = if self.new.first == NONE { self.old.first } else { self.new.first };
        let first = self.flows.get(queue as usize).map_or(NONE, |flow| flow.first);
        if let Some(slot) = self.slots.get(first as usize) {
            packets.prefetch(slot.packet);
        }
    }

    /// Ends the turn of the queue `index`, which has nothing to send. A new queue becomes the last of the old
    /// ones, so that it cannot be new again at once and starve them. An old queue takes no more turns.
    pub(crate) fn pause(&mut self, index: usize) {
        match self.flows[index].turn {
            Turn::New => self.move_on(index),
            _ => {
                self.remove_first(index);
                self.flows[index].turn = Turn::Idle;
            }
        }
    }

    /// Moves the first queue of its list to the end of the old ones.
    #[inline(always)]
    fn move_on(&mut self, index: usize) {
        if let Some(next) = self.flows.get(self.flows[index].next as usize) {
            prefetch(next, 1);
        }
        self.remove_first(index);
        self.flows[index].turn = Turn::Old;
        self.append(index, Turn::Old);
    }

    fn list(&mut self, turn: Turn) -> &mut List {
        if turn == Turn::New { &mut self.new } else { &mut self.old }
    }

    fn remove_first(&mut self, index: usize) {
        let Flow { turn, next, .. } = self.flows[index];
        let list = self.list(turn);
        list.first = next;
        if next == NONE {
            list.last = NONE;
        }
        self.flows[index].next = NONE;
    }

    fn append(&mut self, index: usize, turn: Turn) {
        let list = self.list(turn);
        let last = core::mem::replace(&mut list.last, index as u32);
        if last == NONE {
            list.first = index as u32;
        } else {
            self.flows[last as usize].next = index as u32;
        }
    }

    /// Returns the same packets in another number of queues. Packets of a flow stay in order, because all are
    /// in one queue before and after. The queues' state is lost.
    pub(crate) fn spread(&self, flows: usize, quantum: i64) -> Self {
        let mut other = Self::new(flows, self.slots.len());
        for flow in &self.flows {
            let mut place = flow.first;
            while let Some(slot) = self.slots.get(place as usize) {
                other.push(slot.packet, slot.length, slot.hash, quantum);
                place = slot.next;
            }
        }
        other
    }

    /// Takes all packets, in any order; then every queue is new.
    pub(crate) fn drain(&mut self, each: &mut dyn FnMut(PacketId)) {
        for index in 0..self.flows.len() {
            while let Some(packet) = self.pop(index) {
                each(packet);
            }
            self.flows[index] = Flow::idle();
        }
        (self.new, self.old) = (EMPTY, EMPTY);
    }
}

/// A flow's hash, which depends on the salt in every bit.
#[inline]
pub(crate) fn hash(flow: FlowId, salt: u64) -> u32 {
    base::random::Random::from_seed(salt ^ u64::from(flow.0)).next_u32()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_spreads_flows_evenly_and_differently_with_each_salt() {
        let (flows, mut counts, mut same) = (Flows::new(100, 1), [0_u32; 100], 0);
        for flow in (0..100_000).map(FlowId) {
            let index = flows.index(hash(flow, 1));
            counts[index] += 1;
            same += u32::from(index == flows.index(hash(flow, 2)));
        }
        // 1000 expected in each, standard deviation 31.
        assert!(counts.iter().all(|count| (850..1_150).contains(count)), "{counts:?}");
        assert!((850..1_150).contains(&same), "{same}");
        assert_eq!(flows.index(u32::MAX), 99);
    }

    #[test]
    fn slots_are_used_again() {
        let mut flows = Flows::new(3, 4);
        for round in 0..1_000_u32 {
            (0..4).for_each(|n: u32| {
                flows.push(PacketId::default(), 100, (round + n) << 30, 1_514);
            });
            assert_eq!((0..3).map(|index| flows.bytes(index)).sum::<u64>(), 400);
            let mut drained = 0;
            flows.drain(&mut |_| drained += 1);
            assert_eq!((drained, flows.slots.len()), (4, 4));
        }
    }
}
