//! The bytes that a flow's receiver has read at its goodput marks, and the flow's totals: for modelled hosts and
//! real kernels alike.

use applications::results::Results;
use base::{Bytes, Instant};
use record::totals::FlowTotals;
use scenario::Plan;
use scenario::plan::Flow;

/// The marks of a flow: [`Plan::goodput_marks`].
#[derive(Clone, Copy, Debug)]
pub struct GoodputMarks {
    half: Mark,
    stop: Mark,
}

#[derive(Clone, Copy, Debug)]
struct Mark {
    at: Instant,
    read: Option<Bytes>,
}

impl Mark {
    fn at(at: Instant) -> Self {
        Self { at, read: None }
    }

    fn note(&mut self, now: Instant, read: u64) {
        if self.read.is_none() && now >= self.at {
            self.read = Some(Bytes(read));
        }
    }

    fn next(&self) -> Instant {
        if self.read.is_some() { Instant::NEVER } else { self.at }
    }
}

impl GoodputMarks {
    /// The marks of `flow` in a run of `plan`.
    pub fn new(plan: &Plan, flow: &Flow) -> Self {
        let [half, stop] = plan.goodput_marks(flow).map(Mark::at);
        Self { half, stop }
    }

    /// Takes the marks that are due at `now`, when the receiver has read `read` bytes.
    pub fn note(&mut self, now: Instant, read: u64) {
        self.half.note(now, read);
        self.stop.note(now, read);
    }

    /// When the next one is due; `NEVER` if both are taken.
    pub fn next(&self) -> Instant {
        self.half.next().min(self.stop.next())
    }

    /// The totals of `flow` at `now`, without the counters of its ends. Its receiver has read `read` bytes, the
    /// last at `read_at`; its programs have these results.
    pub fn totals(
        &self,
        flow: &Flow,
        now: Instant,
        (read, read_at): (u64, Instant),
        results: [Option<Results>; 2],
    ) -> FlowTotals {
        let answered = results.iter().flatten().find_map(Results::responses);
        let completed = flow.span.bytes.is_some_and(|bytes| bytes.0 == read)
            || answered.is_some_and(|answered| asked(flow) == Some(answered));
        FlowTotals {
            start: flow.span.start,
            end: if completed { read_at } else { self.stop.at.min(now).max(flow.span.start) },
            completed,
            received: self.stop.read.filter(|_| !completed).unwrap_or(Bytes(read)),
            received_by_half: self.half.read,
            results,
            ..FlowTotals::default()
        }
    }
}

/// The number of requests that the flow makes, if it is limited.
fn asked(flow: &Flow) -> Option<u64> {
    flow.tcp()?.workload.responses()
}
