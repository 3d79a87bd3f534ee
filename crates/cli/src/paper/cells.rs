//! The runs of a paper: every cell of every run's grid, each executed once.

use std::collections::BTreeSet;
use std::num::NonZeroUsize;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use scenario::Document;
use simulate::sweep::{Crew, sweep, weight};

use super::library;
use super::published::{Published, Run};
use crate::execution::{Driver, Job, Outcome};
use crate::failure::Failure;
use crate::folders;
use crate::progress::Progress;

/// All of them.
#[derive(Debug)]
pub(crate) struct Cells(Vec<Cell>);

/// Where a cell stands.
#[derive(Debug)]
pub(super) struct Place {
    /// Its run.
    pub(super) run: String,
    /// Its name there.
    pub(super) name: String,
    /// Whether its run has other cells.
    pub(super) varied: bool,
}

/// The cell `name` of `run`; a run that is not varied has only one, whatever it is called.
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
pub(crate) struct Cell {
    place: Place,
    /// What is run.
    pub(crate) job: Job,
    /// What came out; none before its end.
    pub(crate) outcome: Option<Outcome>,
}

impl Cells {
    /// Plans them, each with its folder below `folder`.
    pub(crate) fn new(published: &Published, folder: &Path) -> Result<Self, Failure> {
        let mut cells = Vec::new();
        for run in &published.run {
            cells.extend(of_run(&published.paper, run, folder)?);
        }
        let mut folders = BTreeSet::new();
        let twice = cells.iter().find(|cell| !folders.insert(&cell.job.folder));
        if let Some(Cell { place: Place { run, name, .. }, .. }) = twice {
            let message = format!("run `{run}`: cell `{name}` has the folder of another");
            return Err(Failure::Paper { paper: published.paper.clone(), message });
        }
        Ok(Self(cells))
    }

    /// How many there are.
    pub(crate) const fn len(&self) -> usize {
        self.0.len()
    }

    /// Simulates them all.
    pub(crate) fn execute(
        mut self,
        workers: NonZeroUsize,
        interrupted: &AtomicBool,
        progress: &Progress,
    ) -> Result<Self, Failure> {
        let crew = Crew { workers, interrupted };
        let work = |cell: &Cell| cell.job.execute(interrupted, progress);
        let outcomes = sweep(&self.0, crew, |cell| weight(&cell.job.plan), work);
        for (cell, outcome) in self.0.iter_mut().zip(outcomes) {
            cell.outcome = outcome.transpose()?.filter(Outcome::complete);
        }
        Ok(self)
    }

    /// Whether every run came to its end.
    pub(crate) fn complete(&self) -> bool {
        self.0.iter().all(|cell| cell.outcome.is_some())
    }

    /// The cell `name` of `run`; a run that is not varied has only one, whatever it is called.
    pub(crate) fn find(&self, run: &str, name: &str) -> Result<&Cell, String> {
        find(&self.0, |cell| &cell.place, run, name)
    }
}

fn of_run(paper: &str, run: &Run, folder: &Path) -> Result<Vec<Cell>, Failure> {
    let Some(text) = library::file(paper, &run.scenario) else {
        let message = format!("run `{}`: there is no scenario {}", run.name, run.scenario);
        return Err(Failure::Paper { paper: paper.into(), message });
    };
    let mut document = Document::parse(&format!("papers/{paper}/{}", run.scenario), text)?;
    for (path, value) in &run.set {
        document.set(&format!("{path}={value}"))?;
    }
    for (path, values) in &run.vary {
        let values = values.as_array().map(Vec::as_slice).unwrap_or_default();
        let values: Vec<String> = values.iter().map(ToString::to_string).collect();
        document.vary(&format!("{path}={}", values.join(",")))?;
    }
    document.runs()?.iter().map(|point| cell(run, point, folder)).collect()
}

fn cell(run: &Run, point: &scenario::Run, folder: &Path) -> Result<Cell, Failure> {
    let values: Vec<&str> = point.parameters.iter().map(|(_, value)| value.as_str()).collect();
    let name = values.join(" / ");
    let folder_name = format!("{}-{name}", run.name);
    let plan = point.plan()?;
    let job = Job {
        driver: Driver::Simulator,
        lock: scenario::lock(&plan),
        plan,
        folder: folder.join("cells").join(folders::plain(folder_name.trim_end_matches('-'))),
        // The folder holds the scenario with everything set.
        command: ["suimon", "run", results::folder::SCENARIO].map(str::to_owned).to_vec(),
    };
    let place = Place { run: run.name.clone(), name, varied: !point.parameters.is_empty() };
    Ok(Cell { place, job, outcome: None })
}
