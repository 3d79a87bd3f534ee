//! Which nodes of two counted ends are joined where not every number has its own.

use std::ops::Range;

/// How two ends are joined; the members of each are numbered from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Joining {
    /// Both ends are cut into so many equal parts; within each part every node is joined with every other.
    Groups(usize),
    /// Nodes are joined whose numbers leave the same remainder when divided by so many.
    Planes(usize),
}

impl Joining {
    /// How many pairs the ends make; `None` if their counts are no multiples of the number of parts.
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
