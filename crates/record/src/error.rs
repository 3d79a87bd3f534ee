//! Errors of results.

use std::io;
use std::path::{Path, PathBuf};

use base::Fault;
use parquet::errors::ParquetError;

use crate::folder::{Holder, files};

/// Why results cannot be written, read or judged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file system refused.
    #[error("{}: {source}; {}", path.display(), remedy(source))]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// A table is not what its name promises.
    #[error("{}: {source}; the file is damaged or not from Suimon: run the scenario again", path.display())]
    Table {
        /// The file.
        path: PathBuf,
        /// The Parquet library's error.
        source: ParquetError,
    },
    /// A JSON file is not what its name promises.
    #[error("{}: {source}; the file is damaged or not from Suimon: run the scenario again", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// The JSON library's error.
        source: serde_json::Error,
    },
    /// The folder is not that of a finished run.
    #[error("{} is not the folder of a finished run: it has no {lacks}", folder.display())]
    NoRun {
        /// The folder.
        folder: PathBuf,
        /// The file that is missing.
        lacks: &'static str,
    },
    /// A file is there but cannot be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// Somebody else writes into the folder.
    #[error("{} is in use by {}: wait for it or end it, or choose another folder with --out", folder.display(),
        holder.as_ref().map_or_else(|| "another run".into(), |holder| holder.describe()))]
    Busy {
        /// The folder.
        folder: PathBuf,
        /// The process that holds the lock, if known.
        holder: Option<Box<Holder>>,
    },
    /// The folder holds other files.
    #[error("{} contains files but no manifest.json of a run: set --out to an empty folder or to that of an \
             earlier run", path.display())]
    Foreign {
        /// The folder.
        path: PathBuf,
    },
    /// The scenario of a stored run is invalid, which is possible if it is of another version.
    #[error(transparent)]
    Scenario(#[from] scenario::Errors),
    /// An expectation names a quantity that no summary has.
    #[error("unknown result `{path}`; did you mean `{nearest}`?")]
    UnknownPath {
        /// The path as written.
        path: String,
        /// The most similar path there is.
        nearest: String,
    },
}

/// Returns what a person can do about a file that cannot be written.
pub fn remedy(error: &io::Error) -> &'static str {
    if files::is_full(error) {
        return "the disk is full: make room there, or choose a folder on another disk with --out";
    }
    // Linux's error if the last part of a path is a symlink and must not be one.
    if error.raw_os_error() == Some(nix::libc::ELOOP) {
        return "it is a symbolic link, which is not followed: remove it, or choose another folder with --out";
    }
    "choose a folder that can be written with --out"
}

/// Makes the error of a file that cannot be read: a closure for `map_err`.
pub fn file(path: &Path) -> impl FnOnce(io::Error) -> Fault + '_ {
    |error| {
        let help = match error.kind() {
            io::ErrorKind::NotFound => "check the name and the folder",
            io::ErrorKind::IsADirectory => "name a file in it",
            io::ErrorKind::InvalidData => "use a UTF-8 text file",
            io::ErrorKind::PermissionDenied => "use another file, or change its permissions: ls -l",
            _ => "",
        };
        Fault::usage(format!("{}: {error}", path.display()), help)
    }
}

/// Makes the error of a folder that cannot be made or read: a closure for `map_err`.
pub fn folder(path: &Path) -> impl FnOnce(io::Error) -> Fault + '_ {
    |error| Fault::lacking(format!("{}: {error}; {}", path.display(), remedy(&error)), "")
}

/// Makes the error of a file or stream that cannot be written: a closure for `map_err`.
pub fn unwritten(path: &Path) -> impl FnOnce(io::Error) -> Fault + '_ {
    |error| {
        let help = match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "make room there",
            _ => "name a file in a writable folder",
        };
        Fault::lacking(format!("{}: {error}", path.display()), help)
    }
}

impl From<&Error> for Fault {
    fn from(error: &Error) -> Self {
        match error {
            Error::Scenario(errors) => errors.clone().into(),
            error => {
                let lacks = matches!(error, Error::Io { .. } | Error::Busy { .. });
                Self::of(lacks, error.to_string(), "")
            }
        }
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        (&error).into()
    }
}

impl Error {
    /// Whether there is no room on the disk.
    pub fn is_full(&self) -> bool {
        matches!(self, Self::Io { source, .. } if files::is_full(source))
    }

    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        |source| Self::Io { path: path.to_owned(), source }
    }

    pub(crate) fn table(path: &Path) -> impl FnOnce(ParquetError) -> Self + '_ {
        |source| Self::Table { path: path.to_owned(), source }
    }

    /// Makes the error of writing a table: an error of the file system is not one of the table.
    pub(crate) fn unwritten(path: &Path) -> impl FnOnce(ParquetError) -> Self + '_ {
        |source| match source {
            ParquetError::External(source) => match source.downcast() {
                Ok(refusal) => Self::io(path)(*refusal),
                Err(other) => Self::table(path)(ParquetError::External(other)),
            },
            other => Self::table(path)(other),
        }
    }

    pub(crate) fn json(path: &Path) -> impl FnOnce(serde_json::Error) -> Self + '_ {
        |source| Self::Json { path: path.to_owned(), source }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_no_damaged_table() {
        let message = |source| Error::unwritten(Path::new("flows.parquet"))(source).to_string();
        let full = io::Error::from(io::ErrorKind::StorageFull);
        assert!(message(full.into()).contains("the disk is full: make room there"));
        let denied = io::Error::from(io::ErrorKind::PermissionDenied);
        assert!(message(denied.into()).contains("choose a folder that can be written"));
        assert!(message(ParquetError::General("a column too few".into())).contains("damaged"));
    }
}
