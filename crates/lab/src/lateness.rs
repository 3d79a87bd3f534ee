//! How late packets were released: whether the machine kept up.

use traffic::{Duration, Instant};

/// Sub-buckets of each power of two: a value is known to 1/16.
const FINE: u32 = 4;
/// From 1 ns to 2^40 ns, 18 minutes.
const BUCKETS: usize = (41 - FINE as usize) << FINE;

/// A histogram of delays, in nanoseconds, each known to 6 %.
#[derive(Clone, Debug)]
pub struct Lateness {
    counts: Vec<u64>,
    total: u64,
    longest: u64,
}

impl Default for Lateness {
    fn default() -> Self {
        Self { counts: vec![0; BUCKETS], total: 0, longest: 0 }
    }
}

/// The bucket of a value: its exponent and the bits after its first.
fn bucket(ns: u64) -> usize {
    let exponent = (ns | 1 << FINE).ilog2() - FINE;
    let fine = (ns >> exponent) as usize & ((1 << FINE) - 1);
    // Below 2^FINE the first bit is not set, and the value itself is the place.
    let row = if ns < 1 << FINE { 0 } else { exponent as usize + 1 };
    ((row << FINE) + fine).min(BUCKETS - 1)
}

/// The greatest value of a bucket.
fn greatest(bucket: usize) -> u64 {
    let (row, fine) = (bucket >> FINE, (bucket & ((1 << FINE) - 1)) as u64);
    if row == 0 { fine } else { (((1 << FINE) + fine + 1) << (row - 1)) - 1 }
}

impl Lateness {
    /// A packet that was due at `due` left at `now`.
    #[inline]
    pub fn note(&mut self, due: Instant, now: Instant) {
        let ns = now.since(due).as_ns();
        self.counts[bucket(ns)] += 1;
        self.total += 1;
        self.longest = self.longest.max(ns);
    }

    /// How many packets there were.
    pub fn releases(&self) -> u64 {
        self.total
    }

    /// What the given share of the packets, 0 to 1, was not later than, to 6 %; zero without packets.
    pub fn quantile(&self, share: f64) -> Duration {
        let wanted = (self.total as f64 * share).ceil() as u64;
        let mut seen = 0;
        for (place, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted.max(1) {
                return Duration::from_ns(greatest(place).min(self.longest));
            }
        }
        Duration::ZERO
    }

    /// As results tell it.
    pub fn told(&self) -> results::Lateness {
        results::Lateness {
            p50_ns: self.quantile(0.5).as_ns(),
            p99_ns: self.quantile(0.99).as_ns(),
            max_ns: self.longest,
        }
    }

    /// The latest.
    pub fn longest(&self) -> Duration {
        Duration::from_ns(self.longest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_hold_what_they_say() {
        for ns in (0..100_000).chain([1 << 20, (1 << 33) + 12_345, 1 << 39]) {
            let place = bucket(ns);
            let low = if place == 0 { 0 } else { greatest(place - 1) + 1 };
            assert!((low..=greatest(place)).contains(&ns), "{ns} lies in {place}");
            assert!(greatest(place) - low <= ns / 16 + 1, "{ns} is known to a sixteenth");
        }
        assert_eq!(bucket(u64::MAX), BUCKETS - 1);
    }

    #[test]
    fn quantiles_are_of_the_packets() {
        let mut lateness = Lateness::default();
        for us in 1..=1_000 {
            let due = Instant::from_ps(5_000_000);
            lateness.note(due, due + Duration::from_us(us));
        }
        let near = |share, us: u64| {
            let got = lateness.quantile(share).as_ns();
            assert!((us * 1_000..=us * 1_070).contains(&got), "{share}: {got} ns");
        };
        near(0.5, 500);
        near(0.99, 990);
        assert_eq!(lateness.longest(), Duration::from_ms(1));
        assert_eq!(
            (lateness.releases(), Lateness::default().quantile(0.5)),
            (1_000, Duration::ZERO)
        );
    }
}
