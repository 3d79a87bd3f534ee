//! The timeline of a rank.

use base::{Duration, Instant};

use super::wait::{Cause, Waits};

/// The activity of a rank in an interval: the time for each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Interval {
    /// It computed.
    pub computing: Duration,
    /// It waited in calls.
    pub waiting: Waits,
}

/// The activity of a rank in intervals of equal length, from the start of the run. There are at most
/// [`Timeline::INTERVALS_MAX`] intervals for any number of calls: where more would be needed, pairs of intervals
/// are merged.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Timeline {
    length: Duration,
    intervals: Vec<Interval>,
}

impl Default for Timeline {
    fn default() -> Self {
        Self { length: Duration::from_us(1), intervals: Vec::new() }
    }
}

impl Timeline {
    /// The maximum number of intervals.
    pub const INTERVALS_MAX: usize = 1024;

    /// The length of an interval: 1 us times a power of two.
    pub const fn length(&self) -> Duration {
        self.length
    }

    /// The intervals up to the last one with activity.
    pub fn intervals(&self) -> &[Interval] {
        &self.intervals
    }

    /// Merges intervals until they are at least `length` long.
    pub fn widen(&mut self, length: Duration) {
        while self.length < length {
            self.halve();
        }
    }

    /// Adds activity that starts at `from`: computing, then waiting for one cause after the other.
    pub fn add(&mut self, from: Instant, done: &Interval) {
        self.compute(from, from + done.computing);
        self.wait(from + done.computing, &done.waiting);
    }

    /// Adds computing from `from` to `until`.
    pub(super) fn compute(&mut self, from: Instant, until: Instant) {
        self.spread(from, until, |interval, time| interval.computing += time);
    }

    /// Adds waiting that starts at `from`, for these causes one after the other.
    pub(super) fn wait(&mut self, from: Instant, waits: &Waits) {
        let mut from = from;
        for (cause, time) in waits.iter().filter(|(_, time)| *time != Duration::ZERO) {
            self.spread(from, from + time, |interval, time| interval.add(cause, time));
            from += time;
        }
    }

    /// Adds the time from `from` to `until` to the intervals that it overlaps.
    fn spread(&mut self, from: Instant, until: Instant, add: impl Fn(&mut Interval, Duration)) {
        if from >= until {
            return;
        }
        while self.place(until) >= Self::INTERVALS_MAX as u64 {
            self.halve();
        }
        let (first, last) = (self.place(from), self.place(until));
        if self.intervals.len() <= last as usize {
            self.intervals.resize(last as usize + 1, Interval::default());
        }
        for place in first..=last {
            let start = Instant::from_ps(place * self.length.as_ps());
            let time = until.min(start + self.length).since(from.max(start));
            add(&mut self.intervals[place as usize], time);
        }
    }

    fn place(&self, at: Instant) -> u64 {
        at.as_ps() / self.length.as_ps()
    }

    /// Merges each pair of intervals.
    fn halve(&mut self) {
        self.length = self.length.times(2);
        for place in 0..self.intervals.len().div_ceil(2) {
            let mut both = self.intervals[2 * place];
            if let Some(second) = self.intervals.get(2 * place + 1) {
                both.computing += second.computing;
                both.waiting.add(&second.waiting);
            }
            self.intervals[place] = both;
        }
        self.intervals.truncate(self.intervals.len().div_ceil(2));
    }
}

impl Interval {
    fn add(&mut self, cause: Cause, time: Duration) {
        self.waiting[cause] += time;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]

        /// For any length of run, no time is lost, no interval holds more than its length, and the intervals are
        /// few.
        #[test]
        fn few_intervals_hold_all_of_the_time(steps in prop::collection::vec((0_u64..9, 1_u64..20_000_000), 1..200)) {
            let mut timeline = Timeline::default();
            let (mut now, mut all) = (Instant::ZERO, Interval::default());
            for (exponent, ns) in steps {
                let time = Duration::from_ns(ns >> (2 * exponent));
                let cause = Cause::ALL[exponent as usize];
                if exponent == 0 {
                    timeline.compute(now, now + time);
                    all.computing += time;
                } else {
                    let mut waits = Waits::default();
                    waits[cause] = time;
                    timeline.wait(now, &waits);
                    all.waiting.add(&waits);
                }
                now += time;
            }
            prop_assert!(timeline.intervals().len() <= Timeline::INTERVALS_MAX);
            let mut sum = Interval::default();
            for (place, interval) in timeline.intervals().iter().enumerate() {
                let time = interval.computing + interval.waiting.total();
                let end = Instant::from_ps(timeline.length().as_ps() * (place as u64 + 1));
                prop_assert_eq!(time == timeline.length(), end <= now);
                prop_assert!(time <= timeline.length());
                sum.computing += interval.computing;
                sum.waiting.add(&interval.waiting);
            }
            prop_assert_eq!(sum, all);
        }
    }
}
