//! The library's errors as Python's exceptions, which `suimon.errors` defines.

use experiment::{Error, ErrorKind};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;
use scenario::Diagnostic;

/// Returns the exception for `error`: that of a scenario has the position of each error, others have a help text.
pub(crate) fn exception(py: Python<'_>, error: &Error) -> PyErr {
    raised(py, error).unwrap_or_else(|broken| broken)
}

fn raised(py: Python<'_>, error: &Error) -> PyResult<PyErr> {
    if let Error::Scenario(errors) = error {
        let problems = errors.diagnostics().iter().map(|problem| {
            let place = (&problem.name, option_text(problem), problem.line, problem.column);
            (place.0, place.1, place.2, place.3, &problem.message, &problem.help)
        });
        let problems: Vec<_> = problems.collect();
        let class = class(py, &SCENARIO, "ScenarioError")?;
        return Ok(PyErr::from_value(class.call_method1("of", (problems,))?));
    }
    let class = match error.kind() {
        ErrorKind::Usage => class(py, &USAGE, "UsageError")?,
        ErrorKind::Lacking => class(py, &LACKING, "MachineError")?,
    };
    // It knows what the command's options are called in Python.
    let from_library = FROM_LIBRARY.import(py, "suimon.errors", "from_library")?;
    Ok(PyErr::from_value(from_library.call1((class, error.to_string()))?))
}

/// Returns the text of an option, `link.wan.delay=5 ms` of `--set`; empty for a file.
fn option_text(problem: &Diagnostic) -> &str {
    if problem.name.starts_with("--") { &problem.text } else { "" }
}

/// Returns a usage error.
pub(crate) fn usage(py: Python<'_>, message: &str, help: &str) -> PyErr {
    exception(py, &Error::usage(message, help))
}

/// Returns the exception for a panic in a thread of the library.
pub(crate) fn panicked() -> PyErr {
    PyRuntimeError::new_err("internal error of the library: please report it")
}

/// Looks up the classes of all exceptions.
pub(crate) fn prepare(py: Python<'_>) -> PyResult<()> {
    let classes =
        [(&SCENARIO, "ScenarioError"), (&USAGE, "UsageError"), (&LACKING, "MachineError")];
    classes.into_iter().try_for_each(|(cell, name)| class(py, cell, name).map(drop))?;
    FROM_LIBRARY.import(py, "suimon.errors", "from_library").map(drop)
}

static SCENARIO: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static USAGE: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static LACKING: PyOnceLock<Py<PyType>> = PyOnceLock::new();
static FROM_LIBRARY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

fn class<'py>(
    py: Python<'py>,
    cell: &PyOnceLock<Py<PyType>>,
    name: &str,
) -> PyResult<Bound<'py, PyType>> {
    Ok(cell.import(py, "suimon.errors", name)?.clone())
}
