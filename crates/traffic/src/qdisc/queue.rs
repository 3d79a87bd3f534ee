//! A FIFO queue that refuses packets by its limits or by active queue management.

use crate::discipline::{Backlog, Enqueued, Statistics};
use crate::packet_list::PacketList;
use crate::packets::Packets;
use crate::qdisc::class_queue::Sent;
use crate::qdisc::fifo::{self, Limits};
use crate::qdisc::tally::Tally;
use base::drop_reason::DropReason;
use base::packet::PacketId;
use base::units::Instant;

/// The queue behind the disciplines that decide at enqueue.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct Queue {
    line: PacketList,
    tally: Tally,
}

impl Queue {
    /// The number of packets, from the line itself, which is at hand at each call.
    #[inline]
    pub(crate) const fn packets(&self) -> u64 {
        self.line.len() as u64
    }

    #[inline]
    pub(crate) const fn bytes(&self) -> u64 {
        self.tally.bytes()
    }

    #[inline]
    pub(crate) const fn backlog(&self) -> Backlog {
        Backlog { packets: self.packets(), bytes: self.bytes() }
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.line.is_empty()
    }

    pub(crate) const fn statistics(&self) -> Statistics {
        self.tally.statistics()
    }

    /// The limit that one more packet of this length would exceed.
    #[inline]
    pub(crate) fn over(&self, limits: &fifo::Parameters, length: u64) -> Option<DropReason> {
        over(&self.tally, limits, length)
    }

    #[inline]
    pub(crate) fn push(&mut self, packets: &mut Packets, id: PacketId, now: Instant) -> Enqueued {
        let packet = &mut packets[id];
        packet.queued = now;
        self.tally.take(packet.length.into());
        self.tally.peak();
        self.line.push(packets, id);
        Enqueued::Queued
    }

    pub(crate) fn refuse(&mut self, length: u64, reason: DropReason) -> Enqueued {
        self.tally.refuse(length);
        Enqueued::Dropped(reason)
    }

    /// Marks an ECN-capable packet; false for any other.
    pub(crate) fn mark(&mut self, packets: &mut Packets, id: PacketId) -> bool {
        let marked = packets[id].mark();
        if marked {
            self.tally.mark();
        }
        marked
    }

    pub(crate) fn head(&self) -> Option<PacketId> {
        self.line.first()
    }

    /// Takes the first packet, for the wire.
    #[inline]
    pub(crate) fn pop(&mut self, packets: &Packets) -> Option<PacketId> {
        self.pop_measured(packets).map(|(id, _)| id)
    }

    /// Takes the first packet, and returns its length with it.
    #[inline]
    pub(crate) fn pop_measured(&mut self, packets: &Packets) -> Option<Sent> {
        let id = self.line.pop(packets)?;
        let length = packets[id].length;
        self.tally.send(length.into());
        Some((id, length))
    }

    pub(crate) fn flush(&mut self, packets: &mut Packets) {
        while let Some(id) = self.line.pop(packets) {
            self.tally.discard(packets[id].length.into());
            packets.discard(id, DropReason::Flushed);
        }
    }
}

/// The limit that one more packet of this length would exceed.
#[inline]
pub(crate) fn over(tally: &Tally, limits: &fifo::Parameters, length: u64) -> Option<DropReason> {
    let queued = Backlog { packets: tally.packets(), bytes: tally.bytes() };
    Limits::of(limits).over(queued, length)
}
