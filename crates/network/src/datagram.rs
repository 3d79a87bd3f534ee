//! Frames of datagrams, and what datagram sockets count.

mod counters;

use base::Duration;
use base::packet::{ETHERNET_HEADER_AND_FCS, FRAME_MIN};

pub use counters::Counters;

/// The bytes of the UDP header (RFC 768).
pub const UDP_HEADER: u32 = 8;

/// The frame length of a datagram with that payload; a short frame is padded.
pub fn frame_length(payload: u32, ip_header: u32) -> u32 {
    (payload + UDP_HEADER + ip_header + ETHERNET_HEADER_AND_FCS).max(FRAME_MIN)
}

/// The magnitude of the delay variation from each datagram to the next one received (IPDV, RFC 3393, with consecutive
/// packets as its selection).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Variation {
    /// Picoseconds, summed over all pairs of datagrams.
    pub sum: u128,
    /// The number of pairs.
    pub samples: u64,
}

impl Variation {
    const fn since(&self, earlier: &Self) -> Self {
        let sum = self.sum.saturating_sub(earlier.sum);
        Self { sum, samples: self.samples.saturating_sub(earlier.samples) }
    }
}

/// The delays of datagrams from the sending program to the receiving one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Delay {
    /// Picoseconds, summed over all.
    pub sum: u128,
    /// The longest.
    pub max: Duration,
    /// The delay variation from each datagram to the next.
    pub variation: Variation,
    /// RFC 3550's interarrival jitter (section 6.4.1), 16 times, in picoseconds.
    jitter_times_16: u64,
    last: Option<Duration>,
}

impl Delay {
    /// Counts a datagram with the delay `delay`.
    pub fn add(&mut self, delay: Duration) {
        self.sum += u128::from(delay.as_ps());
        self.max = self.max.max(delay);
        if let Some(last) = self.last.replace(delay) {
            // J += (|D| - J) / 16, kept times 16 as in RFC 3550, appendix A.8.
            let difference = delay.as_ps().abs_diff(last.as_ps());
            self.variation.sum += u128::from(difference);
            self.variation.samples += 1;
            self.jitter_times_16 -= (self.jitter_times_16 + 8) >> 4;
            self.jitter_times_16 = self.jitter_times_16.saturating_add(difference);
        }
    }

    /// The delays since `earlier`; the maximum and the jitter cover the whole run.
    #[must_use]
    pub const fn since(&self, earlier: &Self) -> Self {
        let variation = self.variation.since(&earlier.variation);
        Self { sum: self.sum.saturating_sub(earlier.sum), variation, ..*self }
    }

    /// RFC 3550's interarrival jitter.
    pub fn jitter(&self) -> Duration {
        Duration::from_ps(self.jitter_times_16 >> 4)
    }
}
