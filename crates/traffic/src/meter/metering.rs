//! What meters have in common: the colours that they give, and their contract.

use base::setting::{OutOfRange, Settings};
use base::units::{Instant, Rate};

/// The conformance of a packet to its profile (RFC 2697, section 1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Colour {
    /// Within the committed rate and burst.
    #[default]
    Green,
    /// Above that, but within the excess burst or the peak rate.
    Yellow,
    /// Above every limit.
    Red,
}

impl Colour {
    /// Every colour, the best first.
    pub const ALL: [Self; 3] = [Self::Green, Self::Yellow, Self::Red];

    /// The best colour that a marker may give a packet that arrived with the colour `earlier`.
    pub(super) const fn at_best(colour_aware: bool, earlier: Self) -> Self {
        if colour_aware { earlier } else { Self::Green }
    }

    /// The colour of a code point: the drop precedence of assured forwarding (RFC 2597, section 6: class 1 to
    /// 4 in the upper three bits, precedence 1 to 3 in the next two). Any other code point has none and
    /// counts as green.
    pub const fn from_dscp(dscp: u8) -> Self {
        match (dscp >> 3, dscp & 0b111) {
            (1..=4, 0b100) => Self::Yellow,
            (1..=4, 0b110) => Self::Red,
            _ => Self::Green,
        }
    }
}

/// Why a meter's parameters are refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A setting is out of its range.
    #[error(transparent)]
    Range(#[from] OutOfRange),
    /// No packet would ever conform.
    #[error("a burst of zero lets no packet pass: give it room for at least one, such as 1500 B")]
    NoBurst,
    /// The peak must hold the committed rate.
    #[error(
        "the peak rate {peak} is below the committed rate {committed}: raise the one or lower the \
         other"
    )]
    PeakBelowCommitted {
        /// The peak rate.
        peak: Rate,
        /// The committed rate.
        committed: Rate,
    },
    /// Out of the arithmetic's range.
    #[error("{rate} for the whole window is more than 4 TiB: shorten the window")]
    WindowTooLong {
        /// The greater of the meter's rates.
        rate: Rate,
    },
}

impl Error {
    /// The settings that it is about.
    pub fn settings(&self) -> &[&'static str] {
        match self {
            Self::Range(error) => core::slice::from_ref(&error.setting),
            Self::NoBurst => &["committed_burst"],
            Self::PeakBelowCommitted { .. } => &["peak_rate"],
            Self::WindowTooLong { .. } => &["window"],
        }
    }
}

/// The operations of a meter for the registry.
pub(super) trait Metering: Sized {
    /// The meter's parameters.
    type Parameters: Settings;
    /// The colours that the meter gives, green first.
    const GIVES: [bool; 3] = [true; 3];

    /// A meter with nothing spent at `now`; a meter that draws at random uses the stream of `seed`.
    fn attach(parameters: &Self::Parameters, seed: u64, now: Instant) -> Result<Self, Error>;

    /// Takes new parameters at `now`, and keeps the tokens or the average as far as they fit.
    fn renew(&mut self, parameters: &Self::Parameters, now: Instant) -> Result<(), Error>;

    /// Meters an IP packet of `bytes` bytes that arrives with the colour `earlier`. Returns the colour that
    /// selects the action, and the colour to pass on to later meters.
    fn meter(&mut self, bytes: u64, earlier: Colour, now: Instant) -> (Colour, Colour);
}
