//! The chunks that a file has, as ranges: the memory grows with the gaps, not with the file.

use std::collections::BTreeMap;

use crate::message::Range;

/// A set of chunks. Ranges neither overlap nor touch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Ranges(BTreeMap<u64, u64>);

impl Ranges {
    /// Adds chunks, which may be there already.
    pub(crate) fn insert(&mut self, range: Range) {
        let Range { mut start, mut end } = range;
        if start >= end {
            return;
        }
        // The range that begins last at or before the new one's end, while it reaches the new one.
        while let Some((&before, &until)) = self.0.range(..=end).next_back() {
            if until < start {
                break;
            }
            start = start.min(before);
            end = end.max(until);
            self.0.remove(&before);
        }
        self.0.insert(start, end);
    }

    /// Whether a chunk is there.
    pub(crate) fn contains(&self, chunk: u64) -> bool {
        self.0.range(..=chunk).next_back().is_some_and(|(_, end)| chunk < *end)
    }

    /// Whether every chunk before `end` is there.
    pub(crate) fn is_all_before(&self, end: u64) -> bool {
        end == 0
            || self.0.first_key_value().is_some_and(|(start, until)| *start == 0 && *until >= end)
    }

    /// How many ranges it takes.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The ranges in order.
    pub(crate) fn iter(&self) -> impl Iterator<Item = Range> {
        self.0.iter().map(|(start, end)| Range { start: *start, end: *end })
    }

    /// The first chunks from `from` on, before `end`, that are not there.
    pub(crate) fn first_missing(&self, from: u64, end: u64) -> Option<Range> {
        let start = match self.0.range(..=from).next_back() {
            Some((_, until)) if *until > from => *until,
            _ => from,
        };
        let end = self.0.range(start..).next().map_or(end, |(next, _)| end.min(*next));
        (start < end).then_some(Range { start, end })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_is_a_set(inserted in proptest::collection::vec((0_u64..40, 1_u64..8), 0..30), from in 0_u64..50) {
            let mut ranges = Ranges::default();
            let mut set = std::collections::BTreeSet::new();
            for (start, length) in inserted {
                ranges.insert(Range { start, end: start + length });
                set.extend(start..start + length);
            }
            for chunk in 0..60 {
                prop_assert_eq!(ranges.contains(chunk), set.contains(&chunk));
            }
            let first_gap = (0..).find(|chunk| !set.contains(chunk)).unwrap_or(0);
            prop_assert!(ranges.is_all_before(first_gap) && !ranges.is_all_before(first_gap + 1));
            let ordered: Vec<Range> = ranges.iter().collect();
            prop_assert!(ordered.windows(2).all(|pair| pair[0].end < pair[1].start));
            let missing = (from..60).find(|chunk| !set.contains(chunk));
            prop_assert_eq!(ranges.first_missing(from, 60).map(|range| range.start), missing);
            if let Some(range) = ranges.first_missing(from, 60) {
                prop_assert!((range.start..range.end).all(|chunk| !set.contains(&chunk)));
                prop_assert!(range.end == 60 || set.contains(&range.end));
            }
        }
    }
}
