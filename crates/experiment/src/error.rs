//! Errors of running, comparing and reading.

use std::path::Path;

pub use base::ErrorKind;
use base::Fault;

/// An error of an experiment: those that callers distinguish, and others.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A scenario is wrong; each of its diagnostics has file, line, column and help.
    #[error(transparent)]
    Scenario(#[from] scenario::Errors),
    /// Results could not be written, read or judged.
    #[error(transparent)]
    Results(#[from] record::Error),
    /// The caller cancelled the runs before the first began.
    #[error("interrupted: nothing was run")]
    Interrupted,
    /// Any other, with what helps.
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl From<&Error> for Fault {
    fn from(error: &Error) -> Self {
        match error {
            Error::Scenario(errors) => errors.clone().into(),
            Error::Results(error) => error.into(),
            Error::Interrupted => Self::usage(error.to_string(), ""),
            Error::Fault(fault) => fault.clone(),
        }
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        (&error).into()
    }
}

impl From<lab::Error> for Error {
    fn from(error: lab::Error) -> Self {
        Self::Fault(error.into())
    }
}

impl From<guest::Error> for Error {
    fn from(error: guest::Error) -> Self {
        Self::Fault(error.into())
    }
}

impl Error {
    /// An error of the request: it names something that does not exist or does not fit.
    pub fn usage(message: impl Into<String>, help: impl Into<String>) -> Self {
        Fault::usage(message, help).into()
    }

    /// An error of the machine: it lacks something.
    pub fn lacking(message: impl Into<String>, help: impl Into<String>) -> Self {
        Fault::lacking(message, help).into()
    }

    /// The disk was full before a run came to its end. What was measured until then is kept.
    pub(crate) fn disk_full(folder: &Path) -> Self {
        let message =
            "the disk is full: the measurements up to that point are kept and reported above";
        let help =
            "free space there, or choose a folder on another disk with --out, and run it again";
        Self::lacking(format!("{}: {message}", folder.display()), help)
    }

    /// A paper's `published.toml`, which is part of the program, is wrong.
    pub(crate) fn paper(paper: &str, message: &str) -> Self {
        Self::usage(format!("papers/{paper}/published.toml: {message}"), "")
    }

    /// The party that can fix it.
    pub fn kind(&self) -> ErrorKind {
        Fault::from(self).kind
    }
}
