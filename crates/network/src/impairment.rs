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

use base::setting::Settings;
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

/// An impairment of one direction of a link.
pub(crate) trait Impair: Sized {
    /// Its settings.
    type Parameters: Settings;
    /// Whether it damages frames, so that hosts verify checksums.
    const DAMAGES: bool = false;
    /// Whether frames may arrive at the same instant because of it.
    const BUNCHES: bool = false;

    /// Creates the impairment with these parameters; `random` decides its random choices.
    fn new(parameters: Self::Parameters, random: Random) -> Self;

    /// Applies it to the next frame.
    fn apply(&mut self, frame: &mut Transit);

    /// Checks for combinations of parameters that make no sense, each value being within its range.
    fn check(_: &Self::Parameters) -> Result<(), Invalid> {
        Ok(())
    }

    /// Whether these parameters leave every frame unchanged.
    fn is_idle(_: &Self::Parameters) -> bool {
        false
    }
}

/// An entry of the registry.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its name, as in a scenario.
    pub name: &'static str,
    /// What it does, without a full stop.
    pub summary: &'static str,
}

/// The registry: variant, module and type, name in a scenario, summary. A frame passes the impairments of a link in
/// this order. An impairment with a single setting is written as the value of that setting.
macro_rules! registry {
    ($($variant:ident = $module:ident :: $type:ident, $name:literal, $summary:literal;)*) => {
        /// Every impairment.
        pub const REGISTRY: &[Entry] = &[$(Entry { name: $name, summary: $summary },)*];

        /// The settings of an impairment.
        #[derive(Clone, Debug, PartialEq, Eq)]
        pub enum Parameters {
            $(#[doc = concat!("See [`", stringify!($module), "`].")]
            $variant($module::Parameters),)*
        }

        /// An impairment of one direction of a link.
        #[derive(Clone, Debug)]
        pub enum Impairment {
            $(#[doc = concat!("See [`", stringify!($module), "`].")]
            $variant($module::$type),)*
        }

        impl Parameters {
            /// The default settings of the named impairment.
            pub fn blank(name: &str) -> Option<Self> {
                match name {
                    $($name => Some(Self::$variant(Settings::blank())),)*
                    _ => None,
                }
            }

            /// Its settings.
            pub fn settings(&self) -> &dyn Settings {
                match self { $(Self::$variant(own) => own,)* }
            }

            /// Its settings, to be changed.
            pub fn settings_mut(&mut self) -> &mut dyn Settings {
                match self { $(Self::$variant(own) => own,)* }
            }

            /// Checks whether the settings make sense together, each being within its range.
            ///
            /// # Errors
            ///
            /// The first conflict.
            pub fn check(&self) -> Result<(), Invalid> {
                match self { $(Self::$variant(own) => <$module::$type as Impair>::check(own),)* }
            }

            /// Whether they leave every frame unchanged.
            pub fn is_idle(&self) -> bool {
                match self { $(Self::$variant(own) => <$module::$type as Impair>::is_idle(own),)* }
            }

            /// The name of the impairment, as in a scenario.
            pub fn name(&self) -> &'static str {
                match self { $(Self::$variant(_) => $name,)* }
            }

            /// Whether it damages frames, so that hosts verify checksums.
            pub fn damages(&self) -> bool {
                match self { $(Self::$variant(_) => <$module::$type as Impair>::DAMAGES,)* }
            }

            /// Whether frames may arrive at the same instant because of it.
            pub fn bunches(&self) -> bool {
                match self { $(Self::$variant(_) => <$module::$type as Impair>::BUNCHES,)* }
            }
        }

        impl Impairment {
            /// Creates the impairment with these parameters; `random` decides its random choices.
            pub fn new(parameters: Parameters, random: Random) -> Self {
                match parameters {
                    $(Parameters::$variant(own) => {
                        Self::$variant(Impair::new(own, random))
                    })*
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

registry! {
    Loss = loss::Loss, "loss", "share of packets lost at random";
    Gemodel = gemodel::GilbertElliott, "gemodel", "loss in bursts by the Gilbert-Elliott model (netem's `loss gemodel`; p, r, 1-h and 1-k are aliases)";
    Down = down::Down, "down", "outages: packets sent during one are lost";
    Jitter = jitter::Jitter, "jitter", "delay added to the propagation delay, drawn for each packet; packets keep their order";
    Reorder = reorder::Reorder, "reorder", "packets held back at random while later ones pass";
    Duplicate = duplicate::Duplicate, "duplicate", "share of packets that arrive twice";
    Corrupt = corrupt::Corrupt, "corrupt", "share of packets that are damaged, and dropped by the destination host";
    CorruptUndetected = corrupt_undetected::CorruptUndetected, "corrupt_undetected", "share of packets with a payload error that no checksum detects, so that programs receive it";
}
