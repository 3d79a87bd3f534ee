//! `suimon mpi`: real MPI programs.

mod enable;
mod launched;
mod record;
mod remote;
mod run;
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
    /// Run an MPI program with paced restart, short timeouts and phases
    Run(run::Arguments),
    /// At a host of a scenario: run what `start` asks for, until it is ended
    Serve,
    /// Run a command at a host that serves, as ssh does
    #[command(hide = true)]
    Start(remote::Arguments),
    /// Let programs of this machine have them, until `disable`; as root
    Enable(enable::Arguments),
    /// Take them out of the kernel again; as root
    Disable,
    /// Whether they are enabled, and what was done with them; as root
    Status(enable::StatusArguments),
}

/// Does what is asked for.
pub(crate) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    match &arguments.verb {
        Verb::Record(arguments) => record::run(arguments),
        Verb::Run(arguments) => run::run(arguments),
        Verb::Serve => remote::serve(),
        Verb::Start(arguments) => remote::start(arguments),
        Verb::Enable(arguments) => enable::enable(arguments),
        Verb::Disable => enable::disable(),
        Verb::Status(arguments) => enable::status(arguments),
    }
}

impl From<::mpi::Error> for Failure {
    fn from(error: ::mpi::Error) -> Self {
        told(&error, error.is_lacking())
    }
}

impl From<host::Error> for Failure {
    fn from(error: host::Error) -> Self {
        told(&error, error.is_lacking())
    }
}

/// An error whose text ends in a line of help: whether this machine lacks something, or the command is wrong.
fn told(error: &dyn std::error::Error, lacking: bool) -> Failure {
    let text = error.to_string();
    let (message, help) = text.rsplit_once("\n  help: ").unwrap_or((&text, ""));
    if lacking { Failure::lacking(message, help) } else { Failure::usage(message, help) }
}
