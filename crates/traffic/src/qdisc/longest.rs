//! Finds the longest of many queues, to within an eighth. Queues of about the same length are on one list, as
//! in a histogram with eight bars for each power of two.
//!
//! A queue moves up at once. It moves down only when the longest queue is requested and its list is too high
//! for it. So a change costs O(1), and nearly nothing while a queue's length stays within its usual bounds;
//! the moves up pay for the cost of a request.

use alloc::vec;
use alloc::vec::Vec;

/// No queue.
const NONE: u32 = u32::MAX;
/// Bars for each power of two, as a power of two.
const BARS_LOG: u32 = 3;
/// Bars in all: lengths are 64-bit numbers.
const BARS: usize = 64 << BARS_LOG;

#[derive(Clone, Copy, Debug)]
struct Place {
    before: u32,
    after: u32,
    /// The queue's bar, or a higher one; `None` if it had no length since the last request.
    bar: Option<u16>,
}

/// Numbered queues by their lengths.
#[derive(Debug)]
pub(super) struct Longest {
    places: Vec<Place>,
    /// The first queue on the list of each bar.
    bars: Vec<u32>,
    /// A bit for each bar that is not empty.
    some: [u64; BARS / 64],
}

/// The bar of a length; none for zero.
#[inline]
fn bar_of(length: u64) -> Option<u16> {
    let power = length.checked_ilog2()?;
    // The three bits below the highest one.
    let mantissa = (length << (63 - power) >> (63 - BARS_LOG)) & ((1 << BARS_LOG) - 1);
    Some((power << BARS_LOG) as u16 | mantissa as u16)
}

impl Longest {
    pub(super) fn new(queues: usize) -> Self {
        let mut longest = Self { places: Vec::new(), bars: vec![NONE; BARS], some: [0; BARS / 64] };
        longest.extend_to(queues);
        longest
    }

    /// Grows to at least `queues` queues; new ones have no length.
    pub(super) fn extend_to(&mut self, queues: usize) {
        if self.places.len() < queues {
            self.places.resize(queues, Place { before: NONE, after: NONE, bar: None });
        }
    }

    /// Records the length of a queue that has grown.
    #[inline]
    pub(super) fn grow(&mut self, queue: usize, length: u64) {
        let bar = bar_of(length);
        if self.places[queue].bar < bar {
            self.move_to(queue, bar);
        }
    }

    #[cold]
    fn move_to(&mut self, queue: usize, bar: Option<u16>) {
        self.remove(queue);
        self.insert(queue, bar);
    }

    fn remove(&mut self, queue: usize) {
        let Place { before, after, bar } = self.places[queue];
        let Some(bar) = bar else { return };
        if let Some(next) = self.places.get_mut(after as usize) {
            next.before = before;
        }
        if let Some(previous) = self.places.get_mut(before as usize) {
            previous.after = after;
            return;
        }
        self.bars[usize::from(bar)] = after;
        if after == NONE {
            self.some[usize::from(bar) / 64] &= !(1 << (bar % 64));
        }
    }

    fn insert(&mut self, queue: usize, bar: Option<u16>) {
        let first = bar.map_or(NONE, |bar| {
            self.some[usize::from(bar) / 64] |= 1 << (bar % 64);
            core::mem::replace(&mut self.bars[usize::from(bar)], queue as u32)
        });
        if let Some(next) = self.places.get_mut(first as usize) {
            next.before = queue as u32;
        }
        self.places[queue] = Place { before: NONE, after: first, bar };
    }

    /// The longest, or one at most an eighth shorter; `None` if all have no `length`.
    pub(super) fn longest(&mut self, length: impl Fn(usize) -> u64) -> Option<usize> {
        loop {
            let word = self.some.iter().rposition(|&word| word != 0)?;
            let bar = word * 64 + self.some[word].ilog2() as usize;
            let queue = self.bars[bar] as usize;
            let own = bar_of(length(queue));
            if own == Some(bar as u16) {
                return Some(queue);
            }
            self.move_to(queue, own);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Compares with a search of all queues.
        #[test]
        fn finds_one_that_is_at_most_an_eighth_shorter(
            steps in prop::collection::vec((0..6_usize, any::<u64>(), 0..64_u32, any::<bool>()), 1..200)
        ) {
            let (mut longest, mut lengths) = (Longest::new(6), [0_u64; 6]);
            for (queue, length, shift, asks) in steps {
                let before = core::mem::replace(&mut lengths[queue], length >> shift);
                if lengths[queue] > before {
                    longest.grow(queue, lengths[queue]);
                }
                if !asks {
                    continue;
                }
                let most = lengths.iter().copied().max().filter(|&most| most > 0);
                let found = longest.longest(|queue| lengths[queue]).map(|queue| lengths[queue]);
                prop_assert_eq!(most.is_some(), found.is_some());
                if let (Some(most), Some(found)) = (most, found) {
                    prop_assert!(found >= most - most / 8, "{} of {}", found, most);
                }
            }
            prop_assert_eq!(longest.longest(|_| 0), None);
        }
    }
}
