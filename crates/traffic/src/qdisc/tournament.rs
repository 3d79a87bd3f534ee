//! Finds the least of many numbers that change at every packet, by a tournament.
//!
//! A changed player competes again with those it met, until that makes no difference. No other player moves,
//! unlike in a heap, so no positions are kept. The positions to read are known from the start, so no read
//! waits for another.

use alloc::vec;
use alloc::vec::Vec;

use base::prefetch::prefetch;

/// The number of a player that does not compete; no other is greater.
pub(super) const NOBODY: u128 = u128::MAX;

/// A number that players compete with: the least wins.
pub(super) trait Number: Copy + Ord {
    /// The number of a player that does not compete; no other is greater.
    const NOBODY: Self;
}

impl Number for u128 {
    const NOBODY: Self = NOBODY;
}

/// The size of a group.
const WIDTH: usize = 4;

/// A group of competing numbers, in a cache line if they are `u128`.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Group<N>([N; WIDTH]);

/// The place of the overall winner, the last one of the first group. The competitors for place `n` are group
/// `n - 2`, and the winner of group `n` is at place `n + 2`.
const TOP: usize = WIDTH - 1;

/// Numbered players; the one with the least number wins. The number itself must identify the player.
#[derive(Debug)]
pub(super) struct Tournament<N = u128> {
    first: N,
    groups: Vec<Group<N>>,
    /// The place of the first player.
    players: usize,
}

impl<N: Number> Tournament<N> {
    /// Creates `players` players that do not compete.
    pub(super) fn new(players: usize) -> Self {
        // All players and winners except the overall winner meet in groups of four, with one winner each: for
        // `n` players and `m` winners, 4 m = n + m - 1, rounded up.
        let winners = (players + 1) / (WIDTH - 1);
        let groups = if players == 0 { 0 } else { (TOP + winners + players).div_ceil(WIDTH) };
        let groups = vec![Group([N::NOBODY; WIDTH]); groups];
        Self { first: N::NOBODY, groups, players: TOP + winners }
    }

    /// Grows to at least `players` players. The old ones keep their numbers; new ones do not compete.
    pub(super) fn extend_to(&mut self, players: usize) {
        let places = self.groups.len() * WIDTH;
        if self.players + players <= places && places > 0 {
            return;
        }
        let mut larger = Self::new(players.next_power_of_two());
        for player in 0..places.saturating_sub(self.players) {
            larger.set(player, self.of(player));
        }
        *self = larger;
    }

    /// The least number.
    #[inline]
    pub(super) const fn first(&self) -> N {
        self.first
    }

    /// A player's number.
    #[inline]
    pub(super) fn of(&self, player: usize) -> N {
        let place = self.players + player;
        self.groups.get(place / WIDTH).map_or(N::NOBODY, |group| group.0[place % WIDTH])
    }

    /// Asks for the group that a player competes in first.
    #[inline]
    pub(super) fn prefetch(&self, player: usize) {
        if let Some(group) = self.groups.get((self.players + player) / WIDTH) {
            prefetch(group, 1);
        }
    }

    /// Sets the number of the only player, in one step.
    #[inline]
    pub(super) fn set_only(&mut self, number: N) {
        debug_assert_eq!((self.groups.len(), self.players), (1, TOP), "the only player");
        self.first = number;
        if let Some(Group(group)) = self.groups.first_mut() {
            group[TOP] = number;
        }
    }

    /// Sets the number of a player.
    pub(super) fn set(&mut self, player: usize, number: N) {
        let (mut place, mut winner) = (self.players + player, number);
        while let Some(Group(group)) = self.groups.get_mut(place / WIDTH) {
            let before = core::mem::replace(&mut group[place % WIDTH], winner);
            if place == TOP {
                self.first = winner;
                return;
            }
            if before == winner {
                return;
            }
            let [a, b, c, d] = *group;
            winner = a.min(b).min(c.min(d));
            place = place / WIDTH + 2;
        }
    }

    /// Sets a lower number than the player has, as when it begins to compete: only the winners before matter, not the rest
    /// of its groups.
    pub(super) fn lower(&mut self, player: usize, number: N) {
        debug_assert!(number <= self.of(player), "a lower number");
        let mut place = self.players + player;
        while let Some(Group(group)) = self.groups.get_mut(place / WIDTH) {
            let own = &mut group[place % WIDTH];
            if *own <= number {
                return;
            }
            *own = number;
            if place == TOP {
                self.first = number;
                return;
            }
            place = place / WIDTH + 2;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        /// Compares with a search of all players, with ever more players.
        #[test]
        fn the_least_number_wins(
            steps in prop::collection::vec((0..90_usize, 0..90_usize, 0_u128..1_000), 1..300)
        ) {
            let (mut tournament, mut all) = (Tournament::new(0), Vec::new());
            for (player, more, number) in steps {
                let number = if number < 300 { NOBODY } else { number };
                if player >= all.len() {
                    all.resize(player + 1 + more % 3, NOBODY);
                    tournament.extend_to(all.len());
                }
                if number < all[player] && more % 2 == 0 {
                    tournament.lower(player, number);
                } else {
                    tournament.set(player, number);
                }
                all[player] = number;
                prop_assert_eq!(Some(tournament.first()), all.iter().min().copied());
                prop_assert_eq!(tournament.of(more), all.get(more).copied().unwrap_or(NOBODY));
            }
        }
    }
}
