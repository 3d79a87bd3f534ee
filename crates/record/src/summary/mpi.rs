//! MPI jobs in the summary.

use network::mpi::rank::RankTotals;
use serde::{Deserialize, Serialize};
use traffic::Duration;

use super::per;
use crate::totals::FlowTotals;

/// What became of an MPI job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MpiSummary {
    /// From when the first rank had all connections to when the last one returned from its last call, seconds; none unless all
    /// ranks finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_seconds: Option<f64>,
    /// Ranks that finished.
    pub finished: u64,
    /// The share of the ranks' time in which they computed.
    pub computing: f64,
    /// That in which they waited in calls.
    pub waiting: f64,
    /// Of all their time, that in which what they waited for had not been sent.
    pub waiting_for_sender: f64,
    /// Messages between ranks.
    pub messages: u64,
    /// Their payload.
    pub bytes: u64,
    /// The ranks, in their order.
    pub rank: Vec<RankSummary>,
}

/// A rank.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RankSummary {
    /// From when it had all connections to when it returned from its last call, seconds; none unless it finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_seconds: Option<f64>,
    /// How long it computed, seconds.
    pub computing_seconds: f64,
    /// How long it waited in calls, seconds.
    pub waiting_seconds: f64,
    /// Of that, until what it waited for had been sent, seconds.
    pub waiting_for_sender_seconds: f64,
}

/// What became of the job that these flows are the connections of, if they are.
pub(super) fn sum_mpi<'t>(flows: impl Iterator<Item = &'t FlowTotals>) -> Option<MpiSummary> {
    let mut ranks: Vec<RankTotals> =
        flows.flat_map(|flow| flow.ranks.iter().flatten().map(|rank| **rank)).collect();
    ranks.sort_unstable_by_key(|rank| rank.rank);
    ranks.dedup_by_key(|rank| rank.rank);
    let finished = ranks.iter().filter(|rank| rank.finished.is_some()).count();
    let (start, end) = (
        ranks.iter().filter_map(|rank| rank.started).min(),
        ranks.iter().filter_map(|rank| rank.finished).max(),
    );
    let time = start.zip(end).filter(|_| finished == ranks.len());
    let seconds = |of: fn(&RankTotals) -> Duration| -> f64 {
        ranks.iter().map(|rank| of(rank).as_secs_f64()).sum()
    };
    let computing = seconds(|rank| rank.computing);
    let waiting = seconds(|rank| rank.waiting);
    let for_sender = seconds(|rank| rank.waiting_for_sender);
    let all = computing + waiting;
    (!ranks.is_empty()).then(|| MpiSummary {
        time_seconds: time.map(|(start, end)| (end - start).as_secs_f64()),
        finished: finished as u64,
        computing: per(computing, all),
        waiting: per(waiting, all),
        waiting_for_sender: per(for_sender, all),
        messages: ranks.iter().map(|rank| rank.messages).sum(),
        bytes: ranks.iter().map(|rank| rank.bytes).sum(),
        rank: ranks.iter().map(sum_rank).collect(),
    })
}

fn sum_rank(rank: &RankTotals) -> RankSummary {
    let time = rank.started.zip(rank.finished);
    RankSummary {
        time_seconds: time.map(|(start, end)| (end - start).as_secs_f64()),
        computing_seconds: rank.computing.as_secs_f64(),
        waiting_seconds: rank.waiting.as_secs_f64(),
        waiting_for_sender_seconds: rank.waiting_for_sender.as_secs_f64(),
    }
}
