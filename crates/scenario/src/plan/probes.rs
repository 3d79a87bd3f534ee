//! What a run records, besides the totals.

use base::{Duration, Instant};

/// An interval of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Its start.
    pub from: Instant,
    /// Its end, not included.
    pub until: Instant,
}

/// The recorded data, besides the totals, which are always recorded.
#[derive(Clone, Debug, Default)]
pub struct Probes {
    /// The sampling interval of flows (cwnd, RTT, …); `None` for no samples.
    pub flows: Option<Duration>,
    /// The sampling interval of queues and their classes; `None` for no samples.
    pub queues: Option<Duration>,
    /// Whether sojourn times and packet spacings are recorded at every port.
    pub delays: bool,
    /// Whether results list the links and nodes of a topology or a `count` through which nothing goes, too.
    pub idle: bool,
    /// Bandwidth of ports in bins.
    pub bandwidth: Vec<Bandwidth>,
    /// Every transmission of a flow with its sequence number.
    pub sequences: Vec<Sequence>,
    /// Packet captures.
    pub captures: Vec<Capture>,
}

/// The bandwidth of one port's output in time bins, in frame bytes with header and FCS. A frame across the edge of a
/// bin is split.
#[derive(Clone, Debug)]
pub struct Bandwidth {
    /// Its name in the file.
    pub name: String,
    /// The port.
    pub port: network::PortId,
    /// The width of a bin, at least 1 us.
    pub bin: Duration,
    /// The recorded interval.
    pub window: Window,
    /// The flows whose packets count; `None` for all packets.
    pub flows: Option<Vec<usize>>,
}

/// The sequence numbers of one flow's segments as they leave a port.
#[derive(Clone, Debug)]
pub struct Sequence {
    /// Its name in the file.
    pub name: String,
    /// The flow, an index into `Plan::flows`.
    pub flow: usize,
    /// The recorded port.
    pub port: network::PortId,
    /// The recorded interval.
    pub window: Window,
}

/// A packet capture at one port: transmitted packets, and dropped packets with a comment.
#[derive(Clone, Debug)]
pub struct Capture {
    /// Its name in the file.
    pub name: String,
    /// The port.
    pub port: network::PortId,
    /// The recorded interval.
    pub window: Window,
}
