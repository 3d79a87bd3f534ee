//! Why a lab cannot be built or run, and what to change.

use std::io;

/// Why a lab cannot be built or run.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The machine or the user lacks something.
    #[error("{what}: {source}\n  help: {help}")]
    Lacking {
        /// What was tried.
        what: String,
        /// What the system said.
        source: io::Error,
        /// What would supply it.
        help: String,
    },
    /// The system refused something that it normally grants.
    #[error("{what}: {source}")]
    System {
        /// What was tried.
        what: String,
        /// What it said.
        source: io::Error,
    },
    /// The scenario asks for what a lab cannot do.
    #[error("{message}\n  help: {help}")]
    Unfit {
        /// What it asks for.
        message: String,
        /// What to change.
        help: String,
    },
}

impl Error {
    /// The machine or the user lacks something; `help` says what would supply it.
    pub fn lacking(what: impl Into<String>, source: io::Error, help: impl Into<String>) -> Self {
        Self::Lacking { what: what.into(), source, help: help.into() }
    }

    /// The system refused `what`: a closure for `map_err`.
    pub fn system<E: Into<io::Error>>(what: impl Into<String>) -> impl FnOnce(E) -> Self {
        |error| Self::System { what: what.into(), source: error.into() }
    }

    /// The scenario asks for what a lab cannot do.
    pub fn unfit(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Unfit { message: message.into(), help: help.into() }
    }
}
