//! Meters decide whether a stream of packets keeps to its profile.
//!
//! They count bytes of IP packets (RFC 2697, section 2), in integers. A bucket's fraction of a byte is
//! carried, so a meter is exact to the byte over any time. Each meter has a file and a line of the registry
//! here.

pub mod bucket;
mod metering;
pub mod single_rate;
pub mod two_rate;
pub mod window;

pub use metering::{Colour, Error};

use base::setting::{Field, Settings, registry};
use base::units::Instant;
use metering::Metering;

/// The registry: variant, module and type, name in a scenario, summary without a full stop.
macro_rules! meters {
    ($($variant:ident = $module:ident :: $type:ident, $name:literal, $summary:literal;)*) => {
        registry! {
            /// The parameters of a meter.
            #[derive(Clone, Copy, Debug, PartialEq, Eq)]
            pub enum Parameters: Settings {
                $(#[doc = concat!("See [`", stringify!($module), "`].")]
                $variant($module::Parameters) = $name, $summary;)*
            }
        }

        /// A meter at work.
        #[derive(Clone, Debug)]
        pub(crate) enum Meter {
            $($variant($module::$type),)*
        }

        impl Parameters {
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

meters! {
    TokenBucket = bucket::TokenBucket, "token_bucket", "green within the profile, red beyond";
    SingleRate = single_rate::SingleRate, "single_rate", "single-rate three-colour marker (RFC 2697)";
    TwoRate = two_rate::TwoRate, "two_rate", "two-rate three-colour marker (RFC 2698)";
    Window = window::Window, "window", "time-sliding-window three-colour marker (RFC 2859)";
}

/// An element's meter is chosen by name.
impl Field for Parameters {
    type Measure = ();
}
