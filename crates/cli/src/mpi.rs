//! `suimon mpi`: real MPI programs.

mod record;
mod summary;

use clap::{Args, Subcommand};

use crate::exit::Exit;
use crate::failure::Failure;

/// What `mpi` is told.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Run an MPI program and write what its ranks call into a trace
    Record(record::Arguments),
}

/// Does what is asked for.
pub(crate) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    match &arguments.verb {
        Verb::Record(arguments) => record::run(arguments),
    }
}

impl From<::mpi::Error> for Failure {
    fn from(error: ::mpi::Error) -> Self {
        let text = error.to_string();
        let (message, help) = text.split_once("\n  help: ").unwrap_or((&text, ""));
        if error.is_lacking() { Self::lacking(message, help) } else { Self::usage(message, help) }
    }
}
