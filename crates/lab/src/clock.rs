//! The lab's clock: time since the run's epoch. It is the only code of the product that reads a clock for packets.

use std::time;

use base::{Duration, Instant};
use nix::sys::time::TimeSpec;
use nix::time::ClockId;

/// Reads the time since an epoch; copies agree.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    /// The epoch on the system's monotonic clock.
    epoch: time::Duration,
}

/// The longest single wait.
const DAY: time::Duration = time::Duration::from_secs(86_400);

impl Clock {
    /// Creates a clock whose epoch is `ahead` from now.
    pub fn starting_in(ahead: time::Duration) -> Self {
        Self { epoch: monotonic() + ahead }
    }

    /// Creates a clock whose epoch is at `stamp` of the system's wall clock, counted from 1970; `None` if that has
    /// passed.
    #[allow(clippy::disallowed_methods, reason = "the simulator gives the start by the wall clock")]
    pub fn starting_when(stamp: time::Duration) -> Option<Self> {
        let ahead = (time::UNIX_EPOCH + stamp).duration_since(time::SystemTime::now());
        ahead.ok().map(Self::starting_in)
    }

    /// The time; zero before the epoch.
    #[inline]
    pub fn now(&self) -> Instant {
        let since = monotonic().saturating_sub(self.epoch);
        // 2^64 ps are 213 days.
        Instant::from_ps((since.as_nanos() as u64).saturating_mul(1_000))
    }

    /// The time until `at`: zero if it has passed, and at most a day.
    pub fn until(&self, at: Instant) -> time::Duration {
        self.on_system(at).saturating_sub(monotonic()).min(DAY)
    }

    /// The time of the system's monotonic clock at `at`, rounded up to a nanosecond.
    pub fn on_system(&self, at: Instant) -> time::Duration {
        self.epoch + time::Duration::from_nanos(at.since(Instant::ZERO).as_ps().div_ceil(1_000))
    }

    /// The time at which the system's wall clock showed `stamp`, counted from 1970, by its distance from now.
    #[allow(clippy::disallowed_methods, reason = "the kernel stamps packets by the wall clock")]
    pub fn when(&self, stamp: time::Duration) -> Instant {
        let ago = time::SystemTime::now().duration_since(time::UNIX_EPOCH + stamp);
        let ago = Duration::from_ns(ago.unwrap_or_default().as_nanos() as u64);
        Instant::from_ps(self.now().as_ps().saturating_sub(ago.as_ps()))
    }
}

/// Converts a span to the type of the system's clocks, to the nanosecond.
pub fn system(span: Duration) -> time::Duration {
    time::Duration::from_nanos(span.as_ps() / 1_000)
}

/// The time of the system's monotonic clock.
fn monotonic() -> time::Duration {
    // Every Linux has this clock.
    ClockId::CLOCK_MONOTONIC.now().unwrap_or(TimeSpec::new(0, 0)).into()
}
