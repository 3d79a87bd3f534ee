//! Jitter: each packet arrives later by a random time (tc-netem(8), `delay TIME JITTER`).
//!
//! Packets keep their order: a packet with a short random delay waits for those before it, as on a path where
//! queues cause the jitter. Where packets follow one another faster than the delay varies, this makes delays longer
//! than drawn. netem's jitter reorders; here [`super::reorder`] does.

use base::setting::settings;
use base::{Distribution, Duration, Random};

use super::impair::{Impair, ImpairmentConfig, Transit};

settings! {
    required: delay;
    /// The settings of the impairment.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Parameters {
        /// Delay added to the propagation delay, drawn for each packet.
        pub delay: Distribution<Duration>,
    }
}

impl Default for Parameters {
    fn default() -> Self {
        Self { delay: Distribution::Fixed(Duration::ZERO) }
    }
}

/// Delays packets by random times.
#[derive(Clone, Debug)]
pub struct Jitter {
    delay: Distribution<Duration>,
    random: Random,
}

impl ImpairmentConfig for Parameters {
    /// A frame that is not delayed by as much as the one before it arrives with it.
    fn bunches(&self) -> bool {
        true
    }

    fn is_idle(&self) -> bool {
        self.delay == Distribution::Fixed(Duration::ZERO)
    }
}

impl Impair for Jitter {
    type Parameters = Parameters;

    fn new(Parameters { delay }: Parameters, random: Random) -> Self {
        Self { delay, random }
    }

    #[inline]
    fn apply(&mut self, frame: &mut Transit) {
        frame.delay += self.delay.draw(&mut self.random);
    }
}
