//! A link that a discipline serves: it keeps time in byte times and writes down what it carried.
#![allow(dead_code, reason = "each test uses its part")]

use base::{Bytes, FlowId, Instant, Packet, PacketId, Rate, units::Serializer};
use traffic::{Dequeued, Discipline, Enqueued, Packets, Port, WireClock};

/// The overhead of Ethernet per frame on the wire.
pub(crate) const OVERHEAD: u64 = 20;

pub(crate) fn rate(bits: u64) -> Rate {
    Rate::from_bits_per_second(bits).expect("a rate above zero")
}

pub(crate) fn port(rate_bits: u64, mtu: u64) -> Port {
    Port { rate: rate(rate_bits), mtu: Bytes(mtu), overhead: Bytes(OVERHEAD), seed: 1 }
}

/// One frame as it was on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sent {
    /// The byte time of its start.
    pub(crate) at: u64,
    /// Frame length.
    pub(crate) length: u64,
    /// Its flow; `None` for a gap frame.
    pub(crate) flow: Option<u32>,
}

/// A link with one discipline on it.
pub(crate) struct Wire<D> {
    pub(crate) discipline: D,
    pub(crate) packets: Packets,
    pub(crate) log: Vec<Sent>,
    pub(crate) now: Instant,
    /// The time at which the wire is free again.
    pub(crate) free: Instant,
    position: u64,
    serializer: Serializer,
}

impl<D: Discipline> Wire<D> {
    pub(crate) fn new(discipline: D, port: Port) -> Self {
        Self {
            discipline,
            packets: Packets::new(),
            log: Vec::new(),
            now: Instant::ZERO,
            free: Instant::ZERO,
            position: 0,
            serializer: Serializer::new(port.rate),
        }
    }

    /// The byte time that it is.
    pub(crate) fn position(&self) -> u64 {
        self.position
    }

    /// The clock that the discipline gets.
    pub(crate) fn clock(&self) -> WireClock {
        WireClock { now: self.now, free: self.free }
    }

    /// Offers a packet of `length` bytes in `flow`; the id if it was taken.
    pub(crate) fn offer(&mut self, flow: u32, length: u32) -> Option<PacketId> {
        let packet = Packet { flow: FlowId(flow), length, ..Packet::default() };
        let id = self.packets.insert(packet);
        let clock = self.clock();
        match self.discipline.enqueue(&mut self.packets, id, clock) {
            Enqueued::Queued => Some(id),
            Enqueued::Dropped(_) => {
                self.packets.release(id);
                None
            }
        }
    }

    /// Nothing happens for that many byte times.
    pub(crate) fn idle(&mut self, bytes: u64) {
        self.position += bytes;
        self.now += self.serializer.advance(Bytes(bytes));
    }

    fn carry(&mut self, length: u64, flow: Option<u32>) {
        self.log.push(Sent { at: self.position, length, flow });
        self.idle(length + OVERHEAD);
        self.free = self.now;
    }

    /// Carries the next frame to its end; what the discipline answered.
    pub(crate) fn step(&mut self) -> Dequeued {
        let clock = self.clock();
        let answer = self.discipline.dequeue(&mut self.packets, clock);
        match answer {
            Dequeued::Send(id) => {
                let Packet { length, flow, .. } = self.packets[id];
                self.packets.release(id);
                self.carry(length.into(), Some(flow.0));
            }
            Dequeued::Gap(length) => self.carry(length.0, None),
            Dequeued::NotBefore(_) | Dequeued::Empty => {}
        }
        answer
    }

    /// Carries frames until `packets` more packets of a flow have left.
    pub(crate) fn carry_of(&mut self, flow: u32, mut packets: usize) {
        while packets > 0 {
            assert_ne!(self.step(), Dequeued::Empty, "{packets} packets more");
            packets -= usize::from(self.log.last().is_some_and(|sent| sent.flow == Some(flow)));
        }
    }

    /// Carries frames until nothing is queued.
    pub(crate) fn drain(&mut self) {
        while matches!(self.step(), Dequeued::Send(_) | Dequeued::Gap(_)) {}
    }
}
