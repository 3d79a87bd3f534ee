//! `suimon report`: renders the report of a finished run again from its folder.

use std::path::{Path, PathBuf};

use clap::Args;
use experiment::folders::SWEEP;
use record::StoredRun;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

/// Render the report of a finished run again
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Run folders
    #[arg(required = true, num_args = 1.., value_name = "RUN")]
    folders: Vec<PathBuf>,
}

/// Renders each report.
pub(crate) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    for folder in &arguments.folders {
        let report = render(folder)?;
        output::print(&format!("report: {}\n", report.display()))?;
    }
    Ok(Exit::Fine)
}

fn render(folder: &Path) -> Result<PathBuf, Failure> {
    if folder.join(SWEEP).is_file() {
        let message = format!("{} holds a sweep", folder.display());
        let help = "name the runs in it; `suimon sweep` with the same settings renders the sweep's \
                    report again without repeating finished runs";
        return Err(Failure::usage(message, help));
    }
    let stored = StoredRun::read(folder)?;
    let plan = stored.plan()?;
    let html = report::stored_to_html(&stored, &plan)?;
    Ok(stored.replace_report(&html)?)
}
