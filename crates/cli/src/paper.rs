//! `suimon paper`: runs a paper's experiments and holds them against its published figures.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use clap::Args;
use report::{Mood, Page, Section};

use crate::execution::Driver;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::port::Fabric;
use crate::progress::Progress;
use crate::run_args::workers;
use crate::{folders, interruption, output};

mod cells;
mod costs;
mod curves;
mod figures;
pub(crate) mod library;
mod measure;
mod published;
mod render;
mod statistic;

use cells::{Cells, Mode};
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
    /// Who moves the packets; the lab's runs take their real time, one after the other
    #[arg(long, value_enum, value_name = "DRIVER", default_value_t)]
    on: Driver,
    /// On real packets only what takes little time: fewer cells, shorter runs
    #[arg(long)]
    quick: bool,
    /// Runs at a time, all processors unless given; results do not depend on it
    #[arg(short, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Where the report and every run's folder go: runs/PAPER or runs/PAPER-lab unless given
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// No progress bar
    #[arg(short, long)]
    quiet: bool,
}

impl Arguments {
    /// The words that run it again, without what cannot change results.
    fn command(&self) -> Vec<String> {
        let mut words = vec!["suimon".to_owned(), "paper".into(), self.paper.clone()];
        if !self.only.is_empty() {
            words.extend(["--only".into(), self.only.join(",")]);
        }
        words.extend(self.on.words(Fabric::default()));
        words.extend(self.quick.then(|| "--quick".into()));
        words
    }
}

/// Runs what the paper needs, and judges.
pub(crate) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let mode = mode(arguments)?;
    let published = chosen(arguments)?;
    let folder = folder(arguments, &published);
    let cells = Cells::new(&published, &folder, mode)?;
    if cells.len() == 0 && mode.driver == Driver::Lab {
        let message = "nothing of that is to run on real packets";
        return Err(Failure::usage(message, "leave out --only or --quick, or simulate it"));
    }
    cells.check()?;
    let costs = Costs::new(&published)?;
    let _lock = folders::create_for_many(&folder, ITEMS)?;
    // Without items until there are results, so that a run that breaks can be repeated.
    let none = Measured { paper: published.paper.clone(), driver: mode.driver, rows: Vec::new() };
    results::folder::write(&folder.join(ITEMS), &(output::json(&render::json(&none)) + "\n"))?;
    let interrupted = interruption::watch()?;
    let progress = Progress::new(cells.len(), arguments.quiet);
    // Real time is not shared.
    let alone = mode.driver == Driver::Lab;
    let workers = if alone { NonZeroUsize::MIN } else { workers(arguments.jobs) };
    let done = cells.execute(workers, &interrupted, &progress);
    progress.finish();
    let cells = done?;
    let costs = if cells.complete() && !alone { costs.measure(arguments.quiet)? } else { costs };
    let measured = measure::all(&published, &cells, &costs, mode.driver)?;
    notes(&cells).iter().for_each(|note| output::note(note));
    results::folder::write(&folder.join(ITEMS), &(output::json(&render::json(&measured)) + "\n"))?;
    let report = folder.join(results::folder::REPORT);
    results::folder::write(&report, &page(&published, &cells, &measured, arguments)?)?;
    if arguments.json {
        output::print_json(&render::json(&measured))?;
    } else {
        let text = render::text(&published, &measured);
        output::print(&format!("{text}\nreport: {}\n", report.display()))?;
    }
    if !cells.complete() {
        output::note("interrupted: items whose runs did not come to their end are left out");
        return Ok(Exit::Interrupted);
    }
    Ok(Exit::met(measured.ok()))
}

/// How runs are executed. The lab is entered while there is one thread only.
fn mode(arguments: &Arguments) -> Result<Mode, Failure> {
    let mode = Mode { driver: arguments.on, quick: arguments.quick };
    match mode {
        Mode { driver: Driver::Lab, .. } => drop(lab::privilege::acquire()?),
        Mode { quick: true, .. } => {
            let help = "add --on lab: what is simulated takes no real time";
            return Err(Failure::usage("--quick is for real packets", help));
        }
        Mode { .. } => {}
    }
    Ok(mode)
}

fn folder(arguments: &Arguments, published: &Published) -> PathBuf {
    let name = match arguments.on {
        Driver::Simulator => published.paper.clone(),
        Driver::Lab => format!("{}-lab", published.paper),
    };
    arguments.out.clone().unwrap_or_else(|| Path::new("runs").join(name))
}

/// What was left out, and which results are not to be believed.
fn notes(cells: &Cells) -> Vec<String> {
    let left_out = cells.left_out();
    let mut notes = Vec::new();
    if !left_out.is_empty() {
        notes.push(format!("left out: {}", left_out.join(", ")));
    }
    let slowed = cells.slowed().into_iter().map(|(cell, by)| {
        format!(
            "{cell}: the machine did not keep up; measured with rates and buffers divided by {by} and the \
             same round trip, bandwidth times {by}"
        )
    });
    notes.extend(slowed);
    notes.extend(cells.late().into_iter().map(|(cell, warning)| format!("{cell}: {warning}")));
    notes
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

/// The report: the verdict, the items, the figures.
fn page(
    published: &Published,
    cells: &Cells,
    measured: &Measured,
    arguments: &Arguments,
) -> Result<String, Failure> {
    let by = match arguments.on {
        Driver::Simulator => "in the simulator",
        Driver::Lab => "on real packets",
    };
    let lead =
        format!("Paper {}, its published numbers beside what came out {by}", published.paper);
    let mut page = Page::new(&published.title, &lead);
    let (mood, verdict) = render::verdict(measured);
    page.banner(mood, &verdict);
    if let Some(calibration) = render::calibration(published, measured) {
        page.banner(Mood::Neutral, &calibration);
    }
    notes(cells).iter().for_each(|note| page.banner(Mood::Neutral, note));
    let mut again = Section::new("Run it again");
    again.command(&arguments.command());
    page.section(&again);
    for section in render::sections(published, measured) {
        page.section(&section);
    }
    if !published.figure.is_empty() {
        page.section(&figures::section(published, cells, measured)?);
    }
    Ok(page.to_html())
}
