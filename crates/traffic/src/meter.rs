//! Meters decide whether a stream of packets keeps to its profile.
//!
//! They count bytes of IP packets (RFC 2697, section 2), in integers. A bucket's fraction of a byte is
//! carried, so a meter is exact to the byte over any time. Each meter has a file and a line of the registry
//! here.

pub mod bucket;
pub mod single_rate;
pub mod two_rate;
pub mod window;

use crate::setting::{OutOfRange, Settings};
use crate::units::Instant;

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
    const fn at_best(colour_aware: bool, earlier: Self) -> Self {
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
        peak: crate::Rate,
        /// The committed rate.
        committed: crate::Rate,
    },
    /// Out of the arithmetic's range.
    #[error("{rate} for the whole window is more than 4 TiB: shorten the window")]
    WindowTooLong {
        /// The greater of the meter's rates.
        rate: crate::Rate,
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
trait Metering: Sized {
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

/// A running meter.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The meter's name in a scenario.
    pub name: &'static str,
    /// A summary, without a full stop.
    pub summary: &'static str,
}

/// The registry: variant, module and type, name in a scenario, summary.
macro_rules! registry {
    ($($variant:ident = $module:ident :: $type:ident, $name:literal, $summary:literal;)*) => {
        /// Every meter.
        pub const REGISTRY: &[Entry] = &[$(Entry { name: $name, summary: $summary },)*];

        /// The parameters of a meter.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Parameters {
            $(#[doc = concat!("See [`", stringify!($module), "`].")]
            $variant($module::Parameters),)*
        }

        /// A meter at work.
        #[derive(Clone, Debug)]
        pub(crate) enum Meter {
            $($variant($module::$type),)*
        }

        impl Parameters {
            /// The parameters of the meter of that name before any setting is given.
            pub fn blank(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant(Settings::blank())),)*
                    _ => None,
                }
            }

            /// The name of the meter, as in a scenario.
            pub const fn name(&self) -> &'static str {
                match self { $(Self::$variant(_) => $name,)* }
            }

            /// The settings of the meter.
            pub fn settings(&self) -> &dyn Settings {
                match self { $(Self::$variant(own) => own,)* }
            }

            /// The settings of the meter, to change them.
            pub fn settings_mut(&mut self) -> &mut dyn Settings {
                match self { $(Self::$variant(own) => own,)* }
            }

            /// The colours that the meter gives, green first.
            pub(crate) const fn gives(&self) -> [bool; 3] {
                match self { $(Self::$variant(_) => <$module::$type as Metering>::GIVES,)* }
            }
        }

        impl Meter {
            /// See [`Metering::attach`].
            pub(crate) fn new(
                parameters: &Parameters,
                seed: u64,
                now: Instant,
            ) -> Result<Self, Error> {
                Ok(match parameters {
                    $(Parameters::$variant(own) => {
                        Self::$variant(Metering::attach(own, seed, now)?)
                    })*
                })
            }

            /// Takes new parameters if they are for its kind; else false.
            pub(crate) fn change(
                &mut self,
                parameters: &Parameters,
                now: Instant,
            ) -> Result<bool, Error> {
                match (self, parameters) {
                    $((Self::$variant(own), Parameters::$variant(new)) => own.renew(new, now)?,)*
                    _ => return Ok(false),
                }
                Ok(true)
            }

            /// See [`Metering::meter`].
            #[inline]
            pub(crate) fn meter(
                &mut self,
                bytes: u64,
                earlier: Colour,
                now: Instant,
            ) -> (Colour, Colour) {
                match self { $(Self::$variant(own) => own.meter(bytes, earlier, now),)* }
            }
        }
    };
}

registry! {
    TokenBucket = bucket::TokenBucket, "token_bucket", "green within the profile, red beyond";
    SingleRate = single_rate::SingleRate, "single_rate", "single-rate three-colour marker (RFC 2697)";
    TwoRate = two_rate::TwoRate, "two_rate", "two-rate three-colour marker (RFC 2698)";
    Window = window::Window, "window", "time-sliding-window three-colour marker (RFC 2859)";
}
