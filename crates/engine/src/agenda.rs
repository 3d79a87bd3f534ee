//! The agenda of a run: what is done at set times beside moving packets, whoever's clock it is.

use scenario::Plan;
use scenario::plan::Change;
use traffic::{Duration, Instant};

/// Something that is done at its time.
#[derive(Clone, Copy, Debug)]
pub enum Task<'p> {
    /// All queues are sampled: [`crate::Engine::sample_queues`].
    Sample,
    /// All that was counted so far is noted: [`Plan::looks`].
    Look,
    /// A port is changed: [`crate::Engine::change`].
    Change(&'p Change),
}

/// What is still to be done.
#[derive(Clone, Debug)]
pub struct Agenda<'p> {
    /// The earliest first.
    changes: &'p [Change],
    /// The latest first.
    looks: Vec<Instant>,
    /// When queues are sampled next; `NEVER` if they are not.
    sample_at: Instant,
    every: Duration,
}

impl<'p> Agenda<'p> {
    /// All that is done in a run of `plan`.
    pub fn new(plan: &'p Plan) -> Self {
        let every = plan.probes.queues.map(|every| every.max(Duration::from_ns(1)));
        Self {
            changes: &plan.changes,
            looks: plan.looks().rev().collect(),
            sample_at: every.map_or(Instant::NEVER, |_| Instant::ZERO),
            every: every.unwrap_or(Duration::MAX),
        }
    }

    /// When something is done next; `NEVER` if nothing is.
    pub fn next(&self) -> Instant {
        self.sample_at.min(self.look_at()).min(self.change_at())
    }

    /// Takes out what is due at `now`, and when it was: the earliest first, and of what comes at the same instant first a
    /// sample and last the changes.
    pub fn due(&mut self, now: Instant) -> Option<(Instant, Task<'p>)> {
        let at = Some(self.next()).filter(|&at| at <= now && at != Instant::NEVER)?;
        let task = if self.sample_at == at {
            self.sample_at += self.every;
            Task::Sample
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
[probe.queues]
every = "3 ms"
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
        // Whoever comes late does all that was due.
        for now in [0, 2, 9].map(Duration::from_ms) {
            while let Some((at, task)) = agenda.due(Instant::ZERO + now) {
                let name = match task {
                    Task::Sample => "sample",
                    Task::Look => "look",
                    Task::Change(change) => &change.name,
                };
                done.push((at.as_us(), name));
            }
        }
        let expected = [
            (0, "sample"),
            (1_000, "early"),
            (3_000, "sample"),
            (3_999, "look"),
            (5_999, "look"),
            (6_000, "sample"),
            (6_000, "late"),
            (9_000, "sample"),
        ];
        assert_eq!(done, expected);
        assert_eq!(agenda.next(), Instant::ZERO + Duration::from_ms(12));
    }
}
