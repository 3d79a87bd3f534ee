//! Independent loss: each packet is lost with the same probability (tc-netem(8), `loss random`).

use base::setting::settings;
use base::{DropReason, Random, Share};

use super::impair::{Impair, ImpairmentConfig, Transit};

settings! {
    required: share;
    /// The settings of the impairment.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Parameters {
        /// The probability that a packet is lost.
        pub share: Share,
    }
}

/// Loses packets at random.
#[derive(Clone, Debug)]
pub struct Loss {
    share: Share,
    random: Random,
}

impl ImpairmentConfig for Parameters {
    fn is_idle(&self) -> bool {
        self.share == Share(0)
    }
}

impl Impair for Loss {
    type Parameters = Parameters;

    fn new(Parameters { share }: Parameters, random: Random) -> Self {
        Self { share, random }
    }

    #[inline]
    fn apply(&mut self, frame: &mut Transit) {
        if self.random.next_u32() < self.share.0 {
            frame.lost = Some(DropReason::LinkLoss);
        }
    }
}
