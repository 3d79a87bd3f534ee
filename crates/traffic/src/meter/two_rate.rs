//! The two-rate three-colour marker (trTCM, RFC 2698): a packet above the peak rate is red, one above the
//! committed rate is yellow.

use super::bucket::TokenBucket;
use super::metering::{Colour, Error, Metering};
use base::setting::{in_range, settings};
use base::units::{Bytes, Instant, Rate};

settings! {
    required: peak_rate, peak_burst, committed_rate, committed_burst;
    /// A two-rate three-colour marker.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Parameters {
        /// PIR: packets beyond it are red; at least `committed_rate`.
        pub peak_rate: Rate,
        /// PBS: the bucket depth at the peak rate; the RFC recommends at least the longest packet.
        #[range(Bytes(1)..)]
        pub peak_burst: Bytes,
        /// CIR: packets beyond it are yellow.
        pub committed_rate: Rate,
        /// CBS: the bucket depth at the committed rate; the RFC recommends at least the longest packet.
        #[range(Bytes(1)..)]
        pub committed_burst: Bytes,
        /// Whether a packet's previous colour counts (colour-aware mode): it can become worse, never better; false
        /// unless given.
        pub colour_aware: bool,
    }
}

impl Default for Parameters {
    /// The lowest values of the range. Rates and bursts are required, so no run uses these.
    fn default() -> Self {
        Self {
            peak_rate: Rate::MIN,
            peak_burst: Bytes(1),
            committed_rate: Rate::MIN,
            committed_burst: Bytes(1),
            colour_aware: false,
        }
    }
}

/// The marker.
#[derive(Clone, Copy, Debug)]
pub struct TwoRate {
    peak: TokenBucket,
    committed: TokenBucket,
    colour_aware: bool,
}

impl TwoRate {
    /// A marker with both buckets full at `now`.
    pub fn new(parameters: &Parameters, now: Instant) -> Result<Self, Error> {
        parameters.check()?;
        Ok(Self {
            peak: TokenBucket::full(parameters.peak_rate, parameters.peak_burst, now),
            committed: TokenBucket::full(
                parameters.committed_rate,
                parameters.committed_burst,
                now,
            ),
            colour_aware: parameters.colour_aware,
        })
    }

    /// Takes new parameters at `now`, and keeps the tokens that still fit.
    pub fn change(&mut self, parameters: &Parameters, now: Instant) -> Result<(), Error> {
        parameters.check()?;
        self.earn(now);
        self.peak.set(parameters.peak_rate, parameters.peak_burst);
        self.committed.set(parameters.committed_rate, parameters.committed_burst);
        self.colour_aware = parameters.colour_aware;
        Ok(())
    }

    /// Returns the colour of an IP packet of `bytes` bytes that arrives with the colour `earlier`. A yellow
    /// packet spends tokens of the peak bucket, a green one tokens of both (RFC 2698, section 3).
    #[inline]
    pub fn colour(&mut self, bytes: u64, earlier: Colour, now: Instant) -> Colour {
        self.earn(now);
        let at_best = Colour::at_best(self.colour_aware, earlier);
        if at_best == Colour::Red || !self.peak.spend(bytes) {
            Colour::Red
        } else if at_best == Colour::Yellow || !self.committed.spend(bytes) {
            Colour::Yellow
        } else {
            Colour::Green
        }
    }

    #[inline]
    fn earn(&mut self, now: Instant) {
        self.peak.earn(now);
        self.committed.earn(now);
    }
}

impl Metering for TwoRate {
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
    fn check(&self) -> Result<(), Error> {
        let (peak, committed) = (self.peak_rate, self.committed_rate);
        in_range(self)?;
        if peak < committed { Err(Error::PeakBelowCommitted { peak, committed }) } else { Ok(()) }
    }
}
