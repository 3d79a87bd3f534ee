//! A flow as a member of its group and of the run.

use crate::flow::FlowSummary;
use crate::ideal::Ideal;
use crate::totals::FlowTotals;

/// A flow, with what the results of its group and of the run need. There is one of each flow, so it keeps few of the
/// flow's own results.
#[derive(Clone, Copy, Debug)]
pub struct Member<'f> {
    /// What was counted.
    pub totals: &'f FlowTotals,
    /// [`FlowSummary::goodput`], bytes per second.
    pub goodput: f64,
    /// [`FlowSummary::seconds`].
    pub seconds: f64,
    /// [`FlowSummary::retransmissions`].
    pub retransmissions: u64,
    /// [`FlowSummary::timeouts`].
    pub timeouts: u64,
    /// The size that is set for it and the least time for that, if there is one.
    pub ideal: Option<Ideal>,
    /// Whether it is bulk TCP, which sends what it can.
    pub greedy: bool,
    /// Whether programs of their own send it.
    pub program: bool,
}

impl<'f> Member<'f> {
    /// The flow with these totals: neither bulk TCP nor a program, and of no set size.
    pub fn of(totals: &'f FlowTotals) -> Self {
        let FlowSummary { goodput, seconds, retransmissions, timeouts, .. } =
            FlowSummary::of(totals);
        Self {
            totals,
            goodput,
            seconds,
            retransmissions,
            timeouts,
            ideal: None,
            greedy: false,
            program: false,
        }
    }
}
