//! Results of an MPI job.

use applications::mpi::rank::RankTotals;
use applications::mpi::wait::{Cause, Waits};
use base::Duration;

use crate::declare::measured;
use crate::mean::per;
use crate::value::Measured;

measured! {
    /// What became of an MPI job.
    pub struct MpiSummary at "mpi.": Results(RankTotals);
    /// Sums up the job of the ranks at these ends of its connections.
    of(ends: &[&RankTotals], _seconds: f64)
    let ranks = RankTotals::distinct(ends.iter().copied());
    let finished = ranks.iter().filter(|rank| rank.finished.is_some()).count();
    let start = ranks.iter().filter_map(|rank| rank.started).min();
    let end = ranks.iter().filter_map(|rank| rank.finished).max();
    let time = start.zip(end).filter(|_| finished == ranks.len());
    let computing = ranks.iter().map(|rank| rank.computing).fold(Duration::ZERO, |a, b| a + b);
    let waits = ranks.iter().fold(Waits::default(), |mut waits, rank| {
        waits.add(&rank.waiting);
        waits
    });
    let all = (computing + waits.total()).as_secs_f64();
    let share = |time: Duration| per(time.as_secs_f64(), all);
    {
        /// The time from when the first rank had all connections to when the last one returned from its last call,
        /// seconds; none unless all ranks finished.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        time_seconds: Option<f64> = time.map(|(start, end)| (end - start).as_secs_f64()),
            Time None Lower "time to solution"
            what "Time from the first rank with all its connections to the return of the last rank from its last call."
            .name("time_to_solution").compared().row(1);
        /// Ranks that finished.
        finished: u64 = finished as u64, Number Sum Higher "ranks finished"
            what "Ranks that returned from their last call.".name("ranks_finished").row(1);
        /// The share of the ranks' time in which they computed.
        computing: f64 = share(computing), Share None Higher "computing"
            what "Share of the ranks' time spent computing.".name("computing_share").row(1);
        /// The share in which they waited in calls.
        waiting: f64 = share(waits.total()), Share None Lower "waiting"
            what "Share of the ranks' time spent waiting in calls."
            .name("waiting_share").compared().row(1);
        /// The share in which they waited for data that was not sent yet.
        waiting_for_sender: f64 = share(waits[Cause::Sender]), Share None Lower "for a late sender"
            what "Share of the ranks' time spent waiting for data not yet sent."
            .name("late_sender_share").row(1);
        /// The shares in which they waited for something else.
        #[serde(default)]
        waiting_for: NetworkWaits = NetworkWaits::of(&waits, &share);
        /// Messages between ranks.
        messages: u64 = ranks.iter().map(|rank| rank.messages).sum(), Number Sum Neither "messages"
            .name("messages").row(2);
        /// Their payload.
        bytes: u64 = ranks.iter().map(|rank| rank.bytes).sum();
        /// The ranks, in their order.
        rank: Vec<RankSummary> = ranks.iter().map(|rank| RankSummary::of(rank)).collect();
    }
}

measured! {
    /// A rank.
    pub struct RankSummary at "";
    /// Sums up a rank.
    of(rank: &RankTotals)
    let time = rank.started.zip(rank.finished);
    {
        /// The time from when it had all connections to when it returned from its last call, seconds; none unless it
        /// finished.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        time_seconds: Option<f64> = time.map(|(start, end)| (end - start).as_secs_f64());
        /// How long it computed, seconds.
        computing_seconds: f64 = rank.computing.as_secs_f64();
        /// How long it waited in calls, seconds.
        waiting_seconds: f64 = rank.waiting.total().as_secs_f64();
        /// How long it waited for data that was not sent yet, seconds.
        waiting_for_sender_seconds: f64 = rank.waiting[Cause::Sender].as_secs_f64();
        /// What it waited for during the others, seconds.
        #[serde(default)]
        waiting_for_seconds: NetworkWaits =
            NetworkWaits::of(&rank.waiting, &|time| time.as_secs_f64());
    }
}

measured! {
    /// What ranks wait for on the network, as shares or in seconds.
    #[derive(Copy, Default)]
    pub struct NetworkWaits at "mpi.waiting_for.": Results(RankTotals);
    /// Sums up waits by their cause, each as `value` of its time.
    of(waits: &Waits, value: &dyn Fn(Duration) -> f64)
    let value = |cause: Cause| value(waits[cause]);
    {
        /// The congestion window, below the slow start threshold.
        slow_start: f64 = value(Cause::SlowStart), Share None Lower "slow start"
            what "Share of the ranks' time spent waiting for a congestion window in slow start."
            .name("slow_start_wait_share").row(1).detail();
        /// The congestion window, at or above it.
        window: f64 = value(Cause::Window), Share None Lower "window"
            what "Share of the ranks' time spent waiting for a congestion window at or above the slow start threshold."
            .name("window_wait_share").row(1).detail();
        /// Loss recovery without a timeout.
        recovery: f64 = value(Cause::Recovery), Share None Lower "recovery"
            what "Share of the ranks' time spent waiting for lost segments that were detected without a timeout."
            .name("recovery_wait_share").row(1).detail();
        /// A retransmission timeout, with the repair after it.
        rto: f64 = value(Cause::Timeout), Share None Lower "RTO"
            what "Share of the ranks' time spent waiting for a retransmission timeout and the recovery after it."
            .name("rto_wait_share").row(1).detail();
        /// The peer's receive window, or the own send buffer.
        buffer: f64 = value(Cause::Buffer), Share None Lower "buffers"
            what "Share of the ranks' time spent waiting for space in a receive window or a send buffer."
            .name("buffer_wait_share").row(1).detail();
        /// Nagle's rule.
        nagle: f64 = value(Cause::Nagle), Share None Lower "Nagle"
            what "Share of the ranks' time spent waiting for a small segment held back by Nagle's algorithm."
            .name("nagle_wait_share").row(1).detail();
        /// The pacing rate.
        pacing: f64 = value(Cause::Pacing), Share None Lower "pacing"
            what "Share of the ranks' time spent waiting for pacing.".name("pacing_wait_share").row(1).detail();
        /// Serialisation and queues, and whatever nothing else accounts for.
        bandwidth: f64 = value(Cause::Bandwidth), Share None Lower "bandwidth"
            what "Share of the ranks' time spent waiting for links and queues, or for reasons that no other share covers."
            .name("bandwidth_wait_share").row(1).detail();
        /// Half the minimum RTT.
        latency: f64 = value(Cause::Latency), Share None Lower "latency"
            what "Share of the ranks' time spent waiting for half the minimum RTT."
            .name("latency_wait_share").row(1).detail();
    }
}

impl NetworkWaits {
    /// The largest of them with its label; none if there is none above zero.
    pub fn most(&self) -> Option<(&'static str, f64)> {
        let all = Self::QUANTITIES.iter().copied().flatten().filter_map(|quantity| {
            let (_, field) = quantity.field.rsplit_once('.')?;
            Some((quantity.label, self.value(field)?.number()))
        });
        all.filter(|(_, value)| *value > 0.0).max_by(|a, b| a.1.total_cmp(&b.1))
    }
}
