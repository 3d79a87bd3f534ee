//! A run folder of any driver that was filled earlier, read back.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use scenario::{Document, Plan};
use serde::de::DeserializeOwned;
use serde_json::Value;

use crate::error::Error;
use crate::folder::{self, FolderLock, REPORT, SCENARIO, SUMMARY};
use crate::lab::LabReport;
use crate::manifest::{self, Environment, Stored};
use crate::recorder::{Recorder, Recording};
use crate::summary::{self, Summary};
use crate::table;
use crate::totals::Cost;

/// An earlier run.
#[derive(Clone, Debug)]
pub struct StoredRun {
    /// Its folder.
    pub folder: PathBuf,
    /// The version of Suimon that made it.
    pub version: String,
    /// The build of that version; empty if the manifest does not record it.
    pub build: String,
    /// The version of the folder's layout.
    pub schema: u32,
    /// The driver that made it: `simulate`, `lab`.
    pub driver: String,
    /// The command that reproduces it.
    pub command: Vec<String>,
    /// Whether it came to its end.
    pub complete: bool,
    /// The state of the machine, if the run moved real packets.
    pub lab: Option<LabReport>,
    /// The length of each of its files, in bytes; empty if the manifest does not record it.
    pub files: BTreeMap<String, u64>,
    /// The parts of the scenario that its driver left out.
    pub left_out: Vec<String>,
    /// Further information about its guests.
    pub guest_notes: Vec<String>,
    /// The cost of the run.
    pub cost: Cost,
    /// The machine that it ran on.
    pub environment: Environment,
    /// Its scenario with every default written out.
    pub scenario: String,
    /// `summary.json`.
    pub summary: Value,
}

impl StoredRun {
    /// Reads manifest, scenario and summary.
    ///
    /// # Errors
    /// [`Error::NoRun`] if the folder is not that of a finished run; files that cannot be read.
    pub fn read(folder: &Path) -> Result<Self, Error> {
        let made = Stored::read(folder)?;
        Ok(Self {
            folder: folder.to_owned(),
            version: made.suimon,
            build: made.build,
            schema: made.schema,
            driver: made.driver,
            command: made.command,
            complete: made.complete,
            lab: made.lab,
            files: made.files,
            left_out: made.left_out,
            guest_notes: made.guest_notes,
            cost: made.engine.unwrap_or_default(),
            environment: made.environment,
            scenario: text(folder, SCENARIO)?,
            summary: json(folder, SUMMARY)?,
        })
    }

    /// Returns whether the run is what `build` of this version would make of `scenario` with `driver`: complete, and
    /// with exactly the same text of the scenario.
    pub fn stands_for(&self, scenario: &str, driver: &str, build: &str) -> bool {
        self.complete
            && self.version == env!("CARGO_PKG_VERSION")
            && self.build == build
            && self.schema == manifest::SCHEMA
            && self.driver == driver
            && self.scenario == scenario
    }

    /// Whether every file is as long as the manifest says, and every table ends as a table does.
    pub fn is_whole(&self) -> bool {
        let is_whole = |name: &String| {
            self.has_length(name)
                && (!name.ends_with(".parquet") || table::has_footer(&self.folder.join(name)))
        };
        !self.files.is_empty() && self.files.keys().all(is_whole)
    }

    /// Whether scenario and summary, which [`folder::keep_results`] leaves, are as long as the manifest says.
    pub fn has_results(&self) -> bool {
        [SCENARIO, SUMMARY].iter().all(|name| self.has_length(name))
    }

    fn has_length(&self, name: &str) -> bool {
        let found = std::fs::metadata(self.folder.join(name));
        found.is_ok_and(|found| self.files.get(name) == Some(&found.len()))
    }

    /// The summary, read back from its file, with flows and links in the file's order, that of the plan: `summary` has
    /// them by name.
    ///
    /// # Errors
    /// A summary of another version, a file that cannot be read.
    pub fn read_summary(&self) -> Result<Summary, Error> {
        let read = serde_json::from_str(&text(&self.folder, SUMMARY)?);
        read.map_err(Error::json(&self.folder.join(SUMMARY)))
    }

    /// The plan of its scenario, with the traces of MPI programs that its folder keeps.
    ///
    /// # Errors
    /// A scenario of another version, a trace that cannot be read.
    pub fn plan(&self) -> Result<Plan, Error> {
        let path = self.folder.join(SCENARIO);
        let mut document = Document::parse(&path.to_string_lossy(), &self.scenario)?;
        for name in document.traces() {
            let path = self.folder.join(&name);
            let read = crate::regular::read(&path).and_then(|file| {
                let trace = scenario::read_trace(&name, &file).map_err(std::io::Error::other)?;
                document.supply_trace(name, Arc::new(trace)).map_err(std::io::Error::other)
            });
            read.map_err(|source| Error::Unreadable { path, source })?;
        }
        Ok(document.plan()?)
    }

    /// Returns the time series, if a run of `plan`, the plan of its scenario, leaves any.
    pub fn recording(&self, plan: &Plan) -> Option<Recording> {
        let has_jobs = plan.jobs().next().is_some();
        let is_recorded = Recorder::is_needed(plan) || has_jobs || self.lab.is_some();
        is_recorded.then(|| Recording::read(&self.folder))
    }

    /// Replaces its report by another one.
    ///
    /// # Errors
    /// If it cannot be written, or another process writes into the folder.
    pub fn replace_report(&self, html: &str) -> Result<PathBuf, Error> {
        let _lock = FolderLock::take(&self.folder)?;
        let path = self.folder.join(REPORT);
        folder::write(&path, html)?;
        manifest::set_length(&self.folder, REPORT, html.len() as u64)?;
        Ok(path)
    }

    /// Every number of its summary, as [`crate::Summary::quantities`] gives it.
    pub fn quantities(&self) -> Vec<(String, f64)> {
        summary::quantities(&self.summary)
    }

    /// Flows that cannot go on, each with what it waits for, as [`crate::Summary::stalls`] gives them.
    pub fn stalls(&self) -> impl Iterator<Item = (&str, &str)> {
        let flows = self.summary["flow"].as_object().into_iter().flatten();
        flows.filter_map(|(name, flow)| Some((name.as_str(), flow["stall"].as_str()?)))
    }
}

fn text(folder: &Path, name: &'static str) -> Result<String, Error> {
    let path = folder.join(name);
    crate::regular::read_text(&path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound | std::io::ErrorKind::NotADirectory => {
            Error::NoRun { folder: folder.to_owned(), lacks: name }
        }
        _ => Error::Unreadable { path, source: error },
    })
}

pub(crate) fn json<T: DeserializeOwned>(folder: &Path, name: &'static str) -> Result<T, Error> {
    let path = folder.join(name);
    serde_json::from_str(&text(folder, name)?).map_err(Error::json(&path))
}
