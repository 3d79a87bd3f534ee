//! `suimon compare`: lays runs of one scenario, or of one paper, side by side.

use std::path::PathBuf;

use clap::Args;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::paper;

mod difference;
mod papers;
mod rows;
mod runs;
mod shown;

/// What `compare` is told.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Run folders of one scenario, or folders of one paper, by whatever driver; the first is what the
    /// others are held against
    #[arg(required = true, num_args = 2.., value_name = "RUN")]
    folders: Vec<PathBuf>,
    /// Show what is equal in all of them too, and every flow of a count
    #[arg(long)]
    all: bool,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

/// Compares them.
pub(crate) fn act(arguments: &Arguments) -> Result<Exit, Failure> {
    let is_paper = |folder: &&PathBuf| folder.join(paper::ITEMS).exists();
    let (papers, runs): (Vec<_>, Vec<_>) = arguments.folders.iter().partition(is_paper);
    match (papers.as_slice(), runs.as_slice()) {
        ([], _) => runs::act(arguments),
        (_, []) => papers::act(arguments),
        ([paper, ..], [run, ..]) => {
            let (paper, run) = (paper.display(), run.display());
            let message = format!("{paper} holds a paper, {run} does not");
            Err(Failure::usage(message, "give run folders only, or folders of papers only"))
        }
    }
}
