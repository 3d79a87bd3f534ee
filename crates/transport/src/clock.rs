//! The timestamp clock: a counter that ticks (RFC 7323, section 5.4).

use base::{Duration, Instant};

/// Reads as one more than the ticks since the run began, so that no reading is zero at its start.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimestampClock {
    tick: Duration,
    value: u32,
    /// The reading holds until then.
    until: Instant,
}

impl TimestampClock {
    pub(crate) fn new(tick: Duration) -> Self {
        Self { tick, value: 1, until: Instant::ZERO + tick }
    }

    /// Whether the last reading is still the one at `now`.
    #[inline]
    pub(crate) fn holds(&self, now: Instant) -> bool {
        now < self.until
    }

    /// Returns the reading at `now`, which never goes back. It is recomputed only when the tick has changed.
    #[inline]
    pub(crate) fn read(&mut self, now: Instant) -> u32 {
        if now >= self.until {
            self.tick(now);
        }
        self.value
    }

    #[cold]
    #[inline(never)]
    fn tick(&mut self, now: Instant) {
        let ticks = now.as_ps() / self.tick.as_ps();
        self.value = (ticks as u32).wrapping_add(1);
        self.until = Instant::from_ps(ticks * self.tick.as_ps()) + self.tick;
    }
}
