//! What a scenario expects, held against what came out.

use scenario::plan::Expectation;
use serde::Serialize;

use crate::error::Error;
use crate::summary::Summary;

/// An expectation with what was measured.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// The quantity's path in the summary.
    pub path: String,
    /// What was measured.
    pub value: f64,
    /// At least this was expected.
    pub low: Option<f64>,
    /// At most this.
    pub high: Option<f64>,
    /// Whether it was so; both limits belong to the range.
    pub ok: bool,
}

/// Judges every expectation.
///
/// # Errors
/// [`Error::UnknownPath`] for one that names no number of the summary.
pub fn judge(expectations: &[Expectation], summary: &Summary) -> Result<Vec<Verdict>, Error> {
    judge_quantities(expectations, &summary.quantities())
}

/// Judges every expectation by a summary's quantities, in alphabetical order.
///
/// # Errors
/// [`Error::UnknownPath`] for one that names none of them.
pub fn judge_quantities(
    expectations: &[Expectation],
    quantities: &[(String, f64)],
) -> Result<Vec<Verdict>, Error> {
    expectations.iter().map(|expectation| verdict(expectation, quantities)).collect()
}

fn verdict(expectation: &Expectation, quantities: &[(String, f64)]) -> Result<Verdict, Error> {
    let Expectation { path, low, high } = expectation.clone();
    let value = measured(&path, quantities).ok_or_else(|| unknown(&path, quantities))?;
    let ok = low.is_none_or(|low| value >= low) && high.is_none_or(|high| value <= high);
    Ok(Verdict { path, value, low, high, ok })
}

/// That no quantity has that path; names the nearest one.
pub fn unknown(path: &str, quantities: &[(String, f64)]) -> Error {
    let nearest = nearest(path, quantities.iter().map(|(known, _)| known.as_str()));
    Error::UnknownPath { nearest: nearest.to_owned(), path: path.to_owned() }
}

/// What the summary's `quantities`, in alphabetical order, have for the path of an expectation or of a
/// tolerance: that quantity, or what the path is short for.
pub fn measured(path: &str, quantities: &[(String, f64)]) -> Option<f64> {
    // A flow with a count stands for the sum of its connections.
    let group = || find(quantities, &format!("group.{}", path.strip_prefix("flow.")?));
    let short = || {
        let (entity, quantity) = path.rsplit_once('.')?;
        match quantity {
            "delay_mean" | "delay_max" => {
                find(quantities, &format!("{entity}.datagrams.{quantity}_seconds"))
            }
            "exchanges" => find(quantities, &format!("{path}.completed")),
            "response_mean" | "response_max" => {
                find(quantities, &format!("{entity}.exchanges.{quantity}_seconds"))
            }
            "min_rtt" => find(quantities, &format!("{path}_seconds")),
            "queue_max" => queue_max(entity, quantities),
            _ => None,
        }
    };
    find(quantities, path).or_else(group).or_else(short).or_else(|| class(path, quantities))
}

/// The longest queue of an emulator, or of either end of a link.
fn queue_max(entity: &str, quantities: &[(String, f64)]) -> Option<f64> {
    let at = |place: &str| find(quantities, &format!("{entity}{place}.backlog_bytes_max"));
    ["", ".forward", ".reverse"].into_iter().filter_map(at).reduce(f64::max)
}

/// A class of a link: the busier direction's rate, or what both directions dropped.
fn class(path: &str, quantities: &[(String, f64)]) -> Option<f64> {
    let (link, quantity) = path.split_once(".class.")?;
    let direction = |name| find(quantities, &format!("{link}.{name}.class.{quantity}"));
    let both = ["forward", "reverse"].into_iter().filter_map(direction);
    if path.ends_with(".rate") { both.reduce(f64::max) } else { both.reduce(|a, b| a + b) }
}

fn find(quantities: &[(String, f64)], path: &str) -> Option<f64> {
    let place = quantities.binary_search_by(|(known, _)| known.as_str().cmp(path)).ok()?;
    Some(quantities[place].1)
}

/// The candidate that fewest edits lead to; the first of several.
fn nearest<'a>(wanted: &str, candidates: impl Iterator<Item = &'a str>) -> &'a str {
    candidates.min_by_key(|candidate| edits(wanted, candidate)).unwrap_or("")
}

/// Levenshtein's distance: insertions, deletions and replacements of bytes.
fn edits(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, y) in b.bytes().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}
