//! `suimon paper`: runs a paper's experiments and holds them against its published figures.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::Args;
use results::report::Page;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::run::workers;
use crate::{folders, interruption, output};

mod cells;
mod costs;
mod curves;
mod figures;
pub(crate) mod library;
mod measure;
mod published;
mod shown;
mod statistic;

use cells::Cells;
use costs::Costs;
use measure::Measured;
use published::Published;

/// The items as JSON, and the mark of a paper's folder.
pub(crate) const ITEMS: &str = "paper.json";

/// What `paper` is told.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The paper; `suimon list papers` shows them
    paper: String,
    /// Only these tables and figures
    #[arg(long, value_name = "T3,F8", value_delimiter = ',')]
    only: Vec<String>,
    /// Runs at a time, all processors unless given; results do not depend on it
    #[arg(short, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Where the report and every run's folder go: runs/PAPER unless given
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// No progress bar
    #[arg(long)]
    quiet: bool,
}

/// Runs what the paper needs, and judges.
pub(crate) fn act(arguments: &Arguments) -> Result<Exit, Failure> {
    let published = chosen(arguments)?;
    let folder = arguments.out.clone();
    let folder = folder.unwrap_or_else(|| Path::new("runs").join(&published.paper));
    folders::create_for_many(&folder, ITEMS)?;
    let cells = Cells::new(&published, &folder)?;
    let costs = Costs::new(&published)?;
    let interrupted = interruption::watch()?;
    let progress = Progress::new(cells.len(), arguments.quiet);
    let done = cells.execute(workers(arguments.jobs), &interrupted, &progress);
    progress.finish();
    let cells = done?;
    let costs = if cells.complete() { costs.measure(arguments.quiet)? } else { costs };
    let measured = measure::all(&published, &cells, &costs)?;
    write(&folder.join(ITEMS), &(output::json(&shown::json(&measured)) + "\n"))?;
    let report = folder.join(results::folder::REPORT);
    write(&report, &page(&published, &cells, &measured)?)?;
    if arguments.json {
        output::print_json(&shown::json(&measured))?;
    } else {
        let text = shown::text(&published, &measured);
        output::print(&format!("{text}\nreport: {}\n", report.display()))?;
    }
    if !cells.complete() {
        output::note("interrupted: items whose runs did not come to their end are left out");
        return Ok(Exit::Interrupted);
    }
    Ok(Exit::met(measured.ok()))
}

fn chosen(arguments: &Arguments) -> Result<Published, Failure> {
    let mut published = library::published(&arguments.paper)?;
    if !arguments.only.is_empty() {
        let known = published.names().join(", ");
        published.only(&arguments.only).map_err(|unknown| {
            let message = format!("{} has no item `{unknown}`", arguments.paper);
            Failure::usage(message, format!("there is {known}"))
        })?;
    }
    Ok(published)
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    std::fs::write(path, text).map_err(Failure::folder(path))
}

/// The report: the verdict, the items, the figures.
fn page(published: &Published, cells: &Cells, measured: &Measured) -> Result<String, Failure> {
    let mut page = Page::new(&published.title, &format!("Paper {} reproduced", published.paper));
    let (mood, verdict) = shown::verdict(measured);
    page.banner(mood, &verdict);
    for section in shown::sections(published, measured) {
        page.section(&section);
    }
    if !published.figure.is_empty() {
        page.section(&figures::section(published, cells, measured)?);
    }
    Ok(page.to_html())
}
