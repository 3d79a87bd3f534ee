//! The queue of each flow: a table that is searched by the flow's key, without randomness.

use alloc::vec;
use alloc::vec::Vec;

use super::hash::mix;

/// A place without a flow.
const NONE: u32 = u32::MAX;
/// The number of places in the first table.
const PLACES_MIN: usize = 16;

#[derive(Clone, Copy, Debug)]
struct Place {
    key: u64,
    queue: u32,
}

const EMPTY: Place = Place { key: 0, queue: NONE };

/// The flows that have a queue, in a table with open addressing and linear probing. The number of places is a
/// power of two, and at most half are in use, so a search takes few steps.
#[derive(Debug)]
pub(super) struct Flows {
    places: Vec<Place>,
    seed: u64,
    /// The queues without a flow.
    free: Vec<u32>,
    /// The number of queues created so far.
    queues: u32,
}

impl Flows {
    pub(super) fn new(seed: u64) -> Self {
        let (places, free) = (vec![EMPTY; PLACES_MIN], Vec::with_capacity(PLACES_MIN));
        Self { places, seed, free, queues: 0 }
    }

    /// The greatest number of queues in use at once.
    pub(super) fn queues(&self) -> usize {
        self.queues as usize
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
        while self.places[place].queue != NONE && self.places[place].key != key {
            place = self.after(place);
        }
        place
    }

    /// The flow's queue; a flow without one gets one.
    #[inline]
    pub(super) fn queue_of(&mut self, key: u64) -> usize {
        let place = self.find(key);
        let queue = self.places[place].queue;
        if queue == NONE { self.admit(key, place) } else { queue as usize }
    }

    fn admit(&mut self, key: u64, place: usize) -> usize {
        let queue = self.free.pop().unwrap_or_else(|| {
            self.queues += 1;
            self.queues - 1
        });
        self.places[place] = Place { key, queue };
        if 2 * (self.queues as usize - self.free.len()) > self.places.len() {
            self.grow();
        }
        queue as usize
    }

    #[cold]
    fn grow(&mut self) {
        let larger = vec![EMPTY; 2 * self.places.len()];
        for old in core::mem::replace(&mut self.places, larger) {
            if old.queue != NONE {
                let place = self.find(old.key);
                self.places[place] = old;
            }
        }
        self.free.reserve(self.places.len());
    }

    /// The flow gives its queue back.
    pub(super) fn forget(&mut self, key: u64) {
        let mut hole = self.find(key);
        let queue = self.places[hole].queue;
        if queue == NONE {
            return;
        }
        self.free.push(queue);
        // Later entries that probed past the hole move up (Knuth, volume 3, algorithm 6.4 R).
        let mut place = self.after(hole);
        while self.places[place].queue != NONE {
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
        /// Compares with the standard library's map: a flow keeps its queue until it is forgotten, and no two
        /// flows share one.
        #[test]
        fn a_flow_keeps_a_queue_of_its_own(
            steps in prop::collection::vec((any::<bool>(), 0..60_u64), 1..500)
        ) {
            let (mut flows, mut all) = (Flows::new(7), BTreeMap::new());
            for (forget, key) in steps {
                if forget {
                    flows.forget(key);
                    all.remove(&key);
                    continue;
                }
                let queue = flows.queue_of(key);
                prop_assert_eq!(*all.entry(key).or_insert(queue), queue);
                let mut taken: Vec<_> = all.values().collect();
                taken.sort_unstable();
                prop_assert!(taken.windows(2).all(|pair| pair[0] != pair[1]));
                prop_assert!(flows.queues() <= 60);
            }
        }
    }
}
