//! Impairments: the effects of one direction of a link on its packets. Each is a file of its own and a line of the
//! registry here; links without impairments have no overhead.

pub mod corrupt;
pub mod corrupt_undetected;
pub mod down;
pub mod duplicate;
pub mod gemodel;
mod impair;
pub mod jitter;
pub mod loss;
pub mod reorder;

use base::Random;
use base::setting::registry;

use impair::Impair;

pub use impair::{ImpairmentConfig, Transit};

/// The registry: variant, module and type, name in a scenario, summary without a full stop. A frame passes the
/// impairments of a link in this order. An impairment with a single setting is written as the value of that setting.
macro_rules! impairments {
    ($($variant:ident = $module:ident :: $type:ident, $name:literal, $summary:literal;)*) => {
        registry! {
            /// The settings of an impairment.
            #[derive(Clone, Debug, PartialEq, Eq)]
            pub enum Parameters: ImpairmentConfig {
                $(#[doc = concat!("See [`", stringify!($module), "`].")]
                $variant($module::Parameters) = $name, $summary;)*
            }
        }

        /// An impairment of one direction of a link.
        #[derive(Clone, Debug)]
        pub enum Impairment {
            $(#[doc = concat!("See [`", stringify!($module), "`].")]
            $variant($module::$type),)*
        }

        impl Impairment {
            /// Creates the impairment with these parameters; `random` decides its random choices.
            pub fn new(parameters: Parameters, random: Random) -> Self {
                match parameters {
                    $(Parameters::$variant(own) => Self::$variant(Impair::new(own, random)),)*
                }
            }

            /// Applies it to the next frame.
            #[inline]
            pub fn apply(&mut self, frame: &mut Transit) {
                match self { $(Self::$variant(own) => own.apply(frame),)* }
            }
        }
    };
}

impairments! {
    Loss = loss::Loss, "loss", "share of packets lost at random";
    Gemodel = gemodel::GilbertElliott, "gemodel", "loss in bursts by the Gilbert-Elliott model (netem's `loss gemodel`; p, r, 1-h and 1-k are aliases)";
    Down = down::Down, "down", "outages: packets sent during one are lost";
    Jitter = jitter::Jitter, "jitter", "delay added to the propagation delay, drawn for each packet; packets keep their order";
    Reorder = reorder::Reorder, "reorder", "packets held back at random while later ones pass";
    Duplicate = duplicate::Duplicate, "duplicate", "share of packets that arrive twice";
    Corrupt = corrupt::Corrupt, "corrupt", "share of packets that are damaged, and dropped by the destination host";
    CorruptUndetected = corrupt_undetected::CorruptUndetected, "corrupt_undetected", "share of packets with a payload error that no checksum detects, so that programs receive it";
}
