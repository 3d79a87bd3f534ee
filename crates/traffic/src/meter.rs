//! Meters: whether a stream of packets keeps to its profile.
//!
//! They count bytes of IP packets (RFC 2697, section 2), in whole numbers: a bucket's part of a
//! byte is carried on, so a meter is exact to the byte over any time.

pub mod bucket;
pub mod single_rate;
pub mod two_rate;
pub mod window;

/// How well a packet keeps to its profile (RFC 2697, section 1).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Colour {
    /// Within the committed rate and burst.
    #[default]
    Green,
    /// Beyond that, within the excess burst or the peak rate.
    Yellow,
    /// Beyond every limit.
    Red,
}

impl Colour {
    /// Every colour, the best first.
    pub const ALL: [Self; 3] = [Self::Green, Self::Yellow, Self::Red];

    /// The best that a marker may make of a packet which came with the colour `earlier`.
    const fn at_best(colour_aware: bool, earlier: Self) -> Self {
        if colour_aware { earlier } else { Self::Green }
    }

    /// What a code point says: the drop precedence of assured forwarding (RFC 2597, section 6:
    /// class 1 to 4 in the upper three bits, precedence 1 to 3 in the next two). Any other code
    /// point has none and counts as green.
    pub const fn from_dscp(dscp: u8) -> Self {
        match (dscp >> 3, dscp & 0b111) {
            (1..=4, 0b100) => Self::Yellow,
            (1..=4, 0b110) => Self::Red,
            _ => Self::Green,
        }
    }
}

/// Why a meter's parameters are refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Nothing would ever conform.
    #[error("a burst of zero lets no packet pass: give it room for at least one, such as 1500 B")]
    NoBurst,
    /// The peak must hold the committed rate.
    #[error(
        "the peak rate {peak} is below the committed rate {committed}: raise the one or lower the \
         other"
    )]
    PeakBelowCommitted {
        /// The peak rate.
        peak: crate::Rate,
        /// The committed rate.
        committed: crate::Rate,
    },
    /// An average over no time.
    #[error("a window of zero has no average: give it time, such as 1 s")]
    NoWindow,
    /// Past the arithmetic's range.
    #[error("{rate} for the whole window is more than 4 TiB: shorten the window")]
    WindowTooLong {
        /// The greater of the meter's rates.
        rate: crate::Rate,
    },
}
