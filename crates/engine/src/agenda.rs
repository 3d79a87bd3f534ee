//! The agenda of a run: tasks at set times besides the movement of packets, independent of the driver's clock.

use base::{Duration, Instant};
use scenario::Plan;

/// A task that is due at a set time. Tasks that are due at the same instant run in this order.
#[derive(Clone, Copy, Debug)]
pub enum Task {
    /// All flows are sampled: [`crate::Engine::sample_flows`].
    SampleFlows,
    /// The due marks of the flow of that number are taken: [`crate::Engine::mark_goodput`].
    Mark(usize),
    /// All queues are sampled: [`crate::Engine::sample_queues`].
    SampleQueues,
    /// Everything counted so far is recorded: [`Plan::looks`].
    Snapshot,
    /// The change of that number in the plan is applied: [`crate::Engine::change`], [`crate::Engine::set_option`].
    Change(usize),
}

/// The remaining tasks.
#[derive(Clone, Debug)]
pub struct Agenda {
    /// The changes, by their numbers in the plan; the latest first.
    changes: Vec<(Instant, usize)>,
    /// The times of the snapshots, the latest first.
    snapshots: Vec<Instant>,
    /// The goodput marks with their flows, the latest first.
    marks: Vec<(Instant, u32)>,
    flows: Sampling,
    queues: Sampling,
}

/// The times of periodic samples.
#[derive(Clone, Copy, Debug)]
struct Sampling {
    /// The next time; `NEVER` if it is off.
    next: Instant,
    every: Duration,
}

impl Sampling {
    const OFF: Self = Self { next: Instant::NEVER, every: Duration::MAX };

    fn every(period: Option<Duration>) -> Self {
        period.map_or(Self::OFF, |period| Self {
            next: Instant::ZERO,
            every: period.max(Duration::from_ns(1)),
        })
    }

    /// Returns whether a sample is due at `now`, and if so, moves on to the next.
    fn take(&mut self, now: Instant) -> bool {
        let due = self.next == now;
        if due {
            self.next += self.every;
        }
        due
    }
}

impl Agenda {
    /// All tasks of a run of `plan`.
    pub fn new(plan: &Plan) -> Self {
        let of = |(number, flow)| plan.goodput_marks(flow).map(|at| (at, number as u32));
        let mut marks: Vec<_> = plan.flows.iter().enumerate().flat_map(of).collect();
        marks.sort_unstable_by(|a, b| b.cmp(a));
        Self { marks, flows: Sampling::every(plan.probes.flows), ..Self::of_network(plan) }
    }

    /// The tasks of the network in a run where another component has the sockets: no flow is sampled.
    pub fn of_network(plan: &Plan) -> Self {
        let changes = plan.changes.iter().enumerate().rev();
        Self {
            changes: changes.map(|(number, change)| (change.when, number)).collect(),
            snapshots: plan.looks().rev().collect(),
            marks: Vec::new(),
            flows: Sampling::OFF,
            queues: Sampling::every(plan.probes.queues),
        }
    }

    /// The tasks of the component that has the sockets. Each socket takes its own goodput marks.
    pub fn of_sockets(plan: &Plan) -> Self {
        let mut agenda = Self::of_network(plan).with_flow_samples(plan);
        agenda.queues = Sampling::OFF;
        agenda.changes.retain(|&(_, number)| plan.changes[number].of_port().is_none());
        agenda
    }

    /// Returns the agenda with flow samples.
    #[must_use]
    pub fn with_flow_samples(self, plan: &Plan) -> Self {
        Self { flows: Sampling::every(plan.probes.flows), ..self }
    }

    /// The time of the next task; `NEVER` if there is none.
    pub fn next(&self) -> Instant {
        let once = self.look_at().min(self.mark_at()).min(self.change_at());
        once.min(self.flows.next).min(self.queues.next)
    }

    /// Removes and returns a task that is due at `now`, with its time: the earliest first.
    pub fn due(&mut self, now: Instant) -> Option<(Instant, Task)> {
        let at = Some(self.next()).filter(|&at| at <= now && at != Instant::NEVER)?;
        let task = if self.flows.take(at) {
            Task::SampleFlows
        } else if let Some((_, flow)) = self.marks.pop_if(|(mark, _)| *mark == at) {
            Task::Mark(flow as usize)
        } else if self.queues.take(at) {
            Task::SampleQueues
        } else if self.snapshots.pop_if(|snapshot| *snapshot == at).is_some() {
            Task::Snapshot
        } else {
            Task::Change(self.changes.pop()?.1)
        };
        Some((at, task))
    }

    fn look_at(&self) -> Instant {
        self.snapshots.last().copied().unwrap_or(Instant::NEVER)
    }

    fn mark_at(&self) -> Instant {
        self.marks.last().map_or(Instant::NEVER, |&(at, _)| at)
    }

    fn change_at(&self) -> Instant {
        self.changes.last().map_or(Instant::NEVER, |&(at, _)| at)
    }
}

#[cfg(test)]
mod tests {
    use scenario::Document;

    use super::*;

    #[test]
    fn everything_is_done_once_in_its_order() {
        let text = r#"
duration = "10 ms"
measure = { from = "4 ms", until = "6 ms" }
[host.a]
[host.b]
[link.l]
between = ["a", "b"]
rate = "1 Gbit/s"
[flow.x]
from = "a"
to = "b"
count = 2
start = "2 ms"
stop = "6 ms"
[probe.queues]
every = "3 ms"
[probe.flows]
every = "6 ms"
[change.late]
when = "6 ms"
at = "a:l"
rate = "2 Gbit/s"
[change.early]
when = "1 ms"
at = "a:l"
enabled = false
"#;
        let plan = Document::parse("test.toml", text).and_then(|document| document.plan());
        let plan = plan.expect("a plan");
        let mut agenda = Agenda::new(&plan);
        let mut done = Vec::new();
        // A late call returns all tasks that were due.
        for now in [0, 2, 9].map(Duration::from_ms) {
            while let Some((at, task)) = agenda.due(Instant::ZERO + now) {
                let name = match task {
                    Task::SampleFlows => "flows",
                    Task::Mark(0) => "mark 0",
                    Task::Mark(_) => "mark 1",
                    Task::SampleQueues => "queues",
                    Task::Snapshot => "snapshot",
                    Task::Change(change) => &plan.changes[change].name,
                };
                done.push((at.as_us(), name));
            }
        }
        let expected = [
            (0, "flows"),
            (0, "queues"),
            (1_000, "early"),
            (3_000, "queues"),
            (3_999, "snapshot"),
            (5_000, "mark 0"),
            (5_000, "mark 1"),
            (5_999, "snapshot"),
            (6_000, "flows"),
            (6_000, "mark 0"),
            (6_000, "mark 1"),
            (6_000, "queues"),
            (6_000, "late"),
            (9_000, "queues"),
        ];
        assert_eq!(done, expected);
        assert_eq!(agenda.next(), Instant::ZERO + Duration::from_ms(12));
    }
}
