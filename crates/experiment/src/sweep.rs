//! A grid: every point of it in one table, one report, and a folder each.
//!
//! The results of a point are read back from its folder, whether it was run now or by an earlier, interrupted
//! sweep, so that both give the same bytes.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use record::LabReport;
use record::folder::FolderLock;
use scenario::Run;
use serde_json::{Value, json};
use simulate::sweep::{WorkerPool, sweep, weight};

use crate::driver::DriverChoice;
use crate::error::Error;
use crate::execution::{Job, Outcome, Status};
use crate::experiment::Experiment;
use crate::folders::{self, SWEEP};
use crate::forecast;
use crate::progress::Steering;

mod crowds;
mod files;
mod point;

pub use files::{TABLE, kept_table};
pub use point::Point;

/// The default measure.
pub const MEASURE: &str = "run.goodput";

/// The files that a sweep leaves in its folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Keep {
    /// Table, report, and the folder of each run.
    #[default]
    All,
    /// Table and report. Until the last run is done, the folders of the others keep their results, so that an
    /// interrupted sweep can continue.
    Table,
}

impl Keep {
    /// Its name in options: `all`, `table`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::All => "all",
            Self::Table => "table",
        }
    }

    /// What `name` stands for.
    ///
    /// # Errors
    /// An unknown name.
    pub fn named(name: &str) -> Result<Self, Error> {
        let known = [Self::All, Self::Table].into_iter().find(|keep| keep.name() == name);
        let message = || format!("unknown value `{name}` of what a sweep keeps");
        known.ok_or_else(|| Error::usage(message(), "give `all` or `table`"))
    }
}

/// The options of a sweep.
#[derive(Clone, Debug)]
pub struct SweepOptions {
    /// The driver.
    pub driver: DriverChoice,
    /// The folder of all runs; by default `runs/NAME-sweep`.
    pub out: Option<PathBuf>,
    /// The quantities in the report, by their path in `summary.json`.
    pub measures: Vec<String>,
    /// Whether everything is run again, including what an earlier sweep has done.
    pub fresh: bool,
    /// The files that it leaves.
    pub keep: Keep,
}

impl Default for SweepOptions {
    fn default() -> Self {
        let (driver, measures) = (DriverChoice::default(), vec![MEASURE.into()]);
        Self { driver, out: None, measures, fresh: false, keep: Keep::All }
    }
}

/// A planned grid.
#[derive(Debug)]
pub struct Sweep {
    runs: Vec<Run>,
    jobs: Vec<Job>,
    folder: PathBuf,
    command: Vec<String>,
    measures: Vec<String>,
    fresh: bool,
    keep: Keep,
}

impl Sweep {
    /// Plans every one of `runs`, which are those of `experiment`. Ten thousand take some seconds, unless
    /// `interrupted` is set meanwhile.
    ///
    /// # Errors
    /// A scenario that is wrong at some point, a plan that the driver refuses, an interruption.
    pub fn new(
        experiment: &Experiment,
        runs: Vec<Run>,
        options: SweepOptions,
        interrupted: &AtomicBool,
    ) -> Result<Self, Error> {
        let SweepOptions { driver, out, measures, fresh, keep } = options;
        let folder = out.unwrap_or_else(|| folders::of_sweep(&experiment.name(), driver));
        let place = |index: usize, run: &Run| -> PathBuf {
            folder.join(folders::of_point(index, runs.len(), &run.label))
        };
        let job = |(index, run)| {
            if interrupted.load(Ordering::Relaxed) {
                return Err(Error::Interrupted);
            }
            experiment.job(run, driver, |_| place(index, run))
        };
        let jobs = runs.iter().enumerate().map(job).collect::<Result<_, _>>()?;
        let command = [experiment.sweep_command(&measures, keep), driver.words()].concat();
        Ok(Self { runs, jobs, folder, command, measures, fresh, keep })
    }

    /// The jobs of the runs.
    pub fn jobs(&self) -> &[Job] {
        &self.jobs
    }

    /// Opens its folder, and checks which runs are done already.
    ///
    /// # Errors
    /// An expectation or a measure that no run will have; a folder that cannot be made, is in use, or holds
    /// another grid.
    pub fn open(self) -> Result<OpenSweep, Error> {
        self.jobs.iter().try_for_each(Job::check)?;
        forecast::check_measures(&self.jobs, &self.measures)?;
        let lock = folders::create_for_many(&self.folder, SWEEP)?;
        if !self.fresh {
            refuse_another(&self.folder, &self.jobs)?;
        }
        let is_done = |job| !self.fresh && point::is_done(job, self.keep);
        let done = self.jobs.iter().map(is_done).collect();
        Ok(OpenSweep { sweep: self, done, _lock: lock })
    }
}

/// Refuses to mix a grid's runs with those of another grid, which would lose its table and report.
fn refuse_another(folder: &Path, jobs: &[Job]) -> Result<(), Error> {
    let entries = std::fs::read_dir(folder).map_err(record::error::folder(folder))?;
    let runs = entries.flatten().map(|entry| entry.path());
    let runs = runs.filter(|place| place.join(record::manifest::FILE).exists());
    let runs = runs.chain(files::without_runs(folder).into_iter().map(|name| folder.join(name)));
    match runs.filter(|place| jobs.iter().all(|job| job.folder != *place)).min() {
        None => Ok(()),
        Some(other) => {
            let name = other.file_name().unwrap_or_default().display();
            let message =
                format!("{} contains the runs of another sweep: {name}", folder.display());
            let help = "use another --out folder, or --fresh to replace their table";
            Err(Error::usage(message, help))
        }
    }
}

/// A grid with an open folder.
#[derive(Debug)]
pub struct OpenSweep {
    sweep: Sweep,
    /// Whether each job's folder already holds its results.
    done: Vec<bool>,
    _lock: FolderLock,
}

impl OpenSweep {
    /// The number of runs.
    pub const fn len(&self) -> usize {
        self.done.len()
    }

    /// Whether there are no runs.
    pub const fn is_empty(&self) -> bool {
        self.done.is_empty()
    }

    /// The number of runs that an earlier sweep has done.
    pub fn done(&self) -> usize {
        self.done.iter().filter(|done| **done).count()
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        &self.sweep.folder
    }

    /// The indices in the grid of runs that are not done yet.
    pub fn missing(&self) -> Vec<usize> {
        let open = self.done.iter().enumerate().filter(|(_, done)| !**done);
        open.map(|(index, _)| index).collect()
    }

    /// Marks the folder as that of a sweep in progress, for callers that execute the runs elsewhere and copy
    /// them there.
    ///
    /// # Errors
    /// A folder that cannot be written.
    pub fn begin(&self) -> Result<(), Error> {
        files::begin(&self.sweep.folder)
    }

    /// Checks again which runs are done: others may have put results into the folder meanwhile.
    pub fn look_again(&mut self) {
        let is_done = |job| point::is_done(job, self.sweep.keep);
        self.done = self.sweep.jobs.iter().map(is_done).collect();
    }

    /// Runs what is not done yet, and writes table and report of all. Results do not depend on the number of
    /// workers. The lab runs in real time, so it needs a single worker.
    ///
    /// # Errors
    /// A folder that cannot be read or written. An error in a run is the outcome's failure.
    pub fn execute(
        self,
        workers: NonZeroUsize,
        steering: Steering<'_>,
    ) -> Result<SweepOutcome, Error> {
        let Self { sweep, done, _lock } = self;
        let Sweep { runs, jobs, folder, command, measures, keep, .. } = sweep;
        files::begin(&folder)?;
        let run = |job: &Job| job.execute_keeping(keep, steering);
        let Executed { ended, reports, failure } = execute(&jobs, done, workers, steering, run);
        let points = runs.into_iter().zip(jobs).zip(ended);
        let points = points.map(|((run, job), ended)| Point::new(run, job, ended));
        let points: Vec<Point> = points.collect::<Result<_, _>>()?;
        let document = document(&points, keep);
        let page = files::Page { command, measures: &measures, keep };
        let written = files::write(&folder, &document, &points, page);
        let outcome =
            SweepOutcome { folder, points, document, reports, failure, unwritten: written.err() };
        if keep == Keep::Table {
            outcome.remove_runs()?;
        }
        Ok(outcome)
    }
}

/// The outcome of a grid.
#[derive(Debug)]
pub struct SweepOutcome {
    /// The folder of all runs, with table and report.
    pub folder: PathBuf,
    /// Every run, in the order of the grid.
    pub points: Vec<Point>,
    /// All runs as one JSON document, as in `sweep.json`. It leaves out their cost, which is in each run's
    /// manifest, so that it has the same bytes for any number of workers.
    pub document: Value,
    /// Notes on the runs that were executed now.
    pub reports: Vec<RunNotes>,
    /// The first run's error, if any; the results of the other runs are reported nevertheless.
    pub failure: Option<Error>,
    /// The error if table or report could not be written.
    pub unwritten: Option<Error>,
}

/// Notes on a run besides its results.
#[derive(Clone, Debug)]
pub struct RunNotes {
    /// Its folder.
    pub folder: PathBuf,
    /// The substitutes that its programs had to use.
    pub substitutions: Vec<String>,
    /// The scenario's programs that failed.
    pub failed_programs: Vec<String>,
    /// The reason not to trust its results yet.
    pub warning: Option<String>,
}

impl SweepOutcome {
    /// The number of complete runs.
    pub fn complete(&self) -> usize {
        self.points.iter().filter(|point| point.complete()).count()
    }

    /// The status of the sweep.
    pub fn status(&self) -> Status {
        if self.complete() < self.points.len() {
            return Status::Interrupted;
        }
        let fine = |point: &Point| point.held() != Some(false) && point.stalls().next().is_none();
        let held = self.points.iter().all(fine);
        Status::met(held && self.reports.iter().all(|report| report.failed_programs.is_empty()))
    }

    /// Whether there are repetitions, and all of them have the same results.
    pub fn seeds_change_nothing(&self) -> bool {
        point::seeds_change_nothing(&self.points)
    }

    /// Removes the runs' folders if the table has all runs.
    fn remove_runs(&self) -> Result<(), Error> {
        if self.complete() < self.points.len() || self.unwritten.is_some() {
            return Ok(());
        }
        let folders = self.points.iter().map(|point| &point.job.folder);
        folders.into_iter().try_for_each(|folder| Ok(record::folder::remove_run(folder)?))
    }
}

/// The outcome of a grid's runs.
struct Executed {
    /// Whether each job's folder now holds its results, at least in part.
    ended: Vec<bool>,
    reports: Vec<RunNotes>,
    failure: Option<Error>,
}

/// Executes the jobs that are not `done`.
fn execute(
    jobs: &[Job],
    done: Vec<bool>,
    workers: NonZeroUsize,
    steering: Steering<'_>,
    run: impl Fn(&Job) -> Result<Outcome, Error> + Sync,
) -> Executed {
    let open = jobs.iter().enumerate().zip(&done).filter(|(_, done)| !**done);
    let open: Vec<(usize, &Job)> = open.map(|(job, _)| job).collect();
    let pool = WorkerPool { workers, interrupted: steering.interrupted };
    let weight = |(_, job): &(usize, &Job)| weight(&job.plan);
    let outcomes = sweep(&open, pool, weight, |(_, job)| run(job));
    let mut executed = Executed { ended: done, reports: Vec::new(), failure: None };
    for ((index, job), outcome) in open.into_iter().zip(outcomes) {
        let broke = match outcome {
            None => continue,
            Some(Err(error)) => Some(error),
            Some(Ok(outcome)) => {
                executed.ended[index] = true;
                executed.reports.push(notes(job, &outcome));
                outcome.failure
            }
        };
        executed.failure = executed.failure.or(broke);
    }
    executed
}

fn notes(job: &Job, outcome: &Outcome) -> RunNotes {
    RunNotes {
        folder: job.folder.clone(),
        substitutions: outcome.substitutions().to_vec(),
        failed_programs: outcome.failed_programs().to_vec(),
        warning: outcome.lab.as_ref().and_then(LabReport::warning),
    }
}

fn document(points: &[Point], keep: Keep) -> Value {
    let entries = points.iter().map(|point| {
        let pairs = point.run.parameters.iter().map(|(path, value)| (path.clone(), json!(value)));
        let parameters: serde_json::Map<String, Value> = pairs.collect();
        json!({
            "folder": point.folder(),
            "parameters": parameters,
            "summary": point.stored.as_ref().map(|stored| &stored.summary),
            "expectations": point.stored.as_ref().map(|_| &point.verdicts),
        })
    });
    let entries: Vec<Value> = entries.collect();
    let mut document = json!({ "complete": points.iter().all(Point::complete), "runs": entries });
    if keep == Keep::Table {
        document["kept"] = json!(keep.name());
    }
    document
}
