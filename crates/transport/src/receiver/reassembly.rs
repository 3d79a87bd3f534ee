//! Data received out of order: ranges, and which of them to report first.

use alloc::collections::VecDeque;

use base::packet::SACK_BLOCKS_MAX;

type Range = (u64, u64);

/// Ranges in order; no two of them touch. New data mostly extends the last range, and retransmissions fill holes from
/// the first range on. So most work is at the two ends: O(1) amortised there, a binary search elsewhere.
#[derive(Clone, Debug, Default)]
pub(super) struct Reassembly {
    ranges: VecDeque<Range>,
    /// The blocks that grew last, the latest first. A block that was pushed out is forgotten: data next to it starts
    /// a new block, although both are one range.
    recent: [Range; SACK_BLOCKS_MAX],
    recent_len: usize,
    held: u64,
}

impl Reassembly {
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        self.ranges.is_empty()
    }

    /// Bytes held.
    pub(super) fn held(&self) -> u64 {
        self.held
    }

    /// The blocks to report.
    pub(super) fn recent(&self) -> &[Range] {
        &self.recent[..self.recent_len]
    }

    /// Returns whether a segment extends neither of the two blocks that grew last, where there are two.
    pub(super) fn spreads(&self, start: u64, end: u64) -> bool {
        let touched = |&block: &Range| touch(block, (start, end));
        self.recent().iter().position(touched).unwrap_or(self.recent_len) >= 2
    }

    /// Inserts a segment beyond a hole. Returns the part of it that was there already.
    pub(super) fn insert(&mut self, start: u64, end: u64) -> Option<Range> {
        self.note((start, end));
        match self.ranges.back_mut() {
            Some(last) if start < last.1 => return self.merge(start, end),
            Some(last) if start == last.1 => last.1 = end,
            _ => self.ranges.push_back((start, end)),
        }
        self.held += end - start;
        None
    }

    /// Merges a segment with the ranges it touches.
    fn merge(&mut self, start: u64, end: u64) -> Option<Range> {
        // The first range that ends at or beyond the segment's start.
        let first = self.ranges.partition_point(|range| range.1 < start);
        let (mut merged, mut after) = ((start, end), first);
        let mut duplicate = None;
        while let Some(&range) = self.ranges.get(after).filter(|range| range.0 <= end) {
            let overlap = (range.0.max(start), range.1.min(end));
            if overlap.0 < overlap.1 && duplicate.is_none() {
                duplicate = Some(overlap);
            }
            merged = union(merged, range);
            self.held -= range.1 - range.0;
            after += 1;
        }
        match after - first {
            0 => self.ranges.insert(first, merged),
            1 => self.ranges[first] = merged,
            _ => {
                self.ranges[first] = merged;
                self.ranges.drain(first + 1..after);
            }
        }
        self.held += merged.1 - merged.0;
        duplicate
    }

    /// Returns the held ranges below `end`.
    pub(super) fn below(&self, end: u64) -> impl Iterator<Item = Range> + '_ {
        let below = self.ranges.iter().take_while(move |range| range.0 < end);
        below.map(move |range| (range.0, range.1.min(end)))
    }

    /// Fills the hole below all ranges up to `end`; returns the next position expected.
    pub(super) fn fill(&mut self, nxt: u64, end: u64) -> u64 {
        let mut nxt = nxt.max(end);
        while let Some(&(start, stop)) = self.ranges.front().filter(|range| range.0 <= nxt) {
            self.ranges.pop_front();
            self.held -= stop - start;
            nxt = nxt.max(stop);
        }
        let mut kept = 0;
        for i in 0..self.recent_len {
            if self.recent[i].0 > nxt {
                self.recent[kept] = self.recent[i];
                kept += 1;
            }
        }
        self.recent_len = kept;
        nxt
    }

    /// Puts the block that a segment extends first, merged with the blocks that it then touches (Linux's
    /// `tcp_sack_new_ofo_skb`).
    fn note(&mut self, segment: Range) {
        let mut kept = [segment; SACK_BLOCKS_MAX];
        let mut len = 1;
        for &block in &self.recent[..self.recent_len] {
            if touch(block, kept[0]) {
                kept[0] = union(block, kept[0]);
            } else if len < SACK_BLOCKS_MAX {
                kept[len] = block;
                len += 1;
            }
        }
        (self.recent, self.recent_len) = (kept, len);
    }
}

/// Whether two ranges overlap, or one begins where the other ends.
fn touch(a: Range, b: Range) -> bool {
    a.0 <= b.1 && b.0 <= a.1
}

/// Two ranges that touch, as one.
fn union(a: Range, b: Range) -> Range {
    (a.0.min(b.0), a.1.max(b.1))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;
    use proptest::prelude::*;

    /// The ranges of a plain array of bytes, from `nxt` on.
    fn ranges_of(model: &[bool], nxt: u64) -> Vec<Range> {
        let mut ranges: Vec<Range> = Vec::new();
        for at in (nxt..model.len() as u64).filter(|&at| model[at as usize]) {
            match ranges.last_mut() {
                Some(last) if last.1 == at => last.1 = at + 1,
                _ => ranges.push((at, at + 1)),
            }
        }
        ranges
    }

    /// Every second segment of a burst is lost, and the first loss is repaired. The segments next to it are in blocks
    /// that were reported to the sender long ago.
    #[test]
    fn a_block_that_was_pushed_out_is_not_reported_again() {
        let mut reassembly = Reassembly::default();
        for segment in [1, 3, 5, 7, 9] {
            reassembly.insert(10 * segment, 10 * segment + 10);
        }
        assert_eq!(reassembly.recent(), [(90, 100), (70, 80), (50, 60), (30, 40)]);
        assert!(reassembly.spreads(20, 30), "the sender hears of it at once");
        reassembly.insert(20, 30);
        assert_eq!(reassembly.recent(), [(20, 40), (90, 100), (70, 80), (50, 60)]);
        assert_eq!(reassembly.ranges[0], (10, 40));
    }

    proptest! {
        #[test]
        fn agrees_with_an_array_of_bytes(
            segments in prop::collection::vec((0u64..400, 1u64..30), 1..200)
        ) {
            let mut model = [false; 440];
            let mut reassembly = Reassembly::default();
            let mut nxt = 0u64;
            for (start, length) in segments {
                let end = start + length;
                if end <= nxt {
                    continue;
                }
                let start = start.max(nxt);
                let had: Vec<u64> = (start..end).filter(|&at| model[at as usize]).collect();
                model[start as usize..end as usize].fill(true);
                if start > nxt {
                    let duplicate = reassembly.insert(start, end);
                    prop_assert_eq!(duplicate.is_some(), !had.is_empty());
                    if let Some((from, to)) = duplicate {
                        prop_assert!((from..to).all(|at| had.contains(&at)));
                    }
                    let newest = reassembly.recent()[0];
                    prop_assert!(newest.0 <= start && end <= newest.1);
                } else {
                    nxt = reassembly.fill(nxt, end);
                    let expected = (0..440).find(|&at| !model[at as usize]).unwrap_or(440);
                    prop_assert_eq!(nxt, expected);
                }
                let expected = ranges_of(&model, nxt);
                prop_assert!(reassembly.ranges.iter().eq(expected.iter()));
                prop_assert_eq!(reassembly.held(), expected.iter().map(|r| r.1 - r.0).sum::<u64>());
                let there = |b: &Range| expected.iter().any(|r| r.0 <= b.0 && b.1 <= r.1);
                prop_assert!(reassembly.recent().iter().all(there));
            }
        }
    }
}
