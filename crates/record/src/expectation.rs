//! A scenario's expectations, compared with the results.

use measured::Quantity;
use scenario::plan::Expectation;
use serde::Serialize;

use crate::error::Error;
use crate::summary::Summary;

/// An expectation with the measured value.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// The quantity's path in the summary.
    pub path: String,
    /// The measured value; NaN, and null in JSON, if nothing was measured.
    pub value: f64,
    /// The least expected.
    pub low: Option<f64>,
    /// The most expected.
    pub high: Option<f64>,
    /// Whether it is met; both limits belong to the range.
    pub ok: bool,
}

/// Judges every expectation.
///
/// # Errors
/// [`Error::UnknownPath`] for one that names no number of the summary.
pub fn judge(expectations: &[Expectation], summary: &Summary) -> Result<Vec<Verdict>, Error> {
    // The quantities of many flows are many.
    if expectations.is_empty() {
        return Ok(Vec::new());
    }
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
    let value = match measured(&path, quantities) {
        Some(_) if is_of_nothing(&path, quantities) => f64::NAN,
        Some(value) => value,
        None if may_come(&path, quantities) => f64::NAN,
        None => return Err(unknown(&path, quantities)),
    };
    let ok = low.is_none_or(|low| value >= low) && high.is_none_or(|high| value <= high);
    Ok(Verdict { path, value, low, high, ok })
}

/// Returns whether the path names the delay of datagrams when none arrived, or of requests when none was answered:
/// such a delay is within no range.
fn is_of_nothing(path: &str, quantities: &[(String, f64)]) -> bool {
    let Some((flow, _)) = path.rsplit_once('.') else { return false };
    let Some(counted) = Quantity::of(path).and_then(|quantity| quantity.samples) else {
        return false;
    };
    let group = flow.strip_prefix("flow.").map(|name| format!("group.{name}.{counted}"));
    let counted = find(quantities, &format!("{flow}.{counted}"));
    counted.or_else(|| find(quantities, &group?)) == Some(0.0)
}

/// Returns whether the quantity exists, although nothing was counted for it: a mean of no packets.
pub fn may_come(path: &str, quantities: &[(String, f64)]) -> bool {
    let (Some(quantity), Some((entity, _))) = (Quantity::of(path), path.rsplit_once('.')) else {
        return false;
    };
    let table = quantity.field.rsplit_once('.').map_or("", |(table, _)| table);
    let group = entity.strip_prefix("flow.").map(|name| format!("group.{name}"));
    let entities = [Some(entity.to_owned()), group].into_iter().flatten();
    let places = entities.flat_map(|entity| {
        // A class belongs to one direction.
        let (link, class) = match entity.split_once(".class.") {
            Some((link, class)) => (link, format!(".class.{class}")),
            None => (entity.as_str(), String::new()),
        };
        ["", ".forward", ".reverse"].map(|direction| format!("{link}{direction}{class}.{table}"))
    });
    let mut places = places.map(|place| place.trim_end_matches('.').to_owned() + ".");
    places.any(|place| quantities.iter().any(|(known, _)| known.starts_with(&place)))
}

/// Makes the error that no quantity has that path; it names the nearest one.
pub fn unknown(path: &str, quantities: &[(String, f64)]) -> Error {
    let nearest = nearest(path, quantities.iter().map(|(known, _)| known.as_str()));
    Error::UnknownPath { nearest: nearest.to_owned(), path: path.to_owned() }
}

/// Returns the value in the summary's `quantities`, in alphabetical order, for the path of an expectation or of a
/// tolerance: that quantity, or the one that the path abbreviates.
pub fn measured(path: &str, quantities: &[(String, f64)]) -> Option<f64> {
    // A flow with a count is all its connections together, a link or node with a count all that were made of it.
    let members = || members(path, quantities);
    let group = || measured(&format!("group.{}", path.strip_prefix("flow.")?), quantities);
    let short = || {
        let (quantity, (entity, _)) = (Quantity::of(path)?, path.rsplit_once('.')?);
        let at = |place: &str| find(quantities, &format!("{entity}{place}.{}", quantity.field));
        at("").or_else(|| quantity.together([".forward", ".reverse"].into_iter().filter_map(at)))
    };
    find(quantities, path)
        .or_else(short)
        .or_else(group)
        .or_else(|| class(path, quantities))
        .or_else(members)
        .or_else(|| left_out(path, quantities))
}

/// Returns the total of all members of a link or a node with a count. Those that the summary leaves out add nothing.
fn members(path: &str, quantities: &[(String, f64)]) -> Option<f64> {
    let (kind, path_within) = path.split_once('.')?;
    let (name, quantity) = path_within.split_once('.')?;
    if !matches!(kind, "link" | "node") || quantity.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    let within = format!("{kind}.{name}.");
    let numbers = below(&within, quantities).filter_map(|path| {
        let (number, _) = path[within.len()..].split_once('.')?;
        number.parse::<u32>().ok()
    });
    let mut numbers: Vec<u32> = numbers.collect();
    numbers.sort_unstable();
    numbers.dedup();
    let member = |number: u32| measured(&format!("{within}{number}.{quantity}"), quantities);
    Quantity::of(path)?.together(numbers.into_iter().filter_map(member))
}

/// The paths that begin with `prefix`.
fn below<'q>(
    prefix: &'q str,
    quantities: &'q [(String, f64)],
) -> impl Iterator<Item = &'q str> + use<'q> {
    let start = quantities.partition_point(|(path, _)| path.as_str() < prefix);
    let paths = quantities[start..].iter().map(|(path, _)| path.as_str());
    paths.take_while(move |path| path.starts_with(prefix))
}

/// Returns 0 for a link or node that the summary leaves out because nothing went through it, or for all of a count.
fn left_out(path: &str, quantities: &[(String, f64)]) -> Option<f64> {
    let (kind, path_within) = path.split_once('.')?;
    let kind = if kind == "emulator" { "node" } else { kind };
    let mut names = path_within.match_indices('.').map(|(dot, _)| &path_within[..dot]);
    let is_counted = |name: &str| find(quantities, &format!("idle.{kind}.{name}")).is_some();
    let entity = names.find(|name| is_counted(name))?;
    let quantity = &path_within[entity.len() + 1..];
    // A member that is listed may lack the quantity.
    let is_listed = match quantity.split_once('.') {
        Some((number, _)) if number.bytes().all(|b| b.is_ascii_digit()) => {
            below(&format!("{kind}.{entity}.{number}."), quantities).next().is_some()
        }
        _ => below(&format!("{kind}.{entity}."), quantities).next().is_some(),
    };
    (!is_listed && Quantity::of(path).is_some()).then_some(0.0)
}

/// Returns the total of both directions for a class of a link.
fn class(path: &str, quantities: &[(String, f64)]) -> Option<f64> {
    let (link, quantity) = path.split_once(".class.")?;
    let known = Quantity::of(path)?;
    let field = quantity.rsplit_once('.').map(|(name, _)| format!("{name}.{}", known.field));
    let paths = [Some(quantity.to_owned()), field];
    let direction = |name: &str| {
        let at = |quantity: &String| find(quantities, &format!("{link}.{name}.class.{quantity}"));
        paths.iter().flatten().find_map(at)
    };
    known.together(["forward", "reverse"].into_iter().filter_map(direction))
}

fn find(quantities: &[(String, f64)], path: &str) -> Option<f64> {
    let place = quantities.binary_search_by(|(known, _)| known.as_str().cmp(path)).ok()?;
    Some(quantities[place].1)
}

/// Returns the candidate with the fewest edits; the first of several.
fn nearest<'a>(wanted: &str, candidates: impl Iterator<Item = &'a str>) -> &'a str {
    candidates.min_by_key(|candidate| edits(wanted, candidate)).unwrap_or("")
}

/// Returns Levenshtein's distance: insertions, deletions and replacements of bytes.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_of_nothing_is_in_no_range() {
        let known = [("link.wan.forward.impairments.passed_packets", 0.0)];
        let known = known.map(|(path, value)| (path.to_owned(), value));
        let judged = |path: &str| {
            let expectation = Expectation { path: path.into(), low: Some(0.0), high: None };
            judge_quantities(&[expectation], &known)
        };
        let [verdict] =
            <[Verdict; 1]>::try_from(judged("link.wan.added_delay_mean").expect("a verdict"))
                .expect("one");
        assert!(verdict.value.is_nan() && !verdict.ok);
        assert!(judged("link.lan.added_delay_mean").is_err());
        assert!(judged("link.wan.goodness").is_err());
    }

    #[test]
    fn a_path_is_short_for_what_it_names() {
        let known = [
            ("link.lan.1.drops", 3.0),
            ("link.lan.1.forward.class.a.measured_after_seconds", 2.0),
            ("link.lan.1.forward.class.a.rate", 5.0),
            ("link.lan.1.forward.sojourn_p99_seconds", 0.25),
            ("link.lan.1.reverse.sojourn_p99_seconds", 0.5),
            ("link.lan.1.utilisation", 0.5),
            ("link.lan.2.drops", 4.0),
            ("link.lan.2.utilisation", 0.75),
            ("node.box.1.drops", 3.0),
            ("node.box.2.drops", 2.0),
        ];
        let known = known.map(|(path, value)| (path.to_owned(), value));
        let measured = |path: &str| measured(path, &known);
        assert_eq!(measured("link.lan.2.drops"), Some(4.0));
        assert_eq!(measured("link.lan.drops"), Some(7.0), "all of a count together");
        assert_eq!(measured("link.lan.utilisation"), Some(0.75), "the busiest of them");
        assert_eq!(measured("link.lan.sojourn_p99"), Some(0.5), "at the worse end");
        assert_eq!(measured("link.lan.class.a.rate"), Some(5.0));
        assert_eq!(measured("link.lan.1.class.a.measured_after"), Some(2.0));
        assert_eq!(measured("node.box.drops"), Some(5.0));
        assert_eq!(measured("link.wan.drops"), None);
        let of_group = [
            ("group.calls.datagrams.delay_max_seconds", 0.5),
            ("group.calls.exchanges.completed", 7.0),
            ("group.calls.goodput", 1.0),
        ];
        let of_group = of_group.map(|(path, value)| (path.to_owned(), value));
        let measured_of_group = |path: &str| super::measured(path, &of_group);
        assert_eq!(measured_of_group("flow.calls.goodput"), Some(1.0));
        assert_eq!(measured_of_group("flow.calls.delay_max"), Some(0.5), "a count stands for all");
        assert_eq!(measured_of_group("flow.calls.exchanges"), Some(7.0));
        let silent =
            [("flow.x.datagrams.delay_max_seconds", 0.0), ("flow.x.datagrams.received", 0.0)];
        let silent = silent.map(|(path, value)| (path.to_owned(), value));
        let most = Expectation { path: "flow.x.delay_max".into(), low: None, high: Some(1.0) };
        let verdict = verdict(&most, &silent).expect("a path that is known");
        assert!(!verdict.ok && verdict.value.is_nan(), "what never came was not in time");
        assert_eq!(measured("link.lan.3.drops"), None);
    }

    #[test]
    fn what_is_left_out_carried_nothing() {
        let known = [
            ("idle.link.lan", 2.0),
            ("idle.link.wan", 1.0),
            ("link.lan.10.drops", 2.0),
            ("link.lan.2.drops", 3.0),
            ("link.lan.2.utilisation", 0.5),
            ("node.box.1.drops", 3.0),
        ];
        let known = known.map(|(path, value)| (path.to_owned(), value));
        let measured = |path: &str| measured(path, &known);
        assert_eq!(measured("link.lan.drops"), Some(5.0), "of those that carried something");
        assert_eq!(measured("link.lan.1.drops"), Some(0.0));
        assert_eq!(measured("link.lan.1.class.a.drops"), Some(0.0));
        assert_eq!(measured("link.wan.forward.drops_by_reason.queue_bytes"), Some(0.0));
        assert_eq!(measured("link.wan.queue_max"), Some(0.0), "all are idle");
        assert_eq!(measured("link.lan.2.queue_max"), None, "it is listed, and lacks that");
        assert_eq!(measured("link.man.1.drops"), None, "no such link");
        assert_eq!(measured("link.wan.1.goodness"), None);
        assert_eq!(measured("node.box.2.drops"), None, "no node is left out");
    }
}
