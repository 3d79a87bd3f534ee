//! Which of the classes that guarantees have sent goes first: by earliest due time, as long as that makes
//! no class listed before another one late.

use super::class::Due;
use super::parameters::CLASSES_MAX;
use crate::units::{Duration, Instant};

/// Classes in the order in which their first packets are to be sent. Each is admitted in the order of the
/// list, if those admitted before it stay in time; without a conflict the order is that of due times, which
/// meets all of them if any order does (Liu and Layland, JACM 1973).
pub(super) struct Plan {
    now: Instant,
    /// How late each may be: a frame on the wire is not interrupted.
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

    /// Whether one at `place` is in time, and those after it are. The one sent first is as early as can be.
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
