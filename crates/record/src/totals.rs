//! What a driver counts in any run, probes or not. It fills these; the summary is made from them.

use network::datagram::Delay;
use network::event_builder::Events;
use network::exchange::Exchanges;
use network::flow_control;
use network::histogram::Histogram;
use network::host::Times;
use network::link::Counters;
use network::mpi::rank::RankTotals;
use network::switch::Occupancy;
use scenario::plan::Window;
use traffic::condition::Count;
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

/// What became of one flow.
#[derive(Clone, Debug, Default, serde::Serialize, serde::Deserialize)]
pub struct FlowTotals {
    /// When its program connected, or began to send datagrams.
    pub start: Instant,
    /// When the receiver's program read the last byte of a flow that was to end, otherwise the
    /// moment its writer was told to stop, or the end of the run, whichever came first.
    pub end: Instant,
    /// Whether all that was to be sent was read by the receiver's program.
    pub completed: bool,
    /// Bytes that the receiver's program had read at `end`; the sender's, of responses, if it asks; of a program
    /// the payload that the network carried, both ways.
    pub received: Bytes,
    /// Bytes that it had read halfway between `start` and `end`; `None` if nobody looked.
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
    /// Datagrams sent after the last one that arrived, where they bear numbers: only these may still be under
    /// way. `None` where every drop is counted, which tells as much.
    pub unseen: Option<u64>,
    /// What became of its requests, if it asks.
    pub exchanges: Option<Exchanges>,
    /// What became of the events of the builder that it sends fragments to, and of its fragments.
    pub events: Option<Events>,
    /// What became of the ranks of an MPI job at both ends.
    pub ranks: [Option<Box<RankTotals>>; 2],
    /// What the network carried of a program's packets, from the flow's first host to its second and back.
    pub program: Option<[Carried; 2]>,
    /// The driver could not run it, and nothing is known of it.
    pub left_out: bool,
    /// From when until when it was measured, where that is not from its start to its end.
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

    /// The part of its time in which what is counted was counted: its own, unless the run is measured in part. Of a
    /// flow that did not run then, the end comes first.
    pub fn measured(&self) -> [Instant; 2] {
        self.measured.unwrap_or([self.start, self.end])
    }

    /// Whether there is anything to tell of it: it ran, and not only when nothing was measured.
    pub fn is_known(&self) -> bool {
        !self.left_out && self.measured.is_none_or(|[from, until]| from < until)
    }

    /// Whether it began while it was measured, so that its completion counts.
    pub fn began_measured(&self) -> bool {
        self.measured.is_none_or(|[from, _]| from == self.start)
    }
}

/// What a network carried in one direction.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Carried {
    /// Packets that entered it.
    pub sent: u64,
    /// Packets that left it at the other end.
    pub received: u64,
    /// The payload of these, behind TCP's or UDP's header, bytes.
    pub bytes: u64,
}

/// What went through one port: one direction of a link with the queue that feeds it.
#[derive(Clone, Debug, Default)]
pub struct PortTotals {
    /// The counters of its discipline, or of an emulator's buffer.
    pub statistics: Statistics,
    /// The counters of each of the discipline's classes, by name.
    pub classes: Vec<(String, Statistics)>,
    /// How long the packets of each class waited, in the same order; empty where that was not counted.
    pub sojourns: Vec<Histogram>,
    /// How often each class's guarantees were relaxed, in the same order; empty where none ever are.
    pub relaxed: Vec<Relaxed>,
    /// The rates that classes have measured, by name.
    pub measured: Vec<(String, Measured)>,
    /// Packets dropped there or on the wire behind it.
    pub drops: Drops,
    /// How its disciplines failed, so that a plain FIFO took their place.
    pub faults: Vec<String>,
    /// How long its packets waited and how far apart they left, if that was counted.
    pub delays: Option<Delays>,
    /// What each element of the conditioner of the other direction counted, by name: green, yellow, red.
    pub elements: Vec<(String, [Count; 3])>,
    /// What the impairments of the wire behind it did; `None` where it has none.
    pub impairments: Option<Counters>,
    /// What pauses it was told and told; `None` where the far end stops nothing, nor is stopped.
    pub flow_control: Option<flow_control::Counters>,
    /// Congestion notifications; `None` where no queue of its sends any, nor does a host's interface take them.
    pub notifications: Option<Notifications>,
    /// The most bytes that came in there after one of a switch's priorities was stopped, and the room for them; `None`
    /// at what is no such switch.
    pub headroom: Option<[Bytes; 2]>,
}

/// Congestion notifications of a port (IEEE 802.1Qau).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Notifications {
    /// Those of its queues to senders.
    pub sent: u64,
    /// Those that its interface took.
    pub received: u64,
    /// Flows that these limited, each time that they were not limited before.
    pub limited: u64,
}

/// What a node itself did, rather than its ports.
#[derive(Clone, Debug, Default)]
pub struct NodeTotals {
    /// Packets that it dropped (no route, receive ring, shared buffer).
    pub drops: Drops,
    /// How full its packet memory was; `None` where its ports share none.
    pub memory: Option<Occupancy>,
    /// What its processor did; `None` where none is modelled.
    pub processor: Option<ProcessorTotals>,
}

/// What the processor of a host did.
#[derive(Clone, Copy, Debug)]
pub struct ProcessorTotals {
    /// The time that it spent on each operation.
    pub times: Times,
    /// The rate at which a program copies memory that has the processor for itself, where that is known.
    pub memory_copy: Option<Rate>,
}

/// What the engine did. Deterministic: a function of plan and seed alone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EngineTotals {
    /// Events taken from the queue.
    pub events: u64,
    /// Packets transmitted on a wire, gap frames not counted.
    pub packet_hops: u64,
}

/// What a run cost. Not deterministic: kept out of everything but the manifest and `--json`.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct Cost {
    /// Processor time, user and system.
    pub cpu_seconds: f64,
    /// Time on the wall.
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
    /// The part of the run that these are of, if not all.
    pub measured: Option<Window>,
    /// One for each of `Plan::nodes`.
    pub nodes: Vec<NodeTotals>,
    /// For each of `Plan::changes` whose time came: why it was refused, if it was.
    pub changes: Vec<Option<String>>,
    /// What the engine did.
    pub engine: EngineTotals,
    /// How it ended.
    pub ending: Ending,
}
