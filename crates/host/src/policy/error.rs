//! The errors of putting a policy on a machine.

use std::io;
use std::path::Path;

/// An error of putting a policy on a machine, or of taking it off.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The machine or the user lacks something.
    #[error("{message}\n  help: {help}")]
    Lacking {
        /// What is missing.
        message: String,
        /// The command that gets it.
        help: String,
    },
    /// The request makes no sense now.
    #[error("{message}\n  help: {help}")]
    Refused {
        /// The reason.
        message: String,
        /// What to do instead.
        help: String,
    },
}

impl Error {
    /// Whether this machine lacks something; otherwise the command is wrong.
    pub const fn is_lacking(&self) -> bool {
        matches!(self, Self::Lacking { .. })
    }

    pub(super) fn lacking(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Lacking { message: message.into(), help: help.into() }
    }

    pub(super) fn refused(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Refused { message: message.into(), help: help.into() }
    }

    pub(super) fn file<'a>(
        what: &'static str,
        path: &'a Path,
    ) -> impl FnOnce(io::Error) -> Self + 'a {
        move |error| {
            let message = format!("{what} {}: {error}", path.display());
            Self::lacking(message, "name a folder on a writable file system with --state")
        }
    }
}
