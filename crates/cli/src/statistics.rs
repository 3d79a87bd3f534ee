//! What a run or a router has counted so far: the answer to `{"statistics": {}}`, whoever gives it.
//!
//! Units are bytes, seconds, bytes per second and counts unless a name says otherwise.

use std::collections::BTreeMap;

use results::Lateness;
use results::summary::Named;
use scenario::Units;
use serde::{Deserialize, Serialize};

pub(crate) mod configured_rate;
pub(crate) mod sampled;

/// The request that is answered so.
pub(crate) const REQUEST: &str = r#"{"statistics": {}}"#;

/// Everything at one moment. What whoever answers does not know is left out.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Statistics {
    /// What it is, for people.
    pub(crate) title: String,
    /// The units that people read it in.
    pub(crate) units: Units,
    /// Who moves the packets: `simulate`, `lab`, `router`.
    pub(crate) driver: String,
    /// The moment, from the start.
    pub(crate) seconds: f64,
    /// How long it is to last.
    pub(crate) duration_seconds: Option<f64>,
    /// Whether the machine has kept up.
    pub(crate) kept_up: Option<bool>,
    /// How late packets were let go.
    pub(crate) lateness: Option<Lateness>,
    /// Frames that the machine lost on their way in or out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) missed_frames: Option<u64>,
    /// Packets dropped before they reached a port, by reason.
    #[serde(skip_serializing_if = "Drops::is_empty")]
    pub(crate) drops_on_input: Drops,
    /// Each output port, as `NODE:LINK`.
    pub(crate) port: Named<Port>,
    /// Each flow.
    pub(crate) flow: Named<Flow>,
}

/// An output port.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Port {
    /// Its discipline; empty if not known.
    pub(crate) discipline: String,
    /// What the line carries.
    pub(crate) line_rate: Option<f64>,
    /// What the discipline holds itself to.
    pub(crate) promised_rate: Option<f64>,
    /// What went through it.
    #[serde(flatten)]
    pub(crate) counts: Counts,
    /// Packets dropped at it, by reason.
    #[serde(skip_serializing_if = "Drops::is_empty")]
    pub(crate) drops_by_reason: Drops,
    /// A router's interface there.
    #[serde(flatten)]
    pub(crate) interface: Option<Interface>,
    /// Why a plain FIFO has the discipline's place.
    pub(crate) faults: Vec<String>,
    /// Its classes.
    pub(crate) class: Named<Class>,
}

/// Packets by the reason for which they were dropped.
pub(crate) type Drops = BTreeMap<String, u64>;

/// An interface by which a router sends and receives.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Interface {
    /// Its name.
    pub(crate) interface: String,
    /// How it is: `up`, `no carrier` or `down`.
    pub(crate) interface_state: String,
    /// How many times it went down, or lost its carrier.
    pub(crate) outages: u64,
    /// Frames that were to be sent by it meanwhile.
    pub(crate) lost_when_down: u64,
    /// Frames of MAC control that it received, such as PAUSE, which go no further.
    pub(crate) mac_control_frames: u64,
}

/// A class of a discipline.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Class {
    /// The class that it is within.
    pub(crate) parent: Option<String>,
    /// What it is to have when it wants it.
    pub(crate) promised_rate: Option<f64>,
    /// What went through it.
    #[serde(flatten)]
    pub(crate) counts: Counts,
}

/// What a port or a class has counted; nothing of what was never looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Counts {
    /// Sent of late.
    pub(crate) rate: Option<f64>,
    /// Packets dropped of late, a second.
    pub(crate) drop_rate: Option<f64>,
    /// Packets marked of late, a second.
    pub(crate) mark_rate: Option<f64>,
    /// Packets sent so far.
    pub(crate) packets: u64,
    /// Their bytes.
    pub(crate) bytes: u64,
    /// Queued now.
    pub(crate) backlog_packets: Option<u64>,
    /// Queued now.
    pub(crate) backlog_bytes: Option<u64>,
    /// Packets dropped so far.
    pub(crate) drops: u64,
    /// Packets marked so far.
    pub(crate) marks: u64,
}

/// A connection, or a flow of datagrams.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Flow {
    /// Payload that the receiving program read of late.
    pub(crate) rate: Option<f64>,
    /// All of it so far.
    pub(crate) bytes: u64,
    /// Congestion window; none of datagrams.
    pub(crate) cwnd_packets: Option<u64>,
    /// Smoothed round trip time.
    pub(crate) srtt_seconds: Option<f64>,
    /// Segments sent again so far.
    pub(crate) retransmissions: u64,
    /// Segments sent again of late, a second.
    pub(crate) retransmission_rate: Option<f64>,
    /// Timeouts so far.
    pub(crate) timeouts: u64,
}
