//! What a rank did when.

use traffic::{Duration, Instant};

use super::wait::{Cause, Waits};

/// What a rank did in an interval: there, for how long each.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Interval {
    /// It computed.
    pub computing: Duration,
    /// It waited in calls.
    pub waiting: Waits,
}

/// What a rank did in intervals of one length, from the beginning of the run. However many calls it makes, there are at most
/// [`Timeline::INTERVALS_MAX`] of them: where more would be needed, each two become one.
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
    /// The most intervals.
    pub const INTERVALS_MAX: usize = 1024;

    /// How long an interval is: 1 us or a power of two times as much.
    pub const fn length(&self) -> Duration {
        self.length
    }

    /// The intervals up to the last one in which anything was done.
    pub fn intervals(&self) -> &[Interval] {
        &self.intervals
    }

    /// Merges intervals until they are at least that long.
    pub fn widen(&mut self, length: Duration) {
        while self.length < length {
            self.halve();
        }
    }

    /// It did this from then on: it computed, then waited for one cause after the other.
    pub fn add(&mut self, from: Instant, done: &Interval) {
        self.compute(from, from + done.computing);
        self.wait(from + done.computing, &done.waiting);
    }

    /// It computed from then until then.
    pub(super) fn compute(&mut self, from: Instant, until: Instant) {
        self.spread(from, until, |interval, time| interval.computing += time);
    }

    /// It waited from then on, for these causes one after the other.
    pub(super) fn wait(&mut self, from: Instant, waits: &Waits) {
        let mut from = from;
        for (cause, time) in waits.iter().filter(|(_, time)| *time != Duration::ZERO) {
            self.spread(from, from + time, |interval, time| interval.add(cause, time));
            from += time;
        }
    }

    /// Adds what lies between two instants to the intervals that it lies in.
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

    /// Makes one of each two intervals.
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

        /// However long it goes on, nothing is lost, no interval holds more than itself, and there are few.
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
