//! A heap of queues by virtual times, in which a queue's time can change.

use alloc::vec::Vec;

/// No place.
const NONE: u32 = u32::MAX;

/// Whether virtual time `a` is before `b`. They wrap: as with sequence numbers (RFC 1982), all that are
/// compared lie within half the circle, see [`super::fluid`].
#[inline]
pub(super) const fn is_before(a: u64, b: u64) -> bool {
    (a.wrapping_sub(b) as i64) < 0
}

#[derive(Clone, Copy, Debug)]
struct Entry {
    time: u64,
    queue: u32,
}

/// Numbered queues, the earliest on top.
#[derive(Debug, Default)]
pub(super) struct Heap {
    entries: Vec<Entry>,
    /// For each queue its place in the heap.
    places: Vec<u32>,
}

impl Heap {
    /// Room for so many queues.
    pub(super) fn extend_to(&mut self, queues: usize) {
        if self.places.len() < queues {
            self.places.resize(queues, NONE);
            self.entries.reserve(queues - self.entries.len());
        }
    }

    /// The earliest time and its queue.
    #[inline]
    pub(super) fn first(&self) -> Option<(u64, usize)> {
        self.entries.first().map(|entry| (entry.time, entry.queue as usize))
    }

    #[inline]
    pub(super) fn contains(&self, queue: usize) -> bool {
        self.places[queue] != NONE
    }

    /// The time of a queue that is in the heap.
    pub(super) fn time_of(&self, queue: usize) -> Option<u64> {
        self.entries.get(self.places[queue] as usize).map(|entry| entry.time)
    }

    /// Puts a queue in at `time`, or moves it there.
    #[inline]
    pub(super) fn set(&mut self, queue: usize, time: u64) {
        let entry = Entry { time, queue: queue as u32 };
        let place = self.places[queue] as usize;
        match self.entries.get(place).copied() {
            Some(was) if is_before(time, was.time) => self.rise(place, entry),
            Some(_) => self.sink(place, entry),
            None => {
                self.entries.push(entry);
                self.rise(self.entries.len() - 1, entry);
            }
        }
    }

    /// Takes a queue out, if it is in.
    #[inline]
    pub(super) fn remove(&mut self, queue: usize) {
        let place = core::mem::replace(&mut self.places[queue], NONE) as usize;
        if place >= self.entries.len() {
            return;
        }
        let gone = self.entries.swap_remove(place);
        if let Some(moved) = self.entries.get(place).copied() {
            if is_before(moved.time, gone.time) {
                self.rise(place, moved);
            } else {
                self.sink(place, moved);
            }
        }
    }

    fn put(&mut self, place: usize, entry: Entry) {
        self.entries[place] = entry;
        self.places[entry.queue as usize] = place as u32;
    }

    fn rise(&mut self, mut place: usize, entry: Entry) {
        while place > 0 {
            let parent = (place - 1) / 2;
            if !is_before(entry.time, self.entries[parent].time) {
                break;
            }
            self.put(place, self.entries[parent]);
            place = parent;
        }
        self.put(place, entry);
    }

    fn sink(&mut self, mut place: usize, entry: Entry) {
        loop {
            let mut child = 2 * place + 1;
            if child >= self.entries.len() {
                break;
            }
            let sibling = child + 1;
            if sibling < self.entries.len()
                && is_before(self.entries[sibling].time, self.entries[child].time)
            {
                child = sibling;
            }
            if !is_before(self.entries[child].time, entry.time) {
                break;
            }
            self.put(place, self.entries[child]);
            place = child;
        }
        self.put(place, entry);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use proptest::prelude::*;

    proptest! {
        /// Against a look at all of them, around the point where times wrap.
        #[test]
        fn the_earliest_is_on_top(
            steps in prop::collection::vec((0..12_usize, prop::option::of(0_u64..1_000)), 1..300)
        ) {
            let (mut heap, mut all) = (Heap::default(), BTreeMap::new());
            heap.extend_to(12);
            for (queue, time) in steps {
                match time {
                    Some(time) => {
                        heap.set(queue, time.wrapping_sub(500));
                        all.insert(queue, time);
                    }
                    None => {
                        heap.remove(queue);
                        all.remove(&queue);
                    }
                }
                let first = heap.first().map(|(time, _)| time.wrapping_add(500));
                prop_assert_eq!(first, all.values().min().copied());
                prop_assert_eq!(heap.contains(queue), all.contains_key(&queue));
            }
        }
    }
}
