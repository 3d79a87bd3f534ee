//! Tuple space search (Srinivasan, Suri, Varghese: Packet Classification using Tuple Space Search,
//! SIGCOMM 1999): one hash table for each set of bits that rules look at.
//!
//! Chosen over decision graphs (HiCuts, HyperCuts) and bit vectors, because rules come and go while
//! packets pass: a rule is one hash entry, added or removed in constant time, whereas those others
//! are built anew. A lookup costs one probe for each distinct shape, whatever the number of rules,
//! and people's rule sets have few shapes. Tables are tried in the order of the best rule that each
//! holds, and the search ends when no later table can hold a better one than was found.

use alloc::collections::BTreeSet;
use alloc::vec;
use alloc::vec::Vec;

/// What is looked up: the packet's fields packed into words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Key<const N: usize> {
    /// The fields; zero where the packet has none.
    pub(crate) words: [u64; N],
    /// Which groups of fields the packet has, a bit each.
    pub(crate) has: u8,
}

/// Which bits a rule looks at.
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
    /// The lowest wins; no two rules have the same.
    pub(crate) rank: u64,
    /// The class.
    pub(crate) class: u32,
    /// What remains to be checked when the masked words agree.
    pub(crate) rest: R,
}

/// "No node" in a slot or at a chain's end.
const NONE: u32 = u32::MAX;
/// A table's first size; sizes are powers of two.
const SLOTS_MIN: usize = 4;
/// 2^64 over the golden ratio, odd: any dense constant would do.
const MULTIPLIER: u64 = 0x9e37_79b9_7f4a_7c15;

/// A place of the open-addressing table: the hash and the best rule with the key of that hash.
#[derive(Clone, Copy, Debug)]
struct Slot {
    tag: u32,
    node: u32,
}

const VACANT: Slot = Slot { tag: 0, node: NONE };

#[derive(Clone, Debug)]
struct Node<const N: usize, R> {
    /// The masked words, only those of the table's `looks`, in that order.
    words: [u64; N],
    entry: Entry<R>,
    /// The next best with the same words.
    next: u32,
}

/// A word of the key and the bits of it that count.
#[derive(Clone, Copy, Debug, Default)]
struct Look {
    mask: u64,
    word: usize,
}

/// The rules of one shape.
#[derive(Clone, Debug)]
struct Table<const N: usize, R> {
    /// The lowest of `ranks`.
    best: u64,
    /// The first `looked` count.
    looks: [Look; N],
    looked: usize,
    needs: u8,
    /// A slot's number is its tag shifted right by so much: the tag's upper bits.
    shift: u32,
    slots: Vec<Slot>,
    nodes: Vec<Node<N, R>>,
    /// Nodes without a rule.
    free: Vec<u32>,
    /// Slots that are taken.
    keys: usize,
    /// The rules' ranks, for `best` after a removal.
    ranks: BTreeSet<u64>,
    shape: Shape<N>,
}

impl<const N: usize, R: Copy> Table<N, R> {
    fn new(shape: Shape<N>) -> Self {
        let mut looks = [Look::default(); N];
        let used = (0..N).filter(|&word| shape.mask[word] != 0);
        let looked = looks
            .iter_mut()
            .zip(used)
            .map(|(look, word)| *look = Look { mask: shape.mask[word], word })
            .count();
        Self {
            best: u64::MAX,
            looks,
            looked,
            needs: shape.needs,
            shift: shift(SLOTS_MIN),
            slots: vec![VACANT; SLOTS_MIN],
            nodes: Vec::new(),
            free: Vec::new(),
            keys: 0,
            ranks: BTreeSet::new(),
            shape,
        }
    }

    /// Multiplies each word into 128 bits and folds the halves together, as wyhash does; the upper
    /// half of what comes out.
    #[inline]
    fn tag(&self, words: &[u64; N], seed: u64) -> u32 {
        let mut hash = seed;
        for look in &self.looks[..self.looked] {
            let product =
                u128::from(hash ^ (words[look.word] & look.mask)) * u128::from(MULTIPLIER);
            hash = (product as u64) ^ (product >> 64) as u64;
        }
        (hash >> 32) as u32
    }

    #[inline]
    fn agrees(&self, node: &Node<N, R>, words: &[u64; N]) -> bool {
        let looks = self.looks[..self.looked].iter();
        looks.zip(&node.words).all(|(look, &word)| words[look.word] & look.mask == word)
    }

    /// The place of the key's slot, or of the vacant one where it belongs.
    #[inline]
    fn place(&self, words: &[u64; N], tag: u32) -> usize {
        let last = self.slots.len() - 1;
        let mut place = (tag >> self.shift) as usize;
        loop {
            let slot = self.slots[place];
            if slot.node == NONE
                || slot.tag == tag && self.agrees(&self.nodes[slot.node as usize], words)
            {
                return place;
            }
            place = (place + 1) & last;
        }
    }

    /// The best rule for the key below `bound` whose rest `admits`.
    #[inline]
    fn find(
        &self,
        words: &[u64; N],
        seed: u64,
        bound: u64,
        admits: &impl Fn(&R) -> bool,
    ) -> Option<&Entry<R>> {
        let mut next = self.slots[self.place(words, self.tag(words, seed))].node;
        while next != NONE {
            let node = &self.nodes[next as usize];
            if node.entry.rank >= bound {
                return None;
            }
            if admits(&node.entry.rest) {
                return Some(&node.entry);
            }
            next = node.next;
        }
        None
    }

    fn insert(&mut self, words: &[u64; N], seed: u64, entry: Entry<R>) {
        if (self.keys + 1) * 2 > self.slots.len() {
            self.resize(self.slots.len() * 2);
        }
        let tag = self.tag(words, seed);
        let place = self.place(words, tag);
        let (mut before, mut after) = (NONE, self.slots[place].node);
        while after != NONE && self.nodes[after as usize].entry.rank < entry.rank {
            (before, after) = (after, self.nodes[after as usize].next);
        }
        let node = self.claim(words, entry, after);
        if before == NONE {
            self.keys += usize::from(after == NONE);
            self.slots[place] = Slot { tag, node };
        } else {
            self.nodes[before as usize].next = node;
        }
        self.ranks.insert(entry.rank);
        self.best = self.best.min(entry.rank);
    }

    fn claim(&mut self, words: &[u64; N], entry: Entry<R>, next: u32) -> u32 {
        let mut masked = [0; N];
        for (to, look) in masked.iter_mut().zip(&self.looks[..self.looked]) {
            *to = words[look.word] & look.mask;
        }
        let node = Node { words: masked, entry, next };
        if let Some(place) = self.free.pop() {
            self.nodes[place as usize] = node;
            return place;
        }
        let place = u32::try_from(self.nodes.len()).expect("fewer than 2^32 rules");
        self.nodes.push(node);
        place
    }

    /// Takes the rule of this rank out of the key's chain.
    fn remove(&mut self, words: &[u64; N], seed: u64, rank: u64) {
        let place = self.place(words, self.tag(words, seed));
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
            if slot.node == NONE {
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
        for slot in old.into_iter().filter(|slot| slot.node != NONE) {
            let mut place = (slot.tag >> self.shift) as usize;
            while self.slots[place].node != NONE {
                place = (place + 1) & (size - 1);
            }
            self.slots[place] = slot;
        }
    }
}

const fn shift(slots: usize) -> u32 {
    u32::BITS - slots.trailing_zeros()
}

/// Rules by the shapes they have.
#[derive(Clone, Debug)]
pub(crate) struct TupleSpace<const N: usize, R> {
    /// The table with the best rule first.
    tables: Vec<Table<N, R>>,
    seed: u64,
}

impl<const N: usize, R: Copy> TupleSpace<N, R> {
    /// No rules; `seed` decides the hashes, so that nobody can choose addresses that collide.
    pub(crate) const fn new(seed: u64) -> Self {
        Self { tables: Vec::new(), seed }
    }

    /// How many distinct shapes the rules have.
    pub(crate) fn shapes(&self) -> usize {
        self.tables.len()
    }

    /// The class of the best rule whose masked words are the key's and whose rest `admits`.
    #[inline]
    pub(crate) fn find(&self, key: &Key<N>, admits: impl Fn(&R) -> bool) -> Option<u32> {
        let (mut best, mut class) = (u64::MAX, None);
        for table in &self.tables {
            if table.best >= best {
                break;
            }
            if table.needs & !key.has == 0
                && let Some(entry) = table.find(&key.words, self.seed, best, &admits)
            {
                (best, class) = (entry.rank, Some(entry.class));
            }
        }
        class
    }

    /// Adds a rule. A rule may be added under several words, all with its own rank.
    pub(crate) fn insert(&mut self, shape: &Shape<N>, words: &[u64; N], entry: Entry<R>) {
        let place = self.tables.iter().position(|table| table.shape == *shape);
        let place = place.unwrap_or_else(|| {
            self.tables.push(Table::new(*shape));
            self.tables.len() - 1
        });
        self.tables[place].insert(words, self.seed, entry);
        self.tables.sort_by_key(|table| table.best);
    }

    /// Removes what was added under these words with this rank, if it is there.
    pub(crate) fn remove(&mut self, shape: &Shape<N>, words: &[u64; N], rank: u64) {
        let Some(place) = self.tables.iter().position(|table| table.shape == *shape) else {
            return;
        };
        self.tables[place].remove(words, self.seed, rank);
        self.tables.retain(|table| table.keys > 0);
        self.tables.sort_by_key(|table| table.best);
    }
}
