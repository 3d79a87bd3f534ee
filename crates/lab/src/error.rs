//! The errors of building or running a lab, with help.

use std::io;

use base::Fault;

/// An error of building or running a lab.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The machine or the user lacks something.
    #[error("{what}: {source}")]
    Lacking {
        /// The operation.
        what: String,
        /// The system's error.
        source: io::Error,
        /// How to get what is missing.
        help: String,
    },
    /// The system refused something that it normally grants.
    #[error("{what}: {source}")]
    System {
        /// The operation.
        what: String,
        /// The system's error.
        source: io::Error,
    },
    /// The scenario asks for something that a lab cannot do.
    #[error("{message}")]
    Unfit {
        /// The unsupported request.
        message: String,
        /// The change that helps.
        help: String,
    },
}

impl From<Fault> for Error {
    fn from(Fault { message, help, .. }: Fault) -> Self {
        Self::Unfit { message, help }
    }
}

impl Error {
    /// Creates the error that the machine or the user lacks something; `help` says how to get it.
    pub fn lacking(what: impl Into<String>, source: io::Error, help: impl Into<String>) -> Self {
        Self::Lacking { what: what.into(), source, help: help.into() }
    }

    /// Returns a closure for `map_err` that creates the error that the system refused `what`.
    pub fn system<E: Into<io::Error>>(what: impl Into<String>) -> impl FnOnce(E) -> Self {
        |error| Self::System { what: what.into(), source: error.into() }
    }

    /// Creates the error that the scenario asks for something that a lab cannot do.
    pub fn unfit(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Unfit { message: message.into(), help: help.into() }
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        let message = error.to_string();
        match error {
            Error::Lacking { help, .. } => Self { by_doctor: true, ..Self::lacking(message, help) },
            Error::System { .. } => Self { by_doctor: true, ..Self::lacking(message, "") },
            Error::Unfit { help, .. } => Self::usage(message, help),
        }
    }
}
