//! Dropped packets by the reason of their drop.

use base::DropReason;

use crate::Named;

/// Drops by their reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drops([u64; DropReason::ALL.len()]);

impl Drops {
    /// The drops of several places together.
    pub fn of_all<'d>(places: impl Iterator<Item = &'d Self>) -> Self {
        let mut all = Self::default();
        places.for_each(|drops| all.add(drops));
        all
    }

    /// Counts one.
    pub fn count(&mut self, reason: DropReason) {
        if let Some(place) = DropReason::ALL.iter().position(|&r| r == reason) {
            self.0[place] += 1;
        }
    }

    /// How many there were for `reason`.
    pub fn of(&self, reason: DropReason) -> u64 {
        self.iter().find(|&(r, _)| r == reason).map_or(0, |(_, n)| n)
    }

    /// How many there were.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Each reason with its count, zeros included, in the order of `DropReason::ALL`.
    pub fn iter(&self) -> impl Iterator<Item = (DropReason, u64)> + '_ {
        DropReason::ALL.into_iter().zip(self.0)
    }

    /// Each reason with its count, zeros included, as results have them.
    pub fn by_reason(&self) -> Named<u64> {
        Named(self.iter().map(|(reason, n)| (reason.name().to_owned(), n)).collect())
    }

    /// Adds another place's counts.
    pub fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine += theirs;
        }
    }

    /// The drops since `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut own = *self;
        own.0.iter_mut().zip(earlier.0).for_each(|(count, before)| *count -= before.min(*count));
        own
    }
}
