//! Socket options: what a program may change of a connection at any moment of its life.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::num::NonZeroU32;

use base::{Duration, Rate};

use crate::config::{Config, IdleRestart};

/// A socket option with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SocketOption {
    /// The floor of the retransmission timeout, from the next round trip sample on (Linux:
    /// `TCP_RTO_MIN_US`).
    RtoMin(Duration),
    /// Segments are paced from now on, at this rate at most (Linux: `SO_MAX_PACING_RATE`).
    PacingRate(Rate),
    /// The congestion control algorithm, which starts at the current window (Linux: `TCP_CONGESTION`).
    Congestion(congestion::Config),
    /// What happens to the window of a sender that was idle.
    IdleRestart(IdleRestart),
    /// Small segments are sent at once (Linux: `TCP_NODELAY`).
    NoDelay(bool),
    /// Keeps a copy of the window under this name, for the connection's life.
    SaveWindow(Arc<str>),
    /// Restores the window that was saved under this name.
    RestoreWindow(Arc<str>),
    /// The program enters a phase, such as a collective operation of MPI.
    Phase(ProgramPhase),
}

/// A phase of a program, with a slow start threshold of its own (M. Matsuda et al., "TCP Layer Adapted to MPI
/// Library", section 3.1). On entry, the current threshold is saved for the phase that ends, and the threshold with
/// which this phase last ended is restored. If nothing is in flight, the window falls to that of a new connection, so
/// that sending starts from it towards the threshold. The 16 phases that ended last are kept for each connection
/// ([`congestion::Phases`], which the kernel runs too).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProgramPhase {
    /// Its name.
    pub name: Arc<str>,
    /// A threshold that is older does not count any more.
    pub age_max: Duration,
}

impl ProgramPhase {
    /// How long a threshold is valid for a path: as long as RFC 7661 (section 4.4.3) keeps a window that is not used.
    pub const AGE_MAX: Duration = Duration::from_secs(300);
}

/// Why an option was not set. Nothing has changed then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum OptionError {
    /// There is no connection yet, or no longer.
    #[error("the connection is not open")]
    NotOpen,
    /// A connection cannot work with the value.
    #[error("{0}")]
    OutOfRange(&'static str),
    /// No window has that name.
    #[error("no window was saved as `{0}`")]
    NotSaved(Arc<str>),
    /// The stack has no such option, or refuses the value: which, and why.
    #[error("{0}")]
    Unsupported(String),
}

impl SocketOption {
    /// Its name, as in scenarios.
    pub const fn name(&self) -> &'static str {
        match self {
            Self::RtoMin(_) => "rto_min",
            Self::PacingRate(_) => "pacing_rate",
            Self::Congestion(_) => "congestion",
            Self::IdleRestart(_) => "idle_restart",
            Self::NoDelay(_) => "nodelay",
            Self::SaveWindow(_) => "save_window",
            Self::RestoreWindow(_) => "restore_window",
            Self::Phase(_) => "phase",
        }
    }

    /// Sets it in the settings of a connection that is not open yet.
    ///
    /// # Errors
    /// If the value is out of range, or the option is of a connection's window.
    pub fn configure(&self, config: &mut Config) -> Result<(), OptionError> {
        match self {
            Self::RtoMin(min) if *min == Duration::ZERO || *min > config.rto.max => {
                let bounds = "the timeout's floor must be above zero, and not above its ceiling";
                return Err(OptionError::OutOfRange(bounds));
            }
            Self::RtoMin(min) => config.rto.min = *min,
            Self::PacingRate(rate) => {
                config.emission.pacing = true;
                config.emission.pacing_rate_max = (rate.bits_per_second() / 8).max(1);
            }
            Self::Congestion(congestion) => config.congestion = *congestion,
            Self::IdleRestart(restart) => config.window.idle_restart = *restart,
            Self::NoDelay(nodelay) => config.emission.nagle = !nodelay,
            Self::SaveWindow(_) | Self::RestoreWindow(_) | Self::Phase(_) => {
                return Err(OptionError::NotOpen);
            }
        }
        Ok(())
    }
}

/// The state that a connection keeps for its program.
#[derive(Debug, Default)]
pub(crate) struct Kept {
    pub(crate) windows: SavedWindows,
    pub(crate) phases: Phases,
}

/// The saved part of a window. The rest of an algorithm's state is only valid at its time: epochs, rounds, sequence
/// numbers; see `cc.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SavedWindow {
    /// Congestion window in packets.
    pub(crate) cwnd: u32,
    /// Slow start threshold in packets.
    pub(crate) ssthresh: u32,
}

/// The windows that a connection has saved, each once: a few, so a list.
#[derive(Debug, Default)]
pub(crate) struct SavedWindows(Vec<(Arc<str>, SavedWindow)>);

impl SavedWindows {
    pub(crate) fn save(&mut self, name: &Arc<str>, window: SavedWindow) {
        match self.0.iter_mut().find(|(known, _)| known == name) {
            Some((_, saved)) => *saved = window,
            None => self.0.push((name.clone(), window)),
        }
    }

    pub(crate) fn get(&self, name: &Arc<str>) -> Result<SavedWindow, OptionError> {
        let saved = self.0.iter().find(|(known, _)| known == name);
        saved.map(|(_, window)| *window).ok_or_else(|| OptionError::NotSaved(name.clone()))
    }
}

/// The phases of a program, by their names.
#[derive(Debug, Default)]
pub(crate) struct Phases {
    names: Vec<Arc<str>>,
    pub(crate) thresholds: congestion::Phases,
}

impl Phases {
    /// The number of a phase, from 1.
    pub(crate) fn number(&mut self, name: &Arc<str>) -> NonZeroU32 {
        let known = self.names.iter().position(|known| known == name);
        let place = known.unwrap_or_else(|| {
            self.names.push(name.clone());
            self.names.len() - 1
        });
        NonZeroU32::MIN.saturating_add(place as u32)
    }
}
