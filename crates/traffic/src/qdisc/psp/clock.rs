//! The wire as a clock: it ticks once per byte time (paper 0, section 3.1).
//!
//! Whatever is put on the wire moves the clock by its own bytes, so no timer is read and none can
//! be late. Only while nothing is queued does real time move it. A wire that stands still although
//! packets are queued (the peer sent PAUSE, the driver came late) stops the clock: what was not
//! sent then is not sent as a burst afterwards.
//!
//! When the wire is free, the port says. Its time cannot be had from that: it does not pass while a wire
//! stands still, and it passes by idling, part of a byte time after another. So what is kept here is how many
//! byte times there were, and up to when those of an idle wire are counted; after a frame that is when the
//! wire is free.

use crate::discipline::WireClock;
use crate::units::{Duration, Instant, PS_PER_SECOND, Rate};

/// Picoseconds times bits per second in one byte time.
const PS_BITS_PER_BYTE: u64 = 8 * PS_PER_SECOND;

/// Counts the byte times of one wire.
#[derive(Clone, Copy, Debug)]
pub(super) struct ByteClock {
    /// Of the wire, in bits per second.
    rate: u64,
    /// The byte time at which the frame now on the wire ends.
    position: u64,
    /// Up to when idling is counted.
    idled_until: Instant,
    /// The part of a byte time that idling left over, in units of 1/`PS_BITS_PER_BYTE`.
    remainder: u64,
}

impl ByteClock {
    /// A wire of this rate that has been idle up to now.
    pub(super) const fn new(rate: Rate) -> Self {
        let rate = rate.bits_per_second();
        Self { rate, position: 0, idled_until: Instant::ZERO, remainder: 0 }
    }

    /// The byte time at which the wire is free for the next frame.
    pub(super) const fn position(&self) -> u64 {
        self.position
    }

    /// Puts `bytes` (a frame and its overhead) on the wire.
    pub(super) fn occupy(&mut self, bytes: u64) {
        self.position = self.position.saturating_add(bytes);
    }

    /// When it is [`Self::position`], if the wire sends what it is given at once.
    fn instant(&self, wire: WireClock) -> Instant {
        self.idled_until.max(wire.free)
    }

    /// Lets the wire idle until now; nothing happens if it is still busy then.
    pub(super) fn idle(&mut self, wire: WireClock) {
        let since = self.instant(wire);
        if wire.now <= since {
            return;
        }
        let (bytes, remainder) = self.bytes_in(wire.now - since, self.remainder);
        self.position = self.position.saturating_add(bytes);
        self.remainder = remainder;
        self.idled_until = wire.now;
    }

    /// The byte time that passes now, rounded up: before [`Self::position`] while a frame is on the wire.
    pub(super) fn position_now(&self, wire: WireClock) -> u64 {
        let (ahead, _) = self.bytes_in(self.instant(wire) - wire.now, 0);
        self.position.saturating_sub(ahead)
    }

    /// The first instant at which an idle wire will have reached `position`.
    pub(super) fn instant_of(&self, position: u64, wire: WireClock) -> Instant {
        let bytes = u128::from(position.saturating_sub(self.position));
        let ticks = (bytes * u128::from(PS_BITS_PER_BYTE)).saturating_sub(self.remainder.into());
        let ps = ticks.div_ceil(self.rate.into());
        self.instant(wire) + Duration::from_ps(u64::try_from(ps).unwrap_or(u64::MAX))
    }

    /// The whole byte times within `span`, with `carried` left over from before, and what is left
    /// over now.
    fn bytes_in(&self, span: Duration, carried: u64) -> (u64, u64) {
        let ticks = span.as_ps().checked_mul(self.rate);
        if let Some(ticks) = ticks.and_then(|ticks| ticks.checked_add(carried)) {
            return (ticks / PS_BITS_PER_BYTE, ticks % PS_BITS_PER_BYTE);
        }
        wide_div(
            u128::from(span.as_ps()) * u128::from(self.rate) + u128::from(carried),
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
