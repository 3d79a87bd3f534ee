//! A counter over time: its growth from sample to sample.

use base::Duration;
use scenario::Units;

use super::Points;

/// A counter that runs from the start of the run, as it is sampled.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counter {
    seconds: f64,
    count: u64,
    /// Samples that come sooner than this after the last one are skipped, seconds.
    least: f64,
}

/// A counter's growth between two samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Growth {
    /// The earlier sample, seconds.
    pub(super) from: f64,
    /// How long until the later one, seconds.
    pub(super) seconds: f64,
    /// The amount.
    pub(super) count: u64,
}

/// Returns the shortest time over which a rate is shown, seconds. At a mean of `rate` bytes a second it carries 16
/// full frames, so that one more or less makes no visible step. It is never more than a hundredth of the `span`.
pub(super) fn least(rate: f64, span: (f64, f64)) -> f64 {
    const FRAMES: f64 = 16.0;
    const FRAME: f64 = 1514.0;
    (FRAMES * FRAME / rate).min((span.1 - span.0) / 100.0)
}

/// `from sample to sample`, and over how long at least where samples are closer than that.
pub(super) fn spans(units: Units, least: f64, samples: Option<Duration>) -> String {
    let closer = samples.filter(|every| every.as_secs_f64() < least);
    let over = closer.map(|_| format!(", over at least {}", units.time.text(least)));
    format!("from sample to sample{}", over.unwrap_or_default())
}

impl Counter {
    /// Creates a counter that shows its growth over at least `least` seconds.
    pub(super) fn over(least: f64) -> Self {
        Self { least, ..Self::default() }
    }

    /// Takes a sample: the counter is at `count`. Returns none if too little time passed since the last sample, or
    /// the run's start.
    pub(super) fn sample(&mut self, seconds: f64, count: u64) -> Option<Growth> {
        let before = *self;
        if seconds <= before.seconds {
            self.count = count;
            return None;
        }
        // Half a nanosecond of grace: times are rounded to whole ones.
        if seconds - before.seconds < before.least - 0.5e-9 {
            return None;
        }
        *self = Self { seconds, count, ..before };
        Some(Growth {
            from: before.seconds,
            seconds: seconds - before.seconds,
            count: count.saturating_sub(before.count),
        })
    }

    /// Adds the corner that ends its curve: the last growth holds until the last sample.
    pub(super) fn close(&self, points: &mut Points) {
        let last = points.last().map(|&(_, y)| (self.seconds, y));
        points.extend(last);
    }
}

impl Growth {
    /// Returns the growth per second as a point at the earlier sample.
    pub(super) fn rate(self) -> (f64, f64) {
        (self.from, self.count as f64 / self.seconds)
    }

    /// Returns the growth as a point at the earlier sample.
    pub(super) fn amount(self) -> (f64, f64) {
        (self.from, self.count as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_holds_from_one_sample_to_the_next() {
        let mut counter = Counter::default();
        assert_eq!(counter.sample(0.0, 0), None);
        assert_eq!(counter.sample(0.5, 100).map(Growth::rate), Some((0.0, 200.0)));
        assert_eq!(counter.sample(2.5, 104).map(Growth::amount), Some((0.5, 4.0)));
        let mut points = Points::from(vec![(0.0, 200.0), (0.5, 2.0)]);
        counter.close(&mut points);
        assert_eq!(points[2], (2.5, 2.0));
    }

    #[test]
    fn a_rate_is_computed_over_at_least_some_frames() {
        assert_eq!(least(1514.0 * 1000.0, (0.0, 10.0)), 0.016);
        assert_eq!(least(1.0, (0.0, 10.0)), 0.1, "though over a hundredth of the run at most");
        assert_eq!(least(0.0, (0.0, 10.0)), 0.1);
        let mut counter = Counter::over(0.1);
        assert_eq!(counter.sample(0.06, 6), None);
        assert_eq!(counter.sample(0.12, 24).map(Growth::rate), Some((0.0, 200.0)));
        assert_eq!(counter.sample(0.18, 30), None);
    }
}
