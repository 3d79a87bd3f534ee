//! What a socket of datagrams counts, simulated or a kernel's.

use traffic::{Duration, Instant};
use transport::Info;

use super::Delay;

/// What was sent and received so far.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counters {
    sent: Count,
    received: Count,
    /// Datagrams received that bear a congestion mark.
    marks: u64,
    last: Instant,
    delay: Delay,
    /// What had no room: in the socket that sends, or in the one that receives.
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
    /// A datagram of so many bytes was sent.
    pub fn send(&mut self, payload: u32) {
        self.sent.add(payload);
    }

    /// The datagram that was sent last was lost before it left the host.
    pub fn refuse(&mut self) {
        self.refused += 1;
    }

    /// A datagram of so many bytes came at `now`, `delay` after it was sent if that is known.
    pub fn receive(&mut self, payload: u32, now: Instant, delay: Option<Duration>) {
        self.received.add(payload);
        self.last = now;
        if let Some(delay) = delay {
            self.delay.add(delay);
        }
    }

    /// A datagram that came bears a congestion mark.
    pub fn mark(&mut self) {
        self.marks += 1;
    }

    /// So many in all were lost for want of room where they are received.
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

    /// The bytes that came, and when the last of them did.
    pub const fn progress(&self) -> (u64, Instant) {
        (self.received.bytes, self.last)
    }

    /// How long those that came were on their way.
    pub const fn delay(&self) -> Delay {
        self.delay
    }

    /// The counters, where a connection's have the same meaning.
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
            tells_decisions: true,
            local_drops: self.refused + self.overflowed,
            ecn_marks: self.marks,
            ..Info::default()
        }
    }
}
