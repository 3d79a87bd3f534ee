//! Independent loss: each packet is lost with the same probability (tc-netem(8), `loss random`).

use traffic::{DropReason, Random};

use super::{Impair, Transit};

/// What a user may set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// The probability that a packet is lost, in units of 2^-32.
    pub share: u32,
}

/// Loses packets at random.
#[derive(Clone, Debug)]
pub struct Loss {
    share: u32,
    random: Random,
}

impl Impair for Loss {
    type Parameters = Parameters;

    fn new(Parameters { share }: Parameters, random: Random) -> Self {
        Self { share, random }
    }

    #[inline]
    fn apply(&mut self, frame: &mut Transit) {
        if self.random.next_u32() < self.share {
            frame.lost = Some(DropReason::LinkLoss);
        }
    }
}
