//! FIFO with drop-tail, by bytes and by packets: what an interface or a router port does by itself.

use crate::discipline::{Dequeued, Discipline, DropReason, Enqueued, Port, Statistics};
use crate::packet::{ETHERNET_HEADER_AND_FCS, PacketId, Packets};
use crate::ring::Ring;
use crate::setting::settings;
use crate::units::{Bytes, Instant};

settings! {
    blank: Self { packets: None, bytes: None };
    /// The limits. A packet that would pass either one is dropped.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Parameters {
        /// The most packets queued; any number unless given.
        pub packets: Option<u64>,
        /// The most bytes queued, by frame lengths; any number unless given.
        pub bytes: Option<Bytes>,
    }
}

impl Parameters {
    /// So many packets of any length.
    pub const fn of_packets(packets: u64) -> Self {
        Self { packets: Some(packets), bytes: None }
    }

    /// So many bytes, in packets of any number.
    pub const fn of_bytes(bytes: Bytes) -> Self {
        Self { packets: None, bytes: Some(bytes) }
    }
}

impl Default for Parameters {
    /// 1000 packets of any length: Linux's interface queue (`txqueuelen`).
    fn default() -> Self {
        Self::of_packets(1_000)
    }
}

/// Why parameters are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Such a queue would drop everything.
    #[error("a queue of zero drops every packet: give it room for at least one ({0} bytes)")]
    Zero(u64),
    /// Such a queue would drop every packet of full length.
    #[error(
        "a queue of {limit} bytes drops every packet of full length: give it room for at least \
         one ({frame} bytes)"
    )]
    BelowFrame {
        /// The limit.
        limit: u64,
        /// The port's longest frame.
        frame: u64,
    },
}

/// The limits as they are compared: what does not apply is beyond reach.
#[derive(Clone, Copy, Debug)]
struct Limits {
    packets: u64,
    bytes: u64,
}

impl Limits {
    fn of(parameters: &Parameters) -> Self {
        let (packets, bytes) = (parameters.packets, parameters.bytes.map(|bytes| bytes.0));
        Self { packets: packets.unwrap_or(u64::MAX), bytes: bytes.unwrap_or(u64::MAX) }
    }
}

/// A drop-tail queue.
#[derive(Debug)]
#[repr(C)]
pub struct Fifo {
    queue: Ring<PacketId>,
    statistics: Statistics,
    limits: Limits,
    port: Port,
}

/// Whether the limits let a packet of full length through the port.
pub(crate) fn check(parameters: &Parameters, port: Port) -> Result<(), Error> {
    let Limits { bytes: limit, packets } = Limits::of(parameters);
    let frame = frame_max(port);
    if limit == 0 || packets == 0 {
        return Err(Error::Zero(frame));
    }
    if limit < frame {
        return Err(Error::BelowFrame { limit, frame });
    }
    Ok(())
}

fn frame_max(port: Port) -> u64 {
    port.mtu.0.saturating_add(ETHERNET_HEADER_AND_FCS.into())
}

/// What a discipline needs that uses the queue as a leaf.
impl Fifo {
    pub(crate) fn head(&self) -> Option<PacketId> {
        self.queue.first()
    }

    /// Takes the first packet.
    #[inline]
    pub(crate) fn pop(&mut self, packets: &Packets) -> Option<PacketId> {
        let packet = self.queue.pop()?;
        let length = u64::from(packets[packet].length);
        let s = &mut self.statistics;
        s.backlog_packets -= 1;
        s.backlog_bytes -= length;
        s.sent_packets += 1;
        s.sent_bytes += length;
        Some(packet)
    }

    /// Takes over what is queued in `other`, also past the limits.
    pub(crate) fn append(&mut self, other: &mut Self) {
        self.queue.append(&mut other.queue);
        let (s, o) = (&mut self.statistics, &mut other.statistics);
        s.backlog_packets += core::mem::take(&mut o.backlog_packets);
        s.backlog_bytes += core::mem::take(&mut o.backlog_bytes);
        s.backlog_bytes_max = s.backlog_bytes_max.max(s.backlog_bytes);
    }

    /// Sets limits that [`check`] has passed.
    pub(crate) fn limit(&mut self, parameters: &Parameters) {
        self.limits = Limits::of(parameters);
    }

    /// Counts a gap frame that held the wire until this queue's packet was due.
    pub(crate) fn count_gap(&mut self, length: Bytes) {
        self.statistics.gap_frames += 1;
        self.statistics.gap_bytes += length.0;
    }
}

impl Discipline for Fifo {
    type Parameters = Parameters;
    type Error = Error;

    fn attach(parameters: &Parameters, port: Port) -> Result<Self, Error> {
        check(parameters, port)?;
        Ok(Self {
            limits: Limits::of(parameters),
            port,
            queue: Ring::new(),
            statistics: Statistics::default(),
        })
    }

    fn change(&mut self, parameters: &Parameters) -> Result<(), Error> {
        check(parameters, self.port)?;
        self.limit(parameters);
        Ok(())
    }

    #[inline]
    fn enqueue(&mut self, packets: &mut Packets, packet: PacketId, now: Instant) -> Enqueued {
        let length = u64::from(packets[packet].length);
        let s = &mut self.statistics;
        let reason = if s.backlog_packets >= self.limits.packets {
            Some(DropReason::QueuePackets)
        } else if s.backlog_bytes + length > self.limits.bytes {
            Some(DropReason::QueueBytes)
        } else {
            None
        };
        if let Some(reason) = reason {
            s.dropped_packets += 1;
            s.dropped_bytes += length;
            return Enqueued::Dropped(reason);
        }
        packets[packet].queued = now;
        self.queue.push(packet);
        s.enqueued_packets += 1;
        s.enqueued_bytes += length;
        s.backlog_packets += 1;
        s.backlog_bytes += length;
        s.backlog_bytes_max = s.backlog_bytes_max.max(s.backlog_bytes);
        Enqueued::Queued
    }

    #[inline]
    fn pass(&mut self, length: u32) -> bool {
        // A limit is at least one full frame (`check`), so an empty queue takes any.
        if !self.queue.is_empty() {
            return false;
        }
        let s = &mut self.statistics;
        let length = u64::from(length);
        s.enqueued_packets += 1;
        s.enqueued_bytes += length;
        s.sent_packets += 1;
        s.sent_bytes += length;
        s.backlog_bytes_max = s.backlog_bytes_max.max(length);
        true
    }

    #[inline]
    fn dequeue(&mut self, packets: &mut Packets, _now: Instant) -> Dequeued {
        self.pop(packets).map_or(Dequeued::Empty, Dequeued::Send)
    }

    #[inline]
    fn peek(&mut self, _packets: &Packets, _now: Instant) -> Dequeued {
        self.head().map_or(Dequeued::Empty, Dequeued::Send)
    }

    fn flush(&mut self, packets: &mut Packets, _now: Instant) {
        while let Some(packet) = self.queue.pop() {
            let length = u64::from(packets[packet].length);
            self.statistics.dropped_packets += 1;
            self.statistics.dropped_bytes += length;
            packets.discard(packet, DropReason::Flushed);
        }
        self.statistics.backlog_packets = 0;
        self.statistics.backlog_bytes = 0;
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    fn statistics(&self) -> Statistics {
        self.statistics
    }
}
