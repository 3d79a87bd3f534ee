//! Burst loss by the Gilbert-Elliott model: a link is in a good or a bad state, and loses a share of the packets in
//! each (E. N. Gilbert, BSTJ 39, 1960; E. O. Elliott, BSTJ 42, 1963).
//!
//! As Linux' `loss gemodel p r 1-h 1-k` (`net/sched/sch_netem.c`, `loss_gilb_ell`): each packet first moves the
//! state, and is lost with the probability of the state before the move. The state moves with packets, not with
//! time.

use base::setting::settings;
use base::{DropReason, Random, Share};

use super::impair::{Impair, ImpairmentConfig, Transit};

settings! {
    required: to_bad, to_good;
    /// The settings of the impairment: the numbers p, r, 1-h and 1-k of Linux's `netem loss gemodel`.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Parameters {
        /// Transition probability, per packet, from the good state to the bad state.
        pub to_bad: Share,
        /// Transition probability, per packet, from the bad state to the good state. Its reciprocal is the mean
        /// length of a bad period in packets: "25 %" for bursts of 4.
        #[range(Share(1)..)]
        pub to_good: Share,
        /// Share of packets lost in the bad state; 100 % unless given.
        pub loss_bad: Share,
        /// Share of packets lost in the good state; 0 unless given.
        pub loss_good: Share,
    }
}

impl Default for Parameters {
    fn default() -> Self {
        let (to_bad, to_good) = (Share(0), Share(0));
        Self { to_bad, to_good, loss_bad: Share(u32::MAX), loss_good: Share(0) }
    }
}

impl Parameters {
    /// The long-run share of lost packets: the share of each state, weighted by how often it occurs, r / (p + r)
    /// and p / (p + r). Not a number if neither state is ever left.
    pub fn loss(&self) -> f64 {
        let [p, r, bad, good] = [self.to_bad, self.to_good, self.loss_bad, self.loss_good]
            .map(|share| f64::from(share.0) / 2_f64.powi(32));
        (p * bad + r * good) / (p + r)
    }
}

/// A link that starts in the good state.
#[derive(Clone, Debug)]
pub struct GilbertElliott {
    parameters: Parameters,
    bad: bool,
    random: Random,
}

impl ImpairmentConfig for Parameters {}

impl Impair for GilbertElliott {
    type Parameters = Parameters;

    fn new(parameters: Parameters, random: Random) -> Self {
        Self { parameters, bad: false, random }
    }

    #[inline]
    fn apply(&mut self, frame: &mut Transit) {
        let Parameters { to_bad, to_good, loss_bad, loss_good } = self.parameters;
        let (turn, loss) = if self.bad { (to_good, loss_bad) } else { (to_bad, loss_good) };
        self.bad ^= self.random.next_u32() < turn.0;
        if self.random.next_u32() < loss.0 {
            frame.lost = Some(DropReason::LinkLoss);
        }
    }
}
