//! The errors of guests.

use std::io;

use base::Fault;

/// An error of a guest or its setup.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A guest's process ended before the run did.
    #[error("the guest {guest} ended at {now} ns, before the run did: {status}\n{console}")]
    Ended {
        /// The guest's number.
        guest: usize,
        /// The time, in nanoseconds.
        now: u64,
        /// The process's exit status.
        status: String,
        /// The last lines of its console.
        console: String,
    },
    /// Any other, with what helps.
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl Error {
    /// Wraps the system's error of the step `what`.
    pub fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |error| Fault::lacking(format!("cannot {what}: {error}"), "").into()
    }

    /// The error that the work of a scenario's hosts in a guest failed.
    pub fn within(guest: usize, why: &str, help: &str) -> Self {
        Fault::lacking(format!("in guest {guest}: {why}"), help).into()
    }

    /// The error of a guest that violates the protocol.
    pub(crate) fn protocol(guest: usize, what: &str) -> Self {
        let built = "was its kernel built by `suimon linux build`?";
        Fault::lacking(format!("the guest {guest} violated the protocol: {what}; {built}"), "")
            .into()
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        match error {
            Error::Fault(fault) => fault,
            ended @ Error::Ended { .. } => Self::lacking(ended.to_string(), ""),
        }
    }
}
