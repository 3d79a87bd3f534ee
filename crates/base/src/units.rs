//! Time, rate and size, each with its own type.
//!
//! `Instant` and `Duration` count picoseconds in 64 bits (213 days): a byte at 400 Gbit/s lasts 20
//! ps. `Rate` is 64-bit bits per second and never zero, `Bytes` is 64-bit.

use core::fmt;
use core::ops::{Add, AddAssign, Sub, SubAssign};

/// Picoseconds in one second.
pub const PS_PER_SECOND: u64 = 1_000_000_000_000;
/// Picoseconds that a byte takes, times the rate in bits per second.
const PS_PER_BYTE_SECOND: u64 = 8 * PS_PER_SECOND;

/// A point in time: picoseconds since the run began.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Instant(u64);

/// A span of time in picoseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Duration(u64);

/// A data rate in bits per second, at least 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Rate(core::num::NonZeroU64);

/// A part of a whole, in units of 2^-32: from nothing to just below all of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Share(pub u32);

/// A number of bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Bytes(pub u64);

impl Instant {
    /// The start of the run.
    pub const ZERO: Self = Self(0);
    /// Never: later than any other instant.
    pub const NEVER: Self = Self(u64::MAX);

    /// `ps` picoseconds after the start.
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }

    /// Picoseconds since the start.
    pub const fn as_ps(self) -> u64 {
        self.0
    }

    /// Nanoseconds since the start, rounded down.
    pub const fn as_ns(self) -> u64 {
        self.0 / 1_000
    }

    /// Microseconds since the start, rounded down.
    pub const fn as_us(self) -> u64 {
        self.0 / 1_000_000
    }

    /// Seconds since the start, for people and reports only.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / PS_PER_SECOND as f64
    }

    /// The time since `earlier`; zero if `earlier` is in the future.
    pub const fn since(self, earlier: Self) -> Duration {
        Duration(self.0.saturating_sub(earlier.0))
    }
}

impl Duration {
    /// No time at all.
    pub const ZERO: Self = Self(0);
    /// Longer than any run.
    pub const MAX: Self = Self(u64::MAX);

    /// `ps` picoseconds.
    pub const fn from_ps(ps: u64) -> Self {
        Self(ps)
    }
    /// `ns` nanoseconds, saturating.
    pub const fn from_ns(ns: u64) -> Self {
        Self(ns.saturating_mul(1_000))
    }
    /// `us` microseconds, saturating.
    pub const fn from_us(us: u64) -> Self {
        Self(us.saturating_mul(1_000_000))
    }
    /// `ms` milliseconds, saturating.
    pub const fn from_ms(ms: u64) -> Self {
        Self(ms.saturating_mul(1_000_000_000))
    }
    /// `s` seconds, saturating.
    pub const fn from_secs(s: u64) -> Self {
        Self(s.saturating_mul(PS_PER_SECOND))
    }

    /// The time in picoseconds.
    pub const fn as_ps(self) -> u64 {
        self.0
    }
    /// The time in nanoseconds, rounded down.
    pub const fn as_ns(self) -> u64 {
        self.0 / 1_000
    }
    /// The time in microseconds, rounded down.
    pub const fn as_us(self) -> u64 {
        self.0 / 1_000_000
    }
    /// The time in seconds, for people and reports only.
    pub fn as_secs_f64(self) -> f64 {
        self.0 as f64 / PS_PER_SECOND as f64
    }
    /// `self * n`, saturating.
    pub const fn times(self, n: u64) -> Self {
        Self(self.0.saturating_mul(n))
    }
}

impl Rate {
    /// The slowest: a bit a second.
    pub const MIN: Self = Self(core::num::NonZeroU64::MIN);

    /// `bits` per second; `None` for zero, which is not a rate.
    pub const fn from_bits_per_second(bits: u64) -> Option<Self> {
        match core::num::NonZeroU64::new(bits) {
            Some(bits) => Some(Self(bits)),
            None => None,
        }
    }

    /// Bits per second.
    pub const fn bits_per_second(self) -> u64 {
        self.0.get()
    }

    /// The time `bytes` take at this rate, rounded down to a picosecond; saturating.
    pub fn time_for(self, bytes: Bytes) -> Duration {
        Duration(self.split(bytes).0)
    }

    /// Picoseconds and the remainder, in units of 1/rate ps, that `bytes` take.
    fn split(self, bytes: Bytes) -> (u64, u64) {
        match bytes.0.checked_mul(PS_PER_BYTE_SECOND) {
            Some(n) => (n / self.0, n % self.0),
            None => {
                let n = bytes.0 as u128 * PS_PER_BYTE_SECOND as u128;
                let rate = self.0.get() as u128;
                (u64::try_from(n / rate).unwrap_or(u64::MAX), (n % rate) as u64)
            }
        }
    }
}

/// A rate prepared for one division per packet: by a multiplication if possible.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    rate: Rate,
    /// The time of one byte, if that is a whole number of picoseconds, as on most links; otherwise zero.
    whole_byte: u64,
    /// 2^64 over the rate, too small by less than one.
    reciprocal: u64,
}

impl Pace {
    /// The pace of a rate.
    pub const fn new(rate: Rate) -> Self {
        let bits = rate.0.get();
        let (byte, rest) = (PS_PER_BYTE_SECOND / bits, PS_PER_BYTE_SECOND % bits);
        let whole_byte = if rest == 0 { byte } else { 0 };
        Self { rate, whole_byte, reciprocal: u64::MAX / bits }
    }

    /// [`Rate::time_for`].
    #[inline]
    pub fn time_for(&self, bytes: Bytes) -> Duration {
        if self.whole_byte != 0 {
            return Duration(bytes.0.saturating_mul(self.whole_byte));
        }
        Duration(self.split(bytes).0)
    }

    /// The division for more bytes than a frame has.
    #[cold]
    fn split_many(&self, bytes: Bytes) -> (u64, u64) {
        self.rate.split(bytes)
    }

    /// Picoseconds and the remainder, in units of 1/rate ps, that `bytes` take.
    #[inline]
    fn split(&self, bytes: Bytes) -> (u64, u64) {
        let Some(n) = bytes.0.checked_mul(PS_PER_BYTE_SECOND) else {
            return self.split_many(bytes);
        };
        // The reciprocal is too small by less than one, so the quotient is too small by less than n / 2^64 <
        // 1: it is exact, or one too small. The remainder shows which.
        let (rate, product) = (self.rate.0.get(), u128::from(n) * u128::from(self.reciprocal));
        let quotient = (product >> 64) as u64;
        let remainder = n - quotient * rate;
        if remainder >= rate { (quotient + 1, remainder - rate) } else { (quotient, remainder) }
    }
}

/// Serialises bytes at a rate and carries the remainder below a picosecond, so that a million packets end
/// exactly on time.
#[derive(Clone, Copy, Debug)]
pub struct Serializer {
    pace: Pace,
    /// The remainder, in units of 1/rate ps, below `rate`.
    remainder: u64,
}

impl Serializer {
    /// Creates a serializer of the given rate with nothing carried.
    pub const fn new(rate: Rate) -> Self {
        Self { pace: Pace::new(rate), remainder: 0 }
    }

    /// A serializer without a whole number of picoseconds per byte: [`Serializer::whole`] returns none.
    pub const fn uneven(rate: Rate) -> Self {
        let pace = Pace { whole_byte: 0, ..Pace::new(rate) };
        Self { pace, remainder: 0 }
    }

    /// The rate.
    pub const fn rate(&self) -> Rate {
        self.pace.rate
    }

    /// The time of the next `bytes` if a byte takes a whole number of picoseconds; `None` otherwise.
    #[inline]
    pub fn whole(&self, bytes: Bytes) -> Option<Duration> {
        let whole = self.pace.whole_byte;
        (whole != 0).then(|| Duration(bytes.0.saturating_mul(whole)))
    }

    /// The time of the next `bytes`, with the remainder of earlier ones.
    #[inline]
    pub fn advance(&mut self, bytes: Bytes) -> Duration {
        if let Some(time) = self.whole(bytes) {
            return time;
        }
        let (ps, remainder) = self.pace.split(bytes);
        let rate = self.pace.rate.bits_per_second();
        // remainder + self.remainder < 2 * rate may exceed 64 bits for absurd rates, so compare instead.
        if remainder >= rate - self.remainder {
            self.remainder = remainder - (rate - self.remainder);
            Duration(ps.saturating_add(1))
        } else {
            self.remainder += remainder;
            Duration(ps)
        }
    }
}

impl Add<Duration> for Instant {
    type Output = Self;
    fn add(self, rhs: Duration) -> Self {
        Self(self.0.saturating_add(rhs.0))
    }
}
impl AddAssign<Duration> for Instant {
    fn add_assign(&mut self, rhs: Duration) {
        *self = *self + rhs;
    }
}
impl Sub for Instant {
    type Output = Duration;
    fn sub(self, rhs: Self) -> Duration {
        self.since(rhs)
    }
}
impl Add for Duration {
    type Output = Self;
    fn add(self, rhs: Self) -> Self {
        Self(self.0.saturating_add(rhs.0))
    }
}
impl AddAssign for Duration {
    fn add_assign(&mut self, rhs: Self) {
        *self = *self + rhs;
    }
}
impl Sub for Duration {
    type Output = Self;
    fn sub(self, rhs: Self) -> Self {
        Self(self.0.saturating_sub(rhs.0))
    }
}
impl Add for Bytes {
    type Output = Self;
    fn add(self, rhs: Self) -> Self {
        Self(self.0.saturating_add(rhs.0))
    }
}
impl AddAssign for Bytes {
    fn add_assign(&mut self, rhs: Self) {
        *self = *self + rhs;
    }
}
impl Sub for Bytes {
    type Output = Self;
    fn sub(self, rhs: Self) -> Self {
        Self(self.0.saturating_sub(rhs.0))
    }
}
impl SubAssign for Bytes {
    fn sub_assign(&mut self, rhs: Self) {
        *self = *self - rhs;
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} B", self.0)
    }
}
impl fmt::Display for Share {
    /// Formats a percentage, with enough places to parse as the same share.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const ONE: u128 = 1_000_000_000_000;
        let scaled = (u128::from(self.0) * 100 * ONE + (1 << 31)) >> 32;
        let (whole, mut rest, mut places) = (scaled / ONE, scaled % ONE, 12);
        while places > 0 && rest % 10 == 0 {
            (rest, places) = (rest / 10, places - 1);
        }
        match places {
            0 => write!(f, "{whole} %"),
            _ => write!(f, "{whole}.{rest:0places$} %"),
        }
    }
}
impl fmt::Display for Rate {
    /// Formats in the largest unit that keeps the number whole: `500 Mbit/s`, `1 Gbit/s`, `123 bit/s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bits = self.0.get();
        let (n, unit) = match bits {
            b if b % 1_000_000_000 == 0 => (b / 1_000_000_000, "Gbit/s"),
            b if b % 1_000_000 == 0 => (b / 1_000_000, "Mbit/s"),
            b if b % 1_000 == 0 => (b / 1_000, "kbit/s"),
            b => (b, "bit/s"),
        };
        write!(f, "{n} {unit}")
    }
}
