//! Exit codes, and the message of an internal error.

use std::os::unix::process::ExitStatusExt;
use std::process::{ExitCode, ExitStatus};

use experiment::Status;

use crate::output;

/// The part of `--help` on exit codes.
pub(crate) const HELP: &str = "\
Exit codes: 0 success; 1 an expectation or a program of the scenario failed, or a flow stalled;
2 wrong usage or an invalid file; 3 this machine lacks something, such as a writable folder;
70 internal error; 130 interrupted (the results so far are kept and marked incomplete).";

/// How a subcommand ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// Success.
    Fine,
    /// An expectation or a program of the scenario failed, or a flow stalled.
    Unmet,
    /// The command line or a file is wrong.
    Usage,
    /// This machine lacks something.
    Lacking,
    /// Ended early by a signal.
    Interrupted,
    /// The exit code of a program that ran on a host.
    As(u8),
}

impl Exit {
    /// `Fine` if the expectations hold, else `Unmet`.
    pub(crate) const fn met(ok: bool) -> Self {
        if ok { Self::Fine } else { Self::Unmet }
    }

    /// The exit code that a shell reports: the program's own, or 128 plus the signal that ended it.
    pub(crate) fn of(status: ExitStatus) -> Self {
        let code = status.code().or_else(|| Some(128 + status.signal()?));
        Self::As(code.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
    }
}

impl From<Status> for Exit {
    fn from(status: Status) -> Self {
        match status {
            Status::Met => Self::Fine,
            Status::Unmet => Self::Unmet,
            Status::Interrupted => Self::Interrupted,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(match exit {
            Exit::Fine => 0,
            Exit::Unmet => 1,
            Exit::Usage => 2,
            Exit::Lacking => LACKING as u8,
            // 128 + SIGINT, as a shell reports it; the same for SIGTERM.
            Exit::Interrupted => 130,
            Exit::As(code) => code,
        })
    }
}

/// `EX_SOFTWARE` of sysexits.h.
const FAULT: i32 = 70;

/// The code of [`Exit::Usage`].
const WRONG_FILE: i32 = 2;

/// The code of [`Exit::Lacking`].
pub(crate) const LACKING: i32 = 3;

/// The start of the standard library's panic if the system refuses a thread.
const NO_THREAD: &str = "failed to spawn thread";

/// Reports a panic in one paragraph, without a backtrace: an internal error, a damaged file if a decoder panics, or
/// a system that refuses a thread.
pub(crate) fn take_over_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let text = panic.payload_as_str().unwrap_or("no message");
        if let Some(file) = mpi_trace::guarded_file() {
            output::note(&format!(
                "error: {file}: damaged: decoder error: {text}\n  help: create the file again",
            ));
            std::process::exit(WRONG_FILE);
        }
        if text.starts_with(NO_THREAD) {
            output::note(
                "error: the system refuses to start a thread\n  help: free memory, or raise the \
                 limit of processes (`ulimit -u`) or of memory (`ulimit -v`)",
            );
            std::process::exit(LACKING);
        }
        let place = panic.location().map(|at| format!(" ({}:{})", at.file(), at.line()));
        let place = place.unwrap_or_default();
        output::note(&format!(
            "error: internal error (bug): {text}{place}\n  help: please report it with \
             the scenario and this line: suimon {}",
            env!("CARGO_PKG_VERSION"),
        ));
        std::process::exit(FAULT);
    }));
}
