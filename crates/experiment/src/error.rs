//! Errors of running, comparing and reading.

use std::io;
use std::path::{Path, PathBuf};

/// An error of an experiment, as data: errors in a scenario have their place.
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
    /// The plan asks for something that the driver lacks.
    #[error(transparent)]
    Obstacle(#[from] scenario::capability::Obstacle),
    /// A guest kernel could not be started, or hung.
    #[error(transparent)]
    Guest(#[from] guest::Error),
    /// The lab could not be built, or broke.
    #[error(transparent)]
    Lab(#[from] lab::Error),
    /// The request names something that does not exist or does not fit.
    #[error("{message}\n  help: {help}")]
    Usage {
        /// The problem.
        message: String,
        /// The remedy.
        help: String,
    },
    /// The machine lacks something.
    #[error("{message}\n  help: {help}")]
    Lacking {
        /// What is missing.
        message: String,
        /// What would help.
        help: String,
    },
    /// A file cannot be read.
    #[error("{}: {source}{}", path.display(), remedy(source))]
    File {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A folder cannot be made or read.
    #[error("{}: {source}; {}", path.display(), record::error::remedy(source))]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// The disk was full before a run came to its end. What was measured until then is kept.
    #[error("{}: the disk is full: the measurements up to that point are kept and reported above\n  help: free \
             space there, or choose a folder on another disk with --out, and run it again", folder.display())]
    DiskFull {
        /// The run's folder.
        folder: PathBuf,
    },
    /// The caller cancelled the runs before the first began.
    #[error("interrupted: nothing was run")]
    Interrupted,
    /// A flow of a paper's run stalled, so that nothing can be measured there.
    #[error("{}: flow `{flow}` stalled, {why}: a fault of the model, please report it", folder.display())]
    Stalled {
        /// The run's folder.
        folder: std::path::PathBuf,
        /// The flow.
        flow: String,
        /// What it waits for.
        why: String,
    },
    /// A paper's `published.toml`, which is part of the program, is wrong.
    #[error("papers/{paper}/published.toml: {message}")]
    Paper {
        /// The paper.
        paper: String,
        /// The problem.
        message: String,
    },
}

/// The party that can fix an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ErrorKind {
    /// The user's: an argument or a file is wrong.
    Usage,
    /// The machine's: it lacks something, such as a privilege or disk space.
    Lacking,
}

impl Error {
    /// An error of the request: it names something that does not exist or does not fit.
    pub fn usage(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Usage { message: message.into(), help: help.into() }
    }

    /// An error of the machine: it lacks something.
    pub fn lacking(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::Lacking { message: message.into(), help: help.into() }
    }

    /// Makes an error for a file that cannot be read: a closure for `map_err`.
    pub fn file(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        |source| Self::File { path: path.to_owned(), source }
    }

    /// Makes an error for a folder that cannot be made or read: a closure for `map_err`.
    pub fn folder(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        |source| Self::Folder { path: path.to_owned(), source }
    }

    /// The party that can fix it.
    pub const fn kind(&self) -> ErrorKind {
        match self {
            Self::Guest(error) | Self::Simulator(simulate::Refusal::Guest(error)) => match error {
                guest::Error::Refused { .. } => ErrorKind::Usage,
                _ => ErrorKind::Lacking,
            },
            Self::Results(record::Error::Io { .. } | record::Error::Busy { .. })
            | Self::Lab(lab::Error::Lacking { .. } | lab::Error::System { .. })
            | Self::Lacking { .. }
            | Self::DiskFull { .. }
            | Self::Folder { .. } => ErrorKind::Lacking,
            _ => ErrorKind::Usage,
        }
    }
}

/// The help for a file that cannot be read, if there is any.
fn remedy(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "\n  help: check the name and the folder",
        io::ErrorKind::IsADirectory => "\n  help: name a file in it",
        io::ErrorKind::InvalidData => "\n  help: use a UTF-8 text file",
        io::ErrorKind::PermissionDenied => {
            "\n  help: use another file, or change its permissions: ls -l"
        }
        _ => "",
    }
}
