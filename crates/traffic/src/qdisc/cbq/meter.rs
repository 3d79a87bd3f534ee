//! The estimator: how far a class is above or below its rate.
//!
//! Floyd and Van Jacobson (ToN 1995, appendix) let an exponentially weighted average of a class's idle
//! time decide: `idle` is the time between two of its packets less the time the packet takes at the
//! class's rate, and `avgidle <- avgidle * 31/32 + idle` (here as in ALTQ scaled by 2^5). A class whose
//! average is not above zero is over its limit until its silence has brought it back to zero.
//!
//! The average forgets a 32nd of itself with every packet, of credit as of debt. Over n packets the sum
//! of the idle times, which a class that keeps exactly to its rate has at zero, is then a 32nd of the
//! sum of the averages: a class that sends in bursts (a late timer, another class's turn) or whose
//! packets differ in length sends at another rate than its own, by some per cent up to a fifth. That is
//! the imprecision ALTQ's manual owns to, apart from its nanoseconds per byte.
//!
//! [`Estimator::Exact`] therefore departs from the paper: what each step forgets is put back, so that
//! the average becomes the sum of the idle times, in picoseconds with the remainder carried. It is kept
//! by the instant `due` at which that sum is zero. Bursts keep the paper's bounds: `maxidle` is the
//! credit with which `maxburst` packets go back to back, and `offtime` the silence that earns
//! `minburst` of them. [`Estimator::Average`] is the paper's, for comparison.

use alloc::boxed::Box;

use super::Estimator;
use crate::units::{Bytes, Duration, Instant, Rate, Serializer};

/// The average's gain is 2^-5 (ALTQ's `RM_FILTER_GAIN`).
const GAIN_SHIFT: u32 = 5;

/// What the meter must know of a class.
#[derive(Clone, Copy, Debug)]
pub(super) struct Profile {
    pub(super) estimator: Estimator,
    pub(super) rate: Rate,
    /// The line's rate.
    pub(super) line: Rate,
    /// The class's usual frame.
    pub(super) packet: Bytes,
    /// What a frame costs on the wire beyond its own bytes.
    pub(super) overhead: Bytes,
    /// The longest frame.
    pub(super) frame: Bytes,
    /// Packets that may go back to back after silence; at least 1.
    pub(super) burst_max: u32,
    /// Packets for which a regulated class waits; at least 1.
    pub(super) burst_min: u32,
    /// The credit that silence earns at most, if not for `burst_max` packets; such a class waits for none.
    pub(super) credit: Option<Duration>,
}

/// A packet on its way out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Departure {
    /// Frame length in bytes.
    pub(super) length: Bytes,
    /// When it starts on the wire.
    pub(super) at: Instant,
    /// How long it holds the wire.
    pub(super) wire: Duration,
    /// Silence before this instant earns no more than `maxidle`; from it on the wire was busy, and the
    /// class not silent but waiting for its turn.
    pub(super) since: Instant,
}

/// The exponentially weighted average idle time.
#[derive(Clone, Copy, Debug)]
struct Average {
    /// In units of 2^-5 ps.
    value: i64,
    /// The same unit: `maxidle`.
    max: i64,
    /// The same unit: `minidle`.
    min: i64,
    /// When the packet before was off the wire.
    last: Instant,
}

/// One class's estimator.
#[derive(Clone, Debug)]
pub(super) struct Meter {
    serializer: Serializer,
    /// When all credit has been earned, if nothing is sent until then: `due` and `credit_max` after it.
    /// Unlike `due` this never lies before the start of the run.
    full: Instant,
    credit_max: Duration,
    /// `offtime` less the packet's own time: how long after `due` a regulated class waits.
    pause: Duration,
    average: Option<Box<Average>>,
}

impl Meter {
    pub(super) fn new(profile: Profile) -> Self {
        let Profile { estimator, rate, line, packet, overhead, frame, .. } = profile;
        // What a packet that follows at once takes of the credit (ALTQ's `ptime`).
        let cost = rate.time_for(packet) - line.time_for(packet + overhead);
        // For so many packets after the first; half of another one, so that no rounding takes the last.
        let credit = |packets: u32| match estimator {
            Estimator::Exact => cost.times(packets.into()) + half(cost),
            Estimator::Average => averaged_credit(cost, packets) + half(cost),
        };
        let credit_max =
            profile.credit.unwrap_or_else(|| credit(profile.burst_max.saturating_sub(1)));
        let average = (estimator == Estimator::Average).then(|| {
            Box::new(Average {
                value: 0,
                max: signed(credit_max).max(1),
                min: -signed(rate.time_for(frame)),
                last: Instant::ZERO,
            })
        });
        let pause = match profile.burst_min {
            2.. if profile.credit.is_none() => credit(profile.burst_min - 1),
            _ => Duration::ZERO,
        };
        // A promised burst may come at once; other credit has to be earned from the start on.
        let earned = if profile.credit.is_some() { Duration::ZERO } else { credit_max };
        let full = Instant::ZERO + earned;
        Self { serializer: Serializer::new(rate), full, credit_max, pause, average }
    }

    /// A meter that never finds its class over the limit, as long as nothing is charged to it.
    pub(super) const fn unlimited(line: Rate) -> Self {
        Self {
            serializer: Serializer::new(line),
            full: Instant::ZERO,
            credit_max: Duration::ZERO,
            pause: Duration::ZERO,
            average: None,
        }
    }

    /// The class is over its limit before this instant (ALTQ's `undertime`).
    #[inline]
    pub(super) const fn due(&self) -> Instant {
        before(self.full, self.credit_max)
    }

    /// The credit that silence earns at most: `maxidle`.
    pub(super) const fn credit_max(&self) -> Duration {
        self.credit_max
    }

    /// When a class that waits alone has earned `minburst` packets.
    #[inline]
    pub(super) fn resume(&self) -> Instant {
        self.due() + self.pause
    }

    /// Takes over how far the class was, under other parameters.
    pub(super) fn continue_from(&mut self, other: &Self) {
        self.full = before(other.full + self.credit_max, other.credit_max);
        if let (Some(average), Some(before)) = (&mut self.average, &other.average) {
            average.value = before.value.clamp(average.min, average.max);
            average.last = before.last;
        }
    }

    /// Whatever silence before `now` earned beyond `maxidle` is forfeit.
    #[inline]
    pub(super) fn forfeit(&mut self, now: Instant) {
        self.full = self.full.max(now);
    }

    /// Counts a packet. The class's debt is at most `debt` before it: what it borrowed it need not give
    /// back (ALTQ's `minidle`).
    ///
    /// A packet never costs more than its own time, so a class that borrows loses nothing of its own
    /// rate; and the bound never binds for a class that does not borrow and is not bound to others.
    #[inline]
    pub(super) fn charge(&mut self, packet: Departure, debt: Duration) {
        let own = self.serializer.advance(packet.length);
        if self.average.is_some() {
            return self.charge_average(packet, own);
        }
        let Departure { at, since, .. } = packet;
        self.full = self.full.max(since).min(at + debt + self.credit_max) + own;
    }

    #[inline(never)]
    fn charge_average(&mut self, packet: Departure, own: Duration) {
        if let Some(average) = &mut self.average {
            self.full = average.charge(packet, own) + self.credit_max;
        }
    }
}

impl Average {
    /// Counts a packet that takes `own` at the class's rate; when the class is within its limit again.
    fn charge(&mut self, packet: Departure, own: Duration) -> Instant {
        let done = packet.at + packet.wire;
        let idle = signed(done.since(self.last)).saturating_sub(signed(own));
        let value = self.value.saturating_sub(self.value >> GAIN_SHIFT).saturating_add(idle);
        self.last = done;
        self.value = value.clamp(self.min, self.max);
        if self.value > 0 {
            return packet.at;
        }
        // Idle time that brings the average back to zero: 31/32 of what it lacks.
        let lacks = self.value.unsigned_abs();
        packet.at + own + Duration::from_ps(lacks - (lacks >> GAIN_SHIFT))
    }
}

/// `32 * cost * (g^-n - 1)` with g = 31/32: the average, scaled by 2^5, that n packets back to back
/// bring to zero (ALTQ's formula for `maxidle`).
fn averaged_credit(cost: Duration, packets: u32) -> Duration {
    // g^-n in units of 2^-32; what passes 2^63 is more than any class can use.
    let mut power = 1_u128 << 32;
    for _ in 0..packets {
        power = (power * 32 / 31).min(1 << 63);
    }
    let credit = (u128::from(cost.as_ps()) << GAIN_SHIFT).saturating_mul(power - (1 << 32)) >> 32;
    Duration::from_ps(u64::try_from(credit).unwrap_or(u64::MAX))
}

const fn before(instant: Instant, span: Duration) -> Instant {
    Instant::from_ps(instant.as_ps().saturating_sub(span.as_ps()))
}

fn half(span: Duration) -> Duration {
    Duration::from_ps(span.as_ps() / 2)
}

fn signed(span: Duration) -> i64 {
    i64::try_from(span.as_ps()).unwrap_or(i64::MAX)
}
