//! Damage that no checksum finds: a share of the packets arrives with a bit of its payload wrong and its checksums
//! right, as from a switch or a router with faulty memory (Stone and Partridge, "When the CRC and TCP checksum
//! disagree", 2000). What a real program receives is wrong; a modelled host's data has no content, and is only
//! counted.

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

/// Damages packets at random, and corrects their checksums.
#[derive(Clone, Debug)]
pub struct CorruptUndetected {
    share: Share,
    random: Random,
}

impl ImpairmentConfig for Parameters {
    fn is_idle(&self) -> bool {
        self.share == Share(0)
    }
}

impl Impair for CorruptUndetected {
    type Parameters = Parameters;

    fn new(Parameters { share }: Parameters, random: Random) -> Self {
        Self { share, random }
    }

    #[inline]
    fn apply(&mut self, frame: &mut Transit) {
        frame.corrupted_undetected |= self.random.next_u32() < self.share.0;
    }
}
