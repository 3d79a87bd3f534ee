//! A ring of bits with two summaries, so that the next bit set or clear is found in O(1) steps.

use alloc::vec;
use alloc::vec::Vec;

const WORD: u32 = 64;

/// Bits for a power-of-two number of ring slots. Places are ring indices that wrap at 2^32; a
/// place's slot is its low bits.
#[derive(Clone, Debug)]
pub(super) struct Bitmap {
    words: Vec<u64>,
    /// A bit for each word that has a bit set.
    any: Vec<u64>,
    /// A bit for each word that has a bit clear.
    gaps: Vec<u64>,
    mask: u32,
}

impl Bitmap {
    /// `slots` bits, all clear; a power of two, at least 64.
    pub(super) fn new(slots: u32) -> Self {
        debug_assert!(slots.is_power_of_two() && slots >= WORD);
        let words = (slots / WORD) as usize;
        let mut gaps = vec![0; words.div_ceil(WORD as usize)];
        for word in 0..words {
            gaps[word / 64] |= 1 << (word % 64);
        }
        Self { words: vec![0; words], any: vec![0; gaps.len()], gaps, mask: slots - 1 }
    }

    #[inline]
    fn put(&mut self, word: usize, bits: u64) {
        self.words[word] = bits;
        let (place, bit) = (word / 64, 1 << (word % 64));
        if bits == 0 {
            self.any[place] &= !bit;
        } else {
            self.any[place] |= bit;
        }
        if bits == u64::MAX {
            self.gaps[place] &= !bit;
        } else {
            self.gaps[place] |= bit;
        }
    }

    /// Sets one bit.
    #[inline]
    pub(super) fn set(&mut self, at: u32) {
        let slot = at & self.mask;
        let word = (slot / WORD) as usize;
        self.put(word, self.words[word] | 1 << (slot % WORD));
    }

    /// Clears one bit.
    #[inline]
    pub(super) fn clear(&mut self, at: u32) {
        let slot = at & self.mask;
        let word = (slot / WORD) as usize;
        self.put(word, self.words[word] & !(1 << (slot % WORD)));
    }

    /// Whether a bit is set.
    #[cfg(test)]
    pub(super) fn get(&self, at: u32) -> bool {
        let slot = at & self.mask;
        self.words[(slot / WORD) as usize] >> (slot % WORD) & 1 == 1
    }

    /// Clears the bits of `[from, to)`, a word at a time.
    pub(super) fn clear_range(&mut self, from: u32, to: u32) {
        let mut at = from;
        while at != to {
            let slot = at & self.mask;
            let offset = slot % WORD;
            let count = (to.wrapping_sub(at)).min(WORD - offset);
            let bits = (u64::MAX >> (WORD - count)) << offset;
            let word = (slot / WORD) as usize;
            if self.words[word] & bits != 0 {
                self.put(word, self.words[word] & !bits);
            }
            at = at.wrapping_add(count);
        }
    }

    /// The first bit set in `[from, to)`.
    #[inline]
    pub(super) fn next_set(&self, from: u32, to: u32) -> Option<u32> {
        self.next::<false>(from, to)
    }

    /// The first bit clear in `[from, to)`.
    #[inline]
    pub(super) fn next_clear(&self, from: u32, to: u32) -> Option<u32> {
        self.next::<true>(from, to)
    }

    /// The range is at most the ring's length; it is searched as one or two stretches of slots.
    #[inline]
    fn next<const CLEAR: bool>(&self, from: u32, to: u32) -> Option<u32> {
        let length = to.wrapping_sub(from);
        let start = from & self.mask;
        let first = length.min(self.mask + 1 - start);
        if let Some(slot) = self.stretch::<CLEAR>(start, start + first) {
            return Some(from.wrapping_add(slot - start));
        }
        if first == length {
            return None;
        }
        let slot = self.stretch::<CLEAR>(0, length - first)?;
        Some(from.wrapping_add(first + slot))
    }

    /// The first bit wanted in the slots `[low, high)`.
    #[inline]
    fn stretch<const CLEAR: bool>(&self, low: u32, high: u32) -> Option<u32> {
        if low >= high {
            return None;
        }
        let mut word = (low / WORD) as usize;
        let mut bits = self.wanted::<CLEAR>(word) & (u64::MAX << (low % WORD));
        while bits == 0 {
            word = self.next_word::<CLEAR>(word + 1)?;
            if word as u32 * WORD >= high {
                return None;
            }
            bits = self.wanted::<CLEAR>(word);
        }
        let slot = word as u32 * WORD + bits.trailing_zeros();
        (slot < high).then_some(slot)
    }

    #[inline]
    fn wanted<const CLEAR: bool>(&self, word: usize) -> u64 {
        if CLEAR { !self.words[word] } else { self.words[word] }
    }

    /// The first word from `word` on that holds a bit wanted, by the summary.
    #[inline]
    fn next_word<const CLEAR: bool>(&self, word: usize) -> Option<usize> {
        let summary = if CLEAR { &self.gaps } else { &self.any };
        let mut place = word / 64;
        let mut bits = *summary.get(place)? & (u64::MAX << (word % 64));
        while bits == 0 {
            place += 1;
            bits = *summary.get(place)?;
        }
        Some(place * 64 + bits.trailing_zeros() as usize)
    }

    /// The `n`-th bit set (from 1) counted downwards from below `to`, not below `from`.
    ///
    /// It steps a word at a time: the callers' `n` is the reordering degree, at most a few words.
    pub(super) fn nth_set_below(&self, from: u32, to: u32, n: u32) -> Option<u32> {
        let (mut at, mut left) = (to, n);
        while at != from {
            // The word's slots below `at`, not below `from`.
            let inside = ((at.wrapping_sub(1)) & self.mask) % WORD + 1;
            let count = inside.min(at.wrapping_sub(from));
            let low = at.wrapping_sub(count);
            let slot = low & self.mask;
            let all = self.words[(slot / WORD) as usize] >> (slot % WORD);
            let mut bits = all & (u64::MAX >> (WORD - count));
            if bits.count_ones() < left {
                left -= bits.count_ones();
                at = low;
                continue;
            }
            for _ in 1..left {
                bits &= !(1 << (63 - bits.leading_zeros()));
            }
            return Some(low.wrapping_add(63 - bits.leading_zeros()));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Copy, Debug)]
    enum Step {
        Set(u32),
        Clear(u32),
        ClearRange(u32, u32),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            4 => (0u32..256).prop_map(Step::Set),
            1 => (0u32..256).prop_map(Step::Clear),
            1 => (0u32..256, 0u32..256).prop_map(|(a, b)| Step::ClearRange(a.min(b), a.max(b))),
        ];
        prop::collection::vec(step, 0..600)
    }

    proptest! {
        #[test]
        fn searches_agree_with_a_plain_array(
            steps in steps(), base: u32, from in 0u32..256, n in 1u32..9
        ) {
            let mut bitmap = Bitmap::new(256);
            let mut model = [false; 256];
            for step in steps {
                match step {
                    Step::Set(i) => { bitmap.set(base.wrapping_add(i)); model[i as usize] = true; }
                    Step::Clear(i) => {
                        bitmap.clear(base.wrapping_add(i));
                        model[i as usize] = false;
                    }
                    Step::ClearRange(a, b) => {
                        bitmap.clear_range(base.wrapping_add(a), base.wrapping_add(b));
                        model[a as usize..b as usize].fill(false);
                    }
                }
            }
            let end = base.wrapping_add(256);
            let at = |i: usize| base.wrapping_add(i as u32);
            let next = |want: bool| (from as usize..256).find(|&i| model[i] == want).map(at);
            let from_place = base.wrapping_add(from);
            prop_assert_eq!(bitmap.next_set(from_place, end), next(true));
            prop_assert_eq!(bitmap.next_clear(from_place, end), next(false));
            let nth = (from as usize..256).rev().filter(|&i| model[i]).nth(n as usize - 1).map(at);
            prop_assert_eq!(bitmap.nth_set_below(from_place, end, n), nth);
            prop_assert!((0..256).all(|i| bitmap.get(at(i)) == model[i]));
        }
    }
}
