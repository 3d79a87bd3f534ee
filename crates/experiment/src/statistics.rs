//! What a run or a router has counted so far: the answer to `{"statistics": {}}`, whoever gives it.
//!
//! Units are bytes, seconds, bytes per second and counts unless a name says otherwise.

use std::collections::BTreeMap;

use record::Lateness;
use record::summary::Named;
use scenario::Units;
use serde::{Deserialize, Serialize};

pub mod configured_rate;
pub mod sampled;

/// The request that is answered so.
pub const REQUEST: &str = r#"{"statistics": {}}"#;

/// Everything at one moment. What whoever answers does not know is left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Statistics {
    /// What it is, for people.
    pub title: String,
    /// The units that people read it in.
    pub units: Units,
    /// Who moves the packets: `simulate`, `lab`, `router`.
    pub driver: String,
    /// The moment, from the start.
    pub seconds: f64,
    /// How long it is to last.
    pub duration_seconds: Option<f64>,
    /// Whether the machine has kept up.
    pub kept_up: Option<bool>,
    /// How late packets were let go.
    pub lateness: Option<Lateness>,
    /// Frames that the machine lost on their way in or out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub missed_frames: Option<u64>,
    /// Packets dropped before they reached a port, by reason.
    #[serde(skip_serializing_if = "Drops::is_empty")]
    pub drops_on_input: Drops,
    /// Each output port, as `NODE:LINK`.
    pub port: Named<Port>,
    /// Each flow.
    pub flow: Named<Flow>,
}

/// An output port.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Port {
    /// Its discipline; empty if not known.
    pub discipline: String,
    /// What the line carries.
    pub line_rate: Option<f64>,
    /// What the discipline holds itself to.
    pub promised_rate: Option<f64>,
    /// What went through it.
    #[serde(flatten)]
    pub counts: Counts,
    /// Packets dropped at it, by reason.
    #[serde(skip_serializing_if = "Drops::is_empty")]
    pub drops_by_reason: Drops,
    /// Its pauses, once it had any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pauses: Option<Pauses>,
    /// Its congestion notifications, once it had any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notifications: Option<Notifications>,
    /// A router's interface there.
    #[serde(flatten)]
    pub interface: Option<Interface>,
    /// Why a plain FIFO has the discipline's place.
    pub faults: Vec<String>,
    /// Its classes.
    pub class: Named<Class>,
}

/// Packets by the reason for which they were dropped.
pub type Drops = BTreeMap<String, u64>;

/// An interface by which a router sends and receives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Interface {
    /// Its name.
    pub interface: String,
    /// How it is: `up`, `no carrier` or `down`.
    pub interface_state: String,
    /// How many times it went down, or lost its carrier.
    pub outages: u64,
    /// Frames that were to be sent by it meanwhile.
    pub lost_when_down: u64,
    /// Frames of MAC control that it received, such as PAUSE, which go no further.
    pub mac_control_frames: u64,
}

/// The pauses of a port (IEEE 802.1Qbb; 802.3, annex 31B).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Pauses {
    /// The share of the time of late for which the far end had it stopped: of its priorities, the one that was for longest.
    pub stopped_share: Option<f64>,
    /// Pause frames sent and received of late, a second.
    pub frame_rate: Option<f64>,
    /// Pause frames sent so far, to stop what comes in there or let it go on.
    pub sent: u64,
    /// Pause frames received so far.
    pub received: u64,
}

/// The congestion notifications of a port (IEEE 802.1Qau).
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Notifications {
    /// Those sent of its queues and those that its host received of late, a second.
    pub frame_rate: Option<f64>,
    /// Those that its switch sent of its queues so far.
    pub sent: u64,
    /// Those that its host received so far.
    pub received: u64,
}

/// A class of a discipline.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Class {
    /// The class that it is within.
    pub parent: Option<String>,
    /// What it is to have when it wants it.
    pub promised_rate: Option<f64>,
    /// What went through it.
    #[serde(flatten)]
    pub counts: Counts,
}

/// What a port or a class has counted; nothing of what was never looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Counts {
    /// Sent of late.
    pub rate: Option<f64>,
    /// Packets dropped of late, a second.
    pub drop_rate: Option<f64>,
    /// Packets marked of late, a second.
    pub mark_rate: Option<f64>,
    /// Packets sent so far.
    pub packets: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Queued now.
    pub backlog_packets: Option<u64>,
    /// Queued now.
    pub backlog_bytes: Option<u64>,
    /// Packets dropped so far.
    pub drops: u64,
    /// Packets marked so far.
    pub marks: u64,
}

/// A connection, or a flow of datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Flow {
    /// Payload that the receiving program read of late.
    pub rate: Option<f64>,
    /// All of it so far.
    pub bytes: u64,
    /// Congestion window; none of datagrams.
    pub cwnd_packets: Option<u64>,
    /// Smoothed round trip time.
    pub srtt_seconds: Option<f64>,
    /// Segments sent again so far.
    pub retransmissions: u64,
    /// Segments sent again of late, a second.
    pub retransmission_rate: Option<f64>,
    /// Timeouts so far.
    pub timeouts: u64,
}
