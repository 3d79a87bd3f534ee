//! Burst loss by the Gilbert-Elliott model: a link is in a good or a bad state, and loses a share of the packets
//! that it meets in each (E. N. Gilbert, BSTJ 39, 1960; E. O. Elliott, BSTJ 42, 1963).
//!
//! As Linux' `loss gemodel p r 1-h 1-k` (`net/sched/sch_netem.c`, `loss_gilb_ell`): each packet first moves the
//! state, and is lost by the share of the state that it found. The state moves with packets, not with time.

use traffic::{DropReason, Random};

use super::{Impair, Transit};

/// What a user may set; probabilities in units of 2^-32, the greatest of which stands for 1 - 2^-32.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// The probability, at each packet, of the good state's turning bad: p.
    pub to_bad: u32,
    /// The probability, at each packet, of the bad state's turning good: r.
    pub to_good: u32,
    /// The share of packets lost in the bad state: 1-h.
    pub loss_bad: u32,
    /// The share of packets lost in the good state: 1-k.
    pub loss_good: u32,
}

impl Parameters {
    /// The share of packets lost in the long run: that of each state, weighted by how often it is met,
    /// r / (p + r) and p / (p + r). Not a number where neither state turns.
    pub fn loss(&self) -> f64 {
        let [p, r, bad, good] = [self.to_bad, self.to_good, self.loss_bad, self.loss_good]
            .map(|share| f64::from(share) / 2_f64.powi(32));
        (p * bad + r * good) / (p + r)
    }
}

/// A link that is in its good state at first.
#[derive(Clone, Debug)]
pub struct GilbertElliott {
    parameters: Parameters,
    bad: bool,
    random: Random,
}

impl Impair for GilbertElliott {
    type Parameters = Parameters;

    fn new(parameters: Parameters, random: Random) -> Self {
        Self { parameters, bad: false, random }
    }

    #[inline]
    fn apply(&mut self, frame: &mut Transit) {
        let Parameters { to_bad, to_good, loss_bad, loss_good } = self.parameters;
        let (turn, loss) = if self.bad { (to_good, loss_bad) } else { (to_bad, loss_good) };
        self.bad ^= self.random.next_u32() < turn;
        if self.random.next_u32() < loss {
            frame.lost = Some(DropReason::LinkLoss);
        }
    }
}
