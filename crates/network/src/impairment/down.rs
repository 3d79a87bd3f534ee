//! Outages: the link is down for a while, once or periodically, and loses all packets sent meanwhile, as with a
//! pulled cable or a radio link that changes cells. Routes stay, and queues are served.

use base::setting::settings;
use base::{DropReason, Duration, Random};

use super::impair::{Impair, ImpairmentConfig, Transit};
use crate::invalid::Invalid;

settings! {
    required: at, lasts;
    /// The settings of the impairment.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Parameters {
        /// Time in the run at which the link goes down.
        pub at: Duration,
        /// Duration of the outage.
        #[range(Duration::from_ps(1)..)]
        pub lasts: Duration,
        /// Time between the starts of two outages; a single outage unless given.
        pub every: Duration,
    }
}

/// Loses the packets that leave while the link is down.
#[derive(Clone, Debug)]
pub struct Down {
    parameters: Parameters,
}

impl ImpairmentConfig for Parameters {
    fn check(&self) -> Result<(), Invalid> {
        let Parameters { lasts, every, .. } = *self;
        if every != Duration::ZERO && every <= lasts {
            let message = "the next outage begins before the link is up again";
            let help = "set it above `lasts`: the link is up for the difference";
            return Err(Invalid { setting: "every", message, help });
        }
        Ok(())
    }
}

impl Impair for Down {
    type Parameters = Parameters;

    fn new(parameters: Parameters, _: Random) -> Self {
        Self { parameters }
    }

    #[inline]
    fn apply(&mut self, frame: &mut Transit) {
        let Parameters { at, lasts, every } = self.parameters;
        let Some(since) = frame.leaves.as_ps().checked_sub(at.as_ps()) else { return };
        let since = since.checked_rem(every.as_ps()).unwrap_or(since);
        if since < lasts.as_ps() {
            frame.lost = Some(DropReason::LinkLoss);
        }
    }
}
