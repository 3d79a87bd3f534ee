//! A paper's experiments, compared with its published figures.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use record::folder::{FolderLock, REPORT};
use record::paper::Results;
use serde_json::Value;

use crate::driver::DriverChoice;
use crate::error::Error;
use crate::execution::Status;
use crate::folders::{self, json_text};
use crate::progress::Steering;

mod cells;
mod costs;
mod curves;
mod figures;
mod library;
mod measure;
mod measured_table;
mod page;
mod published;
mod statistic;
mod table;

use cells::{Cells, Mode};
use costs::Costs;
use measure::Measured;
use published::Published;

pub use costs::CostCase;
pub use library::{papers, title};
pub use measured_table::{MeasuredTable, value};
pub use page::MeasuredItem;

/// The file with the items as JSON, which marks a paper's folder.
pub const ITEMS: &str = "paper.json";

/// The options of a paper's run.
#[derive(Clone, Debug, Default)]
pub struct PaperOptions {
    /// The driver.
    pub driver: DriverChoice,
    /// Whether to run only what takes little time on real packets: fewer cells, shorter runs.
    pub quick: bool,
    /// The tables and figures to run; all if empty.
    pub only: Vec<String>,
    /// The folder of the report and of every run's folder; by default `runs/PAPER` or `runs/PAPER-lab`.
    pub out: Option<PathBuf>,
}

/// A paper with its experiments planned.
#[derive(Debug)]
pub struct Paper {
    published: Published,
    mode: Mode,
    folder: PathBuf,
    cells: Cells,
    costs: Costs,
    /// The command line that runs it again, without options that cannot change results.
    command: Vec<String>,
}

impl Paper {
    /// Plans the runs of `paper`.
    ///
    /// # Errors
    /// An unknown paper, table or figure; nothing to run, or a run that the driver cannot do.
    pub fn new(paper: &str, options: PaperOptions) -> Result<Self, Error> {
        let PaperOptions { driver, quick, only, out } = options;
        let mode = Mode { driver, quick };
        if quick && !driver.is_real_time() {
            let help = "add --on lab: a simulation takes no real time";
            return Err(Error::usage("--quick is for real packets", help));
        }
        let command = command(paper, mode, &only);
        let published = chosen(paper, &only)?;
        let name = format!("{}{}", published.paper, driver.suffix());
        let folder = out.unwrap_or_else(|| Path::new("runs").join(name));
        let cells = Cells::new(&published, &folder, mode)?;
        if cells.len() == 0 && driver.is_real() {
            let message = "none of these items runs on real packets or kernels";
            return Err(Error::usage(message, "remove --only or --quick, or simulate them"));
        }
        cells.check()?;
        let costs = Costs::new(&published);
        Ok(Self { published, mode, folder, cells, costs, command })
    }

    /// The costs of disciplines to be measured after the runs.
    pub fn cost_cases(&self) -> Vec<CostCase> {
        self.costs.cases()
    }

    /// An error in the paper's own `published.toml`.
    pub fn error(&self, message: &str) -> Error {
        Error::paper(&self.published.paper, message)
    }

    /// Opens its folder.
    ///
    /// # Errors
    /// A folder that cannot be made, is in use, or has other contents.
    pub fn open(self) -> Result<OpenPaper, Error> {
        let lock = folders::create_for_many(&self.folder, ITEMS)?;
        // Empty until there are results, so that a run that breaks can be repeated.
        let items = Results {
            paper: self.published.paper.clone(),
            driver: self.mode.driver.manifest().into(),
            items: Vec::new(),
        };
        record::folder::write(&self.folder.join(ITEMS), &json_text(&items))?;
        Ok(OpenPaper { paper: self, lock })
    }
}

fn command(paper: &str, mode: Mode, only: &[String]) -> Vec<String> {
    let mut words = vec!["suimon".to_owned(), "paper".into(), paper.into()];
    if !only.is_empty() {
        words.extend(["--only".into(), only.join(",")]);
    }
    words.extend(mode.driver.words());
    words.extend(mode.quick.then(|| "--quick".into()));
    words
}

fn chosen(paper: &str, only: &[String]) -> Result<Published, Error> {
    let mut published = library::published(paper)?;
    if !only.is_empty() {
        let known = published.names().join(", ");
        published.only(only).map_err(|unknown| {
            let message = format!("{paper} has no item `{unknown}`");
            Error::usage(message, format!("available: {known}"))
        })?;
    }
    Ok(published)
}

/// A paper with an open folder.
#[derive(Debug)]
pub struct OpenPaper {
    paper: Paper,
    lock: FolderLock,
}

impl OpenPaper {
    /// The number of runs to execute.
    pub fn runs(&self) -> usize {
        self.paper.cells.len()
    }

    /// Executes the runs. The lab runs in real time, so it needs a single worker.
    ///
    /// # Errors
    /// The first run that fails.
    pub fn execute(
        mut self,
        workers: NonZeroUsize,
        steering: Steering<'_>,
    ) -> Result<PaperRuns, Error> {
        self.paper.cells = self.paper.cells.execute(workers, steering)?;
        Ok(PaperRuns { paper: self.paper, _lock: self.lock })
    }
}

/// A paper with its runs finished.
#[derive(Debug)]
pub struct PaperRuns {
    paper: Paper,
    _lock: FolderLock,
}

impl PaperRuns {
    /// The costs to be measured now, if any: those of simulated runs that are all complete.
    pub fn cost_cases(&self) -> Vec<CostCase> {
        let due = self.paper.cells.complete() && !self.paper.mode.driver.is_real();
        if due { self.paper.costs.cases() } else { Vec::new() }
    }

    /// Stores the output of `suimon cost --json` for each of these cases, in their order. Items without a
    /// measured cost are left out.
    pub fn set_costs(&mut self, measured: Vec<Value>) {
        self.paper.costs.take(measured);
    }

    /// Judges the items, and writes items and report.
    ///
    /// # Errors
    /// Items or a report that cannot be written, a figure with an unknown reference.
    pub fn finish(self) -> Result<PaperOutcome, Error> {
        let Paper { published, mode, folder, cells, costs, command } = self.paper;
        let measured = measure::all(&published, &cells, &costs, mode.driver)?;
        record::folder::write(&folder.join(ITEMS), &json_text(&measured.results()))?;
        let notes = notes(&cells, mode.driver);
        let report = folder.join(REPORT);
        let page = page::page(&published, &cells, &measured, &notes, &command)?;
        record::folder::write(&report, &page.to_html())?;
        Ok(PaperOutcome { published, measured, notes, report, complete: cells.complete() })
    }
}

/// The runs that were left out, and results that should not be trusted.
fn notes(cells: &Cells, driver: DriverChoice) -> Vec<String> {
    let left_out = cells.left_out();
    let mut notes = Vec::new();
    if !left_out.is_empty() {
        notes.push(format!("left out: {}", left_out.join(", ")));
    }
    let why = match driver.is_real_time() {
        true => "this machine cannot keep up with frames of real stacks at the rates of the paper",
        false => "kernels would take that many times as long at the rates of the paper",
    };
    let slowed = cells.slowed().into_iter().map(|(cell, by)| {
        format!(
            "{cell}: measured with rates and buffers divided by {by} and the same round trip, bandwidth times {by}; {why}"
        )
    });
    notes.extend(slowed);
    notes.extend(cells.late().into_iter().map(|(cell, warning)| format!("{cell}: {warning}")));
    notes
}

/// The outcome of a paper's experiments.
#[derive(Debug)]
pub struct PaperOutcome {
    published: Published,
    measured: Measured,
    /// The runs that were left out, and results that should not be trusted.
    pub notes: Vec<String>,
    /// The report.
    pub report: PathBuf,
    complete: bool,
}

impl PaperOutcome {
    /// The paper's title.
    pub fn title(&self) -> &str {
        &self.published.title
    }

    /// The items as data. Items of incomplete runs are left out.
    pub fn results(&self) -> Results {
        self.measured.results()
    }

    /// The tables of several runs for people, by quantities.
    pub fn tables(&self) -> Vec<MeasuredTable<'_>> {
        measured_table::tables(&self.published, &self.measured)
    }

    /// The other items for people, in the paper's order.
    pub fn items(&self) -> Vec<MeasuredItem<'_>> {
        page::items(&self.published, &self.measured)
    }

    /// The outcome in one sentence.
    pub fn verdict(&self) -> String {
        page::verdict(&self.measured).1
    }

    /// The meaning of `calibrated`, if an item is.
    pub fn calibration(&self) -> Option<String> {
        page::calibration(&self.published, &self.measured)
    }

    /// The status of the paper's runs.
    pub fn status(&self) -> Status {
        if self.complete { Status::met(self.measured.ok()) } else { Status::Interrupted }
    }
}
