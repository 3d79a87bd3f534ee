//! `suimon compare`: compares runs of one scenario, or of one paper, side by side.

use std::path::PathBuf;

use clap::Args;
use experiment::compare::{Pair, compare_paired};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

mod render;

/// Compare runs side by side
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Run folders or sweeps of one scenario, or folders of one paper, by any driver; the others are compared
    /// with the first. Runs that differ only in their seed count as one sample
    #[arg(required = true, num_args = 1.., value_name = "RUN")]
    folders: Vec<PathBuf>,
    /// Show also results that are equal or differ only by noise, and every flow of a count
    #[arg(long)]
    all: bool,
    /// Compare a flow of the first run with one of another name in the other runs: down=down2
    #[arg(long = "pair", value_name = "FLOW=OTHER")]
    pairs: Vec<Pair>,
    /// Write an HTML page with the differences as bars
    #[arg(short = 'o', long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl Arguments {
    /// The command that makes the page again.
    fn command(&self) -> Vec<String> {
        let mut words = vec!["suimon".to_owned(), "compare".into()];
        words.extend(self.folders.iter().map(|folder| folder.display().to_string()));
        words.extend(self.all.then(|| "--all".into()));
        for Pair { first, other } in &self.pairs {
            words.extend(["--pair".into(), format!("{first}={other}")]);
        }
        let page = self.report.iter();
        words.extend(page.flat_map(|page| ["-o".into(), page.display().to_string()]));
        words
    }
}

/// Compares the runs: writes the page if requested, and prints the results as JSON or as text.
pub(crate) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let comparison = compare_paired(&arguments.folders, arguments.all, &arguments.pairs)?;
    comparison.notes.iter().for_each(|note| output::note(note));
    if let Some(path) = &arguments.report {
        let page = comparison.page(arguments.command())?;
        record::folder::write(path, &page.to_html())?;
    }
    if arguments.json {
        output::print_json(&comparison.to_value())?;
    } else {
        output::print(&render::text(&comparison.table()))?;
    }
    Ok(Exit::met(comparison.ok()))
}
