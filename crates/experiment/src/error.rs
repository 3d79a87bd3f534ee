//! Why something could not be run, compared or read.

use std::io;
use std::path::{Path, PathBuf};

/// Why an experiment could not be done, as data: what is wrong with a scenario has its place.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A scenario is wrong; each of its diagnostics has file, line, column and help.
    #[error(transparent)]
    Scenario(#[from] scenario::Errors),
    /// Results could not be written, read or judged.
    #[error(transparent)]
    Results(#[from] record::Error),
    /// The simulator refused the plan.
    #[error(transparent)]
    Simulator(#[from] simulate::Refusal),
    /// A guest kernel could not be started, or did not go on.
    #[error(transparent)]
    Guest(#[from] guest::Error),
    /// The lab could not be built, or broke.
    #[error(transparent)]
    Lab(#[from] lab::Error),
    /// What is asked for does not exist or does not fit.
    #[error("{message}\n  help: {help}")]
    Usage {
        /// What is wrong.
        message: String,
        /// What would be right.
        help: String,
    },
    /// A file cannot be read.
    #[error("{}: {source}{}", path.display(), remedy(source))]
    File {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// A folder cannot be made or read.
    #[error("{}: {source}; {}", path.display(), record::error::remedy(source))]
    Folder {
        /// Which.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The disk was full before a run came to its end. What was measured until then is kept.
    #[error("{}: the disk is full: what was measured until then is kept, and told above\n  help: make room \
        there, or choose a folder on another disk with --out, and run it again", folder.display())]
    DiskFull {
        /// The run's folder.
        folder: PathBuf,
    },
    /// Who asked for runs took that back before the first began.
    #[error("interrupted: nothing was run")]
    Interrupted,
    /// A paper's `published.toml`, which is part of the program, is wrong.
    #[error("papers/{paper}/published.toml: {message}")]
    Paper {
        /// The paper.
        paper: String,
        /// What is wrong.
        message: String,
    },
}

/// Who can do something about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// Whoever asked: the arguments or a file are wrong.
    Usage,
    /// Whoever runs the machine: it lacks something, such as a right or room on the disk.
    Lacking,
}

impl Error {
    /// What is asked for does not exist or does not fit.
    pub fn usage(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Usage { message: message.into(), help: help.into() }
    }

    /// A file cannot be read: a closure for `map_err`.
    pub fn file(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        |source| Self::File { path: path.to_owned(), source }
    }

    /// A folder cannot be made or read: a closure for `map_err`.
    pub fn folder(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        |source| Self::Folder { path: path.to_owned(), source }
    }

    /// Who can do something about it.
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Self::Guest(error) | Self::Simulator(simulate::Refusal::Guest(error)) => match error {
                guest::Error::Refused { .. } => ErrorKind::Usage,
                _ => ErrorKind::Lacking,
            },
            Self::Results(record::Error::Io { .. } | record::Error::Busy { .. })
            | Self::Lab(lab::Error::Lacking { .. } | lab::Error::System { .. })
            | Self::DiskFull { .. }
            | Self::Folder { .. } => ErrorKind::Lacking,
            _ => ErrorKind::Usage,
        }
    }
}

/// What a person can do about a file that cannot be read, where that is plain.
fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => {
            "\n  help: check the name, and the folder that it is looked for in"
        }
        io::ErrorKind::IsADirectory => "\n  help: name a file in it",
        io::ErrorKind::InvalidData => "\n  help: give a text file in UTF-8",
        io::ErrorKind::PermissionDenied => {
            "\n  help: name another file, or ask for the right to it: ls -l"
        }
        _ => "",
    }
}
