//! Comparison of runs, sweeps or papers.

use std::path::PathBuf;

use experiment::compare::Judgement;
use pyo3::prelude::*;

use crate::error::exception;
use crate::experiment::text;

/// What is compared, and how much it differs.
#[pyclass(frozen, get_all, module = "suimon._suimon")]
pub(crate) struct Comparison {
    /// Whether all values are within tolerance.
    ok: bool,
    /// The comparison as JSON.
    json: String,
    /// The page, with its differences as dots.
    html: String,
    /// Warnings about the runs.
    notes: Vec<String>,
    /// The header of the table.
    head: Vec<String>,
    /// Its rows, with the verdict last.
    rows: Vec<Vec<String>>,
}

/// Compares the contents of these folders; the first is the reference. `all` keeps values that are equal or differ
/// by noise.
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
                Judgement::Note(text) => text,
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
