//! A run from start to end: the engine between samples, the samples between its stretches.

use std::sync::atomic::Ordering;

use engine::{Agenda, Engine, Tally, Task, World};
use network::datagram::Delay;
use network::exchange::Exchanges;
use network::{Event, Observer};
use results::Steering;
use results::totals::{Ending, FlowTotals, Totals};
use scenario::Plan;
use scenario::plan::Flow;
use traffic::{Bytes, Duration, FlowId, Instant};
use transport::Info;

use crate::refusal::{self, Refusal};

/// Runs `plan` to its end, or to an interruption. What takes a real kernel is left out; see
/// [`crate::left_out`].
///
/// # Errors
/// See [`Refusal`].
pub fn run(
    plan: &Plan,
    observer: &mut impl Observer,
    steering: Steering<'_>,
) -> Result<Totals, Refusal> {
    refusal::check(plan)?;
    let mut tally = Tally::new(plan, observer);
    let mut engine = Engine::new(World::new(plan)?);
    let end = Instant::ZERO + plan.duration;
    let (mut agenda, mut timetable) = (Agenda::new(plan), Timetable::new(plan, end));
    let mut marks = Marks::new(plan);
    let mut flows = vec![Snapshot::default(); plan.flows.len()];
    let (mut changes, mut looks, mut complete) = (Vec::new(), Vec::new(), false);
    let goes_on = || !steering.interrupted.load(Ordering::Relaxed);
    'run: while goes_on() {
        let now = timetable.next().min(marks.next()).min(agenda.next());
        while !engine.run_some(now, EVENTS, &mut tally) {
            (steering.progress)(engine.now());
            if !goes_on() {
                break 'run;
            }
        }
        if timetable.flow_samples.due == now {
            sample_flows(plan, &engine, now, tally.inner);
        }
        while let Some(mark) = marks.due(now) {
            mark.take(plan, &engine, &mut flows);
        }
        while let Some((_, task)) = agenda.due(now) {
            match task {
                Task::Sample => engine.sample_queues(now, tally.inner),
                Task::Look => looks.push(totals(plan, &engine, &tally, &flows, false)),
                Task::Change(change) => {
                    let done = engine.change(change.port, &change.action, &mut tally);
                    changes.push(done.and_then(Result::err));
                }
            }
        }
        if now >= end {
            complete = true;
            break;
        }
        (steering.progress)(now);
        timetable.advance(now);
    }
    let totals = totals(plan, &engine, &tally, &flows, complete);
    Ok(Totals { changes, ..totals }.measured(plan, looks))
}

/// Events from one look at the interruption to the next: less than a tenth of a second's work.
const EVENTS: u64 = 1 << 17;

/// When the engine pauses beside what is on the agenda and the marks of flows.
struct Timetable {
    end: Instant,
    /// Due and period of each recurring pause; `NEVER` for a probe that is off.
    flow_samples: Recurring,
    progress: Recurring,
}

#[derive(Clone, Copy)]
struct Recurring {
    due: Instant,
    period: Duration,
}

impl Recurring {
    fn every(period: Option<Duration>) -> Self {
        match period {
            Some(period) => Self { due: Instant::ZERO, period: period.max(Duration::from_ns(1)) },
            None => Self { due: Instant::NEVER, period: Duration::MAX },
        }
    }

    fn advance(&mut self, now: Instant) {
        while self.due <= now {
            self.due += self.period;
        }
    }
}

impl Timetable {
    fn new(plan: &Plan, end: Instant) -> Self {
        Self {
            end,
            flow_samples: Recurring::every(plan.probes.flows),
            progress: Recurring::every(Some(stride(plan.duration))),
        }
    }

    fn next(&self) -> Instant {
        self.flow_samples.due.min(self.progress.due).min(self.end)
    }

    fn advance(&mut self, now: Instant) {
        self.flow_samples.advance(now);
        self.progress.advance(now);
    }
}

/// From one sign of progress to the next: a hundredth of a short run, and a tenth of a second of a long one.
fn stride(duration: Duration) -> Duration {
    Duration::from_ps(duration.as_ps() / 128).min(Duration::from_ms(100))
}

/// What a flow's receiver had read at the instants that matter.
#[derive(Clone, Copy, Default)]
struct Snapshot {
    by_half: Option<Bytes>,
    by_stop: Option<Bytes>,
}

/// An instant at which it matters what a flow's receiver has read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Mark {
    at: Instant,
    flow: usize,
    /// The flow's end, else its middle.
    stop: bool,
}

impl Mark {
    fn take(self, plan: &Plan, engine: &Engine, flows: &mut [Snapshot]) {
        let read = Bytes(progress(engine, &plan.flows[self.flow], self.flow).0);
        let snapshot = &mut flows[self.flow];
        *(if self.stop { &mut snapshot.by_stop } else { &mut snapshot.by_half }) = Some(read);
    }
}

/// Two marks a flow, the latest first.
struct Marks(Vec<Mark>);

impl Marks {
    fn new(plan: &Plan) -> Self {
        let of = |(number, flow): (usize, &Flow)| {
            let mark = |stop, at| Mark { at, flow: number, stop };
            let [half, stop] = plan.goodput_marks(flow);
            [mark(false, half), mark(true, stop)]
        };
        let mut marks: Vec<_> = plan.flows.iter().enumerate().flat_map(of).collect();
        marks.sort_unstable_by(|a, b| b.cmp(a));
        Self(marks)
    }

    /// When the next one is; `NEVER` if there is none.
    fn next(&self) -> Instant {
        self.0.last().map_or(Instant::NEVER, |mark| mark.at)
    }

    /// Takes out a mark of that instant.
    fn due(&mut self, now: Instant) -> Option<Mark> {
        self.0.pop_if(|mark| mark.at <= now)
    }
}

fn sample_flows(plan: &Plan, engine: &Engine, now: Instant, observer: &mut impl Observer) {
    for (number, flow) in plan.flows.iter().enumerate() {
        if now >= flow.span.start && !flow.takes_a_kernel() {
            let ends = [flow.writer(), flow.reader()];
            let [sender, receiver] = ends.map(|node| info(engine, node, number));
            let (flow, ends) = (FlowId(number as u32), [&sender, &receiver]);
            observer.on(Event::FlowSample { flow, now, ends });
        }
    }
}

fn info(engine: &Engine, node: usize, flow: usize) -> Info {
    let host = engine.world().nodes[node].as_host();
    host.and_then(|h| h.info(FlowId(flow as u32))).unwrap_or_default()
}

fn progress(engine: &Engine, flow: &Flow, number: usize) -> (u64, Instant) {
    let host = engine.world().nodes[flow.reader()].as_host();
    host.and_then(|h| h.progress(FlowId(number as u32))).unwrap_or_default()
}

fn delay(engine: &Engine, flow: &Flow, number: usize) -> Option<Delay> {
    engine.world().nodes[flow.to].as_host()?.delay(FlowId(number as u32))
}

fn exchanges(engine: &Engine, flow: &Flow, number: usize) -> Option<Exchanges> {
    engine.world().nodes[flow.from].as_host()?.exchanges(FlowId(number as u32))
}

fn totals(
    plan: &Plan,
    engine: &Engine,
    tally: &Tally<&mut impl Observer>,
    snapshots: &[Snapshot],
    complete: bool,
) -> Totals {
    let flow = |(number, snapshot)| FlowTotals {
        drops: tally.flows[number],
        ..flow_totals(plan, engine, number, snapshot)
    };
    Totals {
        flows: snapshots.iter().enumerate().map(flow).collect(),
        ports: engine.port_totals(tally),
        nodes: tally.nodes.clone(),
        changes: Vec::new(),
        measured: None,
        engine: engine.totals(),
        ending: Ending { at: engine.now(), complete },
    }
}

fn flow_totals(plan: &Plan, engine: &Engine, number: usize, snapshot: &Snapshot) -> FlowTotals {
    let flow = &plan.flows[number];
    let (read, read_at) = progress(engine, flow, number);
    let completed = flow.span.bytes.is_some_and(|b| b.0 == read);
    let [_, stop] = plan.goodput_marks(flow);
    let end = if completed { read_at } else { stop.min(engine.now()).max(flow.span.start) };
    let [sender, receiver] = [flow.from, flow.to].map(|node| info(engine, node, number));
    FlowTotals {
        start: flow.span.start,
        end,
        completed,
        received: if completed { Bytes(read) } else { snapshot.by_stop.unwrap_or(Bytes(read)) },
        received_by_half: snapshot.by_half,
        drops: 0,
        marks: sender.ecn_marks + receiver.ecn_marks,
        sender,
        receiver,
        delay: delay(engine, flow, number),
        unseen: None,
        exchanges: exchanges(engine, flow, number),
        program: None,
        left_out: flow.takes_a_kernel(),
        measured: None,
        lost: None,
    }
}

#[cfg(test)]
mod tests {
    use scenario::Document;

    use super::*;

    #[test]
    fn a_flow_is_looked_at_twice_however_many_others_there_are() {
        let text = r#"
duration = "10 s"
[host.a]
[host.b]
[link.l]
between = ["a", "b"]
rate = "1 Gbit/s"
[flow.x]
from = "a"
to = "b"
count = 500
stagger = "7 ms"
"#;
        let plan = Document::parse("test.toml", text).and_then(|document| document.plan());
        let plan = plan.expect("a plan");
        let mut marks = Marks::new(&plan);
        let mut looked = vec![[0; 2]; plan.flows.len()];
        while marks.next() != Instant::NEVER {
            let now = marks.next();
            while let Some(mark) = marks.due(now) {
                let flow = &plan.flows[mark.flow];
                assert_eq!(plan.goodput_marks(flow)[usize::from(mark.stop)], now);
                looked[mark.flow][usize::from(mark.stop)] += 1;
            }
        }
        assert!(looked.iter().all(|looks| *looks == [1, 1]), "{looked:?}");
    }
}
