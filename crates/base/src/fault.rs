//! An error as a person gets it: what is wrong, where, what helps, and who can do that. The typed errors of all crates
//! become one, and programs print that.

use alloc::string::String;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::{fmt, ops};

/// The party that can fix an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The user: an argument or a file is wrong.
    Usage,
    /// The machine lacks something, such as a privilege or disk space.
    Lacking,
}

/// An error with what a person can do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The party that can fix it.
    pub kind: ErrorKind,
    /// The problem.
    pub message: String,
    /// The remedy; empty if there is none, or if the message has it.
    pub help: String,
    /// The problems of a scenario, each with its place and remedy: then `message` is all of them as text.
    pub diagnostics: Vec<Diagnostic>,
    /// Whether `suimon doctor` tests for what the machine lacks.
    pub by_doctor: bool,
}

impl Fault {
    /// An error of the request: it names something that does not exist or does not fit.
    pub fn usage(message: impl Into<String>, help: impl Into<String>) -> Self {
        let (message, help) = (message.into(), help.into());
        Self { kind: ErrorKind::Usage, message, help, diagnostics: Vec::new(), by_doctor: false }
    }

    /// An error of the machine: it lacks something.
    pub fn lacking(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self { kind: ErrorKind::Lacking, ..Self::usage(message, help) }
    }

    /// An error of either, as `lacks` says of the machine.
    pub fn of(lacks: bool, message: impl Into<String>, help: impl Into<String>) -> Self {
        if lacks { Self::lacking(message, help) } else { Self::usage(message, help) }
    }
}

impl fmt::Display for Fault {
    /// The message, and the help on a second line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        with_help(f, &self.message, &self.help)
    }
}

impl core::error::Error for Fault {}

/// One problem of a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The problem.
    pub message: String,
    /// The remedy.
    pub help: String,
    /// The name of the file or of the command-line option.
    pub name: String,
    /// The whole text of that file or option.
    pub text: Arc<str>,
    /// The place in `text`, in bytes.
    pub span: ops::Range<usize>,
    /// Line of the span's start, from 1.
    pub line: usize,
    /// Column of the span's start in characters, from 1.
    pub column: usize,
}

impl fmt::Display for Diagnostic {
    /// `file:line:column: message`, and the help on a second line.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}:{}: ", self.name, self.line, self.column)?;
        with_help(f, &self.message, &self.help)
    }
}

fn with_help(f: &mut fmt::Formatter<'_>, message: &str, help: &str) -> fmt::Result {
    f.write_str(message)?;
    if help.is_empty() { Ok(()) } else { write!(f, "\n  help: {help}") }
}
