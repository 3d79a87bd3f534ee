//! A token bucket: bytes are earned at a rate, kept up to a burst, and spent by packets.

use super::metering::{Colour, Error, Metering};
use base::setting::{in_range, settings};
use base::units::{Bytes, Instant, PS_PER_SECOND, Rate};

settings! {
    required: rate, burst;
    /// A token bucket. As all meters, it counts bytes of IP packets.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Parameters {
        /// Token rate.
        pub rate: Rate,
        /// Bucket depth. It must be at least the longest packet, which otherwise never conforms.
        #[range(Bytes(1)..)]
        pub burst: Bytes,
    }
}

impl Default for Parameters {
    /// The lowest values of the range. Both keys are required, so no run uses these.
    fn default() -> Self {
        Self { rate: Rate::MIN, burst: Bytes(1) }
    }
}

/// Picoseconds times bits per second in one byte. The remainder counts in fractions of this.
const PARTS_PER_BYTE: u64 = 8 * PS_PER_SECOND;

/// Counts the whole bytes earned since the last call, without rounding: the fraction of a byte is kept for
/// the next call.
///
/// RFC 2697, section 3: a count "is incremented by one" a fixed number of times per second. The instants of
/// these increments therefore form a grid that starts with the meter, whether or not the bucket is full.
#[derive(Clone, Copy, Debug)]
struct Earnings {
    rate: Rate,
    /// The fraction of a byte, in units of 1/[`PARTS_PER_BYTE`].
    parts: u64,
    until: Instant,
}

impl Earnings {
    const fn new(rate: Rate, now: Instant) -> Self {
        Self { rate, parts: 0, until: now }
    }

    /// Sets the rate from now on; call [`Earnings::earn`] before, for the time so far.
    fn change(&mut self, rate: Rate) {
        self.rate = rate;
    }

    /// Bytes earned until `now`; none if that is in the past.
    #[inline]
    fn earn(&mut self, now: Instant) -> u64 {
        let (elapsed, rate) = ((now - self.until).as_ps(), self.rate.bits_per_second());
        self.until = self.until.max(now);
        let small = elapsed.checked_mul(rate).and_then(|parts| parts.checked_add(self.parts));
        if let Some(parts) = small {
            self.parts = parts % PARTS_PER_BYTE;
            return parts / PARTS_PER_BYTE;
        }
        let parts = u128::from(elapsed) * u128::from(rate) + u128::from(self.parts);
        self.parts = (parts % u128::from(PARTS_PER_BYTE)) as u64;
        u64::try_from(parts / u128::from(PARTS_PER_BYTE)).unwrap_or(u64::MAX)
    }
}

/// Tokens, a byte each.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tokens {
    count: u64,
    limit: u64,
}

impl Tokens {
    /// A full bucket.
    pub(super) const fn full(limit: Bytes) -> Self {
        Self { count: limit.0, limit: limit.0 }
    }

    /// Adds tokens; returns those that did not fit.
    #[inline]
    pub(super) fn put(&mut self, tokens: u64) -> u64 {
        let taken = tokens.min(self.limit - self.count);
        self.count += taken;
        tokens - taken
    }

    /// Takes out `tokens` tokens if the bucket holds that many.
    #[inline]
    pub(super) fn spend(&mut self, tokens: u64) -> bool {
        let holds = self.count >= tokens;
        if holds {
            self.count -= tokens;
        }
        holds
    }

    /// Changes the size; tokens above it are lost.
    pub(super) fn resize(&mut self, limit: Bytes) {
        self.limit = limit.0;
        self.count = self.count.min(limit.0);
    }
}

/// A meter of one bucket.
#[derive(Clone, Copy, Debug)]
pub struct TokenBucket {
    earnings: Earnings,
    tokens: Tokens,
}

impl TokenBucket {
    /// A full bucket at `now`.
    pub fn new(parameters: &Parameters, now: Instant) -> Result<Self, Error> {
        in_range(parameters)?;
        Ok(Self::full(parameters.rate, parameters.burst, now))
    }

    /// Takes new parameters at `now`, and keeps the tokens that still fit.
    pub fn change(&mut self, parameters: &Parameters, now: Instant) -> Result<(), Error> {
        in_range(parameters)?;
        self.earn(now);
        self.set(parameters.rate, parameters.burst);
        Ok(())
    }

    /// Whether an IP packet of `bytes` bytes conforms at `now`. If it does, its tokens are spent.
    #[inline]
    pub fn conforms(&mut self, bytes: u64, now: Instant) -> bool {
        self.earn(now);
        self.tokens.spend(bytes)
    }
}

/// The bucket as a part of a larger meter, which checks all parameters.
impl TokenBucket {
    pub(super) const fn full(rate: Rate, burst: Bytes, now: Instant) -> Self {
        Self { earnings: Earnings::new(rate, now), tokens: Tokens::full(burst) }
    }

    /// Adds the tokens earned until `now`; returns the tokens that did not fit.
    #[inline]
    pub(super) fn earn(&mut self, now: Instant) -> u64 {
        self.tokens.put(self.earnings.earn(now))
    }

    /// Changes rate and size, after the earned tokens are added; tokens above the size are lost.
    pub(super) fn set(&mut self, rate: Rate, burst: Bytes) {
        self.earnings.change(rate);
        self.tokens.resize(burst);
    }

    /// Takes out `tokens` tokens if the bucket holds that many.
    #[inline]
    pub(super) fn spend(&mut self, tokens: u64) -> bool {
        self.tokens.spend(tokens)
    }
}

/// A bucket decides whether a packet conforms, and does not change its colour for later meters.
impl Metering for TokenBucket {
    type Parameters = Parameters;
    const GIVES: [bool; 3] = [true, false, true];

    fn attach(parameters: &Parameters, _: u64, now: Instant) -> Result<Self, Error> {
        Self::new(parameters, now)
    }

    fn renew(&mut self, parameters: &Parameters, now: Instant) -> Result<(), Error> {
        self.change(parameters, now)
    }

    #[inline]
    fn meter(&mut self, bytes: u64, earlier: Colour, now: Instant) -> (Colour, Colour) {
        let conforms = self.conforms(bytes, now);
        (if conforms { Colour::Green } else { Colour::Red }, earlier)
    }
}
