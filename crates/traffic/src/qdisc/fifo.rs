//! FIFO with drop-tail, by bytes and by packets: the default of an interface or a router port.

use crate::discipline::{Backlog, Dequeued, Discipline, Enqueued, Port, Statistics, WireClock};
use crate::packet_list::PacketList;
use crate::packets::Packets;
use crate::qdisc::page::Page;
use base::drop_reason::DropReason;
use base::packet::{ETHERNET_HEADER_AND_FCS, PacketId};
use base::setting::{errors, in_range, settings};
use base::subject::Subject;
use base::units::{Bytes, Instant};

/// The catalogue page, apart from the settings.
pub(super) const PAGE: Page = Page {
    what: "Packets leave in the order in which they arrive. A packet that would exceed the limit of bytes or \
         of packets is dropped.",
    when: "Where the queue is short, or never the bottleneck: a host's interface, a core link. Not where \
         users share a bottleneck: a greedy flow fills the queue, and all other flows wait behind it and \
         lose packets too.",
    sources: &["Cho, \"Traffic Management by Alternate Queueing\" (paper 1), section 4.1.4: the \
         template of a discipline"],
};

settings! {
    blank: Self { packets: None, bytes: None };
    /// The limits. A packet beyond either one is dropped.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Parameters {
        /// Maximum packets queued; no limit unless given, but 1000 where `bytes` is not given either.
        #[range(1..)]
        pub packets: Option<u64>,
        /// Maximum bytes queued, in frame lengths; no limit unless given.
        pub bytes: Option<Bytes>,
    }
}

impl Parameters {
    /// A limit of `packets` packets of any length.
    pub const fn of_packets(packets: u64) -> Self {
        Self { packets: Some(packets), bytes: None }
    }

    /// A limit of `bytes` bytes in any number of packets.
    pub const fn of_bytes(bytes: Bytes) -> Self {
        Self { packets: None, bytes: Some(bytes) }
    }
}

impl Default for Parameters {
    /// 1000 packets of any length, as Linux's interface queue (`txqueuelen`).
    fn default() -> Self {
        Self::of_packets(1_000)
    }
}

errors! {
    /// Why parameters are refused.
    pub enum Error from {} or {
        /// The queue would drop every packet.
        #[error("a queue of zero drops every packet: give it room for at least one ({0} bytes)")]
        Zero(u64),
        /// The queue would drop every packet of full length.
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
    } at {
        Self::Zero(_) => Subject::settings(&["bytes"]),
        Self::BelowFrame { .. } => Subject::settings(&["bytes"]),
    }
}

/// The limits in comparable form: a limit that does not apply is out of reach.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    packets: u64,
    bytes: u64,
}

impl Limits {
    pub(crate) fn of(parameters: &Parameters) -> Self {
        let (packets, bytes) = (parameters.packets, parameters.bytes.map(|bytes| bytes.0));
        Self { packets: packets.unwrap_or(u64::MAX), bytes: bytes.unwrap_or(u64::MAX) }
    }

    /// The limit that one more packet of this length would exceed.
    #[inline]
    pub(crate) fn over(&self, queued: Backlog, length: u64) -> Option<DropReason> {
        if queued.packets >= self.packets {
            Some(DropReason::QueuePackets)
        } else if queued.bytes.saturating_add(length) > self.bytes {
            Some(DropReason::QueueBytes)
        } else {
            None
        }
    }
}

/// Packets or frames, and their bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    packets: u64,
    bytes: u64,
}

impl Count {
    #[inline]
    fn add(&mut self, packets: u64, bytes: u64) {
        self.packets = self.packets.wrapping_add(packets);
        self.bytes = self.bytes.wrapping_add(bytes);
    }
}

/// A drop-tail queue. The fields that each packet uses come first, and fit a cache line with the tag of [`super::Qdisc`].
#[derive(Debug)]
#[repr(C)]
pub struct Fifo {
    queue: PacketList,
    /// The limits, as in [`Limits`]; no list holds as many packets as 2^32.
    packets_limit: u32,
    bytes_limit: u64,
    backlog_bytes: u64,
    backlog_bytes_max: u64,
    enqueued: Count,
    dropped: Count,
    flushed: Count,
    gaps: Count,
    port: Port,
}

const _: () =
    assert!(core::mem::offset_of!(Fifo, dropped) == 56, "a packet touches one cache line");

/// Whether the limits let a packet of full length through the port.
pub(crate) fn check(parameters: &Parameters, port: Port) -> Result<(), Error> {
    in_range(parameters)?;
    let limit = Limits::of(parameters).bytes;
    let frame = frame_max(port);
    if limit == 0 {
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

/// The operations for a discipline that uses the queue as a leaf.
impl Fifo {
    pub(crate) fn head(&self) -> Option<PacketId> {
        self.queue.first()
    }

    /// Takes the first packet.
    #[inline]
    pub(crate) fn pop(&mut self, packets: &Packets) -> Option<PacketId> {
        let packet = self.queue.pop(packets)?;
        self.backlog_bytes -= u64::from(packets[packet].length);
        Some(packet)
    }

    /// Sets limits that passed [`check`].
    pub(crate) fn limit(&mut self, parameters: &Parameters) {
        let Limits { packets, bytes } = Limits::of(parameters);
        (self.packets_limit, self.bytes_limit) = (packets.try_into().unwrap_or(u32::MAX), bytes);
    }

    #[inline]
    fn limits(&self) -> Limits {
        Limits { packets: self.packets_limit.into(), bytes: self.bytes_limit }
    }

    /// Takes a packet of that length as [`Discipline::enqueue`] does, but leaves it to the caller, which knows when it
    /// is sent and then calls [`Fifo::sent`]. In between, the discipline may take and count packets only.
    ///
    /// # Errors
    /// The limit that it would exceed.
    #[inline]
    pub fn admit(&mut self, length: u32) -> Result<(), DropReason> {
        let length = u64::from(length);
        if let Some(reason) = self.limits().over(self.backlog(), length) {
            self.dropped.add(1, length);
            return Err(reason);
        }
        self.queue.count_in();
        self.backlog_bytes += length;
        self.backlog_bytes_max = self.backlog_bytes_max.max(self.backlog_bytes);
        self.enqueued.add(1, length);
        Ok(())
    }

    /// The first packet, of that length, has left.
    #[inline]
    pub fn sent(&mut self, length: u32) {
        self.queue.count_out();
        self.backlog_bytes -= u64::from(length);
    }

    /// Counts a gap frame that held the wire until this queue's packet was due.
    pub(crate) fn count_gap(&mut self, length: Bytes) {
        self.gaps.add(1, length.0);
    }
}

impl Discipline for Fifo {
    type Parameters = Parameters;
    type Error = Error;

    fn attach(parameters: &Parameters, port: Port) -> Result<Self, Error> {
        check(parameters, port)?;
        let mut fifo = Self {
            port,
            queue: PacketList::default(),
            packets_limit: 0,
            bytes_limit: 0,
            backlog_bytes: 0,
            backlog_bytes_max: 0,
            enqueued: Count::default(),
            dropped: Count::default(),
            flushed: Count::default(),
            gaps: Count::default(),
        };
        fifo.limit(parameters);
        Ok(fifo)
    }

    fn change(&mut self, parameters: &Parameters, _clock: WireClock) -> Result<(), Error> {
        check(parameters, self.port)?;
        self.limit(parameters);
        Ok(())
    }

    fn set_port(&mut self, port: Port, _clock: WireClock) {
        self.port = port;
    }

    #[inline]
    fn enqueue(
        &mut self,
        packets: &mut Packets,
        packet: PacketId,
        WireClock { now, .. }: WireClock,
    ) -> Enqueued {
        let length = u64::from(packets[packet].length);
        if let Some(reason) = self.limits().over(self.backlog(), length) {
            self.dropped.add(1, length);
            return Enqueued::Dropped(reason);
        }
        packets[packet].queued = now;
        self.queue.push(packets, packet);
        self.backlog_bytes += length;
        self.backlog_bytes_max = self.backlog_bytes_max.max(self.backlog_bytes);
        self.enqueued.add(1, length);
        Enqueued::Queued
    }

    #[inline]
    fn pass(&mut self, packets: &mut Packets, packet: PacketId) -> bool {
        // A limit is at least one full frame (`check`), so an empty queue takes any packet.
        if !self.queue.is_empty() {
            return false;
        }
        let length = u64::from(packets[packet].length);
        self.enqueued.add(1, length);
        self.backlog_bytes_max = self.backlog_bytes_max.max(length);
        true
    }

    #[inline]
    fn dequeue(&mut self, packets: &mut Packets, _: WireClock) -> Dequeued {
        self.pop(packets).map_or(Dequeued::Empty, Dequeued::Send)
    }

    #[inline]
    fn peek(&mut self, _packets: &Packets, _: WireClock) -> Dequeued {
        self.head().map_or(Dequeued::Empty, Dequeued::Send)
    }

    fn flush(&mut self, packets: &mut Packets, _now: Instant) {
        while let Some(packet) = self.queue.pop(packets) {
            let length = u64::from(packets[packet].length);
            self.dropped.add(1, length);
            self.flushed.add(1, length);
            packets.discard(packet, DropReason::Flushed);
        }
        self.backlog_bytes = 0;
    }

    #[inline]
    fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        Backlog { packets: self.queue.len() as u64, bytes: self.backlog_bytes }
    }

    /// Packets sent are those taken that are neither queued nor flushed.
    fn statistics(&self) -> Statistics {
        let (backlog, enqueued, flushed) = (self.backlog(), self.enqueued, self.flushed);
        let sent = |taken: u64, flushed: u64, here| taken.wrapping_sub(flushed).wrapping_sub(here);
        Statistics {
            backlog_packets: backlog.packets,
            backlog_bytes: backlog.bytes,
            backlog_bytes_max: self.backlog_bytes_max,
            enqueued_packets: enqueued.packets,
            enqueued_bytes: enqueued.bytes,
            sent_packets: sent(enqueued.packets, flushed.packets, backlog.packets),
            sent_bytes: sent(enqueued.bytes, flushed.bytes, backlog.bytes),
            dropped_packets: self.dropped.packets,
            dropped_bytes: self.dropped.bytes,
            marked_packets: 0,
            gap_frames: self.gaps.packets,
            gap_bytes: self.gaps.bytes,
        }
    }
}
