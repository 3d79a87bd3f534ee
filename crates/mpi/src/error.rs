//! The errors of recording a program.

use std::io;
use std::path::Path;

use base::Fault;

use crate::library::Library;

/// An error of recording a program.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Neither the command's words nor its launcher identify the MPI library.
    #[error("`{0}` starts no program of a known MPI library")]
    Unknown(String),
    /// The command's first word is not a program.
    #[error("there is no program `{0}`")]
    NoProgram(String),
    /// No rank wrote anything.
    #[error("nothing was recorded: no rank of the command called MPI_Init of {}", .0.name())]
    NoRanks(Library),
    /// A rank's file is not what the profiling library writes.
    #[error("the record of rank {rank} is damaged: {what}")]
    Damaged {
        /// The rank.
        rank: usize,
        /// The damaged part.
        what: &'static str,
    },
    /// The trace cannot be written.
    #[error(transparent)]
    Trace(#[from] mpi_trace::Error),
    /// Any other, with what helps.
    #[error(transparent)]
    Fault(#[from] Fault),
}

impl Error {
    /// Returns a closure for `map_err` that creates the error for `path`, a file or program of ours.
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        |source| {
            let help = "check for free space and write permission";
            Fault::lacking(format!("{}: {source}", path.display()), help).into()
        }
    }

    /// The error of a rank that did not reach its end.
    pub(crate) fn incomplete(rank: usize, ranks: usize) -> Self {
        let what = "did not call MPI_Finalize, or its record could not be written";
        let help =
            "check the program's output, and the free space in the folder for temporary files";
        Fault::usage(format!("rank {rank} of {ranks} {what}"), help).into()
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        let message = error.to_string();
        match error {
            Error::Unknown(_) => Self::usage(
                message,
                "give the launcher and the program, as in `mpirun -n 4 ./program`, or the library: --library openmpi",
            ),
            Error::NoProgram(_) => {
                Self::usage(message, "check that it is installed, in a folder of PATH")
            }
            Error::NoRanks(_) => Self::usage(
                message,
                "check which MPI library the program loads (ldd), that it is linked dynamically, and that all ranks \
                 run on this machine",
            ),
            Error::Damaged { .. } => Self::lacking(message, "record again"),
            Error::Trace(_) => Self::lacking(message, ""),
            Error::Fault(fault) => fault,
        }
    }
}
