//! Damage: a share of the packets arrives with a wrong bit (tc-netem(8), `corrupt`). Switches and routers forward
//! the packet; its destination host finds the checksum wrong and drops it.

use base::setting::settings;
use base::{Random, Share};

use super::impair::{Impair, ImpairmentConfig, Transit};

settings! {
    required: share;
    /// The settings of the impairment.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Parameters {
        /// The probability that a packet is damaged.
        pub share: Share,
    }
}

/// Damages packets at random.
#[derive(Clone, Debug)]
pub struct Corrupt {
    share: Share,
    random: Random,
}

impl ImpairmentConfig for Parameters {
    fn damages(&self) -> bool {
        true
    }

    fn is_idle(&self) -> bool {
        self.share == Share(0)
    }
}

impl Impair for Corrupt {
    type Parameters = Parameters;

    fn new(Parameters { share }: Parameters, random: Random) -> Self {
        Self { share, random }
    }

    #[inline]
    fn apply(&mut self, frame: &mut Transit) {
        frame.corrupted |= self.random.next_u32() < self.share.0;
    }
}
