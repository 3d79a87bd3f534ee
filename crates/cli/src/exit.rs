//! Exit codes, and the last words of a fault of our own.

use std::os::unix::process::ExitStatusExt;
use std::process::{ExitCode, ExitStatus};

use experiment::Status;

use crate::output;

/// What `--help` says of them.
pub(crate) const HELP: &str = "\
Exit codes: 0 fine; 1 an expectation or a program of the scenario failed, or a flow stalled; 2 wrong
usage or a wrong file; 3 this machine lacks something, such as a folder that can be written; 70 a
fault of suimon's own; 130 interrupted (what was measured so far is kept and marked incomplete).";

/// How a verb ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Exit {
    /// All is well.
    Fine,
    /// An expectation or a program of the scenario failed, or a flow stalled.
    Unmet,
    /// The command line or a file is wrong.
    Usage,
    /// The machine lacks something.
    Lacking,
    /// Ended early by a signal.
    Interrupted,
    /// As a program that was run in a host.
    As(u8),
}

impl Exit {
    /// Fine, or an expectation failed.
    pub(crate) const fn met(ok: bool) -> Self {
        if ok { Self::Fine } else { Self::Unmet }
    }

    /// As a shell tells how a program ended: its own code, or 128 and the signal that ended it.
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
            Exit::Lacking => 3,
            // 128 + SIGINT, as a shell reports it; the same for SIGTERM.
            Exit::Interrupted => 130,
            Exit::As(code) => code,
        })
    }
}

/// `EX_SOFTWARE` of sysexits.h.
const FAULT: i32 = 70;

/// That of [`Exit::Usage`].
const WRONG_FILE: i32 = 2;

/// Says in one paragraph that the fault is ours, in place of a backtrace; or that a file is damaged, where its decoder panics.
pub(crate) fn take_over_panics() {
    std::panic::set_hook(Box::new(|panic| {
        let text = panic.payload_as_str().unwrap_or("no message");
        if let Some(file) = mpi_trace::guarded_file() {
            output::note(&format!(
                "error: {file}: damaged: its decoder says: {text}\n  help: make the file again",
            ));
            std::process::exit(WRONG_FILE);
        }
        let place = panic.location().map(|at| format!(" ({}:{})", at.file(), at.line()));
        let place = place.unwrap_or_default();
        output::note(&format!(
            "error: suimon met a fault of its own: {text}{place}\n  help: please report it with \
             the scenario and this line: suimon {}",
            env!("CARGO_PKG_VERSION"),
        ));
        std::process::exit(FAULT);
    }));
}
