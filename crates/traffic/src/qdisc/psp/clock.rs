//! The wire as a clock: it ticks once per byte time (paper 0, section 3.1).
//!
//! Whatever is put on the wire moves the clock by its own bytes, so no timer is read and none can
//! be late. Only while nothing is queued does real time move it. A wire that stands still although
//! packets are queued (the peer sent PAUSE, the driver came late) stops the clock: what was not
//! sent then is not sent as a burst afterwards.

use crate::units::{Bytes, Duration, Instant, PS_PER_SECOND, Rate, Serializer};

/// Picoseconds times bits per second in one byte time.
const PS_BITS_PER_BYTE: u64 = 8 * PS_PER_SECOND;

/// Counts the byte times of one wire.
#[derive(Clone, Copy, Debug)]
pub(super) struct WireClock {
    wire: Serializer,
    /// The byte time at which the frame now on the wire ends.
    position: u64,
    /// The same in real time, if the driver sends what it is given at once.
    busy_until: Instant,
    /// The part of a byte time that idling left over, in units of 1/`PS_BITS_PER_BYTE`.
    remainder: u64,
}

impl WireClock {
    /// A wire of this rate that has been idle up to now.
    pub(super) const fn new(rate: Rate) -> Self {
        Self { wire: Serializer::new(rate), position: 0, busy_until: Instant::ZERO, remainder: 0 }
    }

    /// The byte time at which the wire is free for the next frame.
    pub(super) const fn position(&self) -> u64 {
        self.position
    }

    /// Puts `bytes` (a frame and its overhead) on the wire, at `now` or when it is free.
    pub(super) fn occupy(&mut self, bytes: u64, now: Instant) {
        self.position = self.position.saturating_add(bytes);
        self.busy_until = self.busy_until.max(now) + self.wire.advance(Bytes(bytes));
    }

    /// Lets the wire idle until `now`; nothing happens if it is still busy then.
    pub(super) fn idle_until(&mut self, now: Instant) {
        if now <= self.busy_until {
            return;
        }
        let (bytes, remainder) = self.bytes_in(now - self.busy_until, self.remainder);
        self.position = self.position.saturating_add(bytes);
        self.remainder = remainder;
        self.busy_until = now;
    }

    /// The byte time that passes at `now`, rounded up: before [`Self::position`] while a frame is
    /// on the wire.
    pub(super) fn position_at(&self, now: Instant) -> u64 {
        let (ahead, _) = self.bytes_in(self.busy_until - now, 0);
        self.position.saturating_sub(ahead)
    }

    /// The first instant at which an idle wire will have reached `position`.
    pub(super) fn instant_of(&self, position: u64) -> Instant {
        let bytes = u128::from(position.saturating_sub(self.position));
        let ticks = (bytes * u128::from(PS_BITS_PER_BYTE)).saturating_sub(self.remainder.into());
        let ps = ticks.div_ceil(self.wire.rate().bits_per_second().into());
        self.busy_until + Duration::from_ps(u64::try_from(ps).unwrap_or(u64::MAX))
    }

    /// The whole byte times within `span`, with `carried` left over from before, and what is left
    /// over now.
    fn bytes_in(&self, span: Duration, carried: u64) -> (u64, u64) {
        let rate = self.wire.rate().bits_per_second();
        let ticks = span.as_ps().checked_mul(rate).and_then(|ticks| ticks.checked_add(carried));
        if let Some(ticks) = ticks {
            return (ticks / PS_BITS_PER_BYTE, ticks % PS_BITS_PER_BYTE);
        }
        wide_div(
            u128::from(span.as_ps()) * u128::from(rate) + u128::from(carried),
            PS_BITS_PER_BYTE,
        )
    }
}

/// The quotient, saturating, and the remainder.
#[cold]
pub(super) fn wide_div(dividend: u128, divisor: u64) -> (u64, u64) {
    let divisor = u128::from(divisor);
    let quotient = u64::try_from(dividend / divisor).unwrap_or(u64::MAX);
    (quotient, (dividend % divisor) as u64)
}
