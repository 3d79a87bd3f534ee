//! The timer that disciplines wait for: with the period of a machine's clock interrupt, or an ideal one.

use base::{Duration, Instant};

/// A timer that expires only at ticks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Timer {
    /// The period; zero for an ideal timer.
    tick: Duration,
    /// The expiry time as last set.
    alarm: Instant,
}

impl Timer {
    /// A timer of that period.
    pub(crate) fn new(tick: Duration) -> Self {
        Self { tick, alarm: Instant::ZERO }
    }

    /// Sets the timer at `now` for `at`, and returns its expiry time. As in ALTQ, a wait of up to two ticks is two,
    /// the 0.02 s of paper 1, because the next tick may be arbitrarily near. A longer wait is rounded up, and the
    /// present tick does not count. A timer that is already running is not restarted.
    pub(crate) fn goes_off(&mut self, now: Instant, at: Instant) -> Instant {
        if self.tick == Duration::ZERO || at == Instant::NEVER {
            return at;
        }
        let tick = self.tick.as_ps();
        let wait = (at - now).as_ps().div_ceil(tick);
        let ticks = if wait <= 2 { 2 } else { wait + 1 };
        let ticks = (now.as_ps() / tick).saturating_add(ticks);
        let alarm = Instant::from_ps(ticks.saturating_mul(tick));
        self.alarm = if self.alarm > now { self.alarm.min(alarm) } else { alarm };
        self.alarm
    }
}
