//! Joining of the nodes of two counted ends by `groups` or `planes`.

use std::ops::Range;

/// A rule for joining two ends; the members of each are numbered from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Joining {
    /// Splits both ends into this number of equal parts and joins all pairs within each part.
    Groups(usize),
    /// Joins nodes with the same remainder of their numbers by this divisor.
    Planes(usize),
}

impl Joining {
    /// The number of pairs; `None` if the counts are not multiples of the number of parts.
    pub(crate) fn count(self, [a, b]: [usize; 2]) -> Option<usize> {
        let (Self::Groups(parts) | Self::Planes(parts)) = self;
        let whole = parts > 0 && a.is_multiple_of(parts) && b.is_multiple_of(parts);
        if whole { (a / parts).checked_mul(b) } else { None }
    }

    /// The pairs, in the order of the first end.
    pub(crate) fn pairs(
        self,
        a: Range<usize>,
        b: Range<usize>,
    ) -> impl Iterator<Item = (usize, usize)> {
        let (n, m) = (a.len(), b.len());
        a.enumerate().flat_map(move |(index, from)| {
            let (Self::Groups(parts) | Self::Planes(parts)) = self;
            let each = m / parts.max(1);
            let (first, step) = match self {
                Self::Groups(_) => (index / (n / parts.max(1)).max(1) * each, 1),
                Self::Planes(_) => (index % parts.max(1), parts.max(1)),
            };
            let start = b.start + first;
            (0..each).map(move |number| (from, start + number * step))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(joining: Joining, a: usize, b: usize) -> Vec<(usize, usize)> {
        assert_eq!(joining.count([a, b]), Some(joining.pairs(0..a, 10..10 + b).count()));
        joining.pairs(0..a, 10..10 + b).collect()
    }

    #[test]
    fn groups_are_blocks_and_planes_are_strides() {
        let hosts = pairs(Joining::Groups(2), 4, 2);
        assert_eq!(hosts, [(0, 10), (1, 10), (2, 11), (3, 11)]);
        assert_eq!(pairs(Joining::Groups(1), 2, 2), [(0, 10), (0, 11), (1, 10), (1, 11)]);
        assert_eq!(pairs(Joining::Planes(2), 2, 4), [(0, 10), (0, 12), (1, 11), (1, 13)]);
        assert_eq!(Joining::Groups(3).count([4, 3]), None);
        assert_eq!(Joining::Planes(0).count([4, 3]), None);
    }
}
