//! `suimon guest`: the init program of a guest kernel, in a folder shared with the simulator.

use std::path::PathBuf;

use clap::Args;

use crate::exit::Exit;
use crate::failure::Failure;

/// Run as init of a guest kernel (internal)
#[derive(Debug, Args)]
#[command(hide = true)]
pub(crate) struct Arguments {
    /// The folder
    folder: PathBuf,
}

/// Runs as init; the guest ends when it returns.
pub(crate) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    lab::guest::run(&arguments.folder)?;
    Ok(Exit::Fine)
}
