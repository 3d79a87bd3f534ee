//! The totals that a driver counts in any run, with or without probes. The summary is made from them.

use scenario::plan::Window;

mod window;

pub use measured::totals::{
    Carried, Drops, Ending, EngineTotals, FlowTotals, NodeTotals, Notifications, PortTotals,
    ProcessorTotals,
};

/// The cost of a run. Not deterministic: it appears only in the manifest and `--json`.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Cost {
    /// Processor time, user and system.
    pub cpu_seconds: f64,
    /// Wall-clock time.
    pub wall_seconds: f64,
    /// The most memory the process ever had.
    pub peak_rss_bytes: u64,
}

/// Everything a driver counted, in the order of the plan.
#[derive(Clone, Debug, Default)]
pub struct Totals {
    /// One for each of `Plan::flows`.
    pub flows: Vec<FlowTotals>,
    /// One for each port: `2 * link + end`.
    pub ports: Vec<PortTotals>,
    /// The part of the run that these cover, if not all.
    pub measured: Option<Window>,
    /// One for each of `Plan::nodes`.
    pub nodes: Vec<NodeTotals>,
    /// The result of each of `Plan::changes` that was due: why it was refused, if it was.
    pub changes: Vec<Option<String>>,
    /// The engine's totals.
    pub engine: EngineTotals,
    /// How it ended.
    pub ending: Ending,
}
