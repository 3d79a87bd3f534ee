//! FIFO with drop-tail, by bytes and by packets: what an interface or a router port does by itself.

use alloc::collections::VecDeque;

use crate::discipline::{Dequeued, Discipline, DropReason, Enqueued, Port, Statistics};
use crate::packet::{PacketId, Packets};
use crate::units::{Bytes, Instant};

/// The limits. A packet that would pass either one is dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// The most bytes (frame lengths) queued.
    pub limit_bytes: Bytes,
    /// The most packets queued.
    pub limit_packets: u64,
}

/// Why parameters are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Such a queue would drop everything.
    #[error("a queue of zero drops every packet: give it room for at least one ({0} bytes)")]
    Zero(u64),
}

/// A drop-tail queue.
#[derive(Debug)]
pub struct Fifo {
    parameters: Parameters,
    queue: VecDeque<PacketId>,
    statistics: Statistics,
    frame_max: u64,
}

fn validate(parameters: &Parameters, frame_max: u64) -> Result<(), Error> {
    if parameters.limit_bytes.0 == 0 || parameters.limit_packets == 0 {
        return Err(Error::Zero(frame_max));
    }
    Ok(())
}

impl Discipline for Fifo {
    type Parameters = Parameters;
    type Error = Error;

    fn attach(parameters: &Parameters, port: Port) -> Result<Self, Error> {
        let frame_max = port.mtu.0 + u64::from(crate::packet::ETHERNET_HEADER_AND_FCS);
        validate(parameters, frame_max)?;
        Ok(Self {
            parameters: *parameters,
            queue: VecDeque::new(),
            statistics: Statistics::default(),
            frame_max,
        })
    }

    fn change(&mut self, parameters: &Parameters) -> Result<(), Error> {
        validate(parameters, self.frame_max)?;
        self.parameters = *parameters;
        Ok(())
    }

    fn enqueue(&mut self, packets: &mut Packets, packet: PacketId, now: Instant) -> Enqueued {
        let length = u64::from(packets[packet].length);
        let s = &mut self.statistics;
        let reason = if s.backlog_packets >= self.parameters.limit_packets {
            Some(DropReason::QueuePackets)
        } else if s.backlog_bytes + length > self.parameters.limit_bytes.0 {
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
        self.queue.push_back(packet);
        s.enqueued_packets += 1;
        s.enqueued_bytes += length;
        s.backlog_packets += 1;
        s.backlog_bytes += length;
        s.backlog_bytes_max = s.backlog_bytes_max.max(s.backlog_bytes);
        Enqueued::Queued
    }

    fn dequeue(&mut self, packets: &mut Packets, _now: Instant) -> Dequeued {
        let Some(packet) = self.queue.pop_front() else { return Dequeued::Empty };
        let length = u64::from(packets[packet].length);
        let s = &mut self.statistics;
        s.backlog_packets -= 1;
        s.backlog_bytes -= length;
        s.sent_packets += 1;
        s.sent_bytes += length;
        Dequeued::Send(packet)
    }

    fn peek(&mut self, _packets: &Packets, _now: Instant) -> Dequeued {
        self.queue.front().map_or(Dequeued::Empty, |&p| Dequeued::Send(p))
    }

    fn flush(&mut self, packets: &mut Packets, _now: Instant) {
        while let Some(packet) = self.queue.pop_front() {
            let length = u64::from(packets[packet].length);
            self.statistics.dropped_packets += 1;
            self.statistics.dropped_bytes += length;
            packets.discard(packet, DropReason::Flushed);
        }
        self.statistics.backlog_packets = 0;
        self.statistics.backlog_bytes = 0;
    }

    fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    fn statistics(&self) -> Statistics {
        self.statistics
    }
}
