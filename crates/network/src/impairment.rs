//! Impairments: what one direction of a link does to the packets on it. Each is a file of its own and a line of
//! the registry here; links without any have nothing to pay.

pub mod corrupt;
pub mod corrupt_undetected;
pub mod down;
pub mod duplicate;
pub mod gemodel;
pub mod jitter;
pub mod loss;
pub mod reorder;

use traffic::setting::Settings;
use traffic::{DropReason, Duration, Instant, Random};

use crate::invalid::Invalid;

/// A frame on its way along a wire, as the impairments that it has passed leave it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Transit {
    /// When its last bit leaves the port.
    pub leaves: Instant,
    /// How much later it arrives than by the propagation delay. Frames behind it do not pass it.
    pub delay: Duration,
    /// How much later still, while frames behind it pass it.
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
    /// A frame whose last bit leaves the port at `leaves`, as sent.
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
    /// What a user may set of it.
    type Parameters: Settings;
    /// Whether it damages frames, so that hosts verify checksums.
    const DAMAGES: bool = false;

    /// The impairment with these parameters, whose chances `random` decides.
    fn new(parameters: Self::Parameters, random: Random) -> Self;

    /// The next frame meets it.
    fn apply(&mut self, frame: &mut Transit);

    /// What makes no sense in these parameters together, each of which is within its range.
    fn check(_: &Self::Parameters) -> Result<(), Invalid> {
        Ok(())
    }

    /// Whether these parameters leave every frame as it is.
    fn is_idle(_: &Self::Parameters) -> bool {
        false
    }
}

/// An impairment that there is.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its name, as in a scenario.
    pub name: &'static str,
    /// What it does, without a full stop.
    pub summary: &'static str,
}

/// The registry: variant, module and type, name in a scenario, what it does. A frame meets those of a link in this
/// order. One of a single setting is written as that one's value.
macro_rules! registry {
    ($($variant:ident = $module:ident :: $type:ident, $name:literal, $summary:literal;)*) => {
        /// Every impairment.
        pub const REGISTRY: &[Entry] = &[$(Entry { name: $name, summary: $summary },)*];

        /// What a user may set of an impairment.
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
            /// What the impairment of that name has before anything is set.
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

            /// Whether they make sense together, if each is within its range.
            ///
            /// # Errors
            ///
            /// What does not.
            pub fn check(&self) -> Result<(), Invalid> {
                match self { $(Self::$variant(own) => <$module::$type as Impair>::check(own),)* }
            }

            /// Whether they leave every frame as it is.
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
        }

        impl Impairment {
            /// The impairment with these parameters, whose chances `random` decides.
            pub fn new(parameters: Parameters, random: Random) -> Self {
                match parameters {
                    $(Parameters::$variant(own) => {
                        Self::$variant(Impair::new(own, random))
                    })*
                }
            }

            /// The next frame meets it.
            #[inline]
            pub fn apply(&mut self, frame: &mut Transit) {
                match self { $(Self::$variant(own) => own.apply(frame),)* }
            }
        }
    };
}

registry! {
    Loss = loss::Loss, "loss", "the share of packets lost at random";
    Gemodel = gemodel::GilbertElliott, "gemodel", "loss in bursts by the Gilbert-Elliott model (netem's `loss gemodel`, whose p, r, 1-h and 1-k are names, too)";
    Down = down::Down, "down", "outages: what is sent meanwhile is lost";
    Jitter = jitter::Jitter, "jitter", "what is added to the delay, drawn for each packet; the order of packets is kept";
    Reorder = reorder::Reorder, "reorder", "packets held back at random while those behind them pass";
    Duplicate = duplicate::Duplicate, "duplicate", "the share of packets that arrive twice";
    Corrupt = corrupt::Corrupt, "corrupt", "the share of packets that are damaged, and dropped by the host they are for";
    CorruptUndetected = corrupt_undetected::CorruptUndetected, "corrupt_undetected", "the share of packets with a wrong bit of payload that no checksum finds: programs receive it";
}
