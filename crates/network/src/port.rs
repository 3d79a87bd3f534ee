//! An output port: a discipline, and the wire clock behind it.

use traffic::qdisc::{self, Qdisc};
use traffic::units::Serializer;
use traffic::{
    Bytes, Dequeued, Discipline, DropReason, Enqueued, Instant, PacketId, Packets, Rate, Statistics,
};

use crate::observer::{Observer, Place, PortId};

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

/// What became of a packet offered to a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offered {
    /// It is on the wire; its last bit leaves at the given instant.
    Sent(Instant),
    /// The discipline has it.
    Queued,
    /// The discipline has it, behind others, and the wire is busy: the port is waited for already.
    Behind,
    /// The caller still owns it.
    Dropped(DropReason),
}

impl From<Enqueued> for Offered {
    fn from(enqueued: Enqueued) -> Self {
        match enqueued {
            Enqueued::Queued => Self::Queued,
            Enqueued::Dropped(reason) => Self::Dropped(reason),
        }
    }
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

    /// Whether nothing is queued.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.qdisc.is_empty()
    }

    /// Offers a packet. One that finds the wire idle and nothing queued may leave at once.
    #[inline]
    pub fn offer(
        &mut self,
        packets: &mut Packets,
        packet: PacketId,
        now: Instant,
        observer: &mut impl Observer,
    ) -> Offered {
        if now < self.free_at {
            let behind = !self.qdisc.is_empty();
            return match self.enqueue(packets, packet, now) {
                Enqueued::Queued if behind => Offered::Behind,
                enqueued => enqueued.into(),
            };
        }
        let length = packets[packet].length;
        if length <= self.frame_max && self.qdisc.pass(length) {
            packets[packet].queued = now;
            self.occupy(u64::from(length), now);
            observer.transmitted(self.id, &packets[packet], now, self.free_at);
            return Offered::Sent(self.free_at);
        }
        self.enqueue(packets, packet, now).into()
    }

    /// Offers a packet to the discipline.
    #[inline]
    pub fn enqueue(&mut self, packets: &mut Packets, packet: PacketId, now: Instant) -> Enqueued {
        let length = packets[packet].length;
        if length > self.frame_max {
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
        let next = self.qdisc.dequeue(packets, now);
        self.report_discarded(packets, now, observer);
        match next {
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

    /// Discards everything queued.
    pub fn flush(&mut self, packets: &mut Packets, now: Instant, observer: &mut impl Observer) {
        self.qdisc.flush(packets, now);
        self.report_discarded(packets, now, observer);
    }

    /// Tells of the packets that the discipline discarded after it had taken them.
    #[inline]
    fn report_discarded(
        &mut self,
        packets: &mut Packets,
        now: Instant,
        observer: &mut impl Observer,
    ) {
        while let Some((packet, reason)) = packets.take_dropped() {
            observer.dropped(Place::Port(self.id), &packets[packet], reason, now);
            packets.release(packet);
        }
    }

    /// Keeps the wire busy with a frame of `length` bytes from `now` on.
    #[inline]
    fn occupy(&mut self, length: u64, now: Instant) {
        self.free_at = now + self.line.advance(Bytes(length + self.overhead));
    }
}
