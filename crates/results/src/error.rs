//! What can go wrong with results.

use std::path::{Path, PathBuf};

/// Why results could not be written, read or judged.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file system refused.
    #[error("{}: {source}; choose a folder that can be written with --out", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What it said.
        source: std::io::Error,
    },
    /// A table is not what its name says.
    #[error("{}: {source}; the file is damaged or not from Suimon: run the scenario again", path.display())]
    Table {
        /// The file.
        path: PathBuf,
        /// What the Parquet library said.
        source: parquet::errors::ParquetError,
    },
    /// A JSON file is not what its name says.
    #[error("{}: {source}; the file is damaged or not from Suimon: run the scenario again", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// What the JSON library said.
        source: serde_json::Error,
    },
    /// The folder is not that of a finished run.
    #[error("{} is no folder of a finished run: it has no {lacks}", folder.display())]
    NoRun {
        /// The folder.
        folder: PathBuf,
        /// The file that such a folder has.
        lacks: &'static str,
    },
    /// A file is there but cannot be read.
    #[error("{}: {source}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// The folder holds something else.
    #[error("{} holds files but no manifest.json: give --out an empty folder or one of an earlier run", path.display())]
    Foreign {
        /// The folder.
        path: PathBuf,
    },
    /// An expectation names what no summary has.
    #[error("no result is called `{path}`; did you mean `{nearest}`?")]
    UnknownPath {
        /// As written.
        path: String,
        /// The most similar path there is.
        nearest: String,
    },
}

impl Error {
    pub(crate) fn io(path: &Path) -> impl FnOnce(std::io::Error) -> Self + '_ {
        |source| Self::Io { path: path.to_owned(), source }
    }

    pub(crate) fn table(path: &Path) -> impl FnOnce(parquet::errors::ParquetError) -> Self + '_ {
        |source| Self::Table { path: path.to_owned(), source }
    }

    pub(crate) fn json(path: &Path) -> impl FnOnce(serde_json::Error) -> Self + '_ {
        |source| Self::Json { path: path.to_owned(), source }
    }
}
