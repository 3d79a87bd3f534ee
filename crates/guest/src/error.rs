//! Why guests do not go on.

use std::io;
use std::time::Duration;

/// Why guests do not go on.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The machine refuses something.
    #[error("cannot {what}: {error}")]
    System {
        /// What was tried.
        what: String,
        /// The system's reason.
        error: io::Error,
    },
    /// A plan that cannot be run.
    #[error("{why}")]
    Refused {
        /// Why.
        why: String,
    },
    /// None is built.
    #[error(
        "no guest kernel is built, and a host of the scenario has one\n  help: suimon linux build"
    )]
    NotBuilt,
    /// There is no place for one.
    #[error(
        "neither XDG_CACHE_HOME nor HOME names a folder for the guest kernel\n  help: {}",
        crate::built::HELP
    )]
    NoCache,
    /// What the scenario's hosts run in a guest failed.
    #[error("in guest {guest}: {why}")]
    Within {
        /// Its number.
        guest: usize,
        /// Why.
        why: String,
    },
    /// A guest's process ended before the run did.
    #[error("the guest {guest} ended at {now} ns, before the run did: {status}\n{console}")]
    Ended {
        /// Its number.
        guest: usize,
        /// When.
        now: u64,
        /// How the process ended.
        status: String,
        /// The last of what it said.
        console: String,
    },
    /// A guest says what its protocol does not allow.
    #[error(
        "the guest {guest} broke its protocol: {what}; is its kernel one that `suimon linux build` made?"
    )]
    Protocol {
        /// Its number.
        guest: usize,
        /// What it said.
        what: String,
    },
    /// A guest's clock stands still though it runs: a program in it loops without a system call.
    #[error(
        "the clock of guest {guest} stays at {now} ns after {waited:?} of wall time: a program there computes, or loops, \
         without a system call, and no time passes for it\n  help: leave that program out, or run it with --on lab"
    )]
    Stuck {
        /// Its number.
        guest: usize,
        /// When, in nanoseconds.
        now: u64,
        /// For how long.
        waited: Duration,
    },
    /// A guest says more on its console than anyone reads.
    #[error(
        "the console of guest {guest} has {bytes} bytes at {now} ns: a program there floods it\n  help: leave out what \
         writes to /dev/console or /dev/kmsg"
    )]
    Flooded {
        /// Its number.
        guest: usize,
        /// When, in nanoseconds.
        now: u64,
        /// How long it is.
        bytes: u64,
    },
    /// A guest's process ended before it ever spoke.
    #[error("the guest {guest} did not start: {status}\n{console}")]
    NotStarted {
        /// Its number.
        guest: usize,
        /// How the process ended.
        status: String,
        /// The last of what it said.
        console: String,
    },
}

impl Error {
    /// The system's refusal of what was tried.
    pub fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |error| Self::System { what, error }
    }
}
