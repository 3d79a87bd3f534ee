//! The choice between ways of moving a chunk, by the processor time that each costs.

use std::sync::Mutex;

use nix::sys::time::TimeValLike;
use nix::time::{ClockId, clock_gettime};

use crate::store::lock;

/// The number of chunks that each way moves before one is chosen; a way that costs far more than another moves fewer.
const TRIALS: usize = 3;

/// The choice of the way that chunks take. The first chunks are moved by each way in turn; then the way with the
/// least processor time per byte is chosen. So the measurement is made where it matters: on these files, over this
/// connection.
#[derive(Debug)]
pub(crate) struct Choice<T>(Mutex<Trials<T>>);

#[derive(Debug)]
struct Trials<T> {
    candidates: Vec<Candidate<T>>,
    /// The way to take if there is no other information.
    first: T,
    chosen: Option<T>,
}

#[derive(Clone, Copy, Debug)]
struct Candidate<T> {
    way: T,
    /// The number of chunks that it was given.
    given: usize,
    /// The least nanoseconds of a processor for 2^20 bytes.
    least: Option<u64>,
}

impl<T> Candidate<T> {
    fn is_within(&self, bound: u64) -> bool {
        self.least.is_none_or(|cost| cost <= bound)
    }
}

impl<T: Copy> Trials<T> {
    /// Returns the cost up to which a way is tried again once all were tried: twice the lowest cost.
    fn bound(&self) -> Option<u64> {
        let costs = self.candidates.iter().map(|candidate| candidate.least);
        costs.collect::<Option<Vec<_>>>()?.into_iter().min().map(|least| least.saturating_mul(2))
    }

    /// Chooses the cheapest way once all have been tried.
    fn choose(&mut self) {
        let Some(bound) = self.bound() else { return };
        let is_known =
            |candidate: &Candidate<T>| candidate.given >= TRIALS || !candidate.is_within(bound);
        if self.candidates.iter().all(is_known) {
            let best = self.candidates.iter().min_by_key(|candidate| candidate.least);
            self.chosen = best.map(|candidate| candidate.way);
        }
    }
}

impl<T: Copy + PartialEq> Choice<T> {
    /// Chooses between `first` and `others`; a single one is chosen at once.
    pub(crate) fn among(first: T, others: &[T]) -> Self {
        let chosen = others.is_empty().then_some(first);
        let ways = std::iter::once(&first).chain(others);
        let candidates = ways.map(|way| Candidate { way: *way, given: 0, least: None }).collect();
        Self(Mutex::new(Trials { candidates, first, chosen }))
    }

    /// The way of the next chunk, and whether it is a trial.
    pub(crate) fn next(&self) -> (T, bool) {
        let mut trials = lock(&self.0);
        if let Some(chosen) = trials.chosen {
            return (chosen, false);
        }
        let bound = trials.bound().unwrap_or(u64::MAX);
        let candidates = trials.candidates.iter_mut();
        let next = candidates.filter(|candidate| candidate.is_within(bound));
        match next.min_by_key(|candidate| candidate.given) {
            Some(candidate) => {
                candidate.given += 1;
                (candidate.way, true)
            }
            None => (trials.first, false),
        }
    }

    /// Removes a way that this kernel lacks, does not permit to this user, or does not give more of. Returns false if
    /// no other is left.
    pub(crate) fn leave_out(&self, way: T) -> bool {
        let mut trials = lock(&self.0);
        trials.candidates.retain(|candidate| candidate.way != way);
        trials.chosen = trials.chosen.filter(|chosen| *chosen != way);
        trials.choose();
        !trials.candidates.is_empty()
    }

    /// Notes that a trial took `time` nanoseconds for `bytes` bytes.
    pub(crate) fn tried(&self, way: T, time: u64, bytes: usize) {
        let cost = time.saturating_mul(1 << 20) / (bytes.max(1) as u64);
        let mut trials = lock(&self.0);
        for candidate in trials.candidates.iter_mut().filter(|candidate| candidate.way == way) {
            candidate.least = Some(candidate.least.map_or(cost, |least| least.min(cost)));
        }
        trials.choose();
    }

    /// Returns the chosen way, or the first one if there were too few chunks for a choice; and the cost of each, in
    /// nanoseconds of a processor for 2^20 bytes.
    pub(crate) fn outcome(&self) -> (T, Vec<(T, u64)>) {
        let trials = lock(&self.0);
        let costs = trials
            .candidates
            .iter()
            .filter_map(|candidate| Some((candidate.way, candidate.least?)));
        (trials.chosen.unwrap_or(trials.first), costs.collect())
    }
}

/// The processor time of this thread in nanoseconds.
pub(crate) fn thread_time() -> u64 {
    let time =
        clock_gettime(ClockId::CLOCK_THREAD_CPUTIME_ID).map_or(0, |time| time.num_nanoseconds());
    u64::try_from(time).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cheapest_is_taken_and_one_that_costs_far_more_is_tried_once() {
        let choice = Choice::among('a', &['b', 'c', 'd']);
        assert!(choice.leave_out('d'));
        let mut tried = String::new();
        while let (way, true) = choice.next() {
            tried.push(way);
            let cost = [500, 100, 110][way as usize - 'a' as usize];
            choice.tried(way, cost + u64::from(tried.len() < 4), 1 << 20);
        }
        assert_eq!(tried, "abcbcbc");
        assert_eq!(choice.outcome(), ('b', vec![('a', 501), ('b', 100), ('c', 110)]));
        // A chosen way that is not available to another stream is replaced by the next one.
        assert!(choice.leave_out('b'));
        assert_eq!(choice.next(), ('c', false));
        assert!(choice.leave_out('c') && !choice.leave_out('a'));
        assert_eq!(Choice::among('a', &[]).next(), ('a', false));
    }
}
