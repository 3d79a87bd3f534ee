//! Whose turn it is: among those whose time has come, the one with the least key.
//!
//! Two heaps over class indices. Who waits is in one, by time; whose time has come is in the other,
//! by key. The clock moves on, so a class changes heaps at most twice between two changes of its
//! own: O(log n) a packet, where ALTQ searched a list. No memory is taken after the start.

use alloc::vec::Vec;

/// A class's place in the turns.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Seat {
    time: u128,
    key: u128,
    place: u32,
    heap: In,
}

impl Seat {
    /// Whether the class takes part.
    pub(super) fn is_taken(&self) -> bool {
        self.heap != In::Neither
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum In {
    #[default]
    Neither,
    Waiting,
    Ready,
}

/// Ties go to the class that was named first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Entry {
    key: u128,
    class: u32,
}

/// A binary heap that tells each class's seat where it is.
#[derive(Debug, Default)]
struct Heap(Vec<Entry>);

impl Heap {
    fn push(&mut self, entry: Entry, seats: &mut [Seat]) {
        self.0.push(entry);
        self.rise(self.0.len() - 1, seats);
    }

    fn remove(&mut self, place: usize, seats: &mut [Seat]) {
        self.0.swap_remove(place);
        if place < self.0.len() {
            self.settle(place, seats);
        }
    }

    fn replace(&mut self, place: usize, key: u128, seats: &mut [Seat]) {
        self.0[place].key = key;
        self.settle(place, seats);
    }

    fn settle(&mut self, place: usize, seats: &mut [Seat]) {
        let place = self.rise(place, seats);
        self.sink(place, seats);
    }

    fn rise(&mut self, mut place: usize, seats: &mut [Seat]) -> usize {
        let entry = self.0[place];
        while place > 0 {
            let above = (place - 1) / 2;
            if self.0[above] <= entry {
                break;
            }
            self.put(place, self.0[above], seats);
            place = above;
        }
        self.put(place, entry, seats);
        place
    }

    fn sink(&mut self, mut place: usize, seats: &mut [Seat]) {
        let entry = self.0[place];
        loop {
            let left = 2 * place + 1;
            let Some(&(mut least)) = self.0.get(left) else { break };
            let mut below = left;
            if let Some(&right) = self.0.get(left + 1)
                && right < least
            {
                (below, least) = (left + 1, right);
            }
            if entry <= least {
                break;
            }
            self.put(place, least, seats);
            place = below;
        }
        self.put(place, entry, seats);
    }

    fn put(&mut self, place: usize, entry: Entry, seats: &mut [Seat]) {
        self.0[place] = entry;
        seats[entry.class as usize].place = place as u32;
    }
}

/// Classes that take turns.
#[derive(Debug, Default)]
pub(super) struct Turns {
    waiting: Heap,
    ready: Heap,
}

impl Turns {
    /// Turns of so many classes at most.
    pub(super) fn with_capacity(classes: usize) -> Self {
        let heap = || Heap(Vec::with_capacity(classes));
        Self { waiting: heap(), ready: heap() }
    }

    /// Nobody takes part.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.0.is_empty() && self.ready.0.is_empty()
    }

    /// The class may have its turn from `time` on, with this key.
    pub(super) fn set(
        &mut self,
        class: usize,
        time: u128,
        key: u128,
        now: u128,
        seats: &mut [Seat],
    ) {
        let to = if time > now { In::Waiting } else { In::Ready };
        let seat = &mut seats[class];
        (seat.time, seat.key) = (time, key);
        let (from, place) = (seat.heap, seat.place as usize);
        if from == to {
            let (heap, key) =
                if to == In::Waiting { (&mut self.waiting, time) } else { (&mut self.ready, key) };
            return heap.replace(place, key, seats);
        }
        self.leave(class, seats);
        self.enter(class, to, seats);
    }

    /// The class takes part no more.
    pub(super) fn leave(&mut self, class: usize, seats: &mut [Seat]) {
        let place = seats[class].place as usize;
        match core::mem::take(&mut seats[class].heap) {
            In::Neither => {}
            In::Waiting => self.waiting.remove(place, seats),
            In::Ready => self.ready.remove(place, seats),
        }
    }

    fn enter(&mut self, class: usize, to: In, seats: &mut [Seat]) {
        let seat = &mut seats[class];
        seat.heap = to;
        let (heap, key) = if to == In::Waiting {
            (&mut self.waiting, seat.time)
        } else {
            (&mut self.ready, seat.key)
        };
        heap.push(Entry { key, class: class as u32 }, seats);
    }

    /// Whose turn it is at `now`.
    ///
    /// A look ahead may have made classes ready whose time has not come; they go back.
    pub(super) fn first(&mut self, now: u128, seats: &mut [Seat]) -> Option<usize> {
        while let Some(&Entry { key, class }) = self.waiting.0.first() {
            if key > now {
                break;
            }
            self.leave(class as usize, seats);
            self.enter(class as usize, In::Ready, seats);
        }
        while let Some(&Entry { class, .. }) = self.ready.0.first() {
            if seats[class as usize].time <= now {
                return Some(class as usize);
            }
            self.leave(class as usize, seats);
            self.enter(class as usize, In::Waiting, seats);
        }
        None
    }

    /// A time from which on somebody has a turn: the first one, or one that has come at `now`;
    /// `None` if nobody takes part.
    pub(super) fn earliest(&mut self, now: u128, seats: &mut [Seat]) -> Option<u128> {
        match self.first(now, seats) {
            Some(class) => Some(seats[class].time),
            None => self.waiting.0.first().map(|entry| entry.key),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use proptest::prelude::*;

    const CLASSES: usize = 12;

    proptest! {
        /// Against a search of all who take part, also when the clock is asked for a later time
        /// and then for an earlier one.
        #[test]
        fn the_least_key_among_those_whose_time_has_come(
            steps in prop::collection::vec((0..CLASSES, 0_u128..40, 0_u128..40, 0_u8..4), 1..300),
        ) {
            let (mut turns, mut seats) = (Turns::with_capacity(CLASSES), [Seat::default(); CLASSES]);
            let mut all = BTreeMap::new();
            let mut now = 0;
            for (class, time, key, what) in steps {
                match what {
                    0 => {
                        turns.leave(class, &mut seats);
                        all.remove(&class);
                    }
                    1 => now += time / 10,
                    _ => {
                        turns.set(class, now + time, key, now, &mut seats);
                        all.insert(class, (now + time, key));
                    }
                }
                for at in [now + 5, now] {
                    let come = all.iter().filter(|(_, (time, _))| *time <= at);
                    let least = come.min_by_key(|&(&class, &(_, key))| (key, class));
                    let least = least.map(|(&class, _)| class);
                    prop_assert_eq!(turns.first(at, &mut seats), least);
                    let earliest = all.values().map(|&(time, _)| time).min();
                    prop_assert_eq!(turns.earliest(at, &mut seats).map(|time| time.max(at)),
                        earliest.map(|time| time.max(at)));
                }
                prop_assert_eq!(turns.is_empty(), all.is_empty());
                for (class, seat) in seats.iter().enumerate() {
                    prop_assert_eq!(seat.is_taken(), all.contains_key(&class));
                }
            }
        }
    }
}
