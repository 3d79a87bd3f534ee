//! Common parts of `send` and `recv`.

pub(crate) mod keygen;
pub(crate) mod recv;
pub(crate) mod send;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use ::transfer::{Code, Meter};
use base::Bytes;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use scenario::Units;

use crate::failure::Failure;

/// The environment variable for a code, which keeps it out of process lists.
const CODE: &str = "SUIMON_CODE";

/// Interval between updates of the progress bar.
const TICK: Duration = Duration::from_millis(200);

/// The code in the environment; none if the variable is unset or empty.
fn code_of_environment() -> Result<Option<Code>, Failure> {
    match std::env::var(CODE) {
        Ok(text) if !text.is_empty() => Ok(Some(text.parse()?)),
        _ => Ok(None),
    }
}

/// Parses how long a peer may be silent.
fn timeout(text: &str) -> Result<base::Duration, String> {
    let time = scenario::quantity::duration(text).map_err(|error| error.to_string())?;
    if time.as_us() < 2_000_000 {
        return Err("use 2 s or more: an idle peer sends a message each second".into());
    }
    Ok(time)
}

/// Bytes with a unit.
fn size(bytes: u64) -> String {
    Units::default().size(Bytes(bytes))
}

/// Bytes per second with a unit; 0 if no time has passed.
fn rate(bytes: u64, time: Duration) -> String {
    let seconds = time.as_secs_f64();
    let rate = if seconds > 0.0 { bytes as f64 / seconds } else { 0.0 };
    let unit = Units::default().rate;
    unit.best(rate).text(rate)
}

/// A number with a word, in the plural unless it is 1.
fn count(number: u64, word: &str) -> String {
    format!("{number} {word}{}", if number == 1 { "" } else { "s" })
}

/// A progress bar of what a meter counts, on stderr if that is a terminal.
struct Bar {
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Bar {
    fn new(meter: &Arc<Meter>, what: &'static str, quiet: bool) -> Self {
        let ended = Arc::new(AtomicBool::new(false));
        if quiet {
            return Self { ended, thread: None };
        }
        let (meter, until) = (Arc::clone(meter), Arc::clone(&ended));
        let thread = thread::spawn(move || draw(&meter, what, &until));
        Self { ended, thread: Some(thread) }
    }
}

fn draw(meter: &Meter, what: &'static str, ended: &AtomicBool) {
    let bar = ProgressBar::with_draw_target(Some(0), ProgressDrawTarget::hidden());
    let style = "{msg} {wide_bar} {decimal_bytes} of {decimal_total_bytes}  {decimal_bytes_per_sec}  {eta} left";
    bar.set_style(
        ProgressStyle::with_template(style).unwrap_or_else(|_| ProgressStyle::default_bar()),
    );
    bar.set_message(what);
    let mut kept = 0;
    while !ended.load(Ordering::Relaxed) {
        // Nothing is drawn until the total is known.
        if meter.total() > 0 && bar.is_hidden() {
            bar.set_length(meter.total());
            bar.set_draw_target(ProgressDrawTarget::stderr());
        }
        bar.set_position(meter.position());
        // Data that was already there must not count for the estimate.
        if meter.kept() != kept {
            kept = meter.kept();
            bar.reset_eta();
        }
        thread::park_timeout(TICK);
    }
    bar.finish_and_clear();
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            thread.thread().unpark();
            // A thread that panicked has already reported it.
            let _ = thread.join();
        }
    }
}
