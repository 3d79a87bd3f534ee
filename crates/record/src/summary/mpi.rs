//! MPI jobs in the summary.

use network::mpi::rank::RankTotals;
use network::mpi::wait::{Cause, Waits};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use traffic::Duration;

use crate::ranks;
use crate::totals::FlowTotals;
use measured::per;

/// What became of an MPI job.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct MpiSummary {
    /// The time from when the first rank had all connections to when the last one returned from its last call,
    /// seconds; none unless all ranks finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_seconds: Option<f64>,
    /// Ranks that finished.
    pub finished: u64,
    /// The share of the ranks' time in which they computed.
    pub computing: f64,
    /// The share in which they waited in calls.
    pub waiting: f64,
    /// The share in which they waited for data that was not sent yet.
    pub waiting_for_sender: f64,
    /// The shares in which they waited for something else.
    #[serde(default)]
    pub waiting_for: NetworkWaits,
    /// Messages between ranks.
    pub messages: u64,
    /// Their payload.
    pub bytes: u64,
    /// The ranks, in their order.
    pub rank: Vec<RankSummary>,
}

/// A rank.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct RankSummary {
    /// The time from when it had all connections to when it returned from its last call, seconds; none unless it
    /// finished.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_seconds: Option<f64>,
    /// How long it computed, seconds.
    pub computing_seconds: f64,
    /// How long it waited in calls, seconds.
    pub waiting_seconds: f64,
    /// How long it waited for data that was not sent yet, seconds.
    pub waiting_for_sender_seconds: f64,
    /// What it waited for during the others, seconds.
    #[serde(default)]
    pub waiting_for_seconds: NetworkWaits,
}

/// What ranks wait for on the network, as shares or in seconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct NetworkWaits {
    /// The congestion window, below the slow start threshold.
    pub slow_start: f64,
    /// The congestion window, at or above it.
    pub window: f64,
    /// Loss recovery without a timeout.
    pub recovery: f64,
    /// A retransmission timeout, with the repair after it.
    pub rto: f64,
    /// The peer's receive window, or the own send buffer.
    pub buffer: f64,
    /// Nagle's rule.
    pub nagle: f64,
    /// The pacing rate.
    pub pacing: f64,
    /// Serialisation and queues, and whatever nothing else accounts for.
    pub bandwidth: f64,
    /// Half the minimum RTT.
    pub latency: f64,
}

impl NetworkWaits {
    /// The largest of them with its name in words; none if there is none above zero.
    pub fn most(&self) -> Option<(&'static str, f64)> {
        let all = [
            ("slow start", self.slow_start),
            ("window", self.window),
            ("recovery", self.recovery),
            ("RTO", self.rto),
            ("buffers", self.buffer),
            ("Nagle", self.nagle),
            ("pacing", self.pacing),
            ("bandwidth", self.bandwidth),
            ("latency", self.latency),
        ];
        all.into_iter().filter(|(_, value)| *value > 0.0).max_by(|a, b| a.1.total_cmp(&b.1))
    }

    fn of(waits: &Waits, value: impl Fn(Duration) -> f64) -> Self {
        let value = |cause: Cause| value(waits[cause]);
        Self {
            slow_start: value(Cause::SlowStart),
            window: value(Cause::Window),
            recovery: value(Cause::Recovery),
            rto: value(Cause::Timeout),
            buffer: value(Cause::Buffer),
            nagle: value(Cause::Nagle),
            pacing: value(Cause::Pacing),
            bandwidth: value(Cause::Bandwidth),
            latency: value(Cause::Latency),
        }
    }
}

/// Sums up the MPI job that has these flows as its connections, if there is one.
pub(super) fn sum_mpi<'t>(flows: impl Iterator<Item = &'t FlowTotals>) -> Option<MpiSummary> {
    let ranks = ranks::all(flows);
    let finished = ranks.iter().filter(|rank| rank.finished.is_some()).count();
    let (start, end) = (
        ranks.iter().filter_map(|rank| rank.started).min(),
        ranks.iter().filter_map(|rank| rank.finished).max(),
    );
    let time = start.zip(end).filter(|_| finished == ranks.len());
    let computing =
        ranks.iter().map(|rank| rank.computing).fold(Duration::ZERO, |sum, time| sum + time);
    let mut waits = Waits::default();
    ranks.iter().for_each(|rank| waits.add(&rank.waiting));
    let all = (computing + waits.total()).as_secs_f64();
    let share = |time: Duration| per(time.as_secs_f64(), all);
    (!ranks.is_empty()).then(|| MpiSummary {
        time_seconds: time.map(|(start, end)| (end - start).as_secs_f64()),
        finished: finished as u64,
        computing: share(computing),
        waiting: share(waits.total()),
        waiting_for_sender: share(waits[Cause::Sender]),
        waiting_for: NetworkWaits::of(&waits, share),
        messages: ranks.iter().map(|rank| rank.messages).sum(),
        bytes: ranks.iter().map(|rank| rank.bytes).sum(),
        rank: ranks.iter().map(|rank| sum_rank(rank)).collect(),
    })
}

fn sum_rank(rank: &RankTotals) -> RankSummary {
    let time = rank.started.zip(rank.finished);
    RankSummary {
        time_seconds: time.map(|(start, end)| (end - start).as_secs_f64()),
        computing_seconds: rank.computing.as_secs_f64(),
        waiting_seconds: rank.waiting.total().as_secs_f64(),
        waiting_for_sender_seconds: rank.waiting[Cause::Sender].as_secs_f64(),
        waiting_for_seconds: NetworkWaits::of(&rank.waiting, |time| time.as_secs_f64()),
    }
}
