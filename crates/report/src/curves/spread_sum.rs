//! Sums of counters that are sampled at different times: the growth of each is spread evenly over the time between
//! two of its samples, on a grid that all share.

use base::Duration;

use super::Points;
use crate::chart::{COLUMNS, Decimator};

/// The finest step of a sum, as a part of the run.
const STEPS_MAX: u64 = 1 << 18;
const NS: f64 = 1e9;

/// Several counters together, as they grow.
pub(super) struct SpreadSum {
    span: (f64, f64),
    /// The grid's step.
    step_ns: u64,
    /// The growth of each step.
    steps: Vec<f64>,
    sampled: bool,
}

/// A counter, as it was last sampled.
#[derive(Clone, Copy, Debug)]
pub(super) struct Sampled {
    time_ns: u64,
    count: u64,
}

impl Sampled {
    /// Creates a counter that starts at that time.
    pub(super) const fn from(time_ns: u64) -> Self {
        Self { time_ns, count: 0 }
    }

    /// Takes a sample: returns from when to when the counter grew, and by how much. Samples that come late, after a
    /// later one, are ignored.
    pub(super) fn sample(&mut self, time_ns: u64, count: u64) -> Option<((u64, u64), u64)> {
        if time_ns < self.time_ns {
            return None;
        }
        let before = std::mem::replace(self, Self { time_ns, count: count.max(self.count) });
        Some(((before.time_ns, time_ns), self.count - before.count))
    }
}

impl SpreadSum {
    /// Creates a sum over that part of the run, seconds, in steps of `least` or more: whole numbers of samples, if
    /// there is a sample in each `every`.
    pub(super) fn new(span: (f64, f64), least: f64, every: Option<Duration>) -> Self {
        let samples = every.map(|every| every.as_secs_f64()).filter(|every| *every > 0.0);
        let whole = |every: f64| every * (least / every - 1e-9).ceil().max(1.0);
        let step = samples.map_or(least, whole);
        let coarsest = ((span.1 * NS) as u64 / STEPS_MAX).max(1);
        let step_ns = ((step * NS).round() as u64).max(coarsest);
        Self { span, step_ns, steps: Vec::new(), sampled: false }
    }

    /// Adds the growth of one of the counters between these times.
    pub(super) fn add(&mut self, (from, to): (u64, u64), grown: u64) {
        self.sampled = true;
        if grown == 0 {
            return;
        }
        // Growth at the very end of a step belongs to that step.
        let (first, last) = (from / self.step_ns, to.saturating_sub(1).max(from) / self.step_ns);
        if self.steps.len() as u64 <= last {
            self.steps.resize(last as usize + 1, 0.0);
        }
        let all = (to - from).max(1) as f64;
        for step in first..=last {
            let (start, end) = (step * self.step_ns, (step + 1) * self.step_ns);
            let part = end.min(to).saturating_sub(start.max(from)).max(u64::from(from == to));
            self.steps[step as usize] += grown as f64 * part as f64 / all;
        }
    }

    /// Returns the growth of all counters per second, step by step until `end`; nothing if no counter was sampled. A
    /// step that is not complete by then is left out.
    pub(super) fn finish(mut self, end_ns: u64) -> Points {
        if !self.sampled {
            return Points::new();
        }
        // Samples may be a nanosecond off the grid.
        let whole = ((end_ns + 1) / self.step_ns).max(1);
        self.steps.resize(whole as usize, 0.0);
        let seconds = |step: u64| (step * self.step_ns) as f64 / NS;
        let length = self.step_ns.min(end_ns.max(1)) as f64 / NS;
        let mut curve = Decimator::new(self.span, COLUMNS);
        for (step, grown) in (0..).zip(&self.steps) {
            curve.push(seconds(step), grown / length);
        }
        let mut points = Points::from(curve);
        let last = points.last().map(|&(_, y)| (seconds(whole).min(end_ns as f64 / NS), y));
        points.extend(last);
        points
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: u64 = 1_000_000;

    /// Samples two counters of one a nanosecond each every 10 ms, the second `lag_ns` after the first.
    fn together(lag_ns: u64) -> Points {
        let mut sum = SpreadSum::new((0.0, 0.1), 0.002, Some(Duration::from_ms(10)));
        let mut counters = [Sampled::from(0); 2];
        for n in 0..=10 {
            for (counter, lag) in counters.iter_mut().zip([0, lag_ns]) {
                let time = (n * 10 * MS + lag).min(100 * MS);
                let (between, grown) = counter.sample(time, time).expect("in order");
                sum.add(between, grown);
            }
        }
        sum.finish(100 * MS)
    }

    #[test]
    fn samples_at_different_moments_add_up() {
        for lag in [0, 3, 300_000, 5 * MS, 9 * MS] {
            let points = together(lag);
            assert_eq!(points.len(), 11, "{points:?}");
            for (x, y) in points.iter() {
                assert!((y / 2e9 - 1.0).abs() < 1e-9, "{lag} ns apart: {y} at {x}");
            }
        }
    }

    #[test]
    fn a_sample_that_comes_late_takes_nothing_back() {
        let mut counter = Sampled::from(5);
        assert_eq!(counter.sample(10, 100), Some(((5, 10), 100)));
        assert_eq!(counter.sample(9, 90), None);
        assert_eq!(counter.sample(20, 0), Some(((10, 20), 0)), "a counter that is unknown");
        assert_eq!(counter.sample(30, 150), Some(((20, 30), 50)));
    }

    #[test]
    fn growth_counts_in_the_steps_that_it_came_in() {
        let mut sum = SpreadSum::new((0.0, 4e-9), 1e-9, None);
        sum.add((1, 3), 10);
        sum.add((2, 2), 1);
        let points = sum.finish(4);
        let rates: Vec<f64> = points.iter().map(|(_, y)| (y / 1e9).round()).collect();
        assert_eq!(rates[..4], [0.0, 5.0, 6.0, 0.0]);
    }
}
