//! Traffic matrices: who sends to whom among the members of two counted hosts.

use std::ops::Range;

use schemars::JsonSchema;
use serde::Deserialize;
use traffic::Random;

/// Who sends to whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Matrix {
    /// Every host to one other and from one other, drawn from the seed.
    Permutation,
    /// Every host to one.
    Incast,
    /// Every host to every other.
    AllToAll,
    /// Every host to one drawn from the seed, which may be drawn several times.
    Random,
}

impl Matrix {
    /// All of them.
    pub(crate) const ALL: [Self; 4] =
        [Self::Permutation, Self::Incast, Self::AllToAll, Self::Random];

    /// Its name in a scenario.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Permutation => "permutation",
            Self::Incast => "incast",
            Self::AllToAll => "all_to_all",
            Self::Random => "random",
        }
    }

    /// How many pairs it makes; or what the ends must be.
    pub(crate) fn count(
        self,
        from: &Range<usize>,
        to: &Range<usize>,
    ) -> Result<usize, &'static str> {
        let shared = from.end.min(to.end).saturating_sub(from.start.max(to.start));
        match self {
            Self::Permutation if from.len() != to.len() => Err("as many senders as receivers"),
            Self::Permutation | Self::Random if to.len() < 2 => Err("at least two receivers"),
            Self::Permutation if shared > 0 && from != to => {
                Err("the same hosts at both ends, or none of them at both")
            }
            Self::Incast if to.len() != 1 => Err("one receiver, such as `NAME.1`"),
            Self::Permutation | Self::Random => Ok(from.len()),
            Self::Incast => Ok(from.len() - shared),
            Self::AllToAll => Ok(from.len().saturating_mul(to.len()) - shared),
        }
    }

    /// The pairs of the flows of that name; none if its ends are not as [`Matrix::count`] asks.
    pub(crate) fn pairs(
        self,
        from: Range<usize>,
        to: Range<usize>,
        (seed, name): (u64, &str),
    ) -> Vec<(usize, usize)> {
        let mut random = Random::new(seed, &format!("{name}:matrix"));
        let mut below = |count: usize| (((random.next_u64() >> 32) * count as u64) >> 32) as usize;
        if self.count(&from, &to).is_err() {
            return Vec::new();
        }
        match self {
            Self::Permutation => {
                // One cycle through all, so that none sends to itself (Sattolo 1986).
                let mut receivers: Vec<usize> = to.collect();
                for last in (1..receivers.len()).rev() {
                    receivers.swap(last, below(last));
                }
                from.zip(receivers).collect()
            }
            Self::Incast | Self::AllToAll => {
                let row = |from| to.clone().map(move |to| (from, to));
                from.flat_map(row).filter(|(from, to)| from != to).collect()
            }
            Self::Random => {
                let draw = |from: usize| {
                    let others = to.len() - usize::from(to.contains(&from));
                    let drawn = to.start + below(others);
                    (from, drawn + usize::from(to.contains(&from) && drawn >= from))
                };
                from.map(draw).collect()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn nobody_sends_to_itself_and_the_count_is_right() {
        for (from, to) in [(0..9, 0..9), (0..9, 9..18), (0..9, 4..5), (0..5, 3..9)] {
            for matrix in Matrix::ALL {
                let pairs = matrix.pairs(from.clone(), to.clone(), (3, "f"));
                assert_eq!(pairs.len(), matrix.count(&from, &to).unwrap_or(0), "{matrix:?}");
                assert!(pairs.iter().all(|(a, b)| a != b), "{matrix:?} {pairs:?}");
                assert!(pairs.iter().all(|(a, b)| from.contains(a) && to.contains(b)));
            }
        }
    }

    #[test]
    fn a_permutation_reaches_everyone_once_by_the_seed() {
        let receivers = |seed| {
            let pairs = Matrix::Permutation.pairs(0..64, 0..64, (seed, "f"));
            pairs.into_iter().map(|(_, to)| to).collect::<Vec<_>>()
        };
        assert_eq!(receivers(1).iter().collect::<BTreeSet<_>>().len(), 64);
        assert_eq!(receivers(1), receivers(1));
        assert_ne!(receivers(1), receivers(2));
    }
}
