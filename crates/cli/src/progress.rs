//! The progress bar: on stderr, only if that is a terminal and the work lasts over a second.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use scenario::Plan;

use crate::meter::clock;

/// Steps of one run.
const STEPS: u64 = 1000;
/// Work that is done sooner shows no bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// The progress of one or many runs.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    began: Instant,
    quiet: bool,
}

impl Progress {
    /// For `runs` runs; `quiet` draws nothing.
    pub(crate) fn new(runs: usize, quiet: bool) -> Self {
        let bar =
            ProgressBar::with_draw_target(Some(STEPS * runs as u64), ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template("{msg} {wide_bar} {percent:>3} %  {eta} left");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        Self { bar, began: clock(), quiet }
    }

    /// One run's part of it, to be told the simulated time reached.
    pub(crate) fn of<'a>(&'a self, plan: &Plan) -> impl Fn(traffic::Instant) + Sync + use<'a> {
        let (length, done) = (plan.duration.as_ps().max(1), AtomicU64::new(0));
        move |now| {
            // Below 2^64: at most STEPS.
            let step = u128::from(now.as_ps()) * u128::from(STEPS) / u128::from(length);
            let step = step as u64;
            let before = done.swap(step, Ordering::Relaxed);
            if step > before {
                self.advance(step - before);
            }
        }
    }

    /// One run more than was said.
    pub(crate) fn again(&self) {
        self.bar.inc_length(STEPS);
    }

    fn advance(&self, steps: u64) {
        if self.bar.is_hidden() && !self.quiet && self.began.elapsed() > PATIENCE {
            // Draws nothing where stderr is no terminal.
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            self.bar.set_message("simulating");
        }
        self.bar.inc(steps);
    }

    /// Takes the bar away.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
