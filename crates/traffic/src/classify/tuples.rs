//! Tuple space search (Srinivasan, Suri, Varghese: Packet Classification using Tuple Space Search,
//! SIGCOMM 1999): one hash table for each set of bits that rules look at.
//!
//! Decision graphs (HiCuts, HyperCuts) and bit vectors must be rebuilt when rules change. Here rules come and
//! go while packets pass: a rule is one hash entry, added or removed in constant time. A lookup costs one
//! probe for each distinct shape, for any number of rules, and real rule sets have few shapes. Tables are
//! tried in the order of their best rules, and the search ends when no later table can hold a better rule
//! than the one found.

use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;

use base::random::Random;

/// The search key: the packet's fields packed into words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key<const N: usize> {
    /// The fields; zero where the packet has none.
    pub(crate) words: [u64; N],
    /// The groups of fields that the packet has, a bit each.
    pub(crate) has: u8,
}

/// The set of bits that a rule looks at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape<const N: usize> {
    /// The bits of [`Key::words`].
    pub(crate) mask: [u64; N],
    /// The groups of fields that the packet must have, as in [`Key::has`].
    pub(crate) needs: u8,
}

/// A rule as the search knows it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Entry<R> {
    /// The rank. The lowest wins; all ranks differ.
    pub(crate) rank: u64,
    /// The class.
    pub(crate) class: u32,
    /// The conditions to check after the masked words agree.
    pub(crate) rest: R,
}

/// "No node" at a chain's end.
const NONE: u32 = u32::MAX;
/// A table's first size; sizes are powers of two.
const SLOTS_MIN: usize = 4;

/// A slot of the open-addressing table: the hash, and the best rule with the key of that hash.
#[derive(Clone, Copy, Debug)]
struct Slot {
    /// Zero in a vacant slot, nonzero in any other.
    tag: u32,
    node: u32,
}

const VACANT: Slot = Slot { tag: 0, node: NONE };

#[derive(Clone, Debug)]
#[repr(C)]
struct Node<const N: usize, R> {
    entry: Entry<R>,
    /// The next best with the same words.
    next: u32,
    /// The masked words, in the order of the table's looks.
    words: [u64; N],
}

/// A word of the key and the bits of it that count.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Look {
    mask: u64,
    /// The index of the word, below N.
    word: usize,
}

impl Look {
    #[inline]
    fn at<const N: usize>(self, words: &[u64; N]) -> u64 {
        // N is a power of two, so the remainder is a mask, and no bounds check is needed.
        words[self.word % N] & self.mask
    }
}

/// A bit of [`Shape::needs`] that no packet has: the shape counts more than two words, which is rare. A probe
/// thus checks for both with one test.
const MORE: u8 = 0x80;

/// The rules of one shape. The fields that every probe reads come first, in one and a half cache lines.
#[derive(Clone, Debug)]
#[repr(C)]
struct Table<const N: usize, R> {
    /// The lowest of `ranks`.
    best: u64,
    /// The first two words that count; most shapes have no more. An unused look has an empty mask.
    looks: [Look; 2],
    slots: Vec<Slot>,
    /// The shape's, and [`MORE`].
    needs: u8,
    /// The right shift that turns a tag into a slot number: the tag's upper bits.
    shift: u32,
    nodes: Vec<Node<N, R>>,
    /// The words that count beyond two.
    more: Vec<Look>,
    /// Nodes without a rule.
    free: Vec<u32>,
    /// Slots that are taken.
    keys: usize,
    /// The rules' ranks, for `best` after a removal.
    ranks: BTreeSet<u64>,
    shape: Shape<N>,
}

/// Odd multipliers for the first word, the second, and all later ones.
///
/// The hash is multiply-shift: the upper bits of the sum of products modulo 2^64. With random odd
/// multipliers, two keys collide hardly more often than by chance (Dietzfelbinger, Hagerup, Katajainen,
/// Penttonen: A Reliable Randomized Algorithm for the Closest-Pair Problem, 1997, section 2.2).
#[derive(Clone, Copy, Debug)]
struct Multipliers([u64; 3]);

impl<const N: usize, R: Copy> Table<N, R> {
    fn new(shape: Shape<N>) -> Self {
        const { assert!(N.is_power_of_two()) };
        let used = (0..N).filter(|&word| shape.mask[word] != 0);
        let mut used = used.map(|word| Look { mask: shape.mask[word], word });
        let looks = [used.next().unwrap_or_default(), used.next().unwrap_or_default()];
        let more: Vec<_> = used.collect();
        Self {
            best: u64::MAX,
            looks,
            slots: vec![VACANT; SLOTS_MIN],
            needs: shape.needs | if more.is_empty() { 0 } else { MORE },
            shift: shift(SLOTS_MIN),
            nodes: Vec::new(),
            more,
            free: Vec::new(),
            keys: 0,
            ranks: BTreeSet::new(),
            shape,
        }
    }

    /// The hash of the first two words.
    #[inline]
    fn hash(&self, words: &[u64; N], by: &Multipliers) -> u64 {
        let first = self.looks[0].at(words).wrapping_mul(by.0[0]);
        if N == 1 {
            return first;
        }
        first.wrapping_add(self.looks[1].at(words).wrapping_mul(by.0[1]))
    }

    /// The hash of all words.
    #[inline(never)]
    fn hash_all(&self, words: &[u64; N], by: &Multipliers) -> u64 {
        // The product continues from word to word, so one multiplier serves any number of words.
        let more = self.more.iter();
        more.fold(self.hash(words, by), |hash, look| {
            let hash = hash ^ hash >> 32;
            hash.wrapping_add(look.at(words)).wrapping_mul(by.0[2])
        })
    }

    fn tag(&self, words: &[u64; N], by: &Multipliers) -> u32 {
        tag(if self.more.is_empty() { self.hash(words, by) } else { self.hash_all(words, by) })
    }

    #[inline]
    fn agrees(&self, node: &Node<N, R>, words: &[u64; N]) -> bool {
        let same = |(look, &word): (&Look, &u64)| look.at(words) == word;
        self.looks.iter().zip(&node.words).all(same)
            && (self.more.is_empty() || self.more.iter().zip(&node.words[2..]).all(same))
    }

    /// The slot of the key, or the vacant slot where it belongs.
    #[inline(never)]
    fn place(&self, words: &[u64; N], tag: u32) -> usize {
        let mut place = (tag >> self.shift) as usize;
        loop {
            let slot = self.slots[place];
            if slot.tag == 0
                || slot.tag == tag && self.agrees(&self.nodes[slot.node as usize], words)
            {
                return place;
            }
            place = (place + 1) & (self.slots.len() - 1);
        }
    }

    /// Returns the best entry that matches `words`, ranks below `bound` and passes `admits`. `slot` is a slot
    /// with the key's tag.
    #[inline]
    fn best_of(
        &self,
        slot: Slot,
        words: &[u64; N],
        bound: u64,
        admits: impl Fn(&R) -> bool,
    ) -> Option<&Entry<R>> {
        let mut node = self.nodes.get(slot.node as usize)?;
        if !self.agrees(node, words) {
            // Another key with the same tag.
            node = self.nodes.get(self.slots[self.place(words, slot.tag)].node as usize)?;
        }
        while node.entry.rank < bound {
            if admits(&node.entry.rest) {
                return Some(&node.entry);
            }
            // "None" is past the last node.
            node = self.nodes.get(node.next as usize)?;
        }
        None
    }

    fn insert(&mut self, words: &[u64; N], by: &Multipliers, entry: Entry<R>) {
        // At most a quarter full: nearly every probe ends at its first slot.
        if (self.keys + 1) * 4 > self.slots.len() {
            self.resize(self.slots.len() * 2);
        }
        let tag = self.tag(words, by);
        let place = self.place(words, tag);
        let (mut before, mut after) = (NONE, self.slots[place].node);
        while after != NONE && self.nodes[after as usize].entry.rank < entry.rank {
            (before, after) = (after, self.nodes[after as usize].next);
        }
        let node = self.alloc(words, entry, after);
        if before == NONE {
            self.keys += usize::from(after == NONE);
            self.slots[place] = Slot { tag, node };
        } else {
            self.nodes[before as usize].next = node;
        }
        self.ranks.insert(entry.rank);
        self.best = self.best.min(entry.rank);
    }

    fn alloc(&mut self, words: &[u64; N], entry: Entry<R>, next: u32) -> u32 {
        let mut masked = [0; N];
        for (to, look) in masked.iter_mut().zip(self.looks.iter().chain(&self.more)) {
            *to = look.at(words);
        }
        let node = Node { entry, next, words: masked };
        if let Some(place) = self.free.pop() {
            self.nodes[place as usize] = node;
            return place;
        }
        let place = u32::try_from(self.nodes.len()).expect("fewer than 2^32 rules");
        self.nodes.push(node);
        place
    }

    /// Takes the rule of this rank out of the key's chain.
    fn remove(&mut self, words: &[u64; N], by: &Multipliers, rank: u64) {
        let place = self.place(words, self.tag(words, by));
        let (mut before, mut at) = (NONE, self.slots[place].node);
        while at != NONE && self.nodes[at as usize].entry.rank != rank {
            (before, at) = (at, self.nodes[at as usize].next);
        }
        if at == NONE {
            return;
        }
        let next = self.nodes[at as usize].next;
        match (before, next) {
            (NONE, NONE) => self.vacate(place),
            (NONE, _) => self.slots[place].node = next,
            _ => self.nodes[before as usize].next = next,
        }
        self.free.push(at);
        self.ranks.remove(&rank);
        self.best = self.ranks.first().copied().unwrap_or(u64::MAX);
    }

    /// Empties a slot and moves later ones of its run back, so that no probe ends too soon (Knuth,
    /// The Art of Computer Programming, volume 3, algorithm 6.4R).
    fn vacate(&mut self, place: usize) {
        let last = self.slots.len() - 1;
        let (mut hole, mut at) = (place, place);
        loop {
            at = (at + 1) & last;
            let slot = self.slots[at];
            if slot.tag == 0 {
                break;
            }
            let home = (slot.tag >> self.shift) as usize;
            if at.wrapping_sub(home) & last >= at.wrapping_sub(hole) & last {
                self.slots[hole] = slot;
                hole = at;
            }
        }
        self.slots[hole] = VACANT;
        self.keys -= 1;
    }

    fn resize(&mut self, size: usize) {
        let old = core::mem::replace(&mut self.slots, vec![VACANT; size]);
        self.shift = shift(size);
        for slot in old.into_iter().filter(|slot| slot.tag != 0) {
            let mut place = (slot.tag >> self.shift) as usize;
            while self.slots[place].tag != 0 {
                place = (place + 1) & (size - 1);
            }
            self.slots[place] = slot;
        }
    }
}

/// The upper half of a hash, but never zero, which marks vacant slots.
#[inline]
const fn tag(hash: u64) -> u32 {
    (hash >> 32) as u32 | 1
}

const fn shift(slots: usize) -> u32 {
    u32::BITS - slots.trailing_zeros()
}

/// A table that may hold the key, the slot in it, and the tables after it.
type Candidate<'a, const N: usize, R> = (&'a Table<N, R>, Slot, &'a [Table<N, R>]);

/// Rules by the shapes they have.
#[derive(Clone, Debug)]
pub(crate) struct TupleSpace<const N: usize, R> {
    /// The table with the best rule first.
    tables: Vec<Table<N, R>>,
    multipliers: Multipliers,
}

impl<const N: usize, R: Copy> TupleSpace<N, R> {
    /// An empty space. `seed` selects the hash functions, so an attacker cannot choose addresses that
    /// collide.
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Random::from_seed(seed);
        let multipliers = Multipliers(core::array::from_fn(|_| random.next_u64() | 1));
        Self { tables: Vec::new(), multipliers }
    }

    /// The number of distinct shapes.
    pub(crate) fn shapes(&self) -> usize {
        self.tables.len()
    }

    /// Returns the class of the best rule that matches the key and passes `admits`.
    #[inline]
    pub(crate) fn find(&self, key: &Key<N>, admits: impl Fn(&R) -> bool) -> Option<u32> {
        let (mut best, mut class) = (u64::MAX, None);
        let mut tables = &self.tables[..];
        while let Some((table, slot, later)) = self.candidate(tables, key, best) {
            if let Some(entry) = table.best_of(slot, &key.words, best, &admits) {
                (best, class) = (entry.rank, Some(entry.class));
            }
            tables = later;
        }
        class
    }

    /// Returns the first of the tables that may hold a rule below `bound` for the key. Most probes find
    /// nothing: this path is fast, and the rest is elsewhere.
    #[inline]
    fn candidate<'a>(
        &self,
        tables: &'a [Table<N, R>],
        key: &Key<N>,
        bound: u64,
    ) -> Option<Candidate<'a, N, R>> {
        let lacks = !key.has;
        let mut tables = tables.iter();
        while let Some(table) = tables.next().filter(|table| table.best < bound) {
            let missing = table.needs & lacks;
            let hash = if missing == 0 {
                table.hash(&key.words, &self.multipliers)
            } else if missing == MORE {
                table.hash_all(&key.words, &self.multipliers)
            } else {
                continue;
            };
            let tag = tag(hash);
            let mut place = (tag >> table.shift) as usize;
            loop {
                let slot = table.slots[place];
                if slot.tag == tag {
                    return Some((table, slot, tables.as_slice()));
                }
                if slot.tag == 0 {
                    break;
                }
                place = (place + 1) & (table.slots.len() - 1);
            }
        }
        None
    }

    /// Adds a rule. A rule may be added under several words, all with the same rank.
    pub(crate) fn insert(&mut self, shape: &Shape<N>, words: &[u64; N], entry: Entry<R>) {
        let place = self.tables.iter().position(|table| table.shape == *shape);
        let place = place.unwrap_or_else(|| {
            self.tables.push(Table::new(*shape));
            self.tables.len() - 1
        });
        self.tables[place].insert(words, &self.multipliers, entry);
        self.tables.sort_unstable_by_key(|table| table.best);
    }

    /// Removes the rule with these words and this rank, if it exists.
    pub(crate) fn remove(&mut self, shape: &Shape<N>, words: &[u64; N], rank: u64) {
        let Some(place) = self.tables.iter().position(|table| table.shape == *shape) else {
            return;
        };
        self.tables[place].remove(words, &self.multipliers, rank);
        self.tables.retain(|table| table.keys > 0);
        self.tables.sort_unstable_by_key(|table| table.best);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Rules of up to four words over few values: the mask of each word, and the value of each word.
    fn rule() -> impl Strategy<Value = ([u64; 4], [u64; 4])> {
        let mask = prop::sample::select(vec![0, 0, 1, 0b10, 0b11, 1 << 63, u64::MAX]);
        let masks = prop::collection::vec(mask, 4);
        (masks, words())
            .prop_map(|(masks, words)| (core::array::from_fn(|word| masks[word]), words))
    }

    fn words() -> impl Strategy<Value = [u64; 4]> {
        let word = prop::sample::select(vec![0, 1, 0b10, 1 << 63, u64::MAX]);
        prop::collection::vec(word, 4).prop_map(|words| core::array::from_fn(|word| words[word]))
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        /// The test above with a constant hash: all keys share one run of slots, so the result depends on
        /// comparing keys and on moving slots back after a removal.
        #[test]
        fn a_search_is_right_whatever_the_hash(
            multiplier in prop::sample::select(vec![0_u64, 1, 0x1_0000_0001]),
            rules in prop::collection::vec((rule(), any::<bool>()), 1..80),
            keys in prop::collection::vec(words(), 1..30),
        ) {
            let mut space = TupleSpace::<4, ()>::new(0);
            space.multipliers = Multipliers([multiplier; 3]);
            let shape = |mask| Shape { mask, needs: 0 };
            for (n, ((mask, words), _)) in rules.iter().enumerate() {
                let entry = Entry { rank: n as u64, class: n as u32, rest: () };
                space.insert(&shape(*mask), words, entry);
            }
            for (n, ((mask, words), _)) in rules.iter().enumerate().filter(|(_, rule)| rule.1) {
                space.remove(&shape(*mask), words, n as u64);
            }
            for key in keys {
                let expected = rules.iter().position(|((mask, words), gone)| {
                    !gone && (0..4).all(|word| (key[word] ^ words[word]) & mask[word] == 0)
                });
                let found = space.find(&Key { words: key, has: 0 }, |()| true);
                prop_assert_eq!(found, expected.map(|n| n as u32));
            }
        }
    }
}
