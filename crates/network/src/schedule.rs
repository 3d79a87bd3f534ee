//! The schedule: who wants to be woken, and when. One pending entry per source, not per packet.
//!
//! A four-ary heap ordered by time, then by source, so that ties have one order in every run. Entries are
//! not removed when a source's time moves: one that moved earlier leaves a stale entry behind, one that
//! moved later keeps its earlier entry and sets itself anew when it is woken. Re-arming a retransmission
//! timer on every ACK therefore costs a comparison.

use traffic::Instant;

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Entry {
    at: Instant,
    source: u32,
}

/// A set of sources with at most one valid wake-up time each.
#[derive(Debug, Default)]
pub struct Schedule {
    /// A four-ary heap; `heap[0]` is the earliest, unless it is a hole.
    heap: Vec<Entry>,
    /// Each source's valid time, `NEVER` if it has none.
    pending: Vec<Instant>,
    /// The root was popped and not yet filled: the next entry goes there and sifts down once.
    hole: bool,
}

const ARITY: usize = 4;

impl Schedule {
    /// A schedule for `sources` sources, numbered from 0, none of them armed.
    pub fn new(sources: usize) -> Self {
        Self { heap: Vec::new(), pending: vec![Instant::NEVER; sources], hole: false }
    }

    /// Adds a source and returns its number.
    pub fn add(&mut self) -> u32 {
        self.pending.push(Instant::NEVER);
        (self.pending.len() - 1) as u32
    }

    /// Wakes `source` at `at` or before. A source that is armed for an earlier time stays so.
    #[inline]
    pub fn arm(&mut self, source: u32, at: Instant) {
        let pending = &mut self.pending[source as usize];
        if at < *pending {
            *pending = at;
            self.push(Entry { at, source });
        }
    }

    /// The earliest time at which [`Schedule::pop`] may return something; `NEVER` if nothing is armed.
    pub fn earliest(&mut self) -> Instant {
        self.close();
        self.heap.first().map_or(Instant::NEVER, |e| e.at)
    }

    /// Takes the earliest source if its time is at or before `until`; it is not armed any more then.
    #[inline]
    pub fn pop(&mut self, until: Instant) -> Option<(Instant, u32)> {
        loop {
            self.close();
            let entry = *self.heap.first()?;
            if entry.at > until {
                return None;
            }
            self.hole = true;
            let pending = &mut self.pending[entry.source as usize];
            if *pending == entry.at {
                *pending = Instant::NEVER;
                return Some((entry.at, entry.source));
            }
        }
    }

    #[inline]
    fn push(&mut self, entry: Entry) {
        if self.hole {
            self.hole = false;
            self.sift_down(entry);
        } else {
            self.heap.push(entry);
            self.sift_up(entry);
        }
    }

    /// Fills the hole at the root, if there is one, with the last entry.
    #[inline]
    fn close(&mut self) {
        if self.hole {
            self.hole = false;
            let last = self.heap.pop().expect("a hole is an entry");
            if !self.heap.is_empty() {
                self.sift_down(last);
            }
        }
    }

    /// Puts `entry` at the root and moves it down to its place.
    fn sift_down(&mut self, entry: Entry) {
        let heap = &mut self.heap[..];
        let mut at = 0;
        loop {
            let first = ARITY * at + 1;
            if first >= heap.len() {
                break;
            }
            let mut least = first;
            for child in first + 1..(first + ARITY).min(heap.len()) {
                if heap[child] < heap[least] {
                    least = child;
                }
            }
            if entry <= heap[least] {
                break;
            }
            heap[at] = heap[least];
            at = least;
        }
        heap[at] = entry;
    }

    /// Moves `entry`, the last of the heap, up to its place.
    fn sift_up(&mut self, entry: Entry) {
        let mut at = self.heap.len() - 1;
        while at > 0 {
            let parent = (at - 1) / ARITY;
            if self.heap[parent] <= entry {
                break;
            }
            self.heap[at] = self.heap[parent];
            at = parent;
        }
        self.heap[at] = entry;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Against a naive model: the earliest armed source comes out, each at its earliest armed time.
        #[test]
        fn pops_in_order(operations in prop::collection::vec((0u32..8, 0u64..50, any::<bool>()), 1..200)) {
            let mut schedule = Schedule::new(8);
            let mut model = [Instant::NEVER; 8];
            for (source, at, arm) in operations {
                if arm {
                    let at = Instant::from_ps(at);
                    schedule.arm(source, at);
                    let m = &mut model[source as usize];
                    *m = at.min(*m);
                } else {
                    let least = (0..8u32).map(|s| (model[s as usize], s)).min().unwrap();
                    let want = (least.0 != Instant::NEVER).then_some(least);
                    prop_assert_eq!(schedule.pop(Instant::from_ps(u64::MAX - 1)), want);
                    if let Some((_, s)) = want {
                        model[s as usize] = Instant::NEVER;
                    }
                }
            }
        }
    }
}
