//! A sweep's own files: `sweep.json`, `sweep.parquet` and `report.html`.

use std::collections::BTreeSet;
use std::path::Path;

use record::expectation::unknown;
use record::sweep_table::{SweepTable, Values};
use report::sweep::{Axis, Point as Shown, Sweep};
use scenario::{Dimension, Units, measure, value_label};
use serde_json::{Value, json};

use crate::error::Error;
use crate::folders::{SWEEP, json_text};
use crate::sweep::Keep;
use crate::sweep::crowds::Crowds;
use crate::sweep::point::{Point, SEED};

/// The table's name.
pub const TABLE: &str = "sweep.parquet";

/// Marks the folder as that of an incomplete sweep, and removes the table and report of an earlier one.
pub(super) fn begin(folder: &Path) -> Result<(), Error> {
    put(folder, &json!({ "complete": false, "runs": [] }))?;
    for name in [TABLE, record::folder::REPORT] {
        let path = folder.join(name);
        match std::fs::remove_file(&path) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(record::error::folder(&path)(error).into());
            }
            _ => {}
        }
    }
    Ok(())
}

/// What the page shows besides the points.
pub(super) struct Page<'a> {
    pub(super) command: Vec<String>,
    pub(super) measures: &'a [String],
    pub(super) keep: Keep,
}

/// Writes the three files.
///
/// # Errors
/// A folder that cannot be written, and a measure that no run has.
pub(super) fn write(
    folder: &Path,
    document: &Value,
    points: &[Point],
    page: Page<'_>,
) -> Result<(), Error> {
    let axes = axes(points);
    table(points, &axes, page.measures).write(&folder.join(TABLE))?;
    // An unknown measure leaves out the page, but not the results.
    let page = self::page(points, axes, page);
    if let Ok(page) = &page {
        record::folder::write(&folder.join(record::folder::REPORT), &page.to_html())?;
    }
    // Written last: "complete" means that the other files exist.
    put(folder, document)?;
    page.map(drop)
}

fn put(folder: &Path, document: &Value) -> Result<(), Error> {
    Ok(record::folder::write(&folder.join(SWEEP), &json_text(document))?)
}

/// The names of the runs in a folder that kept only its table.
pub(super) fn without_runs(folder: &Path) -> Vec<String> {
    let text = record::regular::read_text(&folder.join(SWEEP)).unwrap_or_default();
    let document: Value = serde_json::from_str(&text).unwrap_or_default();
    if !kept_table(&document) {
        return Vec::new();
    }
    let runs = document["runs"].as_array().into_iter().flatten();
    runs.filter_map(|run| run["folder"].as_str().map(str::to_owned)).collect()
}

/// Whether a `sweep.json` is of a complete sweep that kept only its table.
pub fn kept_table(document: &Value) -> bool {
    document["kept"] == Keep::Table.name() && document["complete"] == true
}

/// The varied parameters without the seed; values in order of first occurrence.
fn axes(points: &[Point]) -> Vec<Axis> {
    let mut axes: Vec<Axis> = Vec::new();
    for (path, value) in points.iter().flat_map(|point| &point.run.parameters) {
        if path == SEED {
            continue;
        }
        match axes.iter_mut().find(|axis| &axis.path == path) {
            Some(axis) if axis.values.contains(value) => {}
            Some(axis) => axis.values.push(value.clone()),
            None => axes.push(Axis { path: path.clone(), values: vec![value.clone()] }),
        }
    }
    axes
}

fn parameter<'p>(point: &'p Point, path: &str) -> Option<&'p str> {
    let found = point.run.parameters.iter().find(|(known, _)| known == path);
    found.map(|(_, value)| value.as_str())
}

/// A row for each complete run: its folder, parameters, seed, verdict, and every number of its summary, except what
/// [`Crowds`] leaves out.
fn table(points: &[Point], axes: &[Axis], measures: &[String]) -> SweepTable {
    let done: Vec<&Point> = points.iter().filter(|point| point.complete()).collect();
    let text = |value: &dyn Fn(&Point) -> Option<String>| {
        Values::Text(done.iter().map(|point| value(point)).collect())
    };
    let mut table = SweepTable::default();
    table.column("run", text(&|point| Some(point.folder())));
    for axis in axes {
        match setting(&done, axis) {
            Ok((dimension, values)) => table.setting(&axis.path, dimension, values),
            Err(words) => table.column(&axis.path, Values::Text(words)),
        }
    }
    let seeds = done.iter().map(|point| i64::try_from(point.job.plan.seed).unwrap_or(i64::MAX));
    table.column(SEED, Values::Whole(seeds.collect()));
    let verdict = |ok: bool| if ok { "ok".to_owned() } else { "FAILED".to_owned() };
    table.column("verdict", text(&|point| point.held().map(verdict)));
    let paths = done.iter().flat_map(|point| &point.quantities).map(|(path, _)| path.as_str());
    let crowds = Crowds::of(points);
    for path in paths.collect::<BTreeSet<&str>>() {
        if crowds.holds(path).is_some_and(|member| !is_asked(member, measures)) {
            continue;
        }
        let values = done.iter().map(|point| point.measured(path));
        table.measured(path, values.collect());
    }
    table
}

/// Whether a measure is of the member, which `member` names as `flow.bulk.7`.
fn is_asked(member: &str, measures: &[String]) -> bool {
    measures.iter().any(|path| path.strip_prefix(member).is_some_and(|rest| rest.starts_with('.')))
}

/// Quantities of one kind, in base units.
type Quantities = (Dimension, Vec<Option<f64>>);

/// A setting's values of all runs: numbers if all are quantities of one kind, otherwise words.
fn setting(done: &[&Point], axis: &Axis) -> Result<Quantities, Vec<Option<String>>> {
    let kinds = axis.values.iter().map(|value| measure(value).map(|measure| measure.dimension));
    let kinds: Vec<_> = kinds.collect();
    let of = |point: &&Point| parameter(point, &axis.path).map(str::to_owned);
    match kinds.first() {
        Some(Some(one)) if kinds.iter().all(|kind| *kind == Some(*one)) => {
            let number = |point: &&Point| Some(measure(&of(point)?)?.value);
            Ok((*one, done.iter().map(number).collect()))
        }
        // A table of settings as its label, `fifo:packets=500`.
        _ => Err(done.iter().map(|point| of(point).map(|value| value_label(&value))).collect()),
    }
}

fn page(points: &[Point], axes: Vec<Axis>, page: Page<'_>) -> Result<Sweep, Error> {
    let Page { command, measures, keep } = page;
    let measures = measures.iter().map(|path| known(path, points));
    let measures: Vec<String> = measures.collect::<Result<_, _>>()?;
    let shown = points.iter().map(|point| Shown {
        places: axes.iter().map(|axis| place(point, axis)).collect(),
        seed: point.job.plan.seed,
        folder: point.folder(),
        complete: point.complete(),
        held: point.held(),
        values: match point.complete() {
            true => measures.iter().map(|path| point.measured(path)).collect(),
            false => Vec::new(),
        },
    });
    let points_shown = shown.collect();
    let first = points.first().map(|point| &point.job.plan);
    let units = first.map_or_else(Units::default, |plan| plan.units);
    let title = first.map_or_else(String::new, |plan| plan.title.clone());
    let linked = keep == Keep::All;
    Ok(Sweep { units, title, command, axes, measures, points: points_shown, linked })
}

fn place(point: &Point, axis: &Axis) -> usize {
    let value = parameter(point, &axis.path);
    axis.values.iter().position(|known| Some(known.as_str()) == value).unwrap_or(0)
}

/// The path of a measure that at least one run has; `goodput` is short for `run.goodput`.
fn known(path: &str, points: &[Point]) -> Result<String, Error> {
    let done = || points.iter().filter(|point| point.complete());
    let has = |path: &str| done().any(|point| point.measured(path).is_some());
    let whole = format!("run.{path}");
    match done().next() {
        Some(_) if !has(path) && has(&whole) => Ok(whole),
        Some(first) if !has(path) => Err(unknown(path, &first.quantities).into()),
        _ => Ok(path.to_owned()),
    }
}
