//! Impairments: the effects of one direction of a link on its packets. Each is a file of its own and a line of the
//! registry here; links without impairments have no overhead.

pub mod corrupt;
pub mod corrupt_undetected;
pub mod down;
pub mod duplicate;
pub mod gemodel;
pub mod jitter;
pub mod loss;
pub mod reorder;

use base::setting::{Settings, registry};
use base::{DropReason, Duration, Instant, Random};

use crate::invalid::Invalid;

/// A frame on a link, as changed by the impairments that it has passed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transit {
    /// The time at which its last bit leaves the port.
    pub leaves: Instant,
    /// The delay beyond the propagation delay. Frames behind it do not overtake it.
    pub delay: Duration,
    /// The further delay during which frames behind it overtake it.
    pub held: Duration,
    /// Why it is lost, if it is.
    pub lost: Option<DropReason>,
    /// Whether it arrives twice.
    pub duplicated: bool,
    /// Whether it arrives with a wrong checksum.
    pub corrupted: bool,
    /// Whether it arrives with another payload and a right checksum.
    pub corrupted_undetected: bool,
}

impl Transit {
    /// A frame with its last bit leaving the port at `leaves`, unchanged so far.
    pub const fn new(leaves: Instant) -> Self {
        let (delay, held) = (Duration::ZERO, Duration::ZERO);
        Self {
            leaves,
            delay,
            held,
            lost: None,
            duplicated: false,
            corrupted: false,
            corrupted_undetected: false,
        }
    }
}

/// The settings of an impairment.
pub trait ImpairmentConfig: Settings {
    /// Whether it damages frames, so that hosts verify checksums.
    fn damages(&self) -> bool {
        false
    }

    /// Whether frames may arrive at the same instant because of it.
    fn bunches(&self) -> bool {
        false
    }

    /// Whether it leaves every frame unchanged.
    fn is_idle(&self) -> bool {
        false
    }

    /// Checks whether the settings make sense together, each being within its range.
    ///
    /// # Errors
    ///
    /// The first conflict.
    fn check(&self) -> Result<(), Invalid> {
        Ok(())
    }
}

/// An impairment of one direction of a link.
pub(crate) trait Impair: Sized {
    /// Its settings.
    type Parameters: ImpairmentConfig;

    /// Creates the impairment with these parameters; `random` decides its random choices.
    fn new(parameters: Self::Parameters, random: Random) -> Self;

    /// Applies it to the next frame.
    fn apply(&mut self, frame: &mut Transit);
}

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
