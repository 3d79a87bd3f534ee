//! `suimon report`: renders the report of a finished run from its folder, for the first time or again.

use std::path::PathBuf;

use clap::Args;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

/// Render the report of finished runs, such as those of a sweep
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Run folders
    #[arg(required = true, num_args = 1.., value_name = "RUN")]
    folders: Vec<PathBuf>,
}

/// Renders each report.
pub(crate) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    for folder in &arguments.folders {
        let report = experiment::write_report(folder)?;
        output::print(&format!("report: {}\n", report.display()))?;
    }
    Ok(Exit::Fine)
}
