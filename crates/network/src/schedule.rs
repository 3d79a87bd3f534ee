//! The schedule: who wants to be woken, and when. One entry per source, not per packet.
//!
//! The next few entries are a sorted list, in which the sources of one busy path take turns at a step or
//! two each. The others are a tournament tree: every inner node holds the earlier of its two children,
//! the root the earliest of all, and moving a source's time plays its matches again up to the first whose
//! outcome stays. Ties go to the lower source, so that there is one order in every run.

use traffic::Instant;

/// A set of sources with at most one wake-up time each.
#[derive(Debug)]
pub struct Schedule {
    /// The next few entries, the latest first; each is earlier than all of the tree.
    front: [u128; FRONT],
    front_length: usize,
    /// `tree[1]` is the root, node `i` has the children `2i` and `2i + 1`, source `s` is leaf
    /// `leaves + s`; `NEVER` where the source is not armed, or in front.
    tree: Vec<u128>,
    leaves: usize,
    /// When each source is armed for.
    times: Vec<Instant>,
}

const FRONT: usize = 16;

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
        let leaves = sources.next_power_of_two();
        Self {
            front: [NEVER; FRONT],
            front_length: 0,
            tree: vec![NEVER; 2 * leaves],
            leaves,
            times: vec![Instant::NEVER; sources],
        }
    }

    /// Adds a source and returns its number.
    pub fn add(&mut self) -> u32 {
        let source = self.times.len();
        self.times.push(Instant::NEVER);
        if source == self.leaves {
            let old = self.tree.split_off(self.leaves);
            self.leaves = (source + 1).next_power_of_two();
            self.tree = vec![NEVER; 2 * self.leaves];
            for (source, entry) in old.into_iter().enumerate() {
                self.replay(source as u32, entry);
            }
        }
        source as u32
    }

    /// Wakes `source` at `at`, and no earlier; `Instant::NEVER` disarms it.
    #[inline]
    pub fn set(&mut self, source: u32, at: Instant) {
        let before = core::mem::replace(&mut self.times[source as usize], at);
        if at == before {
            return;
        }
        if before != Instant::NEVER {
            self.remove(entry(source, before));
        }
        if at != Instant::NEVER {
            self.insert(entry(source, at));
        }
    }

    /// Wakes `source` at `at` or before: a source that is armed for an earlier time stays so.
    /// Re-arming a retransmission timer on every ACK therefore costs a comparison.
    #[inline]
    pub fn arm(&mut self, source: u32, at: Instant) {
        if at < self.times[source as usize] {
            self.set(source, at);
        }
    }

    /// The earliest time of any source; `NEVER` if none is armed.
    #[inline]
    pub fn earliest(&self) -> Instant {
        time(match self.front_length {
            0 => self.tree[1],
            length => self.front[(length - 1) % FRONT],
        })
    }

    /// The earliest source, if its time is at or before `until`. It stays armed until it is
    /// [`set`](Self::set) anew.
    #[inline]
    pub fn due(&mut self, until: Instant) -> Option<(Instant, u32)> {
        if self.front_length == 0 && !self.take_from_tree() {
            return None;
        }
        let next = self.front[(self.front_length - 1) % FRONT];
        let at = time(next);
        (at <= until).then_some((at, next as u32))
    }

    /// Takes in an entry: among the next few, or into the tree if that has an earlier one.
    #[inline]
    fn insert(&mut self, entry: u128) {
        let full = self.front_length == FRONT;
        if entry > self.tree[1] || full && entry > self.front[0] {
            return self.replay(entry as u32, entry);
        }
        if full {
            self.give_to_tree();
        }
        let mut index = self.front_length;
        while index > 0 && self.front[(index - 1) % FRONT] < entry {
            self.front[index % FRONT] = self.front[(index - 1) % FRONT];
            index -= 1;
        }
        self.front[index % FRONT] = entry;
        self.front_length += 1;
    }

    /// Takes out an entry.
    #[inline]
    fn remove(&mut self, entry: u128) {
        if entry >= self.tree[1] {
            return self.replay(entry as u32, NEVER);
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

    /// Moves the latest of the next few into the tree.
    #[cold]
    fn give_to_tree(&mut self) {
        let latest = self.front[0];
        self.front.copy_within(1.., 0);
        self.front_length -= 1;
        self.replay(latest as u32, latest);
    }

    /// Makes the earliest of the tree the only one of the next few; false if there is none.
    #[inline]
    fn take_from_tree(&mut self) -> bool {
        let earliest = self.tree[1];
        if earliest == NEVER {
            return false;
        }
        self.replay(earliest as u32, NEVER);
        self.front[0] = earliest;
        self.front_length = 1;
        true
    }

    /// Gives a leaf its entry and plays its matches up to the first whose outcome stays.
    fn replay(&mut self, source: u32, entry: u128) {
        let mut node = self.leaves + source as usize;
        let mut winner = entry;
        while self.tree[node] != winner {
            self.tree[node] = winner;
            if node == 1 {
                return;
            }
            winner = winner.min(self.tree[node ^ 1]);
            node >>= 1;
        }
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

    /// More than the front holds, so that entries come and go between it and the tree.
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
