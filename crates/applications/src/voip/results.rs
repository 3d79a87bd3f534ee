//! The results of a call.

use base::Duration;

use super::emodel;
use crate::counts::Counts;

/// What was heard of a call.
#[derive(Clone, Copy, Debug, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Call {
    /// The equipment impairment factor of the codec (Ie), and its packet loss robustness factor (Bpl).
    planning: (f64, f64),
    /// The delay from mouth to ear; until a packet has arrived, without the network's.
    pub mouth_to_ear: Duration,
    /// Packets whose time to be played came.
    pub due: u64,
    /// Those that had not arrived by then.
    pub missed: u64,
    /// Runs of such packets.
    pub runs: u64,
    /// Packets that arrived after their time.
    pub late: u64,
}

impl Call {
    /// A call that has not begun, of a codec with these planning values (Ie and Bpl), and with this delay from mouth to
    /// ear besides the network's.
    pub(super) const fn new(planning: (f64, f64), mouth_to_ear: Duration) -> Self {
        Self { planning, mouth_to_ear, due: 0, missed: 0, runs: 0, late: 0 }
    }

    /// The share of packets that the listener misses; all if none was due.
    pub fn loss(&self) -> f64 {
        if self.due == 0 { 1.0 } else { self.missed as f64 / self.due as f64 }
    }

    /// The rating R of ITU-T G.107; 0 if the listener hears nothing.
    pub fn rating(&self) -> f64 {
        if self.missed == self.due {
            return 0.0;
        }
        let ((ie, bpl), loss) = (self.planning, self.loss());
        // Runs of random loss have a mean length of 1/(1 - loss).
        let mean = self.missed as f64 / self.runs.max(1) as f64;
        let burst_ratio = (mean * (1.0 - loss)).max(1.0);
        let (delay_ms, loss_percent) = (self.mouth_to_ear.as_secs_f64() * 1e3, loss * 1e2);
        emodel::rating(&emodel::Impairment { delay_ms, ie, bpl, loss_percent, burst_ratio })
    }

    /// The mean opinion score, 1 to 4.5.
    pub fn opinion_score(&self) -> f64 {
        emodel::opinion_score(self.rating())
    }
}

impl Counts for Call {
    const LACKING: [&'static str; 2] = ["listener", "name a flow with `voip`"];
    const TITLE: &'static str = "call";

    fn since(&self, earlier: &Self) -> Self {
        Self {
            due: self.due.saturating_sub(earlier.due),
            missed: self.missed.saturating_sub(earlier.missed),
            runs: self.runs.saturating_sub(earlier.runs),
            late: self.late.saturating_sub(earlier.late),
            ..*self
        }
    }
}
