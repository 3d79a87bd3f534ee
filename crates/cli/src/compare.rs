//! `suimon compare`: lays runs of one scenario, or of one paper, side by side.

use std::path::PathBuf;

use clap::Args;
use experiment::compare::{Pair, compare_paired};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::output;

mod render;

/// What `compare` is told.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// Run folders or sweeps of one scenario, or folders of one paper, by whatever driver; the first is
    /// what the others are held against. Runs that differ in their seed alone count as one sample
    #[arg(required = true, num_args = 1.., value_name = "RUN")]
    folders: Vec<PathBuf>,
    /// Show what is equal in all of them or differs by noise too, and every flow of a count
    #[arg(long)]
    all: bool,
    /// Hold a flow of the first run against one of another name in the others: down=down2
    #[arg(long = "pair", value_name = "FLOW=OTHER")]
    pairs: Vec<Pair>,
    /// Write a page with the differences as bars
    #[arg(short = 'o', long, value_name = "FILE.html")]
    report: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
}

impl Arguments {
    /// The words that make the page again.
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

/// Compares them: writes the page if one is asked for, and prints the rest as JSON or as text.
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
