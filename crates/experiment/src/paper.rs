//! A paper's experiments, held against its published figures.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};

use record::folder::{FolderLock, REPORT};
use record::paper::Results;
use serde_json::Value;

use crate::driver::Driver;
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

/// The items as JSON, and the mark of a paper's folder.
pub const ITEMS: &str = "paper.json";

/// How a paper is run.
#[derive(Clone, Debug, Default)]
pub struct PaperOptions {
    /// Who moves the packets.
    pub driver: Driver,
    /// Whether on real packets only what takes little time is run: fewer cells, shorter runs.
    pub quick: bool,
    /// Only these tables and figures; all if there are none.
    pub only: Vec<String>,
    /// Where the report and every run's folder go; `runs/PAPER` or `runs/PAPER-lab` unless given.
    pub out: Option<PathBuf>,
}

/// A paper whose experiments are planned.
#[derive(Debug)]
pub struct Paper {
    published: Published,
    mode: Mode,
    folder: PathBuf,
    cells: Cells,
    costs: Costs,
    /// The words that run it again, without what cannot change results.
    command: Vec<String>,
}

impl Paper {
    /// Plans what `paper` needs.
    ///
    /// # Errors
    /// A paper, a table or a figure that there is not; nothing to run, or what the driver cannot run.
    pub fn new(paper: &str, options: PaperOptions) -> Result<Self, Error> {
        let PaperOptions { driver, quick, only, out } = options;
        let mode = Mode { driver, quick };
        if quick && !driver.is_lab() {
            let help = "add --on lab: what is simulated takes no real time";
            return Err(Error::usage("--quick is for real packets", help));
        }
        let command = command(paper, mode, &only);
        let published = chosen(paper, &only)?;
        let name = format!("{}{}", published.paper, driver.suffix());
        let folder = out.unwrap_or_else(|| Path::new("runs").join(name));
        let cells = Cells::new(&published, &folder, mode)?;
        if cells.len() == 0 && driver.is_real() {
            let message = "nothing of that is to run on real packets or kernels";
            return Err(Error::usage(message, "leave out --only or --quick, or simulate it"));
        }
        cells.check()?;
        let costs = Costs::new(&published);
        Ok(Self { published, mode, folder, cells, costs, command })
    }

    /// Every discipline's cost that is to be measured once the runs are over.
    pub fn cost_cases(&self) -> Vec<CostCase> {
        self.costs.cases()
    }

    /// An error of the paper itself: what is wrong in its `published.toml`.
    pub fn error(&self, message: String) -> Error {
        Error::Paper { paper: self.published.paper.clone(), message }
    }

    /// Takes its folder.
    ///
    /// # Errors
    /// A folder that cannot be made, is in use, or holds something else.
    pub fn open(self) -> Result<OpenPaper, Error> {
        let lock = folders::create_for_many(&self.folder, ITEMS)?;
        // Without items until there are results, so that a run that breaks can be repeated.
        let items = Results {
            paper: self.published.paper.clone(),
            driver: self.mode.driver.name().into(),
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
            Error::usage(message, format!("there is {known}"))
        })?;
    }
    Ok(published)
}

/// A paper that has its folder.
#[derive(Debug)]
pub struct OpenPaper {
    paper: Paper,
    lock: FolderLock,
}

impl OpenPaper {
    /// How many runs are executed.
    pub fn runs(&self) -> usize {
        self.paper.cells.len()
    }

    /// Executes them. The lab's real time is not shared, and wants one worker.
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

/// A paper whose runs are over.
#[derive(Debug)]
pub struct PaperRuns {
    paper: Paper,
    _lock: FolderLock,
}

impl PaperRuns {
    /// The costs that are to be measured now, if any: those of simulated runs that all came to their end.
    pub fn cost_cases(&self) -> Vec<CostCase> {
        let due = self.paper.cells.complete() && !self.paper.mode.driver.is_real();
        if due { self.paper.costs.cases() } else { Vec::new() }
    }

    /// Takes what `suimon cost --json` says of each of these cases, in their order. Items whose cost is not told are
    /// left out.
    pub fn set_costs(&mut self, measured: Vec<Value>) {
        self.paper.costs.take(measured);
    }

    /// Judges, and writes items and report.
    ///
    /// # Errors
    /// Items or a report that cannot be written, a figure that refers to what there is not.
    pub fn finish(self) -> Result<PaperOutcome, Error> {
        let Paper { published, mode, folder, cells, costs, command } = self.paper;
        let measured = measure::all(&published, &cells, &costs, mode.driver)?;
        record::folder::write(&folder.join(ITEMS), &json_text(&measured.results()))?;
        let notes = notes(&cells);
        let report = folder.join(REPORT);
        let page = page::page(&published, &cells, &measured, &notes, &command)?;
        record::folder::write(&report, &page.to_html())?;
        Ok(PaperOutcome { published, measured, notes, report, complete: cells.complete() })
    }
}

/// What was left out, and which results are not to be trusted.
fn notes(cells: &Cells) -> Vec<String> {
    let left_out = cells.left_out();
    let mut notes = Vec::new();
    if !left_out.is_empty() {
        notes.push(format!("left out: {}", left_out.join(", ")));
    }
    let slowed = cells.slowed().into_iter().map(|(cell, by)| {
        format!(
            "{cell}: measured with rates and buffers divided by {by} and the same round trip, bandwidth times {by}; \
             frames of real stacks at the rates of the paper are more than this machine does"
        )
    });
    notes.extend(slowed);
    notes.extend(cells.late().into_iter().map(|(cell, warning)| format!("{cell}: {warning}")));
    notes
}

/// What came of a paper's experiments.
#[derive(Debug)]
pub struct PaperOutcome {
    published: Published,
    measured: Measured,
    /// What was left out, and which results are not to be trusted.
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

    /// The items as data. Those whose runs did not come to their end are left out.
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

    /// What `calibrated` means, where an item is.
    pub fn calibration(&self) -> Option<String> {
        page::calibration(&self.published, &self.measured)
    }

    /// How it ended.
    pub fn status(&self) -> Status {
        if self.complete { Status::met(self.measured.ok()) } else { Status::Interrupted }
    }
}
