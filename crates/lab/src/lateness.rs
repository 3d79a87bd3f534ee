//! The lateness of released packets, which shows whether the machine kept up.

use base::{Duration, Instant};
use record::Histogram;

/// The delays of packets after their due times.
#[derive(Clone, Debug, Default)]
pub struct Lateness(Histogram);

impl Lateness {
    /// Adds a packet that was due at `due` and left at `now`.
    #[inline]
    pub fn note(&mut self, due: Instant, now: Instant) {
        self.0.note(now.since(due));
    }

    /// The number of packets.
    pub fn releases(&self) -> u64 {
        self.0.total()
    }

    /// The lateness that the given share of the packets, 0 to 1, did not exceed, to 0.8 %; zero without packets.
    pub fn quantile(&self, share: f64) -> Duration {
        self.0.quantile(share)
    }

    /// The maximum lateness.
    pub fn longest(&self) -> Duration {
        self.0.longest()
    }

    /// Returns the lateness in the format of the results.
    pub fn to_summary(&self) -> record::Lateness {
        record::Lateness {
            p50_ns: self.quantile(0.5).as_ns(),
            p99_ns: self.quantile(0.99).as_ns(),
            max_ns: self.longest().as_ns(),
        }
    }
}
