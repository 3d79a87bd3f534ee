//! The totals that a driver counts in any run, with or without probes. The summary is made from them.

use network::datagram::Delay;
use network::event_builder::Events;
use network::exchange::Exchanges;
use network::flow_control;
use network::host::Times;
use network::link::Counters;
use network::mpi::rank::RankTotals;
use network::switch::Occupancy;
use scenario::plan::Window;
use traffic::condition::Count;
use traffic::histogram::Histogram;
use traffic::{Bytes, DropReason, Instant, Measured, Rate, Relaxed, Statistics};

use crate::delays::Delays;

mod window;

/// Drops by their reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drops([u64; DropReason::ALL.len()]);

impl Drops {
    /// Counts one.
    pub fn count(&mut self, reason: DropReason) {
        if let Some(place) = DropReason::ALL.iter().position(|&r| r == reason) {
            self.0[place] += 1;
        }
    }

    /// How many there were for `reason`.
    pub fn of(&self, reason: DropReason) -> u64 {
        self.iter().find(|&(r, _)| r == reason).map_or(0, |(_, n)| n)
    }

    /// How many there were.
    pub fn total(&self) -> u64 {
        self.0.iter().sum()
    }

    /// Each reason with its count, zeros included, in the order of `DropReason::ALL`.
    pub fn iter(&self) -> impl Iterator<Item = (DropReason, u64)> + '_ {
        DropReason::ALL.into_iter().zip(self.0)
    }

    /// Adds another place's counts.
    pub fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0) {
            *mine += theirs;
        }
    }
}

/// The totals of one flow.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct FlowTotals {
    /// When its program connected, or began to send datagrams.
    pub start: Instant,
    /// When the receiver's program read the last byte of a flow that was to end, otherwise the moment its writer had
    /// to stop, or the end of the run, whichever came first.
    pub end: Instant,
    /// Whether all that was to be sent was read by the receiver's program.
    pub completed: bool,
    /// Bytes that the receiver's program had read at `end`; the sender's, of responses, if it asks; of a program
    /// the payload that the network carried, both ways.
    pub received: Bytes,
    /// Bytes that it had read halfway between `start` and `end`; `None` if that was not sampled.
    pub received_by_half: Option<Bytes>,
    /// Packets of it, of either direction, dropped anywhere on the way.
    pub drops: u64,
    /// Packets of it that arrived with a congestion mark (CE), of either direction.
    pub marks: u64,
    /// The sender's counters at the end.
    pub sender: transport::Info,
    /// The receiver's counters at the end.
    pub receiver: transport::Info,
    /// How long datagrams were on their way; `None` for a connection.
    pub delay: Option<Delay>,
    /// Datagrams sent after the last one that arrived, where they have sequence numbers: only these may still be
    /// under way. `None` where every drop is counted, which gives the same information.
    pub unseen: Option<u64>,
    /// The totals of its requests, if it asks.
    pub exchanges: Option<Exchanges>,
    /// The totals of the builder's events that it sends fragments to, and of its fragments.
    pub events: Option<Events>,
    /// The totals of the ranks of an MPI job at both ends.
    pub ranks: [Option<Box<RankTotals>>; 2],
    /// The packets of a program that the network carried, from the flow's first host to its second and back.
    pub program: Option<[Carried; 2]>,
    /// Whether the driver could not run it, so that nothing is known of it.
    pub left_out: bool,
    /// The start and the end of its measurement, if these differ from its start and its end.
    pub measured: Option<[Instant; 2]>,
    /// Datagrams that were lost while it was measured, if that is not what follows from the counts above.
    pub lost: Option<u64>,
}

impl FlowTotals {
    /// Datagrams that were lost: neither received nor under way.
    pub fn datagrams_lost(&self) -> u64 {
        let (sent, received) = (self.sender.segments_sent, self.receiver.segments_received);
        // A link may have made copies.
        let missing = sent.saturating_sub(received);
        let under_way = missing.saturating_sub(self.drops);
        self.lost.unwrap_or(missing - under_way.min(self.unseen.unwrap_or(u64::MAX)))
    }

    /// Returns the time over which the flow's counters count: its own time, unless only a part of the run is
    /// measured. For a flow that did not run in that part, the end comes first.
    pub fn measured(&self) -> [Instant; 2] {
        self.measured.unwrap_or([self.start, self.end])
    }

    /// Returns whether the flow has results: it ran, and not only outside the measured time.
    pub fn is_known(&self) -> bool {
        !self.left_out && self.measured.is_none_or(|[from, until]| from < until)
    }

    /// Whether it began while it was measured, so that its completion counts.
    pub fn began_measured(&self) -> bool {
        self.measured.is_none_or(|[from, _]| from == self.start)
    }
}

/// The packets that a network carried in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Carried {
    /// Packets that entered it.
    pub sent: u64,
    /// Packets that left it at the other end.
    pub received: u64,
    /// The payload of these, behind TCP's or UDP's header, bytes.
    pub bytes: u64,
}

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

/// Congestion notifications of a port (IEEE 802.1Qau).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Notifications {
    /// Notifications that its queues sent to senders.
    pub sent: u64,
    /// Notifications that its interface received.
    pub received: u64,
    /// Flows that these limited, counted each time a flow was not limited before.
    pub limited: u64,
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
