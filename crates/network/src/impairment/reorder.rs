//! Reordering: a share of the packets is held back while those behind them pass (tc-netem(8), `reorder`, which lets a
//! share pass the others instead: the same order of arrival).

use base::setting::settings;
use base::{Distribution, Duration, Random, Share};

use super::impair::{Impair, ImpairmentConfig, Transit};

settings! {
    required: share;
    /// The settings of the impairment.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Parameters {
        /// The probability that a packet is held back.
        pub share: Share,
        /// Time that a packet is held back while later ones pass, drawn for each such packet; 1 ms unless given.
        #[range(Duration::from_ps(1)..)]
        pub by: Distribution<Duration>,
    }
}

impl Default for Parameters {
    fn default() -> Self {
        Self { share: Share(0), by: Distribution::Fixed(Duration::from_ms(1)) }
    }
}

/// Holds packets back at random.
#[derive(Clone, Debug)]
pub struct Reorder {
    parameters: Parameters,
    random: Random,
}

impl ImpairmentConfig for Parameters {
    fn is_idle(&self) -> bool {
        self.share == Share(0)
    }
}

impl Impair for Reorder {
    type Parameters = Parameters;

    fn new(parameters: Parameters, random: Random) -> Self {
        Self { parameters, random }
    }

    #[inline]
    fn apply(&mut self, frame: &mut Transit) {
        if self.random.next_u32() < self.parameters.share.0 {
            frame.held += self.parameters.by.draw(&mut self.random);
        }
    }
}
