//! Traces of MPI programs: what each rank called, when, and how long it computed in between.
//!
//! A trace is one Parquet file, of any number of ranks, sorted by rank and then in the order of calls:
//!
//! | column | type | what |
//! | --- | --- | --- |
//! | `rank` | INT32 | in `MPI_COMM_WORLD` |
//! | `operation` | text | [`Operation`], which says what `peer`, `bytes` and `counts` are |
//! | `peer` | INT32 | the other rank, or the root, in `MPI_COMM_WORLD`; -1 for none (`MPI_PROC_NULL`) |
//! | `bytes` | INT64 | payload |
//! | `tag` | INT32 | of the message; 0 for collectives |
//! | `communicator` | INT32 | 0 is `MPI_COMM_WORLD`; all members give it the same number |
//! | `start`, `end` | INT64 | of the call, ns since the earliest rank had passed `MPI_Init` |
//! | `computing` | INT64 | ns of CPU time between the previous call's end and this one's start |
//! | `requests` | list of INT32 | the request that is started, or those that are completed, by rank from 0 |
//! | `counts` | list of INT64 | bytes for each member, of operations with one count for each |
//!
//! The file's key-value metadata has `suimon.mpi`, a JSON document: `version`, `program`, `library`,
//! `library_version`, `ranks`, and the members of each communicator in `communicators`.
//!
//! Parquet's first four bytes are followed, where its readers never look, by eight bytes that mark a trace and a
//! digest of the whole file: a trace whose bytes changed is refused before anything is decoded.

mod consistency;
mod digest;
mod error;
mod guard;
mod operation;
mod read;
mod write;

use std::io::Write;

pub use consistency::Inconsistency;
pub use error::Error;
pub use guard::{guarded, guarded_file};
pub use operation::{Class, Operation};

/// One call of one rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// What was called.
    pub operation: Operation,
    /// The other rank, or the root; of receives the one whose message came. None for `MPI_PROC_NULL`,
    /// and for operations that have none.
    pub peer: Option<u32>,
    /// Payload, bytes: see [`Operation`].
    pub bytes: u64,
    /// The tag of the message; 0 for collectives.
    pub tag: i32,
    /// Index of [`Trace::communicators`].
    pub communicator: u32,
    /// When the call began, nanoseconds since the earliest rank had passed `MPI_Init`.
    pub start: u64,
    /// When it returned.
    pub end: u64,
    /// CPU time between the previous call's end and this one's start, nanoseconds.
    pub computing: u64,
    /// The request that this call starts, or those that it completes, numbered by rank from 0.
    pub requests: Box<[u32]>,
    /// Bytes for each member of the communicator, in its order, of operations with one count for each.
    pub counts: Box<[u64]>,
}

/// What the ranks of a program called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trace {
    /// The program's name.
    pub program: String,
    /// The MPI library: `Open MPI` or `MPICH`.
    pub library: String,
    /// Its version.
    pub library_version: String,
    /// Members of each communicator, as ranks of `MPI_COMM_WORLD`, which is the first one.
    pub communicators: Vec<Vec<u32>>,
    /// The calls of each rank, in their order.
    pub ranks: Vec<Vec<Call>>,
}

impl Trace {
    /// Reads a trace from a file's bytes.
    ///
    /// # Errors
    /// If the bytes are not a trace, were changed since it was written, or a newer version wrote it.
    pub fn read(bytes: &[u8]) -> Result<Self, Error> {
        read::trace(bytes)
    }

    /// Writes the trace as a file.
    ///
    /// # Errors
    /// If `out` takes nothing more.
    pub fn write(&self, mut out: impl Write) -> Result<(), Error> {
        Ok(out.write_all(&write::bytes(self)?)?)
    }

    /// What contradicts itself in the trace: messages that only one side knows, members of a communicator
    /// that disagree about its collectives, waits for requests that nothing started. At most `limit`.
    pub fn inconsistencies(&self, limit: usize) -> Vec<Inconsistency> {
        consistency::check(self, limit)
    }

    /// Rounds every time to multiples of `resolution` nanoseconds, which makes the file smaller; powers of
    /// two most, as their low bits are zero. What is rounded off from one time of computing is carried to
    /// the next, so that the sum stays.
    pub fn round(&mut self, resolution: u64) {
        let resolution = resolution.max(1);
        for calls in &mut self.ranks {
            let mut carried = 0;
            for call in calls {
                call.start -= call.start % resolution;
                call.end -= call.end % resolution;
                carried += call.computing;
                call.computing = carried - carried % resolution;
                carried %= resolution;
            }
        }
    }
}
