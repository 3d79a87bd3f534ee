//! When a flow's receiver is looked at, and what it had read then: as the simulator does.

use results::totals::FlowTotals;
use scenario::Plan;
use scenario::plan::Flow;
use traffic::{Bytes, Instant};

/// The two looks at a flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct GoodputMarks {
    half: Mark,
    stop: Mark,
}

#[derive(Clone, Copy, Debug)]
struct Mark {
    at: Instant,
    saw: Option<Bytes>,
}

impl Mark {
    fn at(at: Instant) -> Self {
        Self { at, saw: None }
    }

    fn wake(&mut self, now: Instant, read: u64) {
        if self.saw.is_none() && now >= self.at {
            self.saw = Some(Bytes(read));
        }
    }

    fn next_wakeup(&self) -> Instant {
        if self.saw.is_some() { Instant::NEVER } else { self.at }
    }
}

impl GoodputMarks {
    /// The looks at `flow` in a run of `plan`.
    pub(super) fn new(plan: &Plan, flow: &Flow) -> Self {
        let [half, stop] = plan.goodput_marks(flow).map(Mark::at);
        Self { half, stop }
    }

    /// Looks, if it is time.
    pub(super) fn wake(&mut self, now: Instant, read: u64) {
        self.half.wake(now, read);
        self.stop.wake(now, read);
    }

    pub(super) fn next_wakeup(&self) -> Instant {
        self.half.next_wakeup().min(self.stop.next_wakeup())
    }

    /// What became of `flow` until `now`, when its receiver had read so much, the last of it then; without
    /// its ends' counters.
    pub(super) fn totals(
        &self,
        flow: &Flow,
        now: Instant,
        (read, read_at): (u64, Instant),
    ) -> FlowTotals {
        let completed = flow.span.bytes.is_some_and(|bytes| bytes.0 == read);
        FlowTotals {
            start: flow.span.start,
            end: if completed { read_at } else { self.stop.at.min(now).max(flow.span.start) },
            completed,
            received: self.stop.saw.filter(|_| !completed).unwrap_or(Bytes(read)),
            received_by_half: self.half.saw,
            ..FlowTotals::default()
        }
    }
}
