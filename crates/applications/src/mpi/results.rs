//! The results of ranks.

use std::sync::Arc;

use base::{Duration, Instant};

use super::timeline::Timeline;
use super::wait::Waits;
use crate::counts::Counts;

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

impl RankTotals {
    /// The ranks at these ends of connections, each once and in their order.
    pub fn distinct<'r>(ends: impl Iterator<Item = &'r Self>) -> Vec<&'r Self> {
        let mut ranks: Vec<&Self> = ends.collect();
        ranks.sort_unstable_by_key(|rank| rank.rank);
        ranks.dedup_by_key(|rank| rank.rank);
        ranks
    }
}

impl Counts for RankTotals {
    const LACKING: [&'static str; 2] = ["ranks", "name a flow with `mpi`"];
    const TITLE: &'static str = "MPI job";
    /// A job ends.
    const WHOLE: bool = true;

    fn since(&self, _: &Self) -> Self {
        self.clone()
    }
}
