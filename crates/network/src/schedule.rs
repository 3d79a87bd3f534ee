//! The schedule: the wake-up times of sources. One entry per source, not per packet.
//!
//! A tournament tree over the sources: every inner node holds the earlier of its two children, the root the
//! earliest of all. Changing a source's time replays its matches up to the first one with an unchanged winner. Ties
//! go to the lower rank, then to the lower source, so that there is one order in every run.

use base::Instant;

/// A set of sources with at most one wake-up time each.
#[derive(Debug)]
pub struct Schedule {
    /// `tree[1]` is the root, node `i` has the children `2i` and `2i + 1`; source `s` is leaf `leaves + s`.
    tree: Vec<u128>,
    leaves: usize,
    sources: usize,
}

/// The entry of a source that is not armed: later than any other.
const NEVER: u128 = u128::MAX;

/// The time in the upper bits, then the rank, then the source, so that entries compare as one number.
#[inline]
fn entry(source: u32, rank: u32, at: Instant) -> u128 {
    let place = u64::from(rank) << 32 | u64::from(source);
    if at == Instant::NEVER { NEVER } else { u128::from(at.as_ps()) << 64 | u128::from(place) }
}

#[inline]
fn time(entry: u128) -> Instant {
    Instant::from_ps((entry >> 64) as u64)
}

impl Schedule {
    /// A schedule for `sources` sources, numbered from 0, none of them armed.
    pub fn new(sources: usize) -> Self {
        let leaves = sources.next_power_of_two();
        Self { tree: vec![NEVER; 2 * leaves], leaves, sources }
    }

    /// Adds a source and returns its number.
    pub fn add(&mut self) -> u32 {
        let source = self.sources;
        if source == self.leaves {
            let mut larger = Self::new(source + 1);
            for old in 0..source {
                larger.replay(old, self.tree[self.leaves + old]);
            }
            *self = larger;
        }
        self.sources = source + 1;
        source as u32
    }

    /// Wakes `source` at `at`, and no earlier; `Instant::NEVER` disarms it.
    #[inline]
    pub fn set(&mut self, source: u32, at: Instant) {
        self.set_ranked(source, 0, at);
    }

    /// Like [`Self::set`]; of sources with the same time, the one of the lowest rank comes first.
    #[inline]
    pub fn set_ranked(&mut self, source: u32, rank: u32, at: Instant) {
        self.replay(source as usize, entry(source, rank, at));
    }

    /// Wakes `source` at `at` at the latest: an earlier time stays. Re-arming a retransmission timer on every ACK
    /// therefore costs a comparison.
    #[inline]
    pub fn arm(&mut self, source: u32, at: Instant) {
        let entry = entry(source, 0, at);
        if entry < self.tree[self.leaves + source as usize] {
            self.replay(source as usize, entry);
        }
    }

    /// The earliest time of any source; `NEVER` if none is armed.
    #[inline]
    pub fn earliest(&self) -> Instant {
        time(self.tree[1])
    }

    /// The earliest source, if its time is at or before `until`. It stays armed until it is [`set`](Self::set)
    /// again.
    #[inline]
    pub fn due(&self, until: Instant) -> Option<(Instant, u32)> {
        let root = self.tree[1];
        let at = time(root);
        (root != NEVER && at <= until).then_some((at, root as u32))
    }

    /// Sets the entry of a leaf and replays its matches up to the first one with an unchanged winner.
    #[inline]
    fn replay(&mut self, source: usize, entry: u128) {
        let mut node = self.leaves + source;
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

    #[derive(Clone, Debug)]
    enum Operation {
        Set(u32, u32, u64),
        Arm(u32, u64),
        Disarm(u32),
        Fire,
    }

    fn operation() -> impl Strategy<Value = Operation> {
        prop_oneof![
            (0..9u32, 0..3u32, 0..50u64).prop_map(|(s, r, t)| Operation::Set(s, r, t)),
            (0..9u32, 0..50u64).prop_map(|(s, t)| Operation::Arm(s, t)),
            (0..9u32).prop_map(Operation::Disarm),
            Just(Operation::Fire),
        ]
    }

    proptest! {
        /// Against a plain list: the earliest source comes first, ties by rank and number.
        #[test]
        fn keeps_the_order_of_a_plain_list(
            operations in prop::collection::vec(operation(), 1..300),
            grown in any::<bool>(),
        ) {
            let mut schedule = Schedule::new(if grown { 0 } else { 9 });
            if grown {
                for source in 0..9 {
                    prop_assert_eq!(schedule.add(), source);
                }
            }
            let mut list = [(Instant::NEVER, 0); 9];
            for operation in operations {
                match operation {
                    Operation::Set(s, rank, t) => {
                        list[s as usize] = (Instant::from_ps(t), rank);
                        schedule.set_ranked(s, rank, Instant::from_ps(t));
                    }
                    Operation::Arm(s, t) => {
                        list[s as usize] = list[s as usize].min((Instant::from_ps(t), 0));
                        schedule.arm(s, Instant::from_ps(t));
                    }
                    Operation::Disarm(s) => {
                        list[s as usize] = (Instant::NEVER, 0);
                        schedule.set(s, Instant::NEVER);
                    }
                    Operation::Fire => {
                        let ((at, _), s) = (0..9u32).map(|s| (list[s as usize], s)).min().unwrap();
                        let want = (at != Instant::NEVER).then_some((at, s));
                        prop_assert_eq!(schedule.due(Instant::from_ps(u64::MAX - 1)), want);
                        list[s as usize] = (Instant::NEVER, 0);
                        schedule.set(s, Instant::NEVER);
                    }
                }
                prop_assert_eq!(schedule.earliest(), list.iter().min().unwrap().0);
            }
        }
    }
}
