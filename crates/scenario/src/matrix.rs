//! Traffic matrices between the members of two counted hosts.

use std::ops::Range;

use base::Random;
use schemars::JsonSchema;
use serde::Deserialize;

/// A traffic matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Matrix {
    /// Every host sends to one other host and receives from one, drawn from the seed.
    Permutation,
    /// Every host sends to a single host.
    Incast,
    /// Every host sends to every other host.
    AllToAll,
    /// Every pair of hosts of both ends has one flow, from the earlier to the later host.
    Pairs,
    /// Every host sends to a host drawn from the seed; several may send to the same one.
    Random,
    /// Flows between hosts drawn from the seed for each flow, `count` in all.
    AnyToAny,
}

impl Matrix {
    /// Every matrix.
    pub(crate) const ALL: [Self; 6] = [
        Self::Permutation,
        Self::Incast,
        Self::AllToAll,
        Self::Pairs,
        Self::Random,
        Self::AnyToAny,
    ];

    /// Its name in a scenario.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Permutation => "permutation",
            Self::Incast => "incast",
            Self::AllToAll => "all_to_all",
            Self::Pairs => "pairs",
            Self::Random => "random",
            Self::AnyToAny => "any_to_any",
        }
    }

    /// The number of its pairs for `flows` flows, or the requirement that the ends do not meet.
    pub(crate) fn count(
        self,
        from: &Range<usize>,
        to: &Range<usize>,
        flows: usize,
    ) -> Result<usize, &'static str> {
        let shared = from.end.min(to.end).saturating_sub(from.start.max(to.start));
        match self {
            Self::Permutation if from.len() != to.len() => Err("as many senders as receivers"),
            Self::Permutation | Self::Random | Self::AnyToAny if to.len() < 2 => {
                Err("at least two receivers")
            }
            Self::Permutation if shared > 0 && from != to => {
                Err("the same hosts at both ends, or none of them at both")
            }
            Self::Pairs if shared > 0 && from != to => {
                Err("the same hosts at both ends, or none of them at both")
            }
            Self::Incast if to.len() != 1 => Err("one receiver, such as `NAME.1`"),
            Self::Permutation | Self::Random => Ok(from.len()),
            Self::AnyToAny => Ok(flows),
            Self::Incast => Ok(from.len() - shared),
            Self::AllToAll => Ok(from.len().saturating_mul(to.len()) - shared),
            Self::Pairs => {
                let hosts = from.len() + to.len() - shared;
                Ok(hosts.saturating_mul(hosts.saturating_sub(1)) / 2)
            }
        }
    }

    /// The pairs of the flows of that name; none if the ends do not meet the requirement of [`Matrix::count`].
    pub(crate) fn pairs(
        self,
        from: Range<usize>,
        to: Range<usize>,
        flows: usize,
        (seed, name): (u64, &str),
    ) -> Vec<(usize, usize)> {
        let mut random = Random::new(seed, &format!("{name}:matrix"));
        let mut below = |count: usize| (((random.next_u64() >> 32) * count as u64) >> 32) as usize;
        if self.count(&from, &to, flows).is_err() {
            return Vec::new();
        }
        match self {
            Self::Permutation => {
                // A single cycle through all hosts, so that none sends to itself (Sattolo 1986).
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
            Self::Pairs => {
                let mut hosts: Vec<usize> = from.chain(to).collect();
                hosts.sort_unstable();
                hosts.dedup();
                let later = |(at, &from): (usize, &usize)| {
                    let later = hosts[at + 1..].iter().map(move |&to| (from, to));
                    later.collect::<Vec<_>>()
                };
                hosts.iter().enumerate().flat_map(later).collect()
            }
            Self::Random => from.map(|from| (from, other(from, &to, &mut below))).collect(),
            Self::AnyToAny => {
                let draw = |_| {
                    let from = from.start + below(from.len());
                    (from, other(from, &to, &mut below))
                };
                (0..flows).map(draw).collect()
            }
        }
    }
}

/// A sample of the pairs of `from` and `to`, in which every host is at each end equally often.
pub(crate) fn evenly(from: &Range<usize>, to: &Range<usize>) -> Vec<(usize, usize)> {
    /// The maximum number of pairs: with fewer, every sender has all receivers.
    const PAIRS: usize = 1 << 16;
    let each = (PAIRS / from.len().max(1)).clamp(1, to.len());
    let receiver = |sender: usize, turn: usize| {
        to.start + (sender - from.start + 1 + turn * to.len() / each) % to.len()
    };
    let row = |sender| (0..each).map(move |turn| (sender, receiver(sender, turn)));
    from.clone().flat_map(row).filter(|(from, to)| from != to).collect()
}

/// A random member of `to` other than `from`.
fn other(from: usize, to: &Range<usize>, below: &mut impl FnMut(usize) -> usize) -> usize {
    let shared = to.contains(&from);
    let drawn = to.start + below(to.len() - usize::from(shared));
    drawn + usize::from(shared && drawn >= from)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn no_host_sends_to_itself_and_the_count_is_right() {
        for (from, to) in [(0..9, 0..9), (0..9, 9..18), (0..9, 4..5), (0..5, 3..9)] {
            for matrix in Matrix::ALL {
                let pairs = matrix.pairs(from.clone(), to.clone(), 50, (3, "f"));
                assert_eq!(pairs.len(), matrix.count(&from, &to, 50).unwrap_or(0), "{matrix:?}");
                assert!(pairs.iter().all(|(a, b)| a != b), "{matrix:?} {pairs:?}");
                let known = |(a, b): &(usize, usize)| match matrix {
                    Matrix::Pairs => [a, b].iter().all(|x| from.contains(x) || to.contains(x)),
                    _ => from.contains(a) && to.contains(b),
                };
                assert!(pairs.iter().all(known));
            }
        }
    }

    #[test]
    fn even_pairs_are_even() {
        for hosts in [2, 16, 300, 4_096] {
            let pairs = evenly(&(5..5 + hosts), &(5..5 + hosts));
            for end in [|pair: &(usize, usize)| pair.0, |pair: &(usize, usize)| pair.1] {
                let mut counts = vec![0; hosts];
                pairs.iter().for_each(|pair| counts[end(pair) - 5] += 1);
                let (least, most) = (counts.iter().min(), counts.iter().max());
                assert!(least > Some(&0) && least == most, "{hosts}: {least:?} to {most:?}");
            }
        }
    }

    #[test]
    fn a_permutation_reaches_everyone_once_by_the_seed() {
        let receivers = |seed| {
            let pairs = Matrix::Permutation.pairs(0..64, 0..64, 1, (seed, "f"));
            pairs.into_iter().map(|(_, to)| to).collect::<Vec<_>>()
        };
        assert_eq!(receivers(1).iter().collect::<BTreeSet<_>>().len(), 64);
        assert_eq!(receivers(1), receivers(1));
        assert_ne!(receivers(1), receivers(2));
    }
}
