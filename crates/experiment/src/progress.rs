//! Control of runs from outside, and their progress reports.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use base::Instant;
use scenario::Plan;

use crate::execution::{Job, Outcome};

/// The number of steps of one run, as [`Progress::advance`] counts them.
pub const STEPS: u64 = 1_000;

/// The control of runs from outside while they are executed.
#[derive(Clone, Copy)]
pub struct Steering<'a> {
    /// Set to end all runs early; what was measured so far is kept. Runs on a full disk set it, too.
    pub interrupted: &'a AtomicBool,
    /// Receives the progress of the runs.
    pub progress: &'a dyn Progress,
}

/// Receives the progress of runs, from the threads that execute them. `()` ignores it.
pub trait Progress: Sync {
    /// A run has advanced by `steps` of its [`STEPS`]; a run that reaches its end has taken all of them.
    fn advance(&self, steps: u64);

    /// One run is executed in addition to those planned.
    fn add_run(&self) {}

    /// A run has ended, complete or not.
    fn ended(&self, _job: &Job, _outcome: &Outcome) {}
}

impl Progress for () {
    fn advance(&self, _steps: u64) {}
}

impl Steering<'_> {
    /// A function that reports the progress of one run; its argument is the simulated time reached.
    pub(crate) fn of(&self, plan: &Plan) -> impl Fn(Instant) + Sync {
        let (length, done) = (plan.duration.as_ps().max(1), AtomicU64::new(0));
        move |now| {
            // Below 2^64: at most STEPS.
            let step = (u128::from(now.as_ps()) * u128::from(STEPS) / u128::from(length)) as u64;
            let before = done.swap(step, Ordering::Relaxed);
            if step > before {
                self.progress.advance(step - before);
            }
        }
    }
}
