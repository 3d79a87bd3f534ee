//! The totals that a driver counts in any run, with or without probes. The summary is made from them.

use base::histogram::Histogram;
use base::{Bytes, Instant, Rate};
use network::flow_control;
use network::host::Times;
use network::link::Counters;
use network::switch::Occupancy;
use scenario::plan::Window;
use traffic::condition::Count;
use traffic::{Measured, Relaxed, Statistics};

use crate::delays::Delays;

mod window;

pub use measured::totals::{Carried, Drops, FlowTotals, Notifications};

/// The totals of one port: one direction of a link with the queue that feeds it.
#[derive(Clone, Debug, Default)]
pub struct PortTotals {
    /// The counters of its discipline, or of an emulator's buffer.
    pub statistics: Statistics,
    /// The counters of each of the discipline's classes, by name.
    pub classes: Vec<(String, Statistics)>,
    /// How long the packets of each class waited, in the order of `classes`; empty where that was not counted.
    pub sojourns: Vec<Histogram>,
    /// How often each class's guarantees were relaxed, in the order of `classes`; empty where none ever are.
    pub relaxed: Vec<Relaxed>,
    /// The rates that classes have measured, by name.
    pub measured: Vec<(String, Measured)>,
    /// Packets dropped there or on the wire behind it.
    pub drops: Drops,
    /// How its disciplines failed, so that a plain FIFO took their place.
    pub faults: Vec<String>,
    /// How long its packets waited and how far apart they left, if that was counted.
    pub delays: Option<Delays>,
    /// The counts of each element of the conditioner of the other direction, by name: green, yellow, red.
    pub elements: Vec<(String, [Count; 3])>,
    /// The counters of the impairments of the wire behind it; `None` where it has none.
    pub impairments: Option<Counters>,
    /// The pauses that it received and sent; `None` where neither end pauses the other.
    pub flow_control: Option<flow_control::Counters>,
    /// Congestion notifications; `None` where none of its queues sends any and no host's interface receives any.
    pub notifications: Option<Notifications>,
    /// The most bytes that arrived after one of a switch's priorities was paused, and the headroom for them; `None`
    /// where the port is not one of such a switch.
    pub headroom: Option<[Bytes; 2]>,
}

/// The totals of a node itself, without its ports.
#[derive(Clone, Debug, Default)]
pub struct NodeTotals {
    /// Packets that it dropped (no route, receive ring, shared buffer).
    pub drops: Drops,
    /// How full its packet memory was; `None` where its ports share none.
    pub memory: Option<Occupancy>,
    /// The totals of its processor; `None` where none is modelled.
    pub processor: Option<ProcessorTotals>,
}

/// The totals of a host's processor.
#[derive(Clone, Copy, Debug)]
pub struct ProcessorTotals {
    /// The time that it spent on each operation.
    pub times: Times,
    /// The rate at which a program copies memory if it has the processor for itself, where that is known.
    pub memory_copy: Option<Rate>,
}

/// The engine's totals. Deterministic: a pure function of plan and seed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EngineTotals {
    /// Events taken from the queue.
    pub events: u64,
    /// Packets transmitted on a link, gap frames not counted.
    pub packet_hops: u64,
}

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

/// How a run ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ending {
    /// The simulated time reached.
    pub at: Instant,
    /// False if it was interrupted before the plan's duration.
    pub complete: bool,
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
