//! The activities of the ranks of MPI jobs over time, as rows of their table.

use std::ops::Range;

use applications::mpi::rank::RankTotals;
use applications::mpi::timeline::{Interval, Timeline};
use applications::mpi::wait::Cause;
use base::Duration;
use measured::totals::ranks;
use scenario::Plan;

use crate::rows::{Name, PlanNames, RankRow};
use crate::totals::FlowTotals;

/// The jobs of a plan: their names, and the flows that are their connections.
#[derive(Debug)]
pub(crate) struct Jobs(Vec<(Name, Range<usize>)>);

impl Jobs {
    /// Creates the jobs of `plan`.
    pub(crate) fn new(plan: &Plan, names: &mut PlanNames) -> Self {
        Self(plan.jobs().map(|(name, flows)| (names.other(name), flows)).collect())
    }

    /// Whether there are none.
    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The rows of all ranks.
    pub(crate) fn rows(&self, flows: &[FlowTotals]) -> Vec<RankRow> {
        let members = |range: &Range<usize>| flows.get(range.clone()).unwrap_or_default();
        self.0.iter().flat_map(|(job, range)| rows(*job, &ranks(members(range).iter()))).collect()
    }
}

/// Returns the rows of one job: intervals of equal length, and none before a rank begins.
fn rows(job: Name, ranks: &[&RankTotals]) -> Vec<RankRow> {
    let lengths = ranks.iter().map(|rank| rank.timeline.length());
    let length = lengths.max().unwrap_or_default();
    let timelines = ranks.iter().map(|rank| {
        let mut timeline = Timeline::clone(&rank.timeline);
        timeline.widen(length);
        (rank.rank, timeline)
    });
    let rows = timelines.flat_map(|(rank, timeline)| {
        let intervals = (0..).zip(timeline.intervals());
        let done = intervals.filter(|(_, interval)| **interval != Interval::default());
        done.map(|(place, interval)| row((job, rank), place, length, interval)).collect::<Vec<_>>()
    });
    rows.collect()
}

fn row(
    (job, rank): (Name, u32),
    place: u64,
    length: Duration,
    Interval { computing, waiting }: &Interval,
) -> RankRow {
    let waited = |cause: Cause| waiting[cause].as_ns();
    RankRow {
        job,
        rank: u64::from(rank),
        time_ns: place * length.as_ns(),
        length_ns: length.as_ns(),
        computing_ns: computing.as_ns(),
        sender_ns: waited(Cause::Sender),
        slow_start_ns: waited(Cause::SlowStart),
        window_ns: waited(Cause::Window),
        recovery_ns: waited(Cause::Recovery),
        rto_ns: waited(Cause::Timeout),
        buffer_ns: waited(Cause::Buffer),
        nagle_ns: waited(Cause::Nagle),
        pacing_ns: waited(Cause::Pacing),
        bandwidth_ns: waited(Cause::Bandwidth),
        latency_ns: waited(Cause::Latency),
    }
}
