//! A number for each flow, for a discipline that keeps something for every one: a table that is searched by the flow's key,
//! without randomness.

use alloc::vec;
use alloc::vec::Vec;

use crate::qdisc::hash::mix;

/// A place without a flow.
const NONE: u32 = u32::MAX;
/// The number of places in the first table.
const PLACES_MIN: usize = 16;

#[derive(Clone, Copy, Debug)]
struct Place {
    key: u64,
    number: u32,
}

const EMPTY: Place = Place { key: 0, number: NONE };

/// The flows that have a number, in a table with open addressing and linear probing. The number of places is a
/// power of two, and at most half are in use, so a search takes few steps.
#[derive(Debug)]
pub(super) struct FlowNumbers {
    places: Vec<Place>,
    seed: u64,
    /// The numbers without a flow.
    free: Vec<u32>,
    /// The end of the numbers given so far.
    end: u32,
}

impl FlowNumbers {
    pub(super) fn new(seed: u64) -> Self {
        let (places, free) = (vec![EMPTY; PLACES_MIN], Vec::with_capacity(PLACES_MIN));
        Self { places, seed, free, end: 0 }
    }

    /// The end of the numbers given so far: the most flows at once.
    pub(super) fn end(&self) -> usize {
        self.end as usize
    }

    /// The flows that have a number.
    pub(super) fn len(&self) -> usize {
        self.end as usize - self.free.len()
    }

    fn home(&self, key: u64) -> usize {
        mix(key ^ self.seed) as usize & (self.places.len() - 1)
    }

    fn after(&self, place: usize) -> usize {
        (place + 1) & (self.places.len() - 1)
    }

    /// The place of a flow, or the empty place where it belongs.
    fn find(&self, key: u64) -> usize {
        let mut place = self.home(key);
        while self.places[place].number != NONE && self.places[place].key != key {
            place = self.after(place);
        }
        place
    }

    /// The flow's number, if it has one.
    #[inline]
    pub(super) fn get(&self, key: u64) -> Option<usize> {
        let number = self.places[self.find(key)].number;
        (number != NONE).then_some(number as usize)
    }

    /// The flow's number; a flow without one gets one.
    #[inline]
    pub(super) fn number_of(&mut self, key: u64) -> usize {
        let place = self.find(key);
        let number = self.places[place].number;
        if number == NONE { self.admit(key, place) } else { number as usize }
    }

    fn admit(&mut self, key: u64, place: usize) -> usize {
        let number = self.free.pop().unwrap_or_else(|| {
            self.end += 1;
            self.end - 1
        });
        self.places[place] = Place { key, number };
        self.reserve(self.len());
        number as usize
    }

    /// Takes the memory for `flows` flows in all.
    #[inline]
    pub(super) fn reserve(&mut self, flows: usize) {
        if 2 * flows > self.places.len() {
            self.grow((2 * flows).next_power_of_two());
        }
    }

    #[cold]
    fn grow(&mut self, places: usize) {
        let larger = vec![EMPTY; places];
        for old in core::mem::replace(&mut self.places, larger) {
            if old.number != NONE {
                let place = self.find(old.key);
                self.places[place] = old;
            }
        }
        self.free.reserve(self.places.len());
    }

    /// The flow gives its number back.
    pub(super) fn forget(&mut self, key: u64) {
        let mut hole = self.find(key);
        let number = self.places[hole].number;
        if number == NONE {
            return;
        }
        self.free.push(number);
        // Later entries that probed past the hole move up (Knuth, volume 3, algorithm 6.4 R).
        let mut place = self.after(hole);
        while self.places[place].number != NONE {
            let mask = self.places.len() - 1;
            let home = self.home(self.places[place].key);
            if place.wrapping_sub(home) & mask >= place.wrapping_sub(hole) & mask {
                self.places[hole] = self.places[place];
                hole = place;
            }
            place = self.after(place);
        }
        self.places[hole] = EMPTY;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeMap;
    use proptest::prelude::*;

    proptest! {
        /// Compares with the standard library's map: a flow keeps its number until it is forgotten, and no two
        /// flows share one.
        #[test]
        fn a_flow_keeps_a_number_of_its_own(
            steps in prop::collection::vec((any::<bool>(), 0..60_u64), 1..500)
        ) {
            let (mut flows, mut all) = (FlowNumbers::new(7), BTreeMap::new());
            for (forget, key) in steps {
                if forget {
                    flows.forget(key);
                    all.remove(&key);
                    continue;
                }
                let number = flows.number_of(key);
                prop_assert_eq!(*all.entry(key).or_insert(number), number);
                let mut taken: Vec<_> = all.values().collect();
                taken.sort_unstable();
                prop_assert!(taken.windows(2).all(|pair| pair[0] != pair[1]));
                prop_assert!(flows.end() <= 60 && flows.len() == all.len());
            }
        }
    }
}
