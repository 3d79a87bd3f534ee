//! Why a trace cannot be read or written.

use parquet::errors::ParquetError;

/// Why a trace cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The bytes are not those that were written.
    #[error("the trace is damaged: its digest does not match its content")]
    Damaged,
    /// The file is not a trace that `suimon mpi record` wrote.
    #[error("not a trace of `suimon mpi record`: {0}")]
    Foreign(&'static str),
    /// A newer version wrote it.
    #[error("the trace has version {0}; this program reads version 1")]
    Version(u64),
    /// Parquet's own.
    #[error("not a readable Parquet file: {0}")]
    Parquet(#[from] ParquetError),
    /// Parquet's decoder panicked.
    #[error("the trace is damaged: decoder error: {0}")]
    Undecodable(String),
    /// What the file says of itself is wrong.
    #[error("the trace's metadata `suimon.mpi`: {0}")]
    Metadata(String),
    /// A column is missing or of another type.
    #[error("the trace's column `{0}` is missing, has nulls or has the wrong type")]
    Column(&'static str),
    /// A value that means nothing.
    #[error("the trace's column `{column}`: {value} is out of range (call {row})")]
    Value {
        /// The column.
        column: &'static str,
        /// The value.
        value: i64,
        /// The call, counted from 0 through the whole file.
        row: usize,
    },
    /// An operation that this version does not know.
    #[error("the trace's column `operation`: unknown operation `{0}`")]
    Operation(String),
    /// The file takes nothing.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}
