//! A run from start to end: the engine runs between samples.

use std::convert::Infallible;
use std::sync::atomic::Ordering;

use base::{Duration, Fault, FlowId, Instant};
use engine::{Agenda, Engine, Engines, GoodputMarks, Hosts, Tally, Task, World};
use network::Observer;
use record::Steering;
use record::totals::{Ending, FlowTotals, Totals};
use scenario::plan::Target;
use scenario::{Plan, capability};

use crate::capability::CAPABILITIES;

/// Runs `plan` to its end, or to an interruption, with modelled hosts alone: hosts with kernels need
/// [`crate::guests::run`]. Parts that need a real kernel are left out; see [`crate::left_out`].
///
/// # Errors
/// A plan that it refuses.
pub fn run(
    plan: &Plan,
    observer: &mut impl Observer,
    steering: Steering<'_>,
) -> Result<Totals, Fault> {
    capability::check(CAPABILITIES, plan)?;
    Ok(run_whole(plan, World::at_start(plan)?, observer, steering))
}

/// Runs `world` to the end of `plan`, or to an interruption, on one core.
pub(crate) fn run_whole(
    plan: &Plan,
    world: World,
    observer: &mut impl Observer,
    steering: Steering<'_>,
) -> Totals {
    let mut engine = Engine::new(world);
    let tally = Tally::new(plan, observer);
    engine.look_ahead(plan, &tally);
    let mut modelled = Modelled { engine, tally };
    let Finished { totals, snapshots, .. } = drive(plan, &mut modelled, steering);
    totals.measured(plan, snapshots)
}

/// An engine, and the driver that advances its time.
pub(crate) trait Simulation<O> {
    /// Why time could not advance.
    type Failure;

    /// Adds the flows that begin at `now` at the latest, if they are not there already.
    fn begin_flows(&mut self, _plan: &Plan, _now: Instant) {}

    /// Runs all events up to `now`, or some of them; returns whether all have run.
    fn advance(&mut self, now: Instant) -> Result<bool, Self::Failure>;

    /// Samples flows, now.
    fn sample(&mut self, plan: &Plan, now: Instant);

    /// Adds the counts of flows so far that the engine does not have.
    fn add_counts(&self, flows: &mut [FlowTotals]);

    /// The engines, with what they count.
    fn engines(&mut self) -> Engines<'_, O>;
}

/// A run with modelled hosts alone: the engine's own events are all events.
struct Modelled<O> {
    engine: Engine,
    tally: Tally<O>,
}

impl<O: Observer> Simulation<O> for Modelled<O> {
    type Failure = Infallible;

    fn begin_flows(&mut self, plan: &Plan, now: Instant) {
        self.engine.begin_flows(plan, now);
    }

    fn advance(&mut self, now: Instant) -> Result<bool, Infallible> {
        Ok(self.engine.run_some(now, EVENTS, &mut self.tally))
    }

    fn sample(&mut self, plan: &Plan, now: Instant) {
        self.engines().sample_flows(plan, now);
    }

    fn add_counts(&self, _flows: &mut [FlowTotals]) {}

    fn engines(&mut self) -> Engines<'_, O> {
        Engines::whole(&mut self.engine, &mut self.tally)
    }
}

/// The results of a run.
pub(crate) struct Finished<F> {
    /// The totals of the whole run.
    pub(crate) totals: Totals,
    /// The totals at the start of the measured part, and at its end.
    pub(crate) snapshots: Vec<Totals>,
    /// Why it ended early, if not by an interruption.
    pub(crate) failure: Option<F>,
}

/// Advances time from each task of the run to the next.
pub(crate) fn drive<O: Observer, M: Simulation<O>>(
    plan: &Plan,
    simulation: &mut M,
    steering: Steering<'_>,
) -> Finished<M::Failure> {
    let (end, stride) = (Instant::ZERO + plan.duration, stride(plan.duration));
    let mut agenda = Agenda::new(plan);
    let mut marks: Vec<_> = plan.flows.iter().map(|flow| GoodputMarks::new(plan, flow)).collect();
    let (mut changes, mut snapshots, mut complete) = (Vec::new(), Vec::new(), false);
    let (mut report_at, mut failure) = (Instant::ZERO, None);
    let goes_on = || !steering.interrupted.load(Ordering::Relaxed);
    'run: while goes_on() {
        let now = agenda.next().min(report_at).min(end);
        simulation.begin_flows(plan, now);
        loop {
            match simulation.advance(now) {
                Ok(true) => break,
                Ok(false) => (steering.progress)(simulation.engines().state().now()),
                Err(error) => failure = Some(error),
            }
            if failure.is_some() || !goes_on() {
                break 'run;
            }
        }
        while let Some((_, task)) = agenda.due(now) {
            let mut engines = simulation.engines();
            match task {
                Task::SampleFlows => simulation.sample(plan, now),
                Task::Mark(flow) => engines.state().mark_goodput(plan, flow, &mut marks[flow]),
                Task::SampleQueues => {
                    engines.settle();
                    engines.sample_queues();
                }
                Task::Snapshot => {
                    engines.settle();
                    let mut snapshot = totals(plan, &mut engines, &marks, false);
                    simulation.add_counts(&mut snapshot.flows);
                    snapshots.push(snapshot);
                }
                Task::Change(change) => {
                    let target = &plan.changes[change].target;
                    changes.push(change_now(plan, &mut engines, target));
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
    let mut engines = simulation.engines();
    engines.settle();
    let mut totals = Totals { changes, ..totals(plan, &mut engines, &marks, complete) };
    #[cfg(debug_assertions)]
    assert_no_stall(plan, &totals);
    simulation.add_counts(&mut totals.flows);
    Finished { totals, snapshots, failure }
}

/// Applies a change; returns what was refused of it.
fn change_now(
    plan: &Plan,
    engines: &mut Engines<'_, impl Observer>,
    target: &Target,
) -> Option<String> {
    match target {
        Target::Port(port, action) => engines.change(*port, action).and_then(Result::err),
        Target::Sockets(options) => options.set_each(plan, |node, flow, option| {
            engines.set_option(node, FlowId(flow as u32), option)
        }),
    }
}

/// The number of events between checks for an interruption: less than a tenth of a second's work.
pub(crate) const EVENTS: u64 = 1 << 17;

/// The interval between progress reports: a hundredth of a short run, and a tenth of a second of a long one.
fn stride(duration: Duration) -> Duration {
    Duration::from_ps(duration.as_ps() / 128).min(Duration::from_ms(100)).max(Duration::from_ns(1))
}

/// Asserts that no modelled connection is stuck with pending data, which is a fault of the model.
#[cfg(debug_assertions)]
fn assert_no_stall(plan: &Plan, totals: &Totals) {
    for (flow, totals) in plan.flows.iter().zip(&totals.flows) {
        for (end, info) in [("sender", &totals.sender), ("receiver", &totals.receiver)] {
            let stall = info.get().stall.map(transport::Stall::text);
            assert!(stall.is_none(), "flow `{}` stalled, {end}: {stall:?}", flow.name);
        }
    }
}

fn totals(
    plan: &Plan,
    engines: &mut Engines<'_, impl Observer>,
    marks: &[GoodputMarks],
    complete: bool,
) -> Totals {
    let state = engines.state();
    let flow = |(number, marks)| FlowTotals {
        drops: engines.drops(number),
        ..state.flow_totals(plan, number, marks)
    };
    Totals {
        flows: marks.iter().enumerate().map(flow).collect(),
        nodes: engines.node_totals(),
        changes: Vec::new(),
        measured: None,
        engine: engines.totals(),
        ending: Ending { at: state.now(), complete },
        ports: engines.port_totals(),
    }
}
