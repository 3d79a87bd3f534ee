//! Duplication: a share of the packets arrives twice (tc-netem(8), `duplicate`).

use base::setting::settings;
use base::{Random, Share};

use super::impair::{Impair, ImpairmentConfig, Transit};

settings! {
    required: share;
    /// The settings of the impairment.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Parameters {
        /// The probability that a packet arrives twice.
        pub share: Share,
    }
}

/// Copies packets at random.
#[derive(Clone, Debug)]
pub struct Duplicate {
    share: Share,
    random: Random,
}

impl ImpairmentConfig for Parameters {
    fn is_idle(&self) -> bool {
        self.share == Share(0)
    }
}

impl Impair for Duplicate {
    type Parameters = Parameters;

    fn new(Parameters { share }: Parameters, random: Random) -> Self {
        Self { share, random }
    }

    #[inline]
    fn apply(&mut self, frame: &mut Transit) {
        frame.duplicated |= self.random.next_u32() < self.share.0;
    }
}
