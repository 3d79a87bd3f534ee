//! Python's tables and values as TOML.

use pyo3::exceptions::{PyRecursionError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyMapping, PySequence, PyString};
use toml::{Table, Value};

/// A scenario as TOML's text: of a mapping a document, of anything else a value as it is written behind `=`. None is
/// left out of mappings.
#[pyfunction]
pub(crate) fn to_toml(value: &Bound<'_, PyAny>) -> PyResult<String> {
    match convert(value, "the scenario", 0)? {
        Value::Table(table) => {
            toml::to_string(&table).map_err(|error| PyValueError::new_err(error.to_string()))
        }
        other => Ok(other.to_string()),
    }
}

/// The maximum nesting of tables in a scenario.
const DEPTH_MAX: usize = 100;

fn convert(value: &Bound<'_, PyAny>, path: &str, depth: usize) -> PyResult<Value> {
    if depth > DEPTH_MAX {
        return Err(PyRecursionError::new_err(format!("more than {DEPTH_MAX} tables in tables")));
    }
    // A bool is an int, too, so check for it first.
    if let Ok(truth) = value.cast::<PyBool>() {
        return Ok(Value::Boolean(truth.is_true()));
    }
    if value.is_instance_of::<PyInt>() {
        return Ok(Value::Integer(value.extract()?));
    }
    if value.is_instance_of::<PyFloat>() {
        return Ok(Value::Float(value.extract()?));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return Ok(Value::String(text.to_str()?.to_owned()));
    }
    if value.is_instance_of::<PyDict>() || value.cast::<PyMapping>().is_ok() {
        return table(value, path, depth).map(Value::Table);
    }
    if let Ok(items) = value.cast::<PySequence>() {
        let items = items.try_iter()?.enumerate();
        let items =
            items.map(|(place, item)| convert(&item?, &format!("{path}[{place}]"), depth + 1));
        return Ok(Value::Array(items.collect::<PyResult<_>>()?));
    }
    let kind = value.get_type().name()?.to_string();
    let message = format!("{path} is a {kind}: give a str, int, float, bool, list or dict");
    Err(PyTypeError::new_err(message))
}

fn table(value: &Bound<'_, PyAny>, path: &str, depth: usize) -> PyResult<Table> {
    let mut table = Table::new();
    for pair in value.cast::<PyMapping>()?.items()?.iter() {
        let (key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>) = pair.extract()?;
        let Ok(name) = key.extract::<String>() else {
            return Err(PyTypeError::new_err(format!("{path}: the key {key} is not a str")));
        };
        if !value.is_none() {
            let converted = convert(&value, &format!("{path}.{name}"), depth + 1)?;
            table.insert(name, converted);
        }
    }
    Ok(table)
}
