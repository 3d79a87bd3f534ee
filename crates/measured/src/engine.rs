//! What the engine did.

use crate::declare::measured;
use crate::quantity::{Aggregate, Better, Kind, Quantity};
use crate::totals::EngineTotals;

measured! {
    /// What the engine did.
    pub struct EngineSummary at "";
    /// Sums up the engine.
    of(engine: &EngineTotals) {
        /// Packets transmitted on a link.
        packet_hops: u64 = engine.packet_hops, Number None Neither "packet-hops";
        /// Events handled.
        events: u64 = engine.events, Number None Neither "events";
    }
}

/// The CPU time, which `--json` adds to the summary: it differs from run to run.
pub(crate) const CPU_SECONDS: Quantity =
    Quantity::new("cpu_seconds", Kind::Time, Aggregate::None, Better::Lower)
        .label("CPU time")
        .what("CPU time of the run; only in `--json`.");
