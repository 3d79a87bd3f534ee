//! The runs of a paper: every cell of every run's grid, each executed once. On real packets, only the cells
//! meant for them, one after the other.

use std::collections::BTreeSet;
use std::fmt;
use std::num::{NonZeroU64, NonZeroUsize};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use scenario::plan::Link;
use scenario::{Document, Plan};
use simulate::sweep::{WorkerPool, sweep, weight};

use super::library;
use super::published::{AtHost, Published, Run};
use crate::driver::DriverChoice;
use crate::error::Error;
use crate::execution::{Job, Outcome};
use crate::folders;
use crate::progress::Steering;

/// All cells.
#[derive(Debug)]
pub(super) struct Cells {
    list: Vec<Cell>,
    /// Pairs of run names: the first run is not executed, the second provides its results.
    stand_ins: Vec<(String, String)>,
}

/// How runs are executed.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Mode {
    /// The driver.
    pub(super) driver: DriverChoice,
    /// Whether to run only the lab's quick cells.
    pub(super) quick: bool,
}

impl Mode {
    /// Additional settings for a run; `None` if it is left out.
    fn settings(self, run: &Run) -> Option<Vec<&toml::Table>> {
        match (self.driver.is_real(), &run.lab) {
            (false, _) => Some(Vec::new()),
            (true, Some(lab)) if lab.same_as.is_none() => match &lab.quick {
                Some(quick) if self.quick => Some(vec![&lab.set, &quick.set]),
                None if self.quick => None,
                _ => Some(vec![&lab.set]),
            },
            (true, _) => None,
        }
    }

    /// Whether a run that is not left out includes the cell `name`.
    fn has(self, run: &Run, name: &str) -> bool {
        let quick = run.lab.as_ref().and_then(|lab| lab.quick.as_ref());
        let cells = quick.and_then(|quick| quick.cells.as_ref()).filter(|_| self.quick);
        cells.is_none_or(|cells| cells.iter().any(|cell| cell == name))
    }
}

/// Identifies a cell by its run and name.
#[derive(Debug)]
pub(super) struct Place {
    /// Its run.
    pub(super) run: String,
    /// The cell's name in the run.
    pub(super) name: String,
    /// Whether the run has other cells.
    pub(super) varied: bool,
}

impl fmt::Display for Place {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        to.write_str(format!("{} {}", self.run, self.name).trim_end())
    }
}

/// The cell `name` of `run`; a run that is not varied has a single cell for any name.
pub(super) fn find<'c, C>(
    cells: &'c [C],
    place: impl Fn(&C) -> &Place,
    run: &str,
    name: &str,
) -> Result<&'c C, String> {
    let of_run = || cells.iter().filter(|cell| place(cell).run == run);
    of_run().find(|cell| !place(cell).varied || place(cell).name == name).ok_or_else(|| {
        let names: Vec<_> = of_run().map(|cell| format!("`{}`", place(cell).name)).collect();
        format!("run `{run}` has no cell `{name}`; it has {}", names.join(", "))
    })
}

/// One run at one point of its grid.
#[derive(Debug)]
pub(super) struct Cell {
    place: Place,
    /// The job.
    pub(super) job: Job,
    /// Whether it is executed.
    included: bool,
    /// Returns the cell at lower rates, if the machine does not keep up.
    slower: Option<Slower>,
    /// Whether a cell that cannot be slower gets a second try, as the machine may be quieter then.
    again: bool,
    /// The divisor of rates and buffers in the outcome.
    pub(super) slowed_by: NonZeroU64,
    /// The outcome; none until the run is complete.
    pub(super) outcome: Option<Outcome>,
}

/// A cell with rates and buffers divided.
#[derive(Debug)]
struct Slower {
    by: NonZeroU64,
    job: Job,
}

impl Slower {
    fn of(job: &Job, by: NonZeroU64) -> Option<Self> {
        let plan = job.plan.slower(by)?;
        let folder = job.folder.with_file_name(format!(
            "{}-slower-{by}",
            job.folder.file_name().unwrap_or_default().display()
        ));
        Some(Self { by, job: Job::new(job.driver, plan, folder) })
    }
}

impl Cells {
    /// Plans all cells, each with its folder below `folder`.
    pub(super) fn new(published: &Published, folder: &Path, mode: Mode) -> Result<Self, Error> {
        let mut cells = Vec::new();
        for run in &published.run {
            cells.extend(of_run(&published.paper, run, folder, mode)?);
        }
        let mut folders = BTreeSet::new();
        let twice = cells.iter().find(|cell| !folders.insert(&cell.job.folder));
        if let Some(Cell { place: Place { run, name, .. }, .. }) = twice {
            let message = format!("run `{run}`: cell `{name}` has the folder of another");
            return Err(Error::paper(&published.paper, &message));
        }
        let shared = published.run.iter().filter(|_| mode.driver.is_real());
        let stand_in = |run: &Run| Some((run.name.clone(), run.lab.as_ref()?.same_as.clone()?));
        Ok(Self { list: cells, stand_ins: shared.filter_map(stand_in).collect() })
    }

    /// Refuses cells that the driver cannot run.
    pub(super) fn check(&self) -> Result<(), Error> {
        self.list.iter().filter(|cell| cell.included).try_for_each(|cell| cell.job.check())
    }

    /// The number of cells to execute.
    pub(super) fn len(&self) -> usize {
        self.list.iter().filter(|cell| cell.included).count()
    }

    /// The cells that are left out: whole runs by name, single cells of others.
    pub(super) fn left_out(&self) -> Vec<String> {
        let stands = |run: &str| self.stand_ins.iter().any(|(name, _)| name == run);
        let mut runs: Vec<&str> = self.list.iter().map(|cell| cell.place.run.as_str()).collect();
        runs.dedup();
        let of_run = |run: &str| {
            let cells = || self.list.iter().filter(|cell| cell.place.run == run);
            let out = cells().filter(|cell| !cell.included).map(|cell| cell.place.name.as_str());
            let out: Vec<&str> = out.collect();
            match (out.is_empty(), cells().any(|cell| cell.included)) {
                (true, _) => None,
                (false, false) => Some(run.to_owned()),
                (false, true) => Some(format!("{run} ({})", out.join(", "))),
            }
        };
        runs.into_iter().filter(|run| !stands(run)).filter_map(of_run).collect()
    }

    /// The cells of runs that the machine could not keep up with, each with its warning.
    pub(super) fn late(&self) -> Vec<(String, String)> {
        let warning = |cell: &Cell| {
            let warning = cell.outcome.as_ref()?.lab.as_ref()?.warning()?;
            Some((cell.place.to_string(), warning))
        };
        self.list.iter().filter_map(warning).collect()
    }

    /// The cells that were executed slower than in the paper, with their divisors.
    pub(super) fn slowed(&self) -> Vec<(String, NonZeroU64)> {
        let slowed = self.list.iter().filter(|cell| cell.slowed_by > NonZeroU64::MIN);
        slowed.map(|cell| (cell.place.to_string(), cell.slowed_by)).collect()
    }

    /// Executes the cells, the heaviest first; stops at the first that fails. Once the machine has not kept up
    /// with a cell that may be slower, that cell and later ones run slower; other cells get a second try.
    pub(super) fn execute(
        mut self,
        workers: NonZeroUsize,
        steering: Steering<'_>,
    ) -> Result<Self, Error> {
        let interrupted = steering.interrupted;
        let pool = WorkerPool { workers, interrupted };
        let late = AtomicBool::new(false);
        let work = |cell: &&mut Cell| {
            let outcome = cell.execute(&late, steering);
            outcome.inspect_err(|_| interrupted.store(true, Ordering::Relaxed))
        };
        let mut included: Vec<_> = self.list.iter_mut().filter(|cell| cell.included).collect();
        let outcomes = sweep(&included, pool, |cell| weight(&cell.job.plan), work);
        for (cell, outcome) in included.iter_mut().zip(outcomes) {
            let Some((outcome, slowed_by)) = outcome.transpose()? else { continue };
            cell.slowed_by = slowed_by;
            cell.outcome = Some(outcome).filter(Outcome::complete);
        }
        Ok(self)
    }

    /// Whether every executed run is complete.
    pub(super) fn complete(&self) -> bool {
        self.list.iter().all(|cell| cell.outcome.is_some() || !cell.included)
    }

    /// The cell `name` of `run`; a run that is not varied has a single cell for any name.
    pub(super) fn find(&self, run: &str, name: &str) -> Result<&Cell, String> {
        let stand_in = self.stand_ins.iter().find(|(stood_for, _)| stood_for == run);
        let run = stand_in.map_or(run, |(_, run)| run);
        find(&self.list, |cell| &cell.place, run, name)
    }
}

impl Cell {
    /// Executes the cell; returns the outcome and the divisor of rates and buffers.
    fn execute(
        &self,
        late: &AtomicBool,
        steering: Steering<'_>,
    ) -> Result<(Outcome, NonZeroU64), Error> {
        let run = |job: &Job| job.execute(steering).and_then(unbroken);
        // A kernel takes as much CPU time per frame as several frames at the paper's rate would have.
        let slower = |_: &&Slower| late.load(Ordering::Relaxed) || !self.job.driver.is_real_time();
        if let Some(slower) = self.slower.as_ref().filter(slower) {
            return Ok((run(&slower.job)?, slower.by));
        }
        let outcome = run(&self.job)?;
        let kept_up = outcome.lab.as_ref().is_none_or(|lab| lab.kept_up);
        if kept_up || !outcome.complete() || !(self.again || self.slower.is_some()) {
            return Ok((outcome, NonZeroU64::MIN));
        }
        steering.progress.add_run();
        let Some(slower) = &self.slower else { return Ok((run(&self.job)?, NonZeroU64::MIN)) };
        late.store(true, Ordering::Relaxed);
        Ok((run(&slower.job)?, slower.by))
    }
}

/// Fails for a lab that broke and for a flow that stalled: a paper cannot use such results.
fn unbroken(mut outcome: Outcome) -> Result<Outcome, Error> {
    if let Some(failure) = outcome.failure.take() {
        return Err(failure);
    }
    if let Some((flow, why)) = outcome.summary.stalls().next() {
        let folder = outcome.folder.display();
        let fault = "a fault of the model, please report it";
        return Err(Error::usage(format!("{folder}: flow `{flow}` stalled, {why}: {fault}"), ""));
    }
    Ok(outcome)
}

fn of_run(paper: &str, run: &Run, folder: &Path, mode: Mode) -> Result<Vec<Cell>, Error> {
    let Some(text) = library::file(paper, &run.scenario) else {
        let message = format!("run `{}`: there is no scenario {}", run.name, run.scenario);
        return Err(Error::paper(paper, &message));
    };
    let mut document = Document::parse(&format!("papers/{paper}/{}", run.scenario), text)?;
    let settings = mode.settings(run);
    let more = settings.iter().flatten().copied();
    for (path, value) in std::iter::once(&run.set).chain(more).flatten() {
        document.set(&format!("{path}={value}"))?;
    }
    let mut cells = Vec::new();
    for (name, point) in points(paper, run, document)? {
        let cell = cell(paper, run, name, &point, folder, mode)?;
        let included = settings.is_some() && mode.has(run, &cell.place.name);
        cells.push(Cell { included, ..cell });
    }
    if let Some(name) = missing(run, &cells) {
        let message = format!("run `{}`: there is no cell `{name}` to be quick", run.name);
        return Err(Error::paper(paper, &message));
    }
    Ok(cells)
}

/// Adds to the document the files and traces that it names.
fn supply(paper: &str, document: &mut Document) -> Result<(), Error> {
    for name in document.files() {
        let text = library::file(paper, &name).ok_or_else(|| {
            let message = format!("there is no file {name}");
            Error::paper(paper, &message)
        })?;
        document.supply(name, text.to_owned());
    }
    for name in document.traces() {
        let trace = library::trace(paper, &name);
        let supplied = trace.and_then(|trace| document.supply_trace(name, trace));
        supplied.map_err(|message| Error::paper(paper, &message))?;
    }
    Ok(())
}

/// The points of a run's grid, by name.
fn points(
    paper: &str,
    run: &Run,
    mut document: Document,
) -> Result<Vec<(String, scenario::Run)>, Error> {
    if !run.with.is_empty() {
        return points_in_step(paper, run, &document);
    }
    for (path, values) in &run.vary {
        let values: Vec<String> = array(values).iter().map(ToString::to_string).collect();
        document.vary(&format!("{path}={}", values.join(",")))?;
    }
    supply(paper, &mut document)?;
    let name = |point: &scenario::Run| {
        let values = point.parameters.iter().map(|(_, value)| value.as_str());
        values.collect::<Vec<_>>().join(" / ")
    };
    Ok(document.runs()?.into_iter().map(|point| (name(&point), point)).collect())
}

/// The points of a run with values in `with` that change together with those of `vary`.
fn points_in_step(
    paper: &str,
    run: &Run,
    document: &Document,
) -> Result<Vec<(String, scenario::Run)>, Error> {
    let mut points = Vec::new();
    let varied = run.vary.iter().next().map(|(_, values)| array(values)).unwrap_or_default();
    for (place, value) in varied.iter().enumerate() {
        let mut document = document.clone();
        for (path, values) in run.vary.iter().chain(&run.with) {
            document.set(&format!("{path}={}", array(values)[place]))?;
        }
        supply(paper, &mut document)?;
        let name = run.names.get(place).cloned();
        let name = name.or_else(|| value.as_str().map(str::to_owned));
        let name = name.unwrap_or_else(|| value.to_string());
        points.extend(document.runs()?.into_iter().map(|point| (name.clone(), point)));
    }
    Ok(points)
}

fn array(values: &toml::Value) -> &[toml::Value] {
    values.as_array().map(Vec::as_slice).unwrap_or_default()
}

/// A quick cell that the run does not have.
fn missing<'r>(run: &'r Run, cells: &[Cell]) -> Option<&'r str> {
    let quick = run.lab.as_ref()?.quick.as_ref()?.cells.as_ref()?;
    let has = |name: &&String| cells.iter().any(|cell| cell.place.name == **name);
    quick.iter().find(|name| !has(name)).map(String::as_str)
}

/// Exchanges the disciplines of a router's and a host's port, and the settings of their links.
fn exchange(plan: &mut Plan, at: &AtHost) -> Result<(), String> {
    let place = |name: &str| {
        let links = plan.links.iter().enumerate();
        let mut ends = links.flat_map(|(number, link)| (0..2).map(move |end| (number, link, end)));
        let is = |(_, link, end): &(usize, &Link, usize)| {
            format!("{}:{}", plan.nodes[link.ends[*end].node].name, link.name) == name
        };
        let found = ends.find(is).map(|(number, _, end)| (number, end));
        found.ok_or_else(|| format!("there is no port `{name}`"))
    };
    let ((from, router), (to, host)) = (place(&at.router)?, place(&at.host)?);
    let Ok([out, into]) = plan.links.get_disjoint_mut([from, to]) else {
        return Err(format!("`{}` and `{}` are at one link", at.router, at.host));
    };
    std::mem::swap(&mut out.config, &mut into.config);
    std::mem::swap(&mut out.ends[router].queue, &mut into.ends[host].queue);
    for end in 0..2 {
        std::mem::swap(&mut out.ends[end].direction, &mut into.ends[end].direction);
    }
    Ok(())
}

fn cell(
    paper: &str,
    run: &Run,
    name: String,
    point: &scenario::Run,
    folder: &Path,
    mode: Mode,
) -> Result<Cell, Error> {
    let folder_name = format!("{}-{name}", run.name);
    let mut plan = point.plan()?;
    if let (Some(at), true) = (&run.qdisc, mode.driver.has_qdiscs()) {
        exchange(&mut plan, at).map_err(|message| Error::paper(paper, &message))?;
    }
    let folder = folder.join("cells").join(folders::plain(folder_name.trim_end_matches('-')));
    let job = Job::new(mode.driver, plan, folder);
    let place = Place { run: run.name.clone(), name, varied: !run.vary.is_empty() };
    let by = run.lab.as_ref().filter(|_| mode.driver.is_real()).and_then(|lab| lab.slower);
    let slower = by.and_then(|by| Slower::of(&job, by));
    let (included, again) = (true, !mode.quick);
    Ok(Cell { place, job, included, slower, again, slowed_by: NonZeroU64::MIN, outcome: None })
}
