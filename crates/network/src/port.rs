//! An output port: a discipline, and the wire clock behind it.

use traffic::qdisc::{self, Qdisc};
use traffic::units::Serializer;
use traffic::{
    Bytes, Dequeued, Discipline, DropReason, Enqueued, Instant, PacketId, Packets, Rate, Statistics,
};

use crate::observer::{Observer, PortId};

/// What a port does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transmit {
    /// Sends this packet, whose last bit leaves at the given instant.
    Packet(PacketId, Instant),
    /// Nothing before this instant: the wire is busy, or the discipline waits.
    Wait(Instant),
    /// Nothing until a packet is enqueued.
    Idle,
}

/// What a port counts beside its discipline's statistics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Totals {
    /// Packets refused for their length.
    pub too_long_packets: u64,
    /// Their bytes.
    pub too_long_bytes: u64,
}

/// An output port.
#[derive(Debug)]
pub struct Port {
    id: PortId,
    qdisc: Qdisc,
    line: Serializer,
    overhead: u64,
    frame_max: u32,
    /// When the wire is free again.
    free_at: Instant,
    totals: Totals,
}

impl Port {
    /// A port at `rate`, with `overhead` bytes on the wire per frame, on a link of that `mtu`.
    pub fn new(
        id: PortId,
        queue: &qdisc::Parameters,
        port: traffic::Port,
    ) -> Result<Self, qdisc::Error> {
        let frame_max = port.mtu.0 + u64::from(traffic::packet::ETHERNET_HEADER_AND_FCS);
        Ok(Self {
            id,
            qdisc: Qdisc::attach(queue, port)?,
            line: Serializer::new(port.rate),
            overhead: port.overhead.0,
            frame_max: u32::try_from(frame_max).unwrap_or(u32::MAX),
            free_at: Instant::ZERO,
            totals: Totals::default(),
        })
    }

    /// Its number in the plan.
    pub fn id(&self) -> PortId {
        self.id
    }

    /// Its line rate.
    pub fn rate(&self) -> Rate {
        self.line.rate()
    }

    /// The discipline on it.
    pub fn qdisc(&mut self) -> &mut Qdisc {
        &mut self.qdisc
    }

    /// The discipline's statistics.
    pub fn statistics(&self) -> Statistics {
        self.qdisc.statistics()
    }

    /// The port's own counters.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// Offers a packet to the discipline.
    #[inline]
    pub fn enqueue(&mut self, packets: &mut Packets, packet: PacketId, now: Instant) -> Enqueued {
        let length = packets[packet].length;
        if length > self.frame_max {
            self.totals.too_long_packets += 1;
            self.totals.too_long_bytes += u64::from(length);
            return Enqueued::Dropped(DropReason::TooLong);
        }
        self.qdisc.enqueue(packets, packet, now)
    }

    /// What goes onto the wire at `now`. Gap frames are put there as well, and the wait is over when
    /// they have left.
    #[inline]
    pub fn poll_transmit(
        &mut self,
        packets: &mut Packets,
        now: Instant,
        observer: &mut impl Observer,
    ) -> Transmit {
        if self.qdisc.is_empty() {
            return Transmit::Idle;
        }
        if now < self.free_at {
            return Transmit::Wait(self.free_at);
        }
        match self.qdisc.dequeue(packets, now) {
            Dequeued::Send(packet) => {
                let length = packets[packet].length;
                self.occupy(u64::from(length), now);
                observer.transmitted(self.id, &packets[packet], now, self.free_at);
                Transmit::Packet(packet, self.free_at)
            }
            Dequeued::Gap(length) => {
                self.occupy(length.0, now);
                observer.gap(self.id, length, now, self.free_at);
                Transmit::Wait(self.free_at)
            }
            Dequeued::NotBefore(at) => Transmit::Wait(at),
            Dequeued::Empty => Transmit::Idle,
        }
    }

    /// Keeps the wire busy with a frame of `length` bytes from `now` on.
    #[inline]
    fn occupy(&mut self, length: u64, now: Instant) {
        self.free_at = now + self.line.advance(Bytes(length + self.overhead));
    }
}
