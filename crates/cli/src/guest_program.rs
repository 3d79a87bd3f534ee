//! `suimon guest`: what a guest kernel runs first, in a folder that it shares with the simulator.

use std::path::PathBuf;

use clap::Args;

use crate::exit::Exit;
use crate::failure::Failure;

/// What `guest` is told.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The folder
    folder: PathBuf,
}

/// Ends the guest with it.
pub(crate) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    lab::guest::run(&arguments.folder)?;
    Ok(Exit::Fine)
}
