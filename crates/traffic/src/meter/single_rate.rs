//! The single-rate three-colour marker (srTCM, RFC 2697): one rate fills a committed bucket, and
//! what that has no room for fills an excess bucket. The length of a burst decides its colour.

use super::bucket::{TokenBucket, Tokens};
use super::{Colour, Error};
use crate::units::{Bytes, Instant, Rate};

/// The profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// CIR: bytes of IP packets earned over time, in bits per second.
    pub committed_rate: Rate,
    /// CBS: the most bytes kept for green packets. It or `excess_burst` is above zero; the RFC
    /// recommends no less than the longest packet.
    pub committed_burst: Bytes,
    /// EBS: the most bytes kept for yellow packets.
    pub excess_burst: Bytes,
    /// Whether a packet's earlier colour counts: it can become worse and never better.
    pub colour_aware: bool,
}

/// The marker.
#[derive(Clone, Copy, Debug)]
pub struct SingleRate {
    committed: TokenBucket,
    excess: Tokens,
    colour_aware: bool,
}

impl SingleRate {
    /// Both buckets full at `now`.
    pub fn new(parameters: &Parameters, now: Instant) -> Result<Self, Error> {
        parameters.check()?;
        let (rate, burst) = (parameters.committed_rate, parameters.committed_burst);
        Ok(Self {
            committed: TokenBucket::full(rate, burst, now),
            excess: Tokens::full(parameters.excess_burst),
            colour_aware: parameters.colour_aware,
        })
    }

    /// Takes new parameters at `now`, and keeps the tokens that it still has room for.
    pub fn change(&mut self, parameters: &Parameters, now: Instant) -> Result<(), Error> {
        parameters.check()?;
        self.earn(now);
        self.committed.set(parameters.committed_rate, parameters.committed_burst);
        self.excess.resize(parameters.excess_burst);
        self.colour_aware = parameters.colour_aware;
        Ok(())
    }

    /// The colour of an IP packet of so many bytes that came with the colour `earlier`.
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

    /// Section 3: a token goes to the committed bucket, to the excess bucket if that one is full,
    /// and is lost if both are.
    #[inline]
    fn earn(&mut self, now: Instant) {
        let left = self.committed.earn(now);
        self.excess.put(left);
    }
}

impl Parameters {
    const fn check(&self) -> Result<(), Error> {
        let none = self.committed_burst.0 == 0 && self.excess_burst.0 == 0;
        if none { Err(Error::NoBurst) } else { Ok(()) }
    }
}
