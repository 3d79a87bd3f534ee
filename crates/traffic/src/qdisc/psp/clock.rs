//! The wire as a clock: it ticks once per byte time (paper 0, section 3.1).
//!
//! Each frame on the wire moves the clock by its own bytes, so no timer is read and none can be late. Real
//! time moves the clock only while nothing is queued. If the wire stops although packets are queued (the peer
//! sent PAUSE, the driver is late), the clock stops too: the packets not sent then are not sent as a burst
//! afterwards.
//!
//! The port reports when the wire is free. That does not give the byte time, which stops while the wire is
//! stopped, and advances in parts of a byte time while the wire idles. The clock therefore keeps the number
//! of byte times, and the instant up to which those of an idle wire are counted; after a frame that is when
//! the wire is free.

use crate::discipline::WireClock;
use base::units::{Duration, Instant, PS_PER_SECOND, Rate};

/// Picoseconds times bits per second in one byte time.
const PS_BITS_PER_BYTE: u64 = 8 * PS_PER_SECOND;

/// Counts the byte times of one link.
#[derive(Clone, Copy, Debug)]
pub(super) struct ByteClock {
    /// The rate of the wire, in bits per second.
    rate: u64,
    /// The byte time when the frame now on the wire ends.
    position: u64,
    /// The instant up to which idle time is counted.
    idled_until: Instant,
    /// The part of a byte time left over from idle time, in units of 1/`PS_BITS_PER_BYTE`.
    remainder: u64,
}

impl ByteClock {
    /// The clock of a link of this rate that was idle up to now.
    pub(super) const fn new(rate: Rate) -> Self {
        let rate = rate.bits_per_second();
        Self { rate, position: 0, idled_until: Instant::ZERO, remainder: 0 }
    }

    /// The wire has another rate from now on. Its idle time so far is counted before.
    pub(super) const fn set_rate(&mut self, rate: Rate) {
        self.rate = rate.bits_per_second();
    }

    /// The byte time when the wire is free for the next frame.
    pub(super) const fn position(&self) -> u64 {
        self.position
    }

    /// Puts `bytes` (a frame and its overhead) on the wire.
    pub(super) fn occupy(&mut self, bytes: u64) {
        self.position = self.position.saturating_add(bytes);
    }

    /// The instant of [`Self::position`], if the wire sends each frame at once.
    fn instant(&self, wire: WireClock) -> Instant {
        self.idled_until.max(wire.free)
    }

    /// Lets the wire idle until now; does nothing if it is still busy then.
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

    /// The current byte time, rounded up: before [`Self::position`] while a frame is on the wire.
    pub(super) fn position_now(&self, wire: WireClock) -> u64 {
        let (ahead, _) = self.bytes_in(self.instant(wire) - wire.now, 0);
        self.position.saturating_sub(ahead)
    }

    /// The first instant when an idle wire reaches `position`.
    pub(super) fn instant_of(&self, position: u64, wire: WireClock) -> Instant {
        let bytes = u128::from(position.saturating_sub(self.position));
        let ticks = (bytes * u128::from(PS_BITS_PER_BYTE)).saturating_sub(self.remainder.into());
        let ps = ticks.div_ceil(self.rate.into());
        self.instant(wire) + Duration::from_ps(u64::try_from(ps).unwrap_or(u64::MAX))
    }

    /// The whole byte times within `span`, with `carried` left over from before, and the new remainder.
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
