//! Turns of classes: among the classes with a time that has come, the one with the least key sends.
//!
//! There are two tournaments between classes: waiting classes compete by time, ready ones by key. The clock
//! moves on, so a class changes between them at most twice between two changes of its own: O(log n) a packet,
//! where ALTQ searches a list. No memory is taken after the start.

use alloc::vec::Vec;

use crate::qdisc::tournament::{NOBODY, Tournament};
use base::prefetch::prefetch;

/// The bits of an entry that hold the class.
const CLASS_BITS: u32 = 24;
/// The maximum number of classes.
pub(super) const CLASSES_MAX: usize = 1 << CLASS_BITS;

/// A time or key with its class in the low bits: one comparison decides, ties go to the class that is listed
/// first, and four entries fill a cache line.
///
/// 104 bits are left for the time, in picoseconds. A virtual time grows by the service divided by a slope of
/// at least 1 bit/s: on a link of 800 Gbit/s it takes 290 days to exceed that.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
struct Entry(u128);

impl Entry {
    const LAST: Self = Self(NOBODY);

    #[inline]
    fn new(time: u128, class: usize) -> Self {
        Self(time.min(u128::MAX >> CLASS_BITS) << CLASS_BITS | class as u128)
    }

    #[inline]
    const fn class(self) -> usize {
        self.0 as usize & (CLASSES_MAX - 1)
    }

    #[inline]
    fn time(self) -> u64 {
        u64::try_from(self.0 >> CLASS_BITS).unwrap_or(u64::MAX)
    }

    /// Whether its time has come at `now`.
    #[inline]
    fn has_come(self, now: u64) -> bool {
        self.0 >> CLASS_BITS <= u128::from(now)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Absent,
    Waiting,
    Ready,
}

/// A class's place in some turns.
#[derive(Clone, Copy, Debug, Default)]
struct Seat {
    key: Entry,
    /// The time, in picoseconds.
    time: u64,
    /// The number of the class among those it takes turns with.
    player: u32,
    state: State,
}

/// The criterion of the turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Criterion {
    RealTime,
    LinkShare,
}

/// The places of all classes in the turns of both criteria, each class in a cache line.
#[derive(Debug)]
pub(super) struct HeapIndex(Vec<Pair>);

#[derive(Clone, Copy, Debug, Default)]
#[repr(align(64))]
struct Pair([Seat; 2]);

impl HeapIndex {
    /// The places of classes that do not take part yet; `ranks` has the number of each class among its
    /// siblings.
    pub(super) fn new(ranks: &[u32]) -> Self {
        let seat = |player| Seat { player, ..Seat::default() };
        Self((0..).zip(ranks).map(|(class, &rank)| Pair([seat(class), seat(rank)])).collect())
    }

    /// Whether the class takes part.
    #[inline]
    pub(super) fn is_taken(&self, class: usize, criterion: Criterion) -> bool {
        self.of(class, criterion).state != State::Absent
    }

    /// Asks for the places of a class.
    #[inline]
    pub(super) fn prefetch(&self, class: usize) {
        if let Some(pair) = self.0.get(class) {
            prefetch(pair, 1);
        }
    }

    #[inline]
    fn of(&self, class: usize, criterion: Criterion) -> &Seat {
        &self.0[class].0[criterion as usize]
    }

    #[inline]
    fn of_mut(&mut self, class: usize, criterion: Criterion) -> &mut Seat {
        &mut self.0[class].0[criterion as usize]
    }
}

/// Classes that take turns.
#[derive(Debug)]
pub(super) struct Turns {
    criterion: Criterion,
    waiting: Tournament,
    ready: Tournament,
    /// The ready classes were ready at this time, or earlier.
    ready_at: u64,
}

impl Turns {
    /// Turns of at most `players` classes.
    pub(super) fn new(criterion: Criterion, players: usize) -> Self {
        let tournament = || Tournament::new(players);
        Self { criterion, waiting: tournament(), ready: tournament(), ready_at: 0 }
    }

    /// Whether no class takes part.
    pub(super) fn is_empty(&self) -> bool {
        self.waiting.first() == NOBODY && self.ready.first() == NOBODY
    }

    /// The class that has the turn at `then`, if no other takes part before; or one that had it before.
    #[inline]
    pub(super) fn expected(&self, then: u64) -> Option<usize> {
        let (ready, waiting) = (Entry(self.ready.first()), Entry(self.waiting.first()));
        if ready != Entry::LAST {
            return Some(ready.class());
        }
        waiting.has_come(then).then(|| waiting.class())
    }

    /// The class may have its turn from `time` on, with this key.
    #[inline]
    pub(super) fn set(
        &mut self,
        class: usize,
        time: u64,
        key: u128,
        now: u64,
        seats: &mut HeapIndex,
    ) {
        let seat = seats.of_mut(class, self.criterion);
        (seat.time, seat.key) = (time, Entry::new(key, class));
        self.place(seat, class, time > now);
        self.ready_at = self.ready_at.max(now);
    }

    /// Lets a class wait or be ready.
    #[inline]
    fn place(&mut self, seat: &mut Seat, class: usize, waits: bool) {
        let to = if waits { State::Waiting } else { State::Ready };
        let enters = seat.state != to;
        if enters {
            self.vacate(seat);
            seat.state = to;
        }
        let (turns, number) = if waits {
            (&mut self.waiting, Entry::new(seat.time.into(), class).0)
        } else {
            (&mut self.ready, seat.key.0)
        };
        if enters {
            turns.lower(seat.player as usize, number);
        } else {
            turns.set(seat.player as usize, number);
        }
    }

    /// Removes the class from the turns.
    #[inline]
    pub(super) fn leave(&mut self, class: usize, seats: &mut HeapIndex) {
        self.vacate(seats.of_mut(class, self.criterion));
    }

    fn vacate(&mut self, seat: &mut Seat) {
        let from = match core::mem::take(&mut seat.state) {
            State::Absent => return,
            State::Waiting => &mut self.waiting,
            State::Ready => &mut self.ready,
        };
        from.set(seat.player as usize, NOBODY);
    }

    /// The class that has the turn at `now`.
    #[inline]
    pub(super) fn first(&mut self, now: u64, seats: &mut HeapIndex) -> Option<usize> {
        if Entry(self.waiting.first()).has_come(now) || now < self.ready_at {
            self.move_on(now, seats);
        }
        let first = Entry(self.ready.first());
        (first != Entry::LAST).then(|| first.class())
    }

    /// Makes the classes ready that have reached their time. A look ahead may have made classes ready too
    /// early; they go back to waiting.
    fn move_on(&mut self, now: u64, seats: &mut HeapIndex) {
        while Entry(self.waiting.first()).has_come(now) {
            let class = Entry(self.waiting.first()).class();
            self.place(seats.of_mut(class, self.criterion), class, false);
            self.ready_at = self.ready_at.max(now);
        }
        while now < self.ready_at && self.ready.first() != NOBODY {
            let class = Entry(self.ready.first()).class();
            if seats.of(class, self.criterion).time <= now {
                return;
            }
            self.place(seats.of_mut(class, self.criterion), class, true);
        }
    }

    /// A time from which a class has a turn: the earliest one, or one that has come at `now`; `None` if no
    /// class takes part.
    #[inline]
    pub(super) fn earliest(&mut self, now: u64, seats: &mut HeapIndex) -> Option<u64> {
        if let Some(class) = self.first(now, seats) {
            return Some(seats.of(class, self.criterion).time);
        }
        let first = Entry(self.waiting.first());
        (first != Entry::LAST).then(|| first.time())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use proptest::prelude::*;

    const CLASSES: usize = 12;
    /// Any order works.
    const RANKS: [u32; CLASSES] = [3, 1, 2, 0, 4, 5, 6, 7, 11, 10, 9, 8];

    proptest! {
        /// Compares with a search of all classes that take part, also with a later time followed by an
        /// earlier one.
        #[test]
        fn the_least_key_among_those_whose_time_has_come(
            steps in prop::collection::vec((0..CLASSES, 0_u64..40, 0_u128..40, 0_u8..4), 1..300),
        ) {
            let (mut turns, mut seats) = (Turns::new(Criterion::LinkShare, CLASSES), HeapIndex::new(&RANKS));
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
                for class in 0..CLASSES {
                    prop_assert_eq!(seats.is_taken(class, Criterion::LinkShare), all.contains_key(&class));
                }
            }
        }
    }
}
