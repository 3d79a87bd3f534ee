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

/// Run and record MPI programs; enable, disable and report paced restart for them
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Run an MPI program and record the calls of its ranks in a trace
    Record(record::Arguments),
    /// Run an MPI program with paced restart, short timeouts and phases
    Run(run::Arguments),
    /// Run commands from `mpi start` on a host of a scenario, until it is stopped
    Serve,
    /// Run a command on a host that runs `mpi serve`, as ssh does
    #[command(hide = true)]
    Start(remote::Arguments),
    /// Enable paced restart, short timeouts and phases for programs of this machine, until `disable`; needs
    /// root
    Enable(enable::Arguments),
    /// Disable them again, and remove them from the kernel; needs root
    Disable,
    /// Report whether they are enabled, and how often they were used; needs root
    Status(enable::StatusArguments),
}

/// Runs the subcommand.
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
