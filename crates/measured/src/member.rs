//! A flow as a member of its group and of the run.

use crate::completion::Ideal;
use crate::flow::FlowSummary;
use crate::totals::FlowTotals;

/// A flow, with what the results of its group and of the run need.
#[derive(Clone, Copy, Debug)]
pub struct Member<'f> {
    /// What was counted.
    pub totals: &'f FlowTotals,
    /// Its own results.
    pub summary: &'f FlowSummary,
    /// The size that is set for it and the least time for that, if there is one.
    pub ideal: Option<Ideal>,
    /// Whether it is bulk TCP, which sends what it can.
    pub greedy: bool,
    /// Whether programs of their own send it.
    pub program: bool,
}
