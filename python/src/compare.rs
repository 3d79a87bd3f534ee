//! Comparison of runs, sweeps or papers.

use std::path::PathBuf;

use experiment::compare::{Judgement, Pair, compare_paired};
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
/// by noise; `pairs` are flows of the first with those of the others that they are compared with.
#[pyfunction]
pub(crate) fn compare(
    py: Python<'_>,
    folders: Vec<PathBuf>,
    all: bool,
    pairs: Vec<(String, String)>,
) -> PyResult<Comparison> {
    let pairs = pairs.into_iter().map(|(first, other)| Pair { first, other });
    let pairs: Vec<Pair> = pairs.collect();
    py.detach(|| {
        let comparison = compare_paired(&folders, all, &pairs)?;
        let mut command = vec!["suimon".to_owned(), "compare".into()];
        command.extend(folders.iter().map(|folder| text(folder)));
        command.extend(all.then(|| "--all".into()));
        for Pair { first, other } in &pairs {
            command.extend(["--pair".into(), format!("{first}={other}")]);
        }
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
