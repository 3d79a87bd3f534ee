//! The timer by which a discipline waits: with the period of a machine's clock interrupt, or as fine as is
//! needed.

use traffic::{Duration, Instant};

/// A timer that goes off with a tick only.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Timer {
    /// Its period; zero for a timer as fine as is needed.
    tick: Duration,
    /// When it goes off, as it was set last.
    alarm: Instant,
}

impl Timer {
    /// A timer of that period.
    pub(crate) fn new(tick: Duration) -> Self {
        Self { tick, alarm: Instant::ZERO }
    }

    /// When the timer goes off that is set at `now` for `at`. As ALTQ sets it, a wait of up to two ticks
    /// is two, the 0.02 s of paper 1, for the next tick may be arbitrarily near; a longer one is rounded
    /// up, and the tick that runs does not count. One that runs already is not set anew.
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
