//! `suimon linux`: the guest kernel, user-mode Linux on the simulator's clock.

mod build;
mod status;

use clap::{Args, Subcommand};

use crate::exit::Exit;
use crate::failure::Failure;

/// Build the guest kernel (Linux on the simulator's clock), or show its status
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Build it once, into this user's cache, from Debian's source; takes about ten minutes of CPU time
    Build(build::Arguments),
    /// Show whether it is built, its path and version, and what a build needs that is missing here
    Status {
        /// Print one JSON document
        #[arg(long)]
        json: bool,
    },
}

/// Builds the kernel, or shows its status.
pub(crate) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    match &arguments.verb {
        Verb::Build(arguments) => build::run(arguments),
        Verb::Status { json } => status::run(*json),
    }
}
