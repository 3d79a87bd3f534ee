//! A scenario with its changes, and its runs.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::Ordering;

use experiment::sweep::{Keep, Sweep, SweepOptions};
use experiment::{DriverChoice, Error, Outcome, Steering, folders};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use scenario::Run;

use crate::error::{exception, usage};
use crate::steering::interruptible;
use crate::stored::{Expectation, expectations};
use crate::sweep::OpenSweep;

/// A scenario and its changes, as in `experiment::Experiment`. A pickle contains all files it needs.
#[pyclass(frozen, module = "suimon._suimon")]
pub(crate) struct Experiment {
    of: experiment::Experiment,
    runs: OnceLock<Vec<Run>>,
}

type Files = BTreeMap<String, Vec<u8>>;
type Parameters = Vec<(String, String)>;

#[pymethods]
impl Experiment {
    #[new]
    #[pyo3(signature = (file, text=None, set=vec![], vary=vec![], seed=None, seeds=None, files=None))]
    fn new(
        file: PathBuf,
        text: Option<String>,
        set: Vec<String>,
        vary: Vec<String>,
        seed: Option<u64>,
        seeds: Option<String>,
        files: Option<Files>,
    ) -> Self {
        let files = files.unwrap_or_default();
        let of = experiment::Experiment { file, text, set, vary, seed, seeds, files };
        Self { of, runs: OnceLock::new() }
    }

    /// Name, text and contents of files: everything that it consists of.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let of = self.loaded(py)?.of;
        let files = PyDict::new(py);
        for (name, file) in &of.files {
            files.set_item(name, PyBytes::new(py, file))?;
        }
        let parts = (of.file, of.text, of.set, of.vary, of.seed, of.seeds, files);
        Ok((py.get_type::<Self>().into_any(), parts.into_pyobject(py)?.into_any()))
    }

    /// The text of its file.
    fn text(&self, py: Python<'_>) -> PyResult<String> {
        Ok(self.loaded(py)?.of.text.unwrap_or_default())
    }

    /// Warnings about its physics, at any point of its grid, each once.
    fn check(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let runs = self.runs(py)?;
        let found = interruptible(py, 1, None, |steering| warnings(runs, steering))?;
        found.map_err(|error| exception(py, &error))
    }

    /// The scenario of the only run with every default written out.
    fn lock(&self, py: Python<'_>) -> PyResult<String> {
        let plan = py.detach(|| self.of.plan()).map_err(|error| exception(py, &error))?;
        Ok(scenario::lock(&plan))
    }

    /// The name of the folder in that of the sweep, and the parameters, of each run of its grid.
    fn points(&self, py: Python<'_>) -> PyResult<Vec<(String, Parameters)>> {
        let runs = self.runs(py)?;
        let point = |(index, run): (usize, &Run)| {
            (folders::of_point(index, runs.len(), &run.label), run.parameters.clone())
        };
        Ok(runs.iter().enumerate().map(point).collect())
    }

    /// Simulates its only run into `out`, or `runs/NAME-SEED`.
    #[pyo3(signature = (out=None, progress=None))]
    fn run(
        &self,
        py: Python<'_>,
        out: Option<PathBuf>,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Ended> {
        let of = &self.of;
        let done = interruptible(py, 1, progress, |steering| {
            of.run(DriverChoice::default(), out, steering).map(Ended::of)
        })?;
        done.map_err(|error| exception(py, &error))
    }

    /// Simulates these points of its grid into folders of `folder`, one after the other; with `keep`, `table`, only
    /// with the files that a row of the sweep's table is made of.
    #[pyo3(signature = (folder, indices, progress=None, keep="all"))]
    fn run_points(
        &self,
        py: Python<'_>,
        folder: PathBuf,
        indices: Vec<usize>,
        progress: Option<Bound<'_, PyAny>>,
        keep: &str,
    ) -> PyResult<Vec<Ended>> {
        let keep = Keep::named(keep).map_err(|error| exception(py, &error))?;
        let runs = self.runs(py)?;
        if let Some(index) = indices.iter().find(|&&index| index >= runs.len()) {
            let help = format!("points are 0 to {}", runs.len() - 1);
            return Err(usage(py, &format!("unknown point {index}"), &help));
        }
        let point = |index: usize, steering: Steering<'_>| {
            let (run, count) = (&runs[index], runs.len());
            let place = |_: &_| folder.join(folders::of_point(index, count, &run.label));
            let job = self.of.job(run, DriverChoice::default(), place)?;
            job.check()?;
            job.execute_keeping(keep, steering).map(Ended::of)
        };
        let done = interruptible(py, indices.len(), progress, |steering| {
            indices.iter().map(|&index| point(index, steering)).collect::<Result<Vec<_>, _>>()
        })?;
        done.map_err(|error| exception(py, &error))
    }

    /// Plans its grid, locks the folder `out`, or `runs/NAME-sweep`, and finds the points of an earlier sweep.
    #[pyo3(signature = (out=None, measures=None, fresh=false, keep="all"))]
    fn open_sweep(
        &self,
        py: Python<'_>,
        out: Option<PathBuf>,
        measures: Option<Vec<String>>,
        fresh: bool,
        keep: &str,
    ) -> PyResult<OpenSweep> {
        let keep = Keep::named(keep).map_err(|error| exception(py, &error))?;
        let usual = SweepOptions::default();
        let measures = measures.unwrap_or(usual.measures);
        let options = SweepOptions { out, fresh, measures, keep, driver: usual.driver };
        let runs = self.runs(py)?.to_vec();
        let opened = interruptible(py, 1, None, |steering| {
            let sweep = Sweep::new(&self.of, runs, options, steering.interrupted)?;
            sweep.open().map(OpenSweep::new)
        })?;
        opened.map_err(|error| exception(py, &error))
    }

    /// Where a run goes by default, by a driver: `simulator`, `lab`, or a kernel's name.
    fn run_folder(&self, py: Python<'_>, on: &str) -> PyResult<PathBuf> {
        let driver = DriverChoice::named(on).unwrap_or_default();
        let plan = py.detach(|| self.of.plan()).map_err(|error| exception(py, &error))?;
        Ok(folders::of_run(&self.of.name(), plan.seed, driver))
    }

    /// The scenario with all files that it needs, read now.
    fn loaded(&self, py: Python<'_>) -> PyResult<Self> {
        let mut of = self.of.clone();
        py.detach(|| of.load()).map_err(|error| exception(py, &error))?;
        Ok(Self { of, runs: self.runs.clone() })
    }
}

impl Experiment {
    /// The runs of its grid, read once.
    fn runs(&self, py: Python<'_>) -> PyResult<&[Run]> {
        if let Some(runs) = self.runs.get() {
            return Ok(runs);
        }
        let read = py.detach(|| self.of.runs()).map_err(|error| exception(py, &error))?;
        Ok(self.runs.get_or_init(|| read))
    }
}

/// Warnings about the physics of runs, each once.
fn warnings(runs: &[Run], steering: Steering<'_>) -> Result<Vec<String>, Error> {
    let mut warnings: Vec<String> = Vec::new();
    for run in runs {
        if steering.interrupted.load(Ordering::Relaxed) {
            break;
        }
        for warning in scenario::physics(&run.plan()?).iter().map(ToString::to_string) {
            if !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
    }
    Ok(warnings)
}

/// How a run ended.
#[pyclass(frozen, get_all, module = "suimon._suimon")]
pub(crate) struct Ended {
    /// Its folder.
    folder: PathBuf,
    /// Whether it reached its end.
    complete: bool,
    /// The driver: `simulate`.
    driver: &'static str,
    /// The summary as JSON.
    summary: String,
    /// The expectations, like those of a run that is read back.
    expectations: Vec<Expectation>,
    /// Why it ended before its time, if it was not interrupted.
    failure: Option<String>,
}

impl Ended {
    fn of(outcome: Outcome) -> Self {
        Self {
            complete: outcome.complete(),
            driver: DriverChoice::default().manifest(),
            summary: outcome.summary.to_json(),
            expectations: expectations(outcome.verdicts),
            failure: outcome.failure.as_ref().map(ToString::to_string),
            folder: outcome.folder,
        }
    }
}

/// A path in the form that Python's file functions accept.
pub(crate) fn text(path: &Path) -> String {
    path.display().to_string()
}
