//! The totals of a part of the run: those at its end, less those at its start.
//!
//! Counters and distributions are of that part. Values that are not sums, such as the longest queue or a window at
//! the end, are of the run until then. A longest wait or response is of the part, taken from its distribution.

use std::borrow::Cow;
use std::iter;

use base::Instant;
use measured::totals::ranks;
use scenario::plan::{Plan, Window};

use super::Totals;

impl Totals {
    /// Returns the totals that `plan` wants of a run: all of it, or what was counted between two snapshots. If a run
    /// ended before a snapshot, the totals at its end replace that snapshot.
    #[must_use]
    pub fn measured(mut self, plan: &Plan, snapshots: Vec<Self>) -> Self {
        self.end_jobs(plan);
        let Some(window) = plan.measure else { return self };
        let mut snapshots = snapshots.into_iter();
        let earlier = match window.from {
            Instant::ZERO => Self::default(),
            _ => snapshots.next().unwrap_or_else(|| self.clone()),
        };
        let later = snapshots.next().unwrap_or_else(|| self.clone());
        let flows = self.flows.iter().zip(&later.flows);
        let flows = flows.zip(or_nothing(&earlier.flows));
        let ports = later.ports.iter().zip(or_nothing(&earlier.ports));
        let nodes = later.nodes.iter().zip(or_nothing(&earlier.nodes));
        Self {
            flows: flows
                .map(|((flow, later), earlier)| {
                    flow.within([window.from, window.until], later, &earlier)
                })
                .collect(),
            ports: ports.map(|(later, earlier)| later.since(&earlier)).collect(),
            nodes: nodes.map(|(later, earlier)| later.since(&earlier)).collect(),
            engine: later.engine.since(earlier.engine),
            measured: Some(Window {
                from: window.from.min(self.ending.at),
                until: window.until.min(self.ending.at),
            }),
            changes: self.changes,
            ending: self.ending,
        }
    }
}

impl Totals {
    /// The connections of an MPI job end when its last rank returns from its last call, however long they stay open.
    fn end_jobs(&mut self, plan: &Plan) {
        for (_, flows) in plan.jobs() {
            let Some(flows) = self.flows.get_mut(flows) else { continue };
            let finished = ranks(flows.iter()).iter().map(|rank| rank.finished).collect();
            let finished: Option<Vec<Instant>> = finished;
            let Some(last) = finished.and_then(|finished| finished.into_iter().max()) else {
                continue;
            };
            for flow in flows.iter_mut().filter(|flow| last < flow.end) {
                flow.end = last.max(flow.start);
                // Its half was not that of this time.
                flow.received_by_half = None;
            }
        }
    }

    /// How long it was measured.
    pub fn seconds(&self) -> f64 {
        let whole = || self.ending.at.as_secs_f64();
        self.measured.map_or_else(whole, |Window { from, until }| until.since(from).as_secs_f64())
    }
}

/// Returns the totals, and then empty ones without end.
fn or_nothing<T: Clone + Default>(counted: &[T]) -> impl Iterator<Item = Cow<'_, T>> {
    counted.iter().map(Cow::Borrowed).chain(iter::repeat_with(|| Cow::Owned(T::default())))
}
