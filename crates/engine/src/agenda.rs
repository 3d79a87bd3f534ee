//! The agenda of a run: what is done at set times beside moving packets, whoever's clock it is.

use scenario::Plan;
use scenario::plan::Change;
use traffic::{Duration, Instant};

/// Something that is done at its time. Of what comes at the same instant, this is the order.
#[derive(Clone, Copy, Debug)]
pub enum Task<'p> {
    /// All flows are sampled: [`crate::Engine::sample_flows`].
    SampleFlows,
    /// The marks of the flow of that number are taken: [`crate::Engine::mark_goodput`].
    Mark(usize),
    /// All queues are sampled: [`crate::Engine::sample_queues`].
    SampleQueues,
    /// All that was counted so far is noted: [`Plan::looks`].
    Look,
    /// A port or connections are changed: [`crate::Engine::change`], [`crate::Engine::set_option`].
    Change(&'p Change),
}

/// What is still to be done.
#[derive(Clone, Debug)]
pub struct Agenda<'p> {
    /// The earliest first.
    changes: &'p [Change],
    /// The latest first.
    looks: Vec<Instant>,
    /// Of which flow, the latest first.
    marks: Vec<(Instant, u32)>,
    flows: Sampling,
    queues: Sampling,
}

/// When something is sampled.
#[derive(Clone, Copy, Debug)]
struct Sampling {
    /// Next; `NEVER` if it is not.
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

    /// Whether it is done at `now`, and if so, moves on.
    fn take(&mut self, now: Instant) -> bool {
        let due = self.next == now;
        if due {
            self.next += self.every;
        }
        due
    }
}

impl<'p> Agenda<'p> {
    /// What is done to queues in a run of `plan`, and the samples of flows.
    pub fn new(plan: &'p Plan) -> Self {
        Self {
            changes: &plan.changes,
            looks: plan.looks().rev().collect(),
            marks: Vec::new(),
            flows: Sampling::every(plan.probes.flows),
            queues: Sampling::every(plan.probes.queues),
        }
    }

    /// The same, with the marks of every flow: who runs the flows takes them.
    #[must_use]
    pub fn with_marks(mut self, plan: &Plan) -> Self {
        let of = |(number, flow)| plan.goodput_marks(flow).map(|at| (at, number as u32));
        self.marks = plan.flows.iter().enumerate().flat_map(of).collect();
        self.marks.sort_unstable_by(|a, b| b.cmp(a));
        self
    }

    /// The same, without the samples of flows.
    #[must_use]
    pub fn without_flow_samples(self) -> Self {
        Self { flows: Sampling::OFF, ..self }
    }

    /// When something is done next; `NEVER` if nothing is.
    pub fn next(&self) -> Instant {
        let once = self.look_at().min(self.mark_at()).min(self.change_at());
        once.min(self.flows.next).min(self.queues.next)
    }

    /// Takes out what is due at `now`, and when it was: the earliest first.
    pub fn due(&mut self, now: Instant) -> Option<(Instant, Task<'p>)> {
        let at = Some(self.next()).filter(|&at| at <= now && at != Instant::NEVER)?;
        let task = if self.flows.take(at) {
            Task::SampleFlows
        } else if let Some((_, flow)) = self.marks.pop_if(|(mark, _)| *mark == at) {
            Task::Mark(flow as usize)
        } else if self.queues.take(at) {
            Task::SampleQueues
        } else if self.looks.pop_if(|look| *look == at).is_some() {
            Task::Look
        } else {
            let (change, later) = self.changes.split_first()?;
            self.changes = later;
            Task::Change(change)
        };
        Some((at, task))
    }

    fn look_at(&self) -> Instant {
        self.looks.last().copied().unwrap_or(Instant::NEVER)
    }

    fn mark_at(&self) -> Instant {
        self.marks.last().map_or(Instant::NEVER, |&(at, _)| at)
    }

    fn change_at(&self) -> Instant {
        self.changes.first().map_or(Instant::NEVER, |change| change.when)
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
        let mut agenda = Agenda::new(&plan).with_marks(&plan);
        let mut done = Vec::new();
        // Whoever comes late does all that was due.
        for now in [0, 2, 9].map(Duration::from_ms) {
            while let Some((at, task)) = agenda.due(Instant::ZERO + now) {
                let name = match task {
                    Task::SampleFlows => "flows",
                    Task::Mark(0) => "mark 0",
                    Task::Mark(_) => "mark 1",
                    Task::SampleQueues => "queues",
                    Task::Look => "look",
                    Task::Change(change) => &change.name,
                };
                done.push((at.as_us(), name));
            }
        }
        let expected = [
            (0, "flows"),
            (0, "queues"),
            (1_000, "early"),
            (3_000, "queues"),
            (3_999, "look"),
            (5_000, "mark 0"),
            (5_000, "mark 1"),
            (5_999, "look"),
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
