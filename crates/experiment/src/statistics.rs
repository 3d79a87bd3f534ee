//! The counters of a run or a router so far: the answer to `{"statistics": {}}`.
//!
//! Units are bytes, seconds, bytes per second and counts unless a name says otherwise.

use std::collections::BTreeMap;

use record::Lateness;
use record::summary::Named;
use scenario::Units;
use serde::{Deserialize, Serialize};

pub mod configured_rate;
pub mod sampled;

/// The request for these statistics.
pub const REQUEST: &str = r#"{"statistics": {}}"#;

/// All counters at one moment. Those that the responder does not know are left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Statistics {
    /// The title, for people.
    pub title: String,
    /// The units for display.
    pub units: Units,
    /// The driver: `simulate`, `lab`, `router`.
    pub driver: String,
    /// The time since the start.
    pub seconds: f64,
    /// The planned duration.
    pub duration_seconds: Option<f64>,
    /// Whether the machine has kept up.
    pub kept_up: Option<bool>,
    /// The lateness of packets that were sent.
    pub lateness: Option<Lateness>,
    /// Frames that the machine lost on input or output.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missed_frames: Option<u64>,
    /// Packets dropped before they reached a port, by reason.
    #[serde(skip_serializing_if = "Drops::is_empty")]
    pub drops_on_input: Drops,
    /// The output ports, by `NODE:LINK`.
    pub port: Named<Port>,
    /// The flows, by name.
    pub flow: Named<Flow>,
    /// A machine's TCP connections, by congestion control.
    #[serde(skip_serializing_if = "Named::is_empty")]
    pub connections: Named<Connections>,
}

/// An output port.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Port {
    /// The discipline; empty if unknown.
    pub discipline: String,
    /// The line rate.
    pub line_rate: Option<f64>,
    /// The rate configured for the discipline.
    pub promised_rate: Option<f64>,
    /// The port's counters.
    #[serde(flatten)]
    pub counts: Counts,
    /// Packets dropped at the port, by reason.
    #[serde(skip_serializing_if = "Drops::is_empty")]
    pub drops_by_reason: Drops,
    /// The port's pauses, once it had any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pauses: Option<Pauses>,
    /// The port's congestion notifications, once it had any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notifications: Option<Notifications>,
    /// The network interface, for a router.
    #[serde(flatten)]
    pub interface: Option<Interface>,
    /// The reasons why a plain FIFO replaces the discipline.
    pub faults: Vec<String>,
    /// The classes, by name.
    pub class: Named<Class>,
}

/// Dropped packets by reason.
pub type Drops = BTreeMap<String, u64>;

/// A network interface of a router.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interface {
    /// Its name.
    pub interface: String,
    /// The state: `up`, `no carrier` or `down`.
    pub interface_state: String,
    /// The number of times it went down or lost its carrier.
    pub outages: u64,
    /// Frames lost because they were to be sent while it was down.
    pub lost_when_down: u64,
    /// MAC control frames received, such as PAUSE, which are not forwarded.
    pub mac_control_frames: u64,
}

/// The pauses of a port (IEEE 802.1Qbb; 802.3, annex 31B).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pauses {
    /// The recent share of time that the far end had the port stopped, for the priority stopped the longest.
    pub stopped_share: Option<f64>,
    /// Pause frames sent and received recently, per second.
    pub frame_rate: Option<f64>,
    /// Pause frames sent so far, to stop or resume the port's input.
    pub sent: u64,
    /// Pause frames received so far.
    pub received: u64,
}

/// The congestion notifications of a port (IEEE 802.1Qau).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Notifications {
    /// Notifications sent for its queues and received by its host recently, per second.
    pub frame_rate: Option<f64>,
    /// Notifications that its switch sent for its queues so far.
    pub sent: u64,
    /// Notifications that its host received so far.
    pub received: u64,
}

/// A class of a discipline.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Class {
    /// The parent class.
    pub parent: Option<String>,
    /// The rate configured for the class.
    pub promised_rate: Option<f64>,
    /// The class's counters.
    #[serde(flatten)]
    pub counts: Counts,
}

/// The counters of a port or a class; zero or none if it was never sampled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counts {
    /// The recent rate sent.
    pub rate: Option<f64>,
    /// Packets dropped recently, per second.
    pub drop_rate: Option<f64>,
    /// Packets marked recently, per second.
    pub mark_rate: Option<f64>,
    /// Packets sent so far.
    pub packets: u64,
    /// Bytes sent so far.
    pub bytes: u64,
    /// Packets queued now.
    pub backlog_packets: Option<u64>,
    /// Bytes queued now.
    pub backlog_bytes: Option<u64>,
    /// Packets dropped so far.
    pub drops: u64,
    /// Packets marked so far.
    pub marks: u64,
    /// How long the packet sent last waited, in seconds; on a machine whose qdisc counts it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_seconds: Option<f64>,
    /// Bytes of gap frames sent recently, per second.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap_rate: Option<f64>,
    /// Bytes of gap frames sent so far.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gap_bytes: Option<u64>,
}

/// A connection, or a datagram flow.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Flow {
    /// The recent rate of payload that the receiving program read.
    pub rate: Option<f64>,
    /// All payload read so far.
    pub bytes: u64,
    /// Congestion window; none for datagrams.
    pub cwnd_packets: Option<u64>,
    /// Smoothed round trip time.
    pub srtt_seconds: Option<f64>,
    /// Retransmitted segments so far.
    pub retransmissions: u64,
    /// Segments retransmitted recently, per second.
    pub retransmission_rate: Option<f64>,
    /// Timeouts so far.
    pub timeouts: u64,
}

/// A machine's TCP connections with one congestion control.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Connections {
    /// The number of connections.
    pub connections: u64,
    /// The sum of their latest delivery rates, of those that sent in the last second.
    pub rate: f64,
    /// The sum of their congestion windows.
    pub cwnd_packets: u64,
    /// The median of their smoothed round-trip times.
    pub srtt_seconds: f64,
    /// The maximum of these.
    pub srtt_max_seconds: f64,
    /// Segments that they have retransmitted so far.
    pub retransmissions: u64,
}
