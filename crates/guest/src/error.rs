//! The errors of guests.

use std::io;
use std::time::Duration;

use base::Fault;

/// An error of a guest or its setup.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The machine refuses a step.
    #[error("cannot {what}: {error}")]
    System {
        /// The step.
        what: String,
        /// The system's reason.
        error: io::Error,
    },
    /// The plan cannot be run.
    #[error("{why}")]
    Refused {
        /// The reason.
        why: String,
    },
    /// No guest kernel is built.
    #[error("no guest kernel is built, but a host of the scenario needs one")]
    NotBuilt,
    /// The module `sch_suimon` is not compiled for the guest kernel.
    #[error(
        "the module sch_suimon is not compiled for the guest kernel, but a host of the scenario has qdisc = \"kernel\""
    )]
    NoModule,
    /// There is no folder for guest kernels.
    #[error("neither XDG_CACHE_HOME nor HOME names a folder for the guest kernel")]
    NoCache,
    /// The work of a scenario's hosts in a guest failed.
    #[error("in guest {guest}: {why}")]
    Within {
        /// The guest's number.
        guest: usize,
        /// The reason.
        why: String,
        /// The remedy; may be empty.
        help: String,
    },
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
    /// A guest violates the protocol.
    #[error(
        "the guest {guest} violated the protocol: {what}; was its kernel built by `suimon linux build`?"
    )]
    Protocol {
        /// The guest's number.
        guest: usize,
        /// The violation.
        what: String,
    },
    /// A guest runs but its clock does not advance: a program in it loops without a system call.
    #[error(
        "the clock of guest {guest} is still at {now} ns after {waited:?} of wall time: a program there computes or loops \
         without a system call, so no virtual time passes"
    )]
    Stuck {
        /// The guest's number.
        guest: usize,
        /// The time, in nanoseconds.
        now: u64,
        /// The wall time for which the clock did not advance.
        waited: Duration,
    },
    /// A guest's console output exceeds the limit.
    #[error(
        "the console of guest {guest} has {bytes} bytes at {now} ns: a program there floods it"
    )]
    Flooded {
        /// The guest's number.
        guest: usize,
        /// The time, in nanoseconds.
        now: u64,
        /// The console's size in bytes.
        bytes: u64,
    },
    /// A guest's process ended before its first message.
    #[error("the guest {guest} did not start: {status}\n{console}")]
    NotStarted {
        /// The guest's number.
        guest: usize,
        /// The process's exit status.
        status: String,
        /// The last lines of its console.
        console: String,
    },
}

impl Error {
    /// Wraps the system's error of the step `what`.
    pub fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |error| Self::System { what, error }
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        let help = match &error {
            Error::NotBuilt => "suimon linux build",
            Error::NoModule => "make module, in Suimon's source",
            Error::NoCache => crate::built::HELP,
            Error::Within { help, .. } => help,
            Error::Stuck { .. } => "leave that program out, or run it with --on lab",
            Error::Flooded { .. } => {
                "leave out the program that writes to /dev/console or /dev/kmsg"
            }
            _ => "",
        };
        Self::of(!matches!(error, Error::Refused { .. }), error.to_string(), help)
    }
}
