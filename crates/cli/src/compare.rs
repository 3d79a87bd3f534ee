//! `suimon compare`: lays runs of one scenario, or of one paper, side by side.

use std::path::PathBuf;

use clap::Args;
use report::differences::Differences;
use serde_json::Value;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::{output, paper};

mod difference;
mod folders;
mod groups;
mod papers;
mod render;
mod render_groups;
mod rows;
mod runs;

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
        let page = self.report.iter();
        words.extend(page.flat_map(|page| ["-o".into(), page.display().to_string()]));
        words
    }
}

/// Compares them.
pub(crate) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let is_paper = |folder: &&PathBuf| folder.join(paper::ITEMS).exists();
    let (papers, runs): (Vec<_>, Vec<_>) = arguments.folders.iter().partition(is_paper);
    match (papers.as_slice(), runs.as_slice()) {
        ([], _) => of_runs(arguments),
        ([_], []) => {
            let help = "name another folder of the same paper";
            Err(Failure::usage("one paper is nothing to compare", help))
        }
        (_, []) => papers::run(arguments),
        ([paper, ..], [run, ..]) => {
            let (paper, run) = (paper.display(), run.display());
            let message = format!("{paper} holds a paper, {run} does not");
            Err(Failure::usage(message, "give run folders only, or folders of papers only"))
        }
    }
}

/// Writes the page if one is asked for, and prints the rest as JSON or as text.
fn answer(
    arguments: &Arguments,
    page: impl FnOnce() -> Result<Differences, results::Error>,
    json: impl FnOnce() -> Value,
    text: impl FnOnce() -> String,
) -> Result<(), Failure> {
    if let Some(path) = &arguments.report {
        let page = Differences { command: arguments.command(), ..page()? };
        results::folder::write(path, &page.to_html())?;
    }
    if arguments.json { output::print_json(&json()) } else { output::print(&text()) }
}

/// Side by side, or as samples where several runs differ in their seed alone.
fn of_runs(arguments: &Arguments) -> Result<Exit, Failure> {
    let runs = folders::read(&arguments.folders)?;
    let groups = groups::gather(runs.clone());
    match groups.len() > 1 && groups.len() < runs.len() {
        true => groups::run(arguments, groups),
        false => runs::run(arguments, runs),
    }
}
