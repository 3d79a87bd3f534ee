//! The results of ranks.

use std::sync::Arc;

use base::{Duration, Instant};

use super::timeline::Timeline;
use super::wait::Waits;

/// The results of a rank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct RankTotals {
    /// Its number.
    pub rank: u32,
    /// The start of its first call: its connections were established.
    pub started: Option<Instant>,
    /// The return from its last call.
    pub finished: Option<Instant>,
    /// How long it computed.
    pub computing: Duration,
    /// How long it waited in calls, by cause.
    pub waiting: Waits,
    /// Messages that it sent to other ranks.
    pub messages: u64,
    /// Their payload.
    pub bytes: u64,
    /// Its timeline, shared by the ends of all its connections. Absent if a driver runs the rank in another
    /// process.
    #[cfg_attr(feature = "serde", serde(skip))]
    pub timeline: Arc<Timeline>,
}
