//! The two-rate three-colour marker (trTCM, RFC 2698): a packet beyond the peak rate is red, one
//! beyond the committed rate yellow.

use super::bucket::{Earnings, Tokens};
use super::{Colour, Error};
use crate::units::{Bytes, Instant, Rate};

/// The profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// PIR: the peak, at least `committed_rate`; bytes of IP packets, in bits per second.
    pub peak_rate: Rate,
    /// PBS: the most bytes kept at the peak rate, above zero; the RFC recommends no less than the
    /// longest packet.
    pub peak_burst: Bytes,
    /// CIR: the committed rate, counted likewise.
    pub committed_rate: Rate,
    /// CBS: the most bytes kept at the committed rate, likewise.
    pub committed_burst: Bytes,
    /// Whether a packet's earlier colour counts: it can become worse and never better.
    pub colour_aware: bool,
}

/// The marker.
#[derive(Clone, Copy, Debug)]
pub struct TwoRate {
    peak_earnings: Earnings,
    peak: Tokens,
    committed_earnings: Earnings,
    committed: Tokens,
    colour_aware: bool,
}

impl TwoRate {
    /// Both buckets full at `now`.
    pub fn new(parameters: &Parameters, now: Instant) -> Result<Self, Error> {
        parameters.check()?;
        Ok(Self {
            peak_earnings: Earnings::new(parameters.peak_rate, now),
            peak: Tokens::full(parameters.peak_burst),
            committed_earnings: Earnings::new(parameters.committed_rate, now),
            committed: Tokens::full(parameters.committed_burst),
            colour_aware: parameters.colour_aware,
        })
    }

    /// Takes new parameters at `now`, and keeps the tokens that it still has room for.
    pub fn change(&mut self, parameters: &Parameters, now: Instant) -> Result<(), Error> {
        parameters.check()?;
        self.earn(now);
        self.peak_earnings.change(parameters.peak_rate);
        self.peak.resize(parameters.peak_burst);
        self.committed_earnings.change(parameters.committed_rate);
        self.committed.resize(parameters.committed_burst);
        self.colour_aware = parameters.colour_aware;
        Ok(())
    }

    /// The colour of an IP packet of so many bytes that came with the colour `earlier`. A yellow
    /// packet spends the peak's tokens, a green one both (RFC 2698, section 3).
    #[inline]
    pub fn colour(&mut self, bytes: u64, earlier: Colour, now: Instant) -> Colour {
        self.earn(now);
        let at_best = if self.colour_aware { earlier } else { Colour::Green };
        if at_best == Colour::Red || !self.peak.holds(bytes) {
            return Colour::Red;
        }
        self.peak.spend(bytes);
        if at_best == Colour::Yellow || !self.committed.holds(bytes) {
            return Colour::Yellow;
        }
        self.committed.spend(bytes);
        Colour::Green
    }

    #[inline]
    fn earn(&mut self, now: Instant) {
        self.peak.put(self.peak_earnings.earn(now));
        self.committed.put(self.committed_earnings.earn(now));
    }
}

impl Parameters {
    fn check(&self) -> Result<(), Error> {
        let (peak, committed) = (self.peak_rate, self.committed_rate);
        if self.peak_burst.0 == 0 || self.committed_burst.0 == 0 {
            return Err(Error::NoBurst);
        }
        if peak < committed { Err(Error::PeakBelowCommitted { peak, committed }) } else { Ok(()) }
    }
}
