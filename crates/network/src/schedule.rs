//! The schedule: who wants to be woken, and when. One entry per source, not per packet.
//!
//! The next few entries are a sorted list, in which the sources of one busy path take turns at a step or
//! two each. The other armed sources are a heap, so that those idle or far off cost next to nothing. Ties
//! go to the lower source, so that there is one order in every run.

use traffic::Instant;

/// A set of sources with at most one wake-up time each.
#[derive(Debug)]
pub struct Schedule {
    /// The next few entries, the latest first; each is earlier than all of the heap.
    front: [u128; FRONT],
    front_length: usize,
    /// The heap: the entries from `ROOT` to before `end`, in pairs of siblings; `NEVER` around them, and
    /// at the root while it is free.
    pairs: Vec<[u128; 2]>,
    end: usize,
    /// The earliest of the heap.
    heap_earliest: u128,
    sources: Vec<Source>,
}

/// What is known of a source.
#[derive(Clone, Copy, Debug)]
struct Source {
    at: Instant,
    /// While it is armed: where in the heap it is, or `IN_FRONT`.
    place: u32,
}

const FRONT: usize = 16;
const IN_FRONT: u32 = 0;

/// The root's place: the second of the first pair. The children of place `p` are pair `p`.
const ROOT: usize = 1;

/// No entry: later than any.
const NEVER: u128 = u128::MAX;

/// Time above, source below, so that entries compare as one number.
#[inline]
fn entry(source: u32, at: Instant) -> u128 {
    u128::from(at.as_ps()) << 32 | u128::from(source)
}

#[inline]
fn time(entry: u128) -> Instant {
    Instant::from_ps((entry >> 32) as u64)
}

impl Schedule {
    /// A schedule for `sources` sources, numbered from 0, none of them armed.
    pub fn new(sources: usize) -> Self {
        let mut schedule = Self {
            front: [NEVER; FRONT],
            front_length: 0,
            pairs: vec![[NEVER; 2]; 2],
            end: ROOT + 1,
            heap_earliest: NEVER,
            sources: Vec::new(),
        };
        for _ in 0..sources {
            schedule.add();
        }
        schedule
    }

    /// Adds a source and returns its number.
    pub fn add(&mut self) -> u32 {
        self.sources.push(Source { at: Instant::NEVER, place: IN_FRONT });
        self.pairs.resize(2 + self.sources.len() / 2, [NEVER; 2]);
        self.sources.len() as u32 - 1
    }

    /// Wakes `source` at `at`, and no earlier; `Instant::NEVER` disarms it.
    #[inline]
    pub fn set(&mut self, source: u32, at: Instant) {
        let own = &mut self.sources[source as usize];
        let Source { at: before, place } = *own;
        if at == before {
            return;
        }
        own.at = at;
        if before != Instant::NEVER {
            self.remove(entry(source, before), place);
        }
        if at != Instant::NEVER {
            self.insert(entry(source, at));
        }
    }

    /// Wakes `source` at `at` or before: a source that is armed for an earlier time stays so.
    /// Re-arming a retransmission timer on every ACK therefore costs a comparison.
    #[inline]
    pub fn arm(&mut self, source: u32, at: Instant) {
        if at < self.sources[source as usize].at {
            self.set(source, at);
        }
    }

    /// The earliest time of any source; `NEVER` if none is armed.
    #[inline]
    pub fn earliest(&self) -> Instant {
        time(match self.front_length {
            0 => self.heap_earliest,
            length => self.front[(length - 1) % FRONT],
        })
    }

    /// The earliest source, if its time is at or before `until`. It stays armed until it is
    /// [`set`](Self::set) anew.
    #[inline]
    pub fn due(&mut self, until: Instant) -> Option<(Instant, u32)> {
        if self.front_length == 0 && !self.take_from_heap() {
            return None;
        }
        let next = self.front[(self.front_length - 1) % FRONT];
        let at = time(next);
        (at <= until).then_some((at, next as u32))
    }

    /// Takes in an entry: among the next few, or into the heap if that has an earlier one.
    #[inline]
    fn insert(&mut self, entry: u128) {
        let full = self.front_length == FRONT;
        if entry > self.heap_earliest || full && entry > self.front[0] {
            return self.push(entry);
        }
        if full {
            self.give_to_heap();
        }
        let mut index = self.front_length;
        while index > 0 && self.front[(index - 1) % FRONT] < entry {
            self.front[index % FRONT] = self.front[(index - 1) % FRONT];
            index -= 1;
        }
        self.front[index % FRONT] = entry;
        self.front_length += 1;
        self.sources[entry as u32 as usize].place = IN_FRONT;
    }

    /// Takes out an entry.
    #[inline]
    fn remove(&mut self, entry: u128, place: u32) {
        if place != IN_FRONT {
            return self.remove_from_heap(place as usize);
        }
        self.front_length -= 1;
        let mut index = self.front_length % FRONT;
        // Usually it is the next, whose time has come.
        let mut moved = self.front[index];
        while moved != entry {
            index -= 1;
            moved = core::mem::replace(&mut self.front[index % FRONT], moved);
        }
    }

    /// Moves the latest of the next few into the heap, where it becomes the earliest.
    #[cold]
    fn give_to_heap(&mut self) {
        let latest = self.front[0];
        self.front.copy_within(1.., 0);
        self.front_length -= 1;
        self.push(latest);
    }

    /// Makes the earliest of the heap the only one of the next few; false if there is none. The next
    /// that comes into the heap takes over its place, and the last leaf need not climb down from it.
    fn take_from_heap(&mut self) -> bool {
        if self.pairs[0][ROOT] == NEVER {
            if self.end == ROOT + 1 {
                return false;
            }
            let last = self.take_last();
            self.sink(ROOT, last);
        }
        let earliest = core::mem::replace(&mut self.pairs[0][ROOT], NEVER);
        self.note_earliest();
        self.front[0] = earliest;
        self.front_length = 1;
        self.sources[earliest as u32 as usize].place = IN_FRONT;
        true
    }

    /// Notes which is the earliest of the heap, after any change of it.
    #[inline]
    fn note_earliest(&mut self) {
        self.heap_earliest = match self.pairs[0][ROOT] {
            NEVER => self.pairs[1][0].min(self.pairs[1][1]),
            root => root,
        };
    }

    /// Takes an entry into the heap: at the root if that is free, else behind the last.
    fn push(&mut self, entry: u128) {
        if self.pairs[0][ROOT] == NEVER {
            self.sink(ROOT, entry);
        } else {
            self.end += 1;
            self.rise(self.end - 1, entry);
        }
        self.note_earliest();
    }

    fn remove_from_heap(&mut self, place: usize) {
        if place == ROOT {
            self.pairs[0][ROOT] = NEVER;
            return self.note_earliest();
        }
        let last = self.take_last();
        if place < self.end {
            self.sink(place, last);
            self.rise(self.sources[last as u32 as usize].place as usize, last);
        }
        self.note_earliest();
    }

    fn take_last(&mut self) -> u128 {
        self.end -= 1;
        core::mem::replace(&mut self.pairs[self.end / 2][self.end % 2], NEVER)
    }

    /// Puts an entry at `place` or above, but not into a free root: later ones there make room.
    fn rise(&mut self, mut place: usize, entry: u128) {
        while place > ROOT {
            let above = place / 2;
            let other = self.pairs[above / 2][above % 2];
            if other < entry || other == NEVER {
                break;
            }
            self.put(place, other);
            place = above;
        }
        self.put(place, entry);
    }

    /// Puts an entry at `place` or below: earlier ones there move up.
    fn sink(&mut self, mut place: usize, entry: u128) {
        while let Some(&[left, right]) = self.pairs.get(place) {
            let earliest = left.min(right);
            if entry < earliest {
                break;
            }
            self.put(place, earliest);
            place = 2 * place + usize::from(right < left);
        }
        self.put(place, entry);
    }

    #[inline]
    fn put(&mut self, place: usize, entry: u128) {
        self.pairs[place / 2][place % 2] = entry;
        self.sources[entry as u32 as usize].place = place as u32;
    }
}

impl Default for Schedule {
    fn default() -> Self {
        Self::new(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// More than the front holds, so that entries come and go between it and the heap.
    const SOURCES: u32 = 3 * FRONT as u32;

    #[derive(Clone, Debug)]
    enum Operation {
        Set(u32, u64),
        Arm(u32, u64),
        Disarm(u32),
        Fire,
    }

    fn operation() -> impl Strategy<Value = Operation> {
        prop_oneof![
            (0..SOURCES, 0..50u64).prop_map(|(s, t)| Operation::Set(s, t)),
            (0..SOURCES, 0..50u64).prop_map(|(s, t)| Operation::Arm(s, t)),
            (0..SOURCES).prop_map(Operation::Disarm),
            Just(Operation::Fire),
        ]
    }

    proptest! {
        /// Against a plain list: the earliest source comes first, ties by number.
        #[test]
        fn keeps_the_order_of_a_plain_list(
            operations in prop::collection::vec(operation(), 1..300),
            grown in any::<bool>(),
        ) {
            let mut schedule = Schedule::new(if grown { 0 } else { SOURCES as usize });
            if grown {
                for source in 0..SOURCES {
                    prop_assert_eq!(schedule.add(), source);
                }
            }
            let mut list = [Instant::NEVER; SOURCES as usize];
            for operation in operations {
                match operation {
                    Operation::Set(s, t) => {
                        list[s as usize] = Instant::from_ps(t);
                        schedule.set(s, Instant::from_ps(t));
                    }
                    Operation::Arm(s, t) => {
                        list[s as usize] = list[s as usize].min(Instant::from_ps(t));
                        schedule.arm(s, Instant::from_ps(t));
                    }
                    Operation::Disarm(s) => {
                        list[s as usize] = Instant::NEVER;
                        schedule.set(s, Instant::NEVER);
                    }
                    Operation::Fire => {
                        let (at, s) = (0..SOURCES).map(|s| (list[s as usize], s)).min().unwrap();
                        let want = (at != Instant::NEVER).then_some((at, s));
                        prop_assert_eq!(schedule.due(Instant::from_ps(u64::MAX - 1)), want);
                        list[s as usize] = Instant::NEVER;
                        schedule.set(s, Instant::NEVER);
                    }
                }
                prop_assert_eq!(schedule.earliest(), *list.iter().min().unwrap());
            }
        }
    }
}
