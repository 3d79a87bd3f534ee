//! Compared runs as text and as JSON.

use report::Cell as PageCell;
use report::differences::{Differences, Row as PageRow};
use results::StoredRun;
use results::quantity::Kind;
use scenario::plan::Within;
use scenario::{Unit, Units};
use serde_json::{Value, json};

use super::difference;
use super::render_groups::{difference_first, dot};
use super::runs::{Comparison, Row, several_drivers};
use crate::format;
use crate::table::{Cell, Table};

/// A table, and what it leaves out.
pub(super) fn text(comparison: &Comparison) -> String {
    let runs = headings(&comparison.runs).into_iter().map(|heading| format!(">{heading}"));
    let headings: Vec<String> = std::iter::once("quantity".to_owned())
        .chain(runs)
        .chain([">difference", ">allowed", ""].map(str::to_owned))
        .collect();
    let mut table = Table::new(&headings);
    comparison.rows.iter().for_each(|row| table.row(cells(row, comparison.units)));
    let equal = match comparison.equal {
        0 => String::new(),
        equal => format!("{}; --all shows what is\n", equal_in_all(equal)),
    };
    let table = if table.is_empty() { String::new() } else { table.render() };
    format!("{table}{equal}")
}

fn equal_in_all(number: usize) -> String {
    let are = if number == 1 { "is" } else { "are" };
    format!("{} {are} equal in all", format::things(number, "quantity", "quantities"))
}

/// Each run's folder, and its driver where there are several: `lab runs/demo-1`.
pub(super) fn headings(runs: &[StoredRun]) -> Vec<String> {
    let several = several_drivers(runs.iter());
    let heading = |run: &StoredRun| match several {
        true => format!("{} {}", run.driver, run.folder.display()),
        false => run.folder.display().to_string(),
    };
    runs.iter().map(heading).collect()
}

/// The unit of a quantity of which runs have these values, and may differ so far.
pub(super) fn unit(units: Units, path: &str, values: impl IntoIterator<Item = f64>) -> Unit {
    Kind::of(path).unit(units).fit(values)
}

fn cells(row: &Row, units: Units) -> Vec<Cell> {
    let unit = unit(units, &row.path, row.values.iter().copied());
    let show = |value| unit.show(value);
    let (reference, farthest) = row.farthest();
    let verdict = match (row.named, row.within()) {
        (true, ok) => Cell::verdict(ok),
        (false, true) => "within".into(),
        (false, false) => "beyond".into(),
    };
    let mut cells: Vec<Cell> = vec![row.path.as_str().into()];
    cells.extend(row.values.iter().map(|&value| show(value).into()));
    cells.extend([
        difference::text(reference, farthest, show).into(),
        allowed(row.allowed, unit).into(),
        verdict,
    ]);
    cells
}

/// How far values may lie apart.
pub(super) fn allowed(within: Within, unit: Unit) -> String {
    match within {
        Within::Percent(percent) => format!("{percent} %"),
        Within::Amount(amount) => unit.text(amount),
    }
}

/// `{"runs":[…],"quantities":[…],"equal","ok"}`; a difference is a share of what the first run has, and
/// null where that is nothing.
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

/// The same as a page with dots.
pub(super) fn page(comparison: &Comparison, title: &str) -> Differences {
    let row = |row: &Row| {
        let unit = unit(comparison.units, &row.path, row.values.iter().copied());
        let show = |value| unit.show(value);
        let (reference, farthest) = row.farthest();
        let mut cells = vec![PageCell::text_of(&row.path)];
        cells.extend(row.values.iter().map(|&value| PageCell::number(show(value))));
        cells.push(PageCell::number(difference::text(reference, farthest, show)));
        cells.push(PageCell::number(allowed(row.allowed, unit)));
        cells.push(match (row.named, row.within()) {
            (true, ok) => PageCell::Held(ok),
            (false, true) => PageCell::text_of("within"),
            (false, false) => PageCell::text_of("beyond"),
        });
        difference_first(&mut cells, row.values.len());
        let others = row.values.iter().skip(1);
        PageRow { cells, dots: others.map(|&value| dot(reference, value)).collect() }
    };
    let runs = headings(&comparison.runs);
    let named = comparison.rows.iter().any(|row| row.named);
    let mut notes = vec![
        format!("Dots show how far the others lie from {}, in percent of it.", runs[0]),
        "A single run tells nothing of chance: give several seeds of each for confidence intervals."
            .to_owned(),
    ];
    if comparison.equal > 0 {
        notes.push(equal_in_all(comparison.equal) + ".");
    }
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect::<Vec<_>>();
    let lead = format!("{} against {}", runs[1..].join(", "), runs[0]);
    let values = runs.len();
    let mut head = [words(&["quantity"]), runs, words(&["difference", "allowed", ""])].concat();
    difference_first(&mut head, values);
    Differences {
        title: title.to_owned(),
        lead,
        ok: named.then(|| comparison.ok()),
        head,
        rows: comparison.rows.iter().map(row).collect(),
        notes,
        ..Differences::default()
    }
}
