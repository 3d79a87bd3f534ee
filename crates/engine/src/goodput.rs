//! What a flow's receiver has read when it matters for goodput, and what became of the flow then: for modelled hosts and a
//! kernel's alike.

use network::exchange::Exchanges;
use network::workload::Workload;
use record::totals::FlowTotals;
use scenario::Plan;
use scenario::plan::Flow;
use traffic::{Bytes, Instant};

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
    /// Those of `flow` in a run of `plan`.
    pub fn new(plan: &Plan, flow: &Flow) -> Self {
        let [half, stop] = plan.goodput_marks(flow).map(Mark::at);
        Self { half, stop }
    }

    /// Takes what is due at `now`, when the receiver has read so many bytes.
    pub fn note(&mut self, now: Instant, read: u64) {
        self.half.note(now, read);
        self.stop.note(now, read);
    }

    /// When the next one is due; `NEVER` if both are taken.
    pub fn next(&self) -> Instant {
        self.half.next().min(self.stop.next())
    }

    /// What became of `flow` until `now`, when its receiver had read so much, the last of it then, and if it asks, these
    /// exchanges were over; without its ends' counters.
    pub fn totals(
        &self,
        flow: &Flow,
        now: Instant,
        (read, read_at): (u64, Instant),
        exchanges: Option<Exchanges>,
    ) -> FlowTotals {
        let answered = exchanges.as_ref().map(|exchanges| exchanges.completed);
        let completed = flow.span.bytes.is_some_and(|bytes| bytes.0 == read)
            || answered.is_some_and(|answered| asked(flow) == Some(answered));
        FlowTotals {
            start: flow.span.start,
            end: if completed { read_at } else { self.stop.at.min(now).max(flow.span.start) },
            completed,
            received: self.stop.read.filter(|_| !completed).unwrap_or(Bytes(read)),
            received_by_half: self.half.read,
            exchanges,
            ..FlowTotals::default()
        }
    }
}

/// How many requests the flow makes, if it is so many and no more.
fn asked(flow: &Flow) -> Option<u64> {
    match &flow.tcp()?.workload {
        Workload::Exchange(exchange) => exchange.count,
        Workload::Ping(ping) => ping.count,
        _ => None,
    }
}
