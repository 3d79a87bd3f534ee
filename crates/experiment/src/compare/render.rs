//! Compared runs as text, as JSON and as a page.

use record::StoredRun;
use record::quantity::Kind;
use report::differences::{Differences, Row as PageRow};
use scenario::plan::Within;
use scenario::{Unit, Units};
use serde_json::{Value, json};

use super::render_groups::{difference_first, dot, page_row};
use super::runs::{Comparison, Row, overlay, several_drivers};
use super::{Judgement, Table, difference};
use crate::format;

/// A row for each quantity.
pub(super) fn table(comparison: &Comparison) -> Table {
    Table {
        head: head(comparison),
        names: 1,
        rows: comparison.rows.iter().map(|row| words(row, comparison.units)).collect(),
        left_out: (comparison.equal > 0)
            .then(|| format!("{}; use --all to show them", equal_in_all(comparison.equal))),
    }
}

/// The column headings: quantity, runs, and the differences of the others.
fn head(comparison: &Comparison) -> Vec<String> {
    let mut head = vec!["quantity".to_owned()];
    head.extend(headings(&comparison.runs));
    head.extend(["difference", "allowed", ""].map(str::to_owned));
    head
}

fn equal_in_all(number: usize) -> String {
    let are = if number == 1 { "is" } else { "are" };
    format!("{} {are} equal in all runs", format::things(number, "quantity", "quantities"))
}

/// The heading of each run: its folder, and its driver if there are several: `lab runs/demo-1`.
pub(super) fn headings(runs: &[StoredRun]) -> Vec<String> {
    let several = several_drivers(runs.iter());
    let heading = |run: &StoredRun| match several {
        true => format!("{} {}", run.driver, run.folder.display()),
        false => run.folder.display().to_string(),
    };
    runs.iter().map(heading).collect()
}

/// The unit for the quantity `path`, fitted to its values and tolerances.
pub(super) fn unit(units: Units, path: &str, values: impl IntoIterator<Item = f64>) -> Unit {
    units.unit(Kind::of(path)).fit(values)
}

/// The cells of a row, and its judgement.
fn words(row: &Row, units: Units) -> (Vec<String>, Judgement) {
    let unit = unit(units, &row.path, row.values.iter().copied());
    let show = |value| unit.show(value);
    let (reference, farthest) = row.farthest();
    let mut words = vec![row.path.clone()];
    words.extend(row.values.iter().map(|&value| show(value)));
    words.extend([difference::text(reference, farthest, show), allowed(row.allowed, unit)]);
    let judgement = match (row.named, row.within()) {
        (true, ok) => Judgement::Judged(ok),
        (false, true) => Judgement::Note("within"),
        (false, false) => Judgement::Note("outside"),
    };
    (words, judgement)
}

/// The tolerance as text.
pub(super) fn allowed(within: Within, unit: Unit) -> String {
    match within {
        Within::Percent(percent) => format!("{percent} %"),
        Within::Amount(amount) => unit.text(amount),
    }
}

/// `{"runs":[…],"quantities":[…],"equal","ok"}`; a difference is relative to the first run's value, and null if
/// that is zero.
pub(super) fn json(comparison: &Comparison) -> Value {
    let run = |run: &StoredRun| {
        let folder = run.folder.display().to_string();
        json!({ "folder": folder, "driver": run.driver, "complete": run.complete })
    };
    let row = |row: &Row| {
        let (reference, farthest) = row.farthest();
        json!({
            "path": row.path,
            "values": row.values,
            "difference": difference::relative(reference, farthest),
            "allowed": allowed(row.allowed, unit(comparison.units, &row.path, row.values.iter().copied())),
            "named": row.named,
            "within": row.within(),
        })
    };
    json!({
        "runs": comparison.runs.iter().map(run).collect::<Vec<_>>(),
        "quantities": comparison.rows.iter().map(row).collect::<Vec<_>>(),
        "equal": comparison.equal,
        "ok": comparison.ok(),
    })
}

/// The comparison as a page with dots.
pub(super) fn page(comparison: &Comparison) -> Result<Differences, record::Error> {
    let row = |row: &Row| {
        let (words, judgement) = words(row, comparison.units);
        let cells = page_row(words, judgement, row.values.len());
        let reference = row.values.first().copied().unwrap_or_default();
        let others = row.values.iter().skip(1);
        let dots = others.map(|&value| dot(reference, value)).collect();
        PageRow { cells, dots, beyond: !row.within() }
    };
    let runs = headings(&comparison.runs);
    let named = comparison.rows.iter().any(|row| row.named);
    let mut notes = vec![
        format!("Dots show the differences of the others from {}, in percent.", runs[0]),
        "Single runs have no confidence intervals. Use --seeds.".to_owned(),
    ];
    if comparison.equal > 0 {
        notes.push(equal_in_all(comparison.equal) + ".");
    }
    let lead = format!("{} against {}", runs[1..].join(", "), runs[0]);
    let mut head = head(comparison);
    difference_first(&mut head, runs.len());
    let page = Differences {
        title: comparison.plans[0].title.clone(),
        lead,
        ok: named.then(|| comparison.ok()),
        head,
        rows: comparison.rows.iter().map(row).collect(),
        notes,
        ..Differences::default()
    };
    overlay(page, &runs, &comparison.runs, &comparison.plans)
}
