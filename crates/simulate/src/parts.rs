//! A run in parts on several threads. Its results are those of a run on one.
//!
//! The first part runs on the driver's thread. Each other part travels to its thread when there is enough to do, and comes
//! back before the driver reads or changes anything.

use std::convert::Infallible;
use std::num::NonZeroUsize;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{self, Scope};

use base::{Fault, Instant};
use engine::{Engine, Engines, Part, Partition, Tally, World};
use network::Observer;
use record::Steering;
use record::totals::{FlowTotals, Totals};
use scenario::{Plan, capability};

use crate::capability::CAPABILITIES;
use crate::run::{EVENTS, Finished, Simulation, drive, run, run_whole};
use crate::windows::{Limit, Passed, Windows};

/// The events that are worth the time of sending the parts to their threads, some tens of microseconds. In debug builds,
/// here and below, few are enough, so that tests run on several threads.
const EVENTS_MIN: u64 = if cfg!(debug_assertions) { 1 << 6 } else { 1 << 12 };

/// The events in a window that are worth a meeting of the threads, a microsecond.
const EVENTS_OF_WINDOW_MIN: u64 = if cfg!(debug_assertions) { 1 << 2 } else { 1 << 5 };

/// The longest series of calls that run on one thread because the processors were busy.
const ALONE_MAX: u32 = 1 << 6;

/// Runs `plan` like [`crate::run`], on up to that many `cores`. The results are the same for any number of them. On several,
/// `observer` sees the events of the ports that it watches, and samples.
///
/// # Errors
/// A plan that it refuses.
pub fn run_on(
    plan: &Plan,
    cores: NonZeroUsize,
    observer: &mut impl Observer,
    steering: Steering<'_>,
) -> Result<Totals, Fault> {
    if cores == NonZeroUsize::MIN {
        return run(plan, observer, steering);
    }
    capability::check(CAPABILITIES, plan)?;
    let world = World::new(plan)?;
    let partition = Partition::new(plan, &world, cores, |port| observer.watches(port));
    if partition.parts() == 1 {
        return Ok(run_whole(plan, world, observer, steering));
    }
    let tally = Tally::new(plan, observer);
    let Finished { totals, snapshots, .. } = run_parts(plan, world, &partition, tally, steering);
    Ok(totals.measured(plan, snapshots))
}

/// Runs the parts of `world` to the end of `plan`, or to an interruption.
fn run_parts<O: Observer>(
    plan: &Plan,
    world: World,
    partition: &Partition,
    tally: Tally<O>,
    steering: Steering<'_>,
) -> Finished<Infallible> {
    let mut engines = partition.engines(world);
    engines.iter_mut().for_each(|engine| engine.look_ahead(plan, &tally));
    let others = engines.split_off(1).into_iter();
    let others = others.map(|engine| Part { engine, tally: Tally::new(plan, ()) }).collect();
    let windows = &Windows::new(partition);
    thread::scope(|scope| {
        let workers = (1..partition.parts()).map(|part| Worker::start(scope, windows, part));
        let (workers, last) = (workers.collect(), Passed::default());
        let engine = engines.swap_remove(0);
        let alone = [0; 2];
        let mut parts = Parts { engine, tally, others, partition, windows, workers, last, alone };
        drive(plan, &mut parts, steering)
    })
}

/// A world in parts.
struct Parts<'a, O> {
    engine: Engine,
    tally: Tally<O>,
    others: Vec<Part>,
    partition: &'a Partition,
    windows: &'a Windows,
    /// The threads of the others.
    workers: Vec<Worker>,
    /// What the last call of [`Simulation::advance`] did.
    last: Passed,
    /// The number of calls that run on this thread because the processors were busy, the last time and from now on.
    alone: [u32; 2],
}

/// A part's thread.
struct Worker {
    orders: Sender<(Part, Limit)>,
    results: Receiver<Part>,
}

impl Worker {
    /// Starts the thread of the part of that number. It ends when this is dropped.
    fn start<'s>(scope: &'s Scope<'s, '_>, windows: &'s Windows, number: usize) -> Self {
        let (orders, received) = channel::<(Part, Limit)>();
        let (done, results) = channel();
        scope.spawn(move || {
            let _guard = windows.barrier().guard();
            for (mut part, limit) in received {
                let Part { engine, tally } = &mut part;
                if windows.run(number, engine, tally, limit).is_none() || done.send(part).is_err() {
                    return;
                }
            }
        });
        Self { orders, results }
    }
}

impl<O: Observer> Parts<'_, O> {
    /// Runs each part on its thread.
    fn run_together(&mut self, limit: Limit) -> Passed {
        let _guard = self.windows.barrier().guard();
        for (worker, part) in self.workers.iter().zip(self.others.drain(..)) {
            worker.orders.send((part, limit)).expect("its thread waits for orders");
        }
        let passed = self.windows.run(0, &mut self.engine, &mut self.tally, limit);
        let passed = passed.expect("no part panics");
        let results = self.workers.iter().map(|worker| worker.results.recv());
        self.others.extend(results.map(|part| part.expect("its thread ran to the limit")));
        passed
    }

    /// Runs all parts on this thread.
    fn run_alone(&mut self, limit: Limit) -> Passed {
        let Self { engine, tally, others, windows, .. } = self;
        let mut passed = Passed::default();
        loop {
            windows.receive(0, engine, &passed);
            for (number, part) in (1..).zip(others.iter_mut()) {
                windows.receive(number, &mut part.engine, &passed);
            }
            let Some(end) = windows.next(&mut passed, limit) else { break };
            windows.run_one(0, engine, tally, &passed, end);
            for (number, Part { engine, tally }) in (1..).zip(others.iter_mut()) {
                windows.run_one(number, engine, tally, &passed, end);
            }
        }
        if passed.reached {
            engine.run_until(limit.until, tally);
            for Part { engine, tally } in others {
                engine.run_until(limit.until, tally);
            }
        }
        passed
    }
}

impl<O: Observer> Simulation<O> for Parts<'_, O> {
    type Failure = Infallible;

    fn advance(&mut self, now: Instant) -> Result<bool, Infallible> {
        self.windows.begin(0, &mut self.engine);
        for (number, part) in (1..).zip(&mut self.others) {
            self.windows.begin(number, &mut part.engine);
        }
        let limit = Limit { until: now, events: EVENTS };
        let Passed { windows, events, .. } = self.last;
        let is_worthwhile = events >= EVENTS_MIN.max(windows * EVENTS_OF_WINDOW_MIN);
        let left = &mut self.alone[1];
        if is_worthwhile && *left == 0 {
            self.last = self.run_together(limit);
            if self.last.is_crowded {
                self.alone = [(2 * self.alone[0]).clamp(1, ALONE_MAX); 2];
                // This call did too little to say what the next one is worth.
                (self.last.windows, self.last.events) = (windows, events);
            } else {
                self.alone = [0; 2];
            }
        } else {
            *left = left.saturating_sub(1);
            self.last = self.run_alone(limit);
        }
        Ok(self.last.reached)
    }

    fn sample(&mut self, plan: &Plan, now: Instant) {
        self.engines().sample_flows(plan, now);
    }

    fn add_counts(&self, _flows: &mut [FlowTotals]) {}

    fn engines(&mut self) -> Engines<'_, O> {
        let Self { engine, tally, others, partition, .. } = self;
        Engines::of_parts(engine, tally, others, partition)
    }
}
