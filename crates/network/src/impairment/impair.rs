//! What an impairment does to a frame, and what follows from its settings.

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
