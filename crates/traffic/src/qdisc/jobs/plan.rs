//! Selection among the classes that guarantees need sent: by earliest due time, as long as that makes no
//! class listed before another one late.

use super::class::Due;
use super::parameters::CLASSES_MAX;
use base::units::{Duration, Instant};

/// Classes in the order of their next packets. Classes are admitted in the order of the list, each if those
/// admitted before it stay in time. Without a conflict the order is that of due times, which meets all of
/// them if any order does (Liu and Layland, JACM 1973).
pub(super) struct Plan {
    now: Instant,
    /// The permitted lateness: a frame on the wire is not interrupted.
    frame: Duration,
    entries: [(Due, usize); CLASSES_MAX],
    len: usize,
}

impl Plan {
    pub(super) fn new(now: Instant, frame: Duration) -> Self {
        Self { now, frame, entries: Default::default(), len: 0 }
    }

    /// Admits a class, unless that makes others late.
    pub(super) fn admit(&mut self, due: Due, index: usize) {
        let place = self.entries[..self.len].partition_point(|(other, _)| other.by <= due.by);
        if self.len == self.entries.len() || !self.has_time(due, place) {
            return;
        }
        self.entries.copy_within(place..self.len, place + 1);
        self.entries[place] = (due, index);
        self.len += 1;
    }

    /// Whether a class at `place` and those after it are in time. The class sent first is as early as
    /// possible.
    fn has_time(&self, due: Due, place: usize) -> bool {
        let (before, after) = self.entries[..self.len].split_at(place);
        let is_late = |at: Instant, due: &Due| at > due.latest + self.frame && at > self.now;
        let mut at = before.iter().fold(self.now, |at, (due, _)| at + due.time);
        if is_late(at, &due) {
            return false;
        }
        at += due.time;
        after.iter().all(|(due, _)| {
            let in_time = !is_late(at, due);
            at += due.time;
            in_time
        })
    }

    /// The class that goes first.
    pub(super) fn first(&self) -> Option<usize> {
        self.entries[..self.len].first().map(|&(_, index)| index)
    }
}
