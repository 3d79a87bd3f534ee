//! The results of a run in its folder.

use std::path::PathBuf;

use experiment::{DriverChoice, Experiment};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use record::folder::SCENARIO;
use record::{StoredRun, Verdict};

use crate::error::exception;

/// A run's folder, read back.
#[pyclass(frozen, get_all, module = "suimon._suimon")]
pub(crate) struct Stored {
    /// Whether it reached its end.
    complete: bool,
    /// The driver: `simulate`, `kernel`, `lab`.
    driver: String,
    /// The version of Suimon that made it.
    version: String,
    /// The build of that version.
    build: String,
    /// The words of the command that repeats it.
    command: Vec<String>,
    /// The scenario with every default written out.
    scenario: String,
    /// The summary as JSON.
    summary: String,
    /// Path, minimum, maximum, value and verdict of each expectation; none for a run that did not reach its end.
    expectations: Vec<Expectation>,
}

/// Path, minimum, maximum, value, and whether it is met.
pub(crate) type Expectation = (String, Option<f64>, Option<f64>, f64, bool);

#[pymethods]
impl Stored {
    /// Reads the folder.
    #[new]
    fn new(py: Python<'_>, folder: PathBuf) -> PyResult<Self> {
        py.detach(|| read(folder)).map_err(|error| exception(py, &error))
    }
}

fn read(folder: PathBuf) -> Result<Stored, experiment::Error> {
    let stored = StoredRun::read(&folder)?;
    let mut plan = Experiment::new(folder.join(SCENARIO)).plan()?;
    DriverChoice::default().prepare(&mut plan);
    let judged = if stored.complete { &plan.expectations[..] } else { &[] };
    let verdicts = record::judge_quantities(judged, &stored.quantities())?;
    Ok(Stored {
        complete: stored.complete,
        summary: stored.summary.to_string(),
        expectations: expectations(verdicts),
        driver: stored.driver,
        version: stored.version,
        build: stored.build,
        command: stored.command,
        scenario: stored.scenario,
    })
}

/// Converts verdicts for Python.
pub(crate) fn expectations(verdicts: Vec<Verdict>) -> Vec<Expectation> {
    verdicts.into_iter().map(|v| (v.path, v.low, v.high, v.value, v.ok)).collect()
}

/// Renders the report of the run in the folder, such as a sweep's, from its files.
#[pyfunction]
pub(crate) fn write_report(py: Python<'_>, folder: PathBuf) -> PyResult<()> {
    let written = py.detach(|| experiment::write_report(&folder));
    written.map(drop).map_err(|error| exception(py, &error))
}

/// The number at a path of a summary, in JSON, or at the path that it is short for, as `--measure` takes it; none where there
/// is none.
#[pyfunction]
pub(crate) fn measured(summary: &str, path: &str) -> PyResult<Option<f64>> {
    let quantities = quantities(summary)?;
    let whole = || record::expectation::measured(&format!("run.{path}"), &quantities);
    Ok(record::expectation::measured(path, &quantities).or_else(whole))
}

/// The path of a summary, in JSON, that is most like one that it does not have.
#[pyfunction]
pub(crate) fn nearest(summary: &str, path: &str) -> PyResult<String> {
    match record::expectation::unknown(path, &quantities(summary)?) {
        record::Error::UnknownPath { nearest, .. } => Ok(nearest),
        _ => Ok(String::new()),
    }
}

fn quantities(summary: &str) -> PyResult<Vec<(String, f64)>> {
    let summary: serde_json::Value = serde_json::from_str(summary)
        .map_err(|error| PyValueError::new_err(format!("the summary: {error}")))?;
    Ok(record::summary::quantities(&summary))
}
