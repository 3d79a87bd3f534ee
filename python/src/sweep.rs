//! Sweeps: a grid with its locked folder, and means over its seeds.

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::sync::atomic::AtomicBool;
use std::sync::{Mutex, PoisonError};

use experiment::sweep::SweepOutcome;
use experiment::{Error, Steering};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use report::confidence::Sample;

use crate::error::exception;
use crate::steering::interruptible;

/// A grid that keeps its folder locked until it is finished or dropped.
#[pyclass(frozen, module = "suimon._suimon")]
pub(crate) struct OpenSweep {
    of: Mutex<Option<experiment::sweep::OpenSweep>>,
    #[pyo3(get)]
    folder: PathBuf,
    /// The points missing from an earlier sweep.
    #[pyo3(get)]
    missing: Vec<usize>,
}

impl OpenSweep {
    pub(crate) fn new(of: experiment::sweep::OpenSweep) -> Self {
        let (folder, missing) = (of.folder().to_owned(), of.missing());
        Self { of: Mutex::new(Some(of)), folder, missing }
    }

    fn take(&self) -> PyResult<experiment::sweep::OpenSweep> {
        let taken = self.of.lock().unwrap_or_else(PoisonError::into_inner).take();
        taken.ok_or_else(|| PyRuntimeError::new_err("this sweep is over: open it again"))
    }
}

#[pymethods]
impl OpenSweep {
    /// Runs the missing points on this machine, and writes table and report.
    #[pyo3(signature = (workers=None, progress=None))]
    fn execute(
        &self,
        py: Python<'_>,
        workers: Option<NonZeroUsize>,
        progress: Option<Bound<'_, PyAny>>,
    ) -> PyResult<SweepEnded> {
        let all = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
        let (of, workers) = (self.take()?, workers.unwrap_or_else(all));
        let done = interruptible(py, self.missing.len(), progress, |steering| {
            of.execute(workers, steering).map(SweepEnded::of)
        })?;
        done.map_err(|error| exception(py, &error))
    }

    /// Marks the folder as that of a sweep in progress, whose runs other processes put there.
    fn begin(&self, py: Python<'_>) -> PyResult<()> {
        let of = self.of.lock().unwrap_or_else(PoisonError::into_inner);
        let begun = of.as_ref().map_or(Ok(()), experiment::sweep::OpenSweep::begin);
        begun.map_err(|error| exception(py, &error))
    }

    /// Writes table and report of the runs that are in the folder now, without executing any.
    fn finish(&self, py: Python<'_>) -> PyResult<SweepEnded> {
        let mut of = self.take()?;
        let finished = py.detach(|| {
            of.look_again();
            let steering = Steering { interrupted: &AtomicBool::new(true), progress: &() };
            Ok::<_, Error>(SweepEnded::of(of.execute(NonZeroUsize::MIN, steering)?))
        });
        finished.map_err(|error| exception(py, &error))
    }
}

/// How a sweep ended.
#[pyclass(frozen, get_all, module = "suimon._suimon")]
pub(crate) struct SweepEnded {
    /// Its folder.
    folder: PathBuf,
    /// The number of complete runs.
    complete: usize,
    /// The error of a run, or of writing table and report.
    failure: Option<String>,
}

impl SweepEnded {
    fn of(outcome: SweepOutcome) -> Self {
        let failure = outcome.failure.as_ref().or(outcome.unwritten.as_ref());
        Self {
            complete: outcome.complete(),
            failure: failure.map(ToString::to_string),
            folder: outcome.folder,
        }
    }
}

/// The mean of values with the ends of its 95 % confidence interval (Student's t); none if nothing varied.
#[pyfunction]
pub(crate) fn mean_interval(values: Vec<f64>) -> (f64, Option<(f64, f64)>) {
    let interval = Sample::of(&values).interval();
    (interval.mean, interval.ends)
}

/// A value of a setting as labels show it: `fifo:packets=500` of `{ fifo = { packets = 500 } }`.
#[pyfunction]
pub(crate) fn value_label(value: &str) -> String {
    scenario::value_label(value)
}
