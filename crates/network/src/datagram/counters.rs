//! The counters of a datagram socket, simulated or real.

use base::{Duration, Instant};
use transport::Info;

use super::Delay;

/// The datagrams sent and received so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    sent: Count,
    received: Count,
    /// Datagrams received with a congestion mark.
    marks: u64,
    last: Instant,
    delay: Delay,
    /// Datagrams lost to a full buffer: in the sending socket, or in the receiving one.
    refused: u64,
    overflowed: u64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Count {
    packets: u64,
    bytes: u64,
}

impl Count {
    fn add(&mut self, payload: u32) {
        self.packets += 1;
        self.bytes += u64::from(payload);
    }
}

impl Counters {
    /// Counts a sent datagram of `payload` bytes.
    pub fn send(&mut self, payload: u32) {
        self.sent.add(payload);
    }

    /// Counts the datagram that was sent last as lost before it left the host.
    pub fn refuse(&mut self) {
        self.refused += 1;
    }

    /// Counts a datagram of `payload` bytes received at `now`, `delay` after it was sent if that is known.
    pub fn receive(&mut self, payload: u32, now: Instant, delay: Option<Duration>) {
        self.received.add(payload);
        self.last = now;
        if let Some(delay) = delay {
            self.delay.add(delay);
        }
    }

    /// Counts a received datagram with a congestion mark.
    pub fn mark(&mut self) {
        self.marks += 1;
    }

    /// Sets the total number of datagrams lost to a full receive buffer.
    pub fn overflow(&mut self, lost: u64) {
        self.overflowed = lost;
    }

    /// Datagrams sent.
    pub const fn packets_sent(&self) -> u64 {
        self.sent.packets
    }

    /// Payload sent.
    pub const fn bytes_sent(&self) -> u64 {
        self.sent.bytes
    }

    /// Datagrams received.
    pub const fn packets_received(&self) -> u64 {
        self.received.packets
    }

    /// The bytes received, and when the last of them arrived.
    pub const fn progress(&self) -> (u64, Instant) {
        (self.received.bytes, self.last)
    }

    /// The delays of received datagrams.
    pub const fn delay(&self) -> Delay {
        self.delay
    }

    /// The counters in the form of a connection's, where they have the same meaning.
    pub fn info(&self) -> Info {
        let Self { sent, received, .. } = self;
        Info {
            bytes_written: sent.bytes,
            bytes_sent: sent.bytes,
            segments_sent: sent.packets,
            data_segments_sent: sent.packets,
            bytes_received: received.bytes,
            bytes_read: received.bytes,
            segments_received: received.packets,
            data_segments_received: received.packets,
            reports_decisions: true,
            local_drops: self.refused + self.overflowed,
            ecn_marks: self.marks,
            ..Info::default()
        }
    }
}
