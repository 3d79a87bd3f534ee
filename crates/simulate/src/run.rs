//! A run from start to end: the engine between samples, the samples between its stretches.

use std::sync::atomic::Ordering;

use engine::{Agenda, Engine, GoodputMarks, Tally, Task, World};
use network::Observer;
use record::Steering;
use record::totals::{Ending, FlowTotals, Totals};
use scenario::Plan;
use scenario::plan::Target;
use traffic::{Duration, FlowId, Instant};

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
    let (end, stride) = (Instant::ZERO + plan.duration, stride(plan.duration));
    let mut agenda = Agenda::new(plan);
    let mut marks: Vec<_> = plan.flows.iter().map(|flow| GoodputMarks::new(plan, flow)).collect();
    let (mut changes, mut looks, mut complete) = (Vec::new(), Vec::new(), false);
    let mut report_at = Instant::ZERO;
    let goes_on = || !steering.interrupted.load(Ordering::Relaxed);
    'run: while goes_on() {
        let now = agenda.next().min(report_at).min(end);
        while !engine.run_some(now, EVENTS, &mut tally) {
            (steering.progress)(engine.now());
            if !goes_on() {
                break 'run;
            }
        }
        while let Some((_, task)) = agenda.due(now) {
            match task {
                Task::SampleFlows => engine.sample_flows(plan, now, tally.inner),
                Task::Mark(flow) => engine.mark_goodput(plan, flow, &mut marks[flow]),
                Task::SampleQueues => engine.sample_queues(now, tally.inner),
                Task::Look => looks.push(totals(plan, &engine, &tally, &marks, false)),
                Task::Change(change) => {
                    let target = &plan.changes[change].target;
                    changes.push(change_now(plan, &mut engine, target, &mut tally));
                }
            }
        }
        if now >= end {
            complete = true;
            break;
        }
        (steering.progress)(now);
        if report_at <= now {
            report_at = now + stride;
        }
    }
    let totals = totals(plan, &engine, &tally, &marks, complete);
    Ok(Totals { changes, ..totals }.measured(plan, looks))
}

/// Makes a change; what was refused of it.
fn change_now(
    plan: &Plan,
    engine: &mut Engine,
    target: &Target,
    observer: &mut impl Observer,
) -> Option<String> {
    match target {
        Target::Port(port, action) => engine.change(*port, action, observer).and_then(Result::err),
        Target::Sockets(options) => options.set_each(plan, |node, flow, option| {
            engine.set_option(node as u32, FlowId(flow as u32), option, observer)
        }),
    }
}

/// Events from one look at the interruption to the next: less than a tenth of a second's work.
const EVENTS: u64 = 1 << 17;

/// From one sign of progress to the next: a hundredth of a short run, and a tenth of a second of a long one.
fn stride(duration: Duration) -> Duration {
    Duration::from_ps(duration.as_ps() / 128).min(Duration::from_ms(100)).max(Duration::from_ns(1))
}

fn totals(
    plan: &Plan,
    engine: &Engine,
    tally: &Tally<&mut impl Observer>,
    marks: &[GoodputMarks],
    complete: bool,
) -> Totals {
    let flow = |(number, marks)| FlowTotals {
        drops: tally.flows[number],
        ..engine.flow_totals(plan, number, marks)
    };
    Totals {
        flows: marks.iter().enumerate().map(flow).collect(),
        ports: engine.port_totals(tally),
        nodes: tally.nodes.clone(),
        changes: Vec::new(),
        measured: None,
        engine: engine.totals(),
        ending: Ending { at: engine.now(), complete },
    }
}
