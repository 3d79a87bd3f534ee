//! A counter's course: what it grew by from sample to sample.

use super::Points;

/// A counter that runs from the start of the run, as it is sampled.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Counter {
    seconds: f64,
    count: u64,
}

/// What it grew by between two samples.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Growth {
    /// The earlier sample, seconds.
    pub(super) from: f64,
    /// How long until the later one, seconds.
    pub(super) seconds: f64,
    /// By how much.
    pub(super) count: u64,
}

impl Counter {
    /// It stands at `count`. None if no time passed since the last sample, or the run's start.
    pub(super) fn sample(&mut self, seconds: f64, count: u64) -> Option<Growth> {
        let before = *self;
        if seconds <= before.seconds {
            self.count = count;
            return None;
        }
        *self = Self { seconds, count };
        Some(Growth {
            from: before.seconds,
            seconds: seconds - before.seconds,
            count: count.saturating_sub(before.count),
        })
    }

    /// The corner that ends its curve: what it grew by last holds until the last sample.
    pub(super) fn close(&self, points: &mut Points) {
        let last = points.last().map(|&(_, y)| (self.seconds, y));
        points.extend(last);
    }
}

impl Growth {
    /// As a point: by how much a second, from the earlier sample on.
    pub(super) fn rate(self) -> (f64, f64) {
        (self.from, self.count as f64 / self.seconds)
    }

    /// As a point: by how much, from the earlier sample on.
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
        let mut points = vec![(0.0, 200.0), (0.5, 2.0)];
        counter.close(&mut points);
        assert_eq!(points[2], (2.5, 2.0));
    }
}
