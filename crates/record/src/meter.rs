//! The cost of a run: processor time of the simulation, wall-clock time, memory of the process.

use std::time::Instant;

use crate::totals::Cost;
use nix::sys::resource::{UsageWho, getrusage};
use nix::time::{ClockId, clock_gettime};

/// Measures from its creation; for one run.
#[derive(Debug)]
pub struct Meter {
    wall: Instant,
    /// The clock of this thread, or of the process.
    clock: ClockId,
    processor: f64,
}

impl Meter {
    /// Starts measuring this thread.
    pub fn start() -> Self {
        Self::with(ClockId::CLOCK_THREAD_CPUTIME_ID)
    }

    /// Starts measuring all threads of the process.
    pub fn of_process() -> Self {
        Self::with(ClockId::CLOCK_PROCESS_CPUTIME_ID)
    }

    fn with(id: ClockId) -> Self {
        Self { wall: clock(), clock: id, processor: seconds(id) }
    }

    /// The cost since the start.
    pub fn read(&self) -> Cost {
        Cost {
            cpu_seconds: seconds(self.clock) - self.processor,
            wall_seconds: self.wall.elapsed().as_secs_f64(),
            peak_rss_bytes: peak_rss_bytes(),
        }
    }
}

/// The wall clock, for showing elapsed time to users; never for results.
#[allow(clippy::disallowed_methods, reason = "measures the program itself, not what it simulates")]
pub fn clock() -> Instant {
    Instant::now()
}

/// User and system time of this thread.
pub fn thread_seconds() -> f64 {
    seconds(ClockId::CLOCK_THREAD_CPUTIME_ID)
}

fn seconds(clock: ClockId) -> f64 {
    let time = clock_gettime(clock);
    time.map_or(0.0, |time| time.tv_sec() as f64 + time.tv_nsec() as f64 * 1e-9)
}

/// The peak memory of the process.
fn peak_rss_bytes() -> u64 {
    // getrusage(2): kilobytes on Linux and the BSDs, bytes on macOS.
    let unit = if cfg!(target_os = "macos") { 1 } else { 1024 };
    let usage = getrusage(UsageWho::RUSAGE_SELF);
    usage.map_or(0, |usage| u64::try_from(usage.max_rss()).unwrap_or(0) * unit)
}
