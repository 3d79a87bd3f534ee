//! Impairments: what one direction of a link does to the packets on it. Each is a file of its own and a line of
//! the registry here; links without any have nothing to pay.

pub mod gemodel;
pub mod loss;

use traffic::{DropReason, Duration, Instant, Random};

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
}

impl Transit {
    /// A frame whose last bit leaves the port at `leaves`, as sent.
    pub const fn new(leaves: Instant) -> Self {
        let (delay, held) = (Duration::ZERO, Duration::ZERO);
        Self { leaves, delay, held, lost: None, duplicated: false, corrupted: false }
    }
}

/// An impairment of one direction of a link.
pub(crate) trait Impair: Sized {
    /// What a user may set of it.
    type Parameters;
    /// Whether it damages frames, so that hosts verify checksums.
    const DAMAGES: bool = false;

    /// The impairment with these parameters, whose chances `random` decides.
    fn new(parameters: Self::Parameters, random: Random) -> Self;

    /// The next frame meets it.
    fn apply(&mut self, frame: &mut Transit);
}

/// The registry: variant, module and type, name in a scenario. A frame meets those of a link in this order.
macro_rules! registry {
    ($($variant:ident = $module:ident :: $type:ident, $name:literal;)*) => {
        /// What a user may set of an impairment.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
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
    Loss = loss::Loss, "loss";
    Gemodel = gemodel::GilbertElliott, "gemodel";
}
