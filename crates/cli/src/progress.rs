//! The progress bar: on stderr, only if that is a terminal and the work lasts over a second.

use std::fmt::Write;
use std::time::{Duration, Instant};

use experiment::STEPS;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use record::meter::clock;
use scenario::Plan;

/// Work that ends sooner shows no bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// The progress of one or many runs.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: ProgressBar,
    began: Instant,
    quiet: bool,
    what: &'static str,
}

impl Progress {
    /// For `runs` runs; `quiet` draws nothing.
    pub(crate) fn new(runs: usize, quiet: bool) -> Self {
        let left = |state: &ProgressState, out: &mut dyn Write| write_time(state.eta(), out);
        Self::with("simulating", STEPS * runs as u64, quiet, left)
    }

    /// For one run in real time, with a known duration.
    pub(crate) fn in_real_time(plan: &Plan, quiet: bool) -> Self {
        let seconds = plan.duration.as_secs_f64();
        let left = move |state: &ProgressState, out: &mut dyn Write| {
            let left = seconds * f64::from(1.0 - state.fraction());
            write_time(Duration::try_from_secs_f64(left.ceil()).unwrap_or_default(), out);
        };
        Self::with("real packets", STEPS, quiet, left)
    }

    /// For `pieces` units of other work; call [`Progress::step`] after each.
    pub(crate) fn of_work(what: &'static str, pieces: usize, quiet: bool) -> Self {
        let left = |state: &ProgressState, out: &mut dyn Write| write_time(state.eta(), out);
        Self::with(what, pieces as u64, quiet, left)
    }

    fn with(
        what: &'static str,
        steps: u64,
        quiet: bool,
        left: impl Fn(&ProgressState, &mut dyn Write) + Clone + Send + Sync + 'static,
    ) -> Self {
        let bar = ProgressBar::with_draw_target(Some(steps), ProgressDrawTarget::hidden());
        let style = ProgressStyle::with_template("{msg} {wide_bar} {percent:>3} %  {left} left");
        let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
        bar.set_style(style.with_key("left", left));
        Self { bar, began: clock(), quiet, what }
    }

    /// Advances by one unit of work.
    pub(crate) fn step(&self) {
        self.grow(1);
    }

    fn grow(&self, steps: u64) {
        if self.bar.is_hidden() && !self.quiet && self.began.elapsed() > PATIENCE {
            // Draws nothing if stderr is not a terminal.
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            self.bar.set_message(self.what);
        }
        self.bar.inc(steps);
    }

    /// Removes the bar.
    pub(crate) fn finish(&self) {
        self.bar.finish_and_clear();
    }
}

impl experiment::Progress for Progress {
    fn advance(&self, steps: u64) {
        self.grow(steps);
    }

    fn add_run(&self) {
        self.bar.inc_length(STEPS);
    }
}

/// Writes a time as "12 s" or "3 min 20 s".
fn write_time(time: Duration, out: &mut dyn Write) {
    let (minutes, seconds) = (time.as_secs() / 60, time.as_secs() % 60);
    // Writing to a string does not fail.
    let _ = match minutes {
        0 => write!(out, "{seconds} s"),
        minutes => write!(out, "{minutes} min {seconds} s"),
    };
}
