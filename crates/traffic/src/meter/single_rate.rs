//! The single-rate three-colour marker (srTCM, RFC 2697): one rate fills a committed bucket, and its overflow
//! fills an excess bucket. The length of a burst decides its colour.

use super::bucket::{TokenBucket, Tokens};
use super::metering::{Colour, Error, Metering};
use base::setting::settings;
use base::units::{Bytes, Instant, Rate};

settings! {
    required: committed_rate, committed_burst, excess_burst;
    /// A single-rate three-colour marker.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Parameters {
        /// CIR: the token rate.
        pub committed_rate: Rate,
        /// CBS: the bucket depth for green packets. It or `excess_burst` is above zero; the RFC recommends at least
        /// the longest packet.
        pub committed_burst: Bytes,
        /// EBS: the bucket depth for yellow packets.
        pub excess_burst: Bytes,
        /// Whether a packet's previous colour counts (colour-aware mode): it can become worse, never better; false
        /// unless given.
        pub colour_aware: bool,
    }
}

impl Default for Parameters {
    /// The lowest values of the range. Rate and bursts are required, so no run uses these.
    fn default() -> Self {
        let (committed_burst, excess_burst) = (Bytes(0), Bytes(0));
        Self { committed_rate: Rate::MIN, committed_burst, excess_burst, colour_aware: false }
    }
}

/// The marker.
#[derive(Clone, Copy, Debug)]
pub struct SingleRate {
    committed: TokenBucket,
    excess: Tokens,
    colour_aware: bool,
}

impl SingleRate {
    /// A marker with both buckets full at `now`.
    pub fn new(parameters: &Parameters, now: Instant) -> Result<Self, Error> {
        parameters.check()?;
        let (rate, burst) = (parameters.committed_rate, parameters.committed_burst);
        Ok(Self {
            committed: TokenBucket::full(rate, burst, now),
            excess: Tokens::full(parameters.excess_burst),
            colour_aware: parameters.colour_aware,
        })
    }

    /// Takes new parameters at `now`, and keeps the tokens that still fit.
    pub fn change(&mut self, parameters: &Parameters, now: Instant) -> Result<(), Error> {
        parameters.check()?;
        self.earn(now);
        self.committed.set(parameters.committed_rate, parameters.committed_burst);
        self.excess.resize(parameters.excess_burst);
        self.colour_aware = parameters.colour_aware;
        Ok(())
    }

    /// Returns the colour of an IP packet of `bytes` bytes that arrives with the colour `earlier`.
    #[inline]
    pub fn colour(&mut self, bytes: u64, earlier: Colour, now: Instant) -> Colour {
        self.earn(now);
        let at_best = Colour::at_best(self.colour_aware, earlier);
        if at_best == Colour::Green && self.committed.spend(bytes) {
            Colour::Green
        } else if at_best <= Colour::Yellow && self.excess.spend(bytes) {
            Colour::Yellow
        } else {
            Colour::Red
        }
    }

    /// Section 3: a token goes to the committed bucket, or to the excess bucket if the committed one is full,
    /// and is lost if both are full.
    #[inline]
    fn earn(&mut self, now: Instant) {
        let left = self.committed.earn(now);
        self.excess.put(left);
    }
}

impl Metering for SingleRate {
    type Parameters = Parameters;

    fn attach(parameters: &Parameters, _: u64, now: Instant) -> Result<Self, Error> {
        Self::new(parameters, now)
    }

    fn renew(&mut self, parameters: &Parameters, now: Instant) -> Result<(), Error> {
        self.change(parameters, now)
    }

    #[inline]
    fn meter(&mut self, bytes: u64, earlier: Colour, now: Instant) -> (Colour, Colour) {
        let colour = self.colour(bytes, earlier, now);
        (colour, colour)
    }
}

impl Parameters {
    const fn check(&self) -> Result<(), Error> {
        let none = self.committed_burst.0 == 0 && self.excess_burst.0 == 0;
        if none { Err(Error::NoBurst) } else { Ok(()) }
    }
}
