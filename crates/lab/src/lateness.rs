//! How late packets were released: whether the machine kept up.

use record::Histogram;
use traffic::{Duration, Instant};

/// Delays from the moment that a packet was due.
#[derive(Clone, Debug, Default)]
pub struct Lateness(Histogram);

impl Lateness {
    /// A packet that was due at `due` left at `now`.
    #[inline]
    pub fn note(&mut self, due: Instant, now: Instant) {
        self.0.note(now.since(due));
    }

    /// How many packets there were.
    pub fn releases(&self) -> u64 {
        self.0.total()
    }

    /// What the given share of the packets, 0 to 1, was not later than, to 0.8 %; zero without packets.
    pub fn quantile(&self, share: f64) -> Duration {
        self.0.quantile(share)
    }

    /// The latest.
    pub fn longest(&self) -> Duration {
        self.0.longest()
    }

    /// As results tell it.
    pub fn told(&self) -> record::Lateness {
        record::Lateness {
            p50_ns: self.quantile(0.5).as_ns(),
            p99_ns: self.quantile(0.99).as_ns(),
            max_ns: self.longest().as_ns(),
        }
    }
}
