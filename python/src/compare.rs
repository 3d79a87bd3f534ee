//! Runs, sweeps or papers side by side.

use std::path::PathBuf;

use experiment::compare::Judgement;
use pyo3::prelude::*;

use crate::error::exception;
use crate::experiment::text;

/// What is compared, and how much it differs.
#[pyclass(frozen, get_all, module = "suimon._suimon")]
pub(crate) struct Comparison {
    /// Whether all that is judged lies within tolerance.
    ok: bool,
    /// It as JSON.
    json: String,
    /// The page, with its differences as dots.
    html: String,
    /// What is to be known of the runs before believing them.
    notes: Vec<String>,
    /// The table's head.
    head: Vec<String>,
    /// Its rows, the judgement last.
    rows: Vec<Vec<String>>,
}

/// Compares what these folders hold; the first is what the others are held against. `all` keeps what is equal or
/// differs by noise.
#[pyfunction]
pub(crate) fn compare(py: Python<'_>, folders: Vec<PathBuf>, all: bool) -> PyResult<Comparison> {
    py.detach(|| {
        let comparison = experiment::compare(&folders, all)?;
        let mut command = vec!["suimon".to_owned(), "compare".into()];
        command.extend(folders.iter().map(|folder| text(folder)));
        command.extend(all.then(|| "--all".into()));
        let table = comparison.table();
        let rows = table.rows.iter().map(|(words, judgement)| {
            let judgement = match judgement {
                Judgement::Judged(true) => "ok",
                Judgement::Judged(false) => "FAILED",
                Judgement::Told(text) => text,
            };
            words.iter().cloned().chain([judgement.to_owned()]).collect()
        });
        Ok(Comparison {
            ok: comparison.ok(),
            json: comparison.to_value().to_string(),
            html: comparison.page(command)?.to_html(),
            rows: rows.collect(),
            head: table.head,
            notes: comparison.notes,
        })
    })
    .map_err(|error| exception(py, &error))
}
