//! How runs are steered from outside, and what is told of them meanwhile.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use scenario::Plan;
use traffic::Instant;

use crate::execution::{Job, Outcome};

/// Steps of one run, as [`Progress::advance`] counts them.
pub const STEPS: u64 = 1_000;

/// How runs are steered from outside while they go on.
#[derive(Clone, Copy)]
pub struct Steering<'a> {
    /// Set to end all runs early; what was measured so far is kept. Runs whose disk is full set it, too.
    pub interrupted: &'a AtomicBool,
    /// Told how far they have come.
    pub progress: &'a dyn Progress,
}

/// Is told how runs go on, by the threads that execute them. `()` takes no notice.
pub trait Progress: Sync {
    /// A run has come so many of its [`STEPS`] farther; one that comes to its end takes them all.
    fn advance(&self, steps: u64);

    /// One run more than was planned is executed.
    fn add_run(&self) {}

    /// A run has ended, at its end or before it.
    fn ended(&self, _job: &Job, _outcome: &Outcome) {}
}

impl Progress for () {
    fn advance(&self, _steps: u64) {}
}

impl Steering<'_> {
    /// One run's part of the progress, to be told the time reached.
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
