//! Two-piece service curves, and the position of a class on a curve.
//!
//! Scale: service is counted in picobits (10^-12 bit) where a byte is too coarse. A slope in bit/s times a
//! time in picoseconds is then a whole number of picobits. Only instants are rounded, up to the next
//! picosecond, and the difference is kept as credit: no drift.

use alloc::boxed::Box;
use core::num::NonZeroU64;

use base::units::Duration;

/// Picobits in a byte.
pub(super) const PICOBITS_PER_BYTE: u128 = 8_000_000_000_000;
/// The highest slope, 100 Tbit/s: the shortest frame still takes some picoseconds, and a slope times any time
/// stays well within 128 bits.
pub(super) const SLOPE_MAX: u64 = 100_000_000_000_000;

/// A service curve: slope `m1` for the first `d`, then `m2` (paper, section VI; ALTQ's `m1 d m2`). It is
/// concave, linear, or convex with `m1` zero: only for these is a minimum of shifted copies again such a pair
/// of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Curve {
    /// The first slope, in bit/s.
    pub(super) m1: u64,
    /// The length of the first slope, in picoseconds.
    pub(super) d: u64,
    /// The second slope, in bit/s, above zero.
    pub(super) m2: u64,
}

impl Curve {
    /// Whether it is steeper at first.
    pub(super) const fn is_concave(self) -> bool {
        self.m1 > self.m2 && self.d > 0
    }

    /// The delay before a convex curve starts; zero for any other.
    pub(super) const fn delay(self) -> u64 {
        if self.m1 < self.m2 { self.d } else { 0 }
    }

    /// The picobits promised by the time `ps` after the start.
    pub(super) fn at(self, ps: u64) -> u128 {
        let first = u128::from(self.m1) * u128::from(ps.min(self.d));
        first + u128::from(self.m2) * u128::from(ps.saturating_sub(self.d))
    }

    /// The lead of the second slope's line at the start of a concave curve, in picobits.
    pub(super) fn head_start(self) -> u128 {
        if self.is_concave() { u128::from(self.m1 - self.m2) * u128::from(self.d) } else { 0 }
    }
}

/// A line of some slope, at the service received so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Line {
    /// The time when the line reaches that service, in picoseconds, rounded up. While a head start is not
    /// used up: the time when the line began.
    at: u128,
    /// Picobits of the line above the service at that time.
    credit: u128,
}

impl Line {
    /// The same line when `bytes` more have been served.
    fn advanced(self, slope: u64, bytes: u64) -> Self {
        let need = u128::from(bytes) * PICOBITS_PER_BYTE;
        if need <= self.credit {
            return Self { credit: self.credit - need, ..self };
        }
        let lack = need - self.credit;
        let ps = lack.div_ceil(slope.into());
        Self { at: self.at + ps, credit: ps * u128::from(slope) - lack }
    }

    /// The lower one of this line and of a line of the same slope that starts now: the paper's update of a
    /// curve at the start of a backlog, for each of its pieces.
    fn restarted(self, slope: u64, at: u128, head_start: u128) -> Self {
        if self.at > at {
            return self;
        }
        let earned = u128::from(slope).saturating_mul(at - self.at);
        Self { at, credit: head_start.min(self.credit.saturating_add(earned)) }
    }
}

/// A concave curve is the lower one of two lines, so the minimum of many curves is exactly the lower one of
/// the lowest lines of each slope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Concave {
    curve: Curve,
    /// The line of slope `m1`.
    head: Line,
    /// The line of slope `m2`.
    tail: Line,
}

impl Concave {
    fn starting(curve: Curve) -> Self {
        let head = Line { at: 0, credit: 0 };
        Self { curve, head, tail: Line { at: 0, credit: curve.head_start() } }
    }

    fn restarted(self, at: u128) -> Self {
        let Self { curve, head, tail } = self;
        let head = head.restarted(curve.m1, at, 0);
        Self { curve, head, tail: tail.restarted(curve.m2, at, curve.head_start()) }
    }

    fn held_until(self, at: u128) -> Self {
        let hold = |line: Line| Line { at: line.at.max(at), ..line };
        Self { head: hold(self.head), tail: hold(self.tail), ..self }
    }

    fn advanced(self, bytes: u64) -> Self {
        let Self { curve, head, tail } = self;
        Self { curve, head: head.advanced(curve.m1, bytes), tail: tail.advanced(curve.m2, bytes) }
    }

    fn position(&self) -> u128 {
        self.head.at.max(self.tail.at)
    }
}

/// The limit for byte counts whose picobits fit 64 bits: two million, so any frame.
const BYTES_SHORT: u64 = u64::MAX / PICOBITS_PER_BYTE as u64 - 100;

/// A curve at run time: the minimum of the copies of the curve that start with each backlog, as the paper's
/// deadline, virtual and fit curves are (eq. 7 and 12), kept as its inverse at the service so far.
///
/// For a convex curve only the second line matters, because the next byte is always above the flat part. It
/// is then one line, as most curves are.
#[derive(Clone, Debug)]
pub(super) struct RuntimeCurve {
    /// When the curve reaches the service so far: a deadline, a virtual time or a fit time; in
    /// picoseconds, rounded up.
    position: u128,
    /// Picobits of the line above the service at that time: less than it earns in one picosecond. For one
    /// line only, like the next two fields.
    credit: u64,
    slope: NonZeroU64,
    /// The delay before the curve starts.
    delay: u64,
    concave: Option<Box<Concave>>,
}

impl RuntimeCurve {
    /// A curve that starts at `at` (any later restart may move it).
    pub(super) fn starting(curve: Curve, at: u128) -> Self {
        let mut course = Self {
            position: 0,
            credit: 0,
            slope: NonZeroU64::new(curve.m2).unwrap_or(NonZeroU64::MIN),
            delay: curve.delay(),
            concave: curve.is_concave().then(|| Box::new(Concave::starting(curve))),
        };
        course.restart(at);
        course
    }

    /// Whether both follow the same curve.
    pub(super) fn is_like(&self, other: &Self) -> bool {
        let bend = |course: &Self| course.concave.as_ref().map(|concave| concave.curve);
        let shape = |course: &Self| (course.slope, course.delay, bend(course));
        shape(self) == shape(other)
    }

    #[cold]
    fn bend(&mut self, to: impl FnOnce(Concave) -> Concave) {
        if let Some(concave) = &mut self.concave {
            **concave = to(**concave);
            self.position = concave.position();
        }
    }

    /// A backlog starts at `at`.
    #[inline]
    pub(super) fn restart(&mut self, at: u128) {
        self.catch_up(at + u128::from(self.delay));
    }

    /// Forfeits the service unused before `at`, except for the part that refills the head start.
    #[inline]
    pub(super) fn catch_up(&mut self, at: u128) {
        if self.concave.is_some() {
            self.bend(|concave| concave.restarted(at));
        } else if self.position <= at {
            (self.position, self.credit) = (at, 0);
        }
    }

    /// Keeps the curve idle until `at`, without earning anything.
    #[inline]
    pub(super) fn hold_until(&mut self, at: u128) {
        if self.concave.is_some() {
            self.bend(|concave| concave.held_until(at));
        } else {
            self.position = self.position.max(at);
        }
    }

    /// Advances the curve by `bytes` more of service.
    #[inline]
    pub(super) fn advance(&mut self, bytes: u64) {
        if self.concave.is_some() {
            return self.bend(|concave| concave.advanced(bytes));
        }
        (self.position, self.credit) = self.line_after(bytes);
    }

    /// The position when `bytes` more have been served.
    #[inline]
    pub(super) fn position_after(&self, bytes: u64) -> u128 {
        match &self.concave {
            Some(concave) => concave.advanced(bytes).position(),
            None => self.line_after(bytes).0,
        }
    }

    /// The position and credit of a single line after `bytes` more of service.
    #[inline]
    fn line_after(&self, bytes: u64) -> (u128, u64) {
        if bytes >= BYTES_SHORT {
            return self.line_long_after(bytes);
        }
        let need = bytes * PICOBITS_PER_BYTE as u64;
        if need <= self.credit {
            return (self.position, self.credit - need);
        }
        let lack = need - self.credit;
        let (ps, over) = (lack / self.slope, lack % self.slope);
        if over == 0 {
            return (self.position + u128::from(ps), 0);
        }
        (self.position + u128::from(ps) + 1, self.slope.get() - over)
    }

    #[cold]
    fn line_long_after(&self, bytes: u64) -> (u128, u64) {
        let line = Line { at: self.position, credit: self.credit.into() };
        let Line { at, credit } = line.advanced(self.slope.get(), bytes);
        // Below the slope.
        (at, credit as u64)
    }

    /// When the curve reaches the service so far.
    #[inline]
    pub(super) const fn position(&self) -> u128 {
        self.position
    }

    /// The time from which the next packet may be sent so that every deadline can be kept, also if other
    /// curves become steep meanwhile: a convex curve is served along its second slope from the start (paper,
    /// section IV-B).
    #[inline]
    pub(super) fn eligible(&self) -> u128 {
        self.position - u128::from(self.delay)
    }
}

/// The slope and duration that serve `burst` bytes within `delay`, with `rate` from then on. If the rate
/// alone serves the burst in time, the curve starts late instead.
pub(super) fn for_burst(rate: u64, burst: u64, delay: Duration) -> Curve {
    let delay = delay.as_ps();
    let need = u128::from(burst) * PICOBITS_PER_BYTE;
    let by_rate = u64::try_from(need.div_ceil(rate.into())).unwrap_or(u64::MAX);
    if by_rate <= delay {
        return Curve { m1: 0, d: delay - by_rate, m2: rate };
    }
    let m1 = need.div_ceil(delay.max(1).into());
    Curve { m1: u64::try_from(m1).unwrap_or(u64::MAX), d: delay, m2: rate }
}
