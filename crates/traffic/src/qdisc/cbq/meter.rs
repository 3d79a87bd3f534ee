//! The estimator: how far a class is above or below its rate.
//!
//! Floyd and Van Jacobson (ToN 1995, appendix) decide by an exponentially weighted average of a class's idle
//! time. `idle` is the time between two packets of the class less the time that the packet takes at the
//! class's rate, and `avgidle <- avgidle * 31/32 + idle` (here scaled by 2^5, as in ALTQ). A class with an
//! average not above zero is over its limit until its silence brings the average back to zero.
//!
//! With every packet the average forgets a 32nd of itself, credit and debt alike. A class that keeps exactly
//! to its rate has a sum of idle times of zero. With the forgetting, this sum over n packets is a 32nd of the
//! sum of the averages. A class that sends in bursts (a late timer, another class's turn) or packets of
//! different lengths therefore misses its rate, by some per cent up to a fifth. ALTQ's manual admits this
//! imprecision, apart from its nanoseconds per byte.
//!
//! [`Estimator::Exact`] therefore departs from the paper: it puts back what each step forgets, so the average
//! becomes the sum of the idle times, in picoseconds with the remainder carried. The sum is stored as the
//! instant `due` when it is zero. Bursts keep the paper's bounds: `maxidle` is the credit for `maxburst`
//! back-to-back packets, and `offtime` is the silence that earns `minburst` of them. [`Estimator::Average`]
//! is the paper's, for comparison.

use alloc::boxed::Box;

use super::Estimator;
use base::units::{Bytes, Duration, Instant, Rate, Serializer};

/// The average's gain is 2^-5 (ALTQ's `RM_FILTER_GAIN`).
const GAIN_SHIFT: u32 = 5;

/// The properties of a class for its meter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Profile {
    pub(super) estimator: Estimator,
    pub(super) rate: Rate,
    /// The line's rate.
    pub(super) line: Rate,
    /// The class's usual frame.
    pub(super) packet: Bytes,
    /// The overhead of a frame on the wire.
    pub(super) overhead: Bytes,
    /// The longest frame.
    pub(super) frame: Bytes,
    /// Packets that may go back to back after silence; at least 1.
    pub(super) burst_max: u32,
    /// Packets for which a regulated class waits; at least 1.
    pub(super) burst_min: u32,
    /// The maximum credit from silence, if it is not that of `burst_max` packets; such a class waits for
    /// none.
    pub(super) credit: Option<Duration>,
}

/// A packet on its way out.
#[derive(Clone, Copy, Debug)]
pub(super) struct Departure {
    /// Frame length in bytes.
    pub(super) length: Bytes,
    /// When the packet starts on the wire.
    pub(super) at: Instant,
    /// How long the packet holds the wire.
    pub(super) wire: Duration,
    /// Silence before this instant earns at most `maxidle`. From it on the wire was busy, and the class was
    /// not silent but waiting for its turn.
    pub(super) since: Instant,
}

/// The exponentially weighted average idle time.
#[derive(Clone, Copy, Debug)]
struct Average {
    /// The average, in units of 2^-5 ps.
    value: i64,
    /// The maximum (`maxidle`), in the same unit.
    max: i64,
    /// The minimum (`minidle`), in the same unit.
    min: i64,
    /// When the previous packet was off the wire.
    last: Instant,
}

/// One class's estimator.
#[derive(Clone, Debug)]
pub(super) struct Meter {
    serializer: Serializer,
    /// When all credit is earned if nothing is sent until then: `credit_max` after `due`. Unlike `due`, this
    /// is never before the start of the run.
    full: Instant,
    credit_max: Duration,
    /// How long a regulated class waits after `due`: `offtime` less the packet's own time.
    pause: Duration,
    average: Option<Box<Average>>,
}

impl Meter {
    pub(super) fn new(profile: Profile) -> Self {
        let Profile { estimator, rate, line, packet, overhead, frame, .. } = profile;
        // The credit that a back-to-back packet takes (ALTQ's `ptime`).
        let cost = rate.time_for(packet) - line.time_for(packet + overhead);
        // For `packets` packets after the first, and half a packet more, so that rounding never loses the
        // last one.
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
        // A promised burst may arrive at once; other credit must be earned from the start.
        let earned = if profile.credit.is_some() { Duration::ZERO } else { credit_max };
        let full = Instant::ZERO + earned;
        Self { serializer: Serializer::new(rate), full, credit_max, pause, average }
    }

    /// A meter that never has its class over the limit, as long as nothing is charged to it.
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

    /// When a class that cannot borrow has earned `minburst` packets.
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

    /// Forfeits what silence before `now` earned beyond `maxidle`.
    #[inline]
    pub(super) fn forfeit(&mut self, now: Instant) {
        self.full = self.full.max(now);
    }

    /// Charges a packet. The class's debt before it is limited to `debt`: a class need not give back what it
    /// borrowed (ALTQ's `minidle`).
    ///
    /// A packet never costs more than its own time, so a class that borrows loses nothing of its own rate.
    /// The limit never applies to a class that does not borrow and is not bound to others.
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
    /// Counts a packet that takes `own` at the class's rate; returns when the class is within its limit
    /// again.
    fn charge(&mut self, packet: Departure, own: Duration) -> Instant {
        let done = packet.at + packet.wire;
        let idle = signed(done.since(self.last)).saturating_sub(signed(own));
        let value = self.value.saturating_sub(self.value >> GAIN_SHIFT).saturating_add(idle);
        self.last = done;
        self.value = value.clamp(self.min, self.max);
        if self.value > 0 {
            return packet.at;
        }
        // Idle time that brings the average back to zero: 31/32 of the deficit.
        let lacks = self.value.unsigned_abs();
        packet.at + own + Duration::from_ps(lacks - (lacks >> GAIN_SHIFT))
    }
}

/// `32 * cost * (g^-n - 1)` with g = 31/32: the average, scaled by 2^5, that n back-to-back packets bring to
/// zero (ALTQ's formula for `maxidle`).
fn averaged_credit(cost: Duration, packets: u32) -> Duration {
    // g^-n in units of 2^-32; a value above 2^63 is more than any class can use.
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
