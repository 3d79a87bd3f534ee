//! The search over rules that look at simulated fields only, which fit in one word.
//!
//! There is a hash table for each set of bits that rules look at, as in [`super::tuples`]. But these rules do
//! not change, and the word holds all their conditions. A slot therefore holds a whole rule, and a probe
//! mostly reads one cache line.

use alloc::vec;
use alloc::vec::Vec;

/// A rule, or none.
#[derive(Clone, Copy, Debug)]
struct Slot {
    word: u64,
    /// The place of the rule in the list; the lowest decides.
    rank: u32,
    /// [`NONE`] in a vacant slot.
    class: u32,
}

const NONE: u32 = u32::MAX;
const VACANT: Slot = Slot { word: 0, rank: u32::MAX, class: NONE };

/// 2^64 over the golden ratio (Knuth, The Art of Computer Programming, volume 3, section 6.4): flows are
/// numbered consecutively, and it spreads such numbers more evenly than chance.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// The rules of one shape.
#[derive(Clone, Debug)]
struct Table {
    /// The bits that count.
    mask: u64,
    /// The right shift that turns a word's hash into its place.
    shift: u32,
    /// The lowest of its ranks.
    best: u32,
    /// One slot for each place, and extra slots for overflow from the last places.
    slots: Vec<Slot>,
}

impl Table {
    /// A table for `rules` rules, at most two thirds full.
    fn new(mask: u64, rules: usize, best: u32) -> Self {
        let places = (rules * 3 / 2 + 1).next_power_of_two().max(2);
        Self { mask, shift: u64::BITS - places.trailing_zeros(), best, slots: vec![VACANT; places] }
    }

    /// The place of a word, or the vacant place where it belongs, which may be after the last one.
    #[inline]
    fn place(&self, word: u64) -> usize {
        let mut place = (word.wrapping_mul(MULTIPLIER) >> self.shift) as usize;
        while let Some(slot) = self.slots.get(place) {
            if slot.word == word || slot.class == NONE {
                break;
            }
            place += 1;
        }
        place
    }

    /// The rule for a word, or none.
    #[inline]
    fn probe(&self, word: u64) -> Slot {
        self.slots.get(self.place(word & self.mask)).copied().unwrap_or(VACANT)
    }

    /// Adds a rule, unless an earlier one has the same condition.
    fn insert(&mut self, slot: Slot) {
        let place = self.place(slot.word);
        match self.slots.get_mut(place) {
            None => self.slots.push(slot),
            Some(taken) if taken.class == NONE => *taken = slot,
            Some(_) => {}
        }
    }
}

/// Rules over one word; the first matching rule decides.
#[derive(Clone, Debug)]
pub(crate) struct Words {
    /// The table with the first rule first.
    tables: Vec<Table>,
    /// The class of words that no table has: that of the first rule without a condition, or [`NONE`].
    rest: u32,
}

impl Default for Words {
    fn default() -> Self {
        Self { tables: Vec::new(), rest: NONE }
    }
}

impl Words {
    /// Rules in order: the bits that each looks at, their required values (zero elsewhere), and the class,
    /// below 2^32 - 1.
    pub(super) fn new(rules: &[(u64, u64, u32)]) -> Self {
        let mut tables: Vec<Table> = Vec::new();
        let end = rules.iter().position(|rule| rule.0 == 0).unwrap_or(rules.len());
        // Later rules never decide.
        let (rules, rest) = rules.split_at(end);
        for (rank, &(mask, word, class)) in (0..).zip(rules) {
            let known = tables.iter().position(|table| table.mask == mask);
            let place = known.unwrap_or_else(|| {
                let count = rules.iter().filter(|rule| rule.0 == mask).count();
                tables.push(Table::new(mask, count, rank));
                tables.len() - 1
            });
            tables[place].insert(Slot { word, rank, class });
        }
        Self { tables, rest: rest.first().map_or(NONE, |rule| rule.2) }
    }

    /// The class of the first rule that matches.
    #[inline]
    pub(super) fn find(&self, word: u64) -> Option<usize> {
        let found = match &self.tables[..] {
            [] => NONE,
            [only] => only.probe(word).class,
            tables => first_of(tables, word).class,
        };
        let class = if found == NONE { self.rest } else { found };
        (class != NONE).then_some(class as usize)
    }
}

/// The first rule that matches in any of the tables, or none.
#[inline(never)]
fn first_of(tables: &[Table], word: u64) -> Slot {
    let mut found = VACANT;
    for table in tables {
        // This table and all later ones have no earlier rule.
        if table.best > found.rank {
            break;
        }
        let slot = table.probe(word);
        if slot.rank < found.rank {
            found = slot;
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Either words with the largest hashes, which all belong in the last place and overflow it, or small
    /// words.
    fn word() -> impl Strategy<Value = u64> {
        // Each step doubles the number of correct bits (Newton).
        let inverse = (0..6)
            .fold(1_u64, |x, _| x.wrapping_mul(2_u64.wrapping_sub(MULTIPLIER.wrapping_mul(x))));
        (any::<bool>(), 0_u64..30)
            .prop_map(move |(last, n)| if last { (!n).wrapping_mul(inverse) } else { n })
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn the_first_rule_that_matches_decides(
            rules in prop::collection::vec(
                (prop::sample::select(vec![u64::MAX, u64::MAX, 0, 7, !7]), word()),
                0..60,
            ),
            words in prop::collection::vec(word(), 1..30),
        ) {
            let rules: Vec<_> = (0..)
                .zip(&rules)
                .map(|(class, &(mask, word))| (mask, word & mask, class))
                .collect();
            let search = Words::new(&rules);
            for word in words {
                let first = rules.iter().find(|&&(mask, bits, _)| word & mask == bits);
                prop_assert_eq!(search.find(word), first.map(|rule| rule.2 as usize));
            }
        }
    }
}
