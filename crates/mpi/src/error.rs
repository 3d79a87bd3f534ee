//! The errors of recording a program.

use std::io;
use std::path::{Path, PathBuf};

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
    /// The library's compiler is missing.
    #[error("the compiler of {} is missing: {}", .0.name(), .0.compilers().join(" or "))]
    NoCompiler(Library),
    /// The compiler refused the profiling library.
    #[error("{} could not compile the profiling library: {output}", compiler.display())]
    Compiler {
        /// The compiler.
        compiler: PathBuf,
        /// The compiler's output.
        output: String,
    },
    /// This user has no cache.
    #[error("there is no folder for the profiling library")]
    NoCache,
    /// A file or program of ours failed.
    #[error("{}: {source}", path.display())]
    Io {
        /// The file or program.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
    /// No rank wrote anything.
    #[error("nothing was recorded: no rank of the command called MPI_Init of {}", .0.name())]
    NoRanks(Library),
    /// A rank did not reach its end.
    #[error("rank {rank} of {ranks} did not call MPI_Finalize, or its record could not be written")]
    Incomplete {
        /// The rank.
        rank: usize,
        /// The number of ranks.
        ranks: usize,
    },
    /// More than one program called `MPI_Init`.
    #[error("the command ran several MPI programs")]
    Several,
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
}

impl Error {
    /// Returns a closure for `map_err` that creates the error for `path`.
    pub(crate) fn io(path: &Path) -> impl FnOnce(io::Error) -> Self + '_ {
        |source| Self::Io { path: path.to_owned(), source }
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        let is_usage = matches!(
            error,
            Error::Unknown(_) | Error::NoProgram(_) | Error::NoRanks(_) | Error::Incomplete { .. }
        );
        let help = match &error {
            Error::Unknown(_) => {
                "give the launcher and the program, as in `mpirun -n 4 ./program`, or the library: --library openmpi"
            }
            Error::NoProgram(_) => "check that it is installed, in a folder of PATH",
            Error::NoCompiler(library) => {
                let packages = library.packages();
                let help = format!(
                    "apt-get install {packages}, or if the library comes from elsewhere, put its `mpicc` into PATH"
                );
                return Self::lacking(error.to_string(), help);
            }
            Error::Compiler { .. } => "check that it compiles other programs",
            Error::NoCache => "name one: export XDG_CACHE_HOME=FOLDER",
            Error::Io { .. } => "check for free space and write permission",
            Error::NoRanks(_) => {
                "check which MPI library the program loads (ldd), that it is linked dynamically, and that all ranks \
                 run on this machine"
            }
            Error::Incomplete { .. } => {
                "check the program's output, and the free space in the folder for temporary files"
            }
            Error::Several => "record one at a time",
            Error::Damaged { .. } => "record again",
            Error::Trace(_) => "",
        };
        Self::of(!is_usage, error.to_string(), help)
    }
}
