//! Compared groups as text, as JSON and as a page.

use record::quantity::digits;
use report::Cell as PageCell;
use report::confidence::{Interval, Sample};
use report::differences::{Differences, Row as PageRow};
use scenario::Units;
use serde_json::{Value, json};

use super::groups::{Comparison, Group, Row};
use super::render::{allowed, unit};
use super::runs::overlay;
use super::{Judgement, Table, difference};
use crate::format;

/// A row for each quantity.
pub(super) fn table(comparison: &Comparison) -> Table {
    Table {
        head: head(comparison),
        names: 1,
        rows: comparison.rows.iter().map(|row| words(row, comparison.units)).collect(),
        left_out: left_out(comparison),
    }
}

/// The column headings: quantity, groups, and a difference for each group but the first.
fn head(comparison: &Comparison) -> Vec<String> {
    let group = |group: &Group| format!("{} ({})", group.name, group.runs.len());
    let mut head = vec!["quantity".to_owned()];
    head.extend(comparison.groups.iter().map(group));
    for other in comparison.groups.iter().skip(1) {
        // With two groups it is clear which one differs.
        let of =
            if comparison.groups.len() > 2 { format!(" of {}", other.name) } else { String::new() };
        head.extend([format!("difference{of}"), "95 % confidence".to_owned()]);
    }
    head.extend(["allowed", ""].map(str::to_owned));
    head
}

/// The cells of a row, and its judgement.
fn words(row: &Row, units: Units) -> (Vec<String>, Judgement) {
    let unit = unit(units, &row.path, row.samples.iter().map(|sample| sample.mean));
    let show = |value| unit.show(value);
    let mut words = vec![row.path.clone()];
    words.extend(row.samples.iter().map(|sample| mean(sample, show)));
    let reference = row.samples[0].mean;
    for (other, interval) in row.samples.iter().skip(1).zip(row.differences()) {
        words.push(difference::text(reference, other.mean, show));
        words.push(range(reference, interval, show));
    }
    words.push(allowed(row.allowed, unit));
    let judgement = match (row.named, row.is_noise()) {
        (true, _) => Judgement::Judged(row.within()),
        (false, true) => Judgement::Note("noise"),
        (false, false) => Judgement::Note(""),
    };
    (words, judgement)
}

/// `59.4 MB/s ± 1.2 MB/s`.
fn mean(sample: &Sample, show: impl Fn(f64) -> String) -> String {
    match sample.interval().ends {
        Some((_, high)) if sample.variance > 0.0 => {
            format!("{} ± {}", show(sample.mean), show(high - sample.mean))
        }
        _ => show(sample.mean),
    }
}

/// `-3.1 .. +1.2 %`; absolute values if the reference is zero.
fn range(reference: f64, interval: Interval, show: impl Fn(f64) -> String) -> String {
    let Some((low, high)) = interval.ends else { return String::new() };
    if reference == 0.0 {
        return format!("{} .. {}", signed(low, &show), signed(high, &show));
    }
    let percent = |value: f64| 100.0 * value / reference.abs();
    format!("{:+.2} .. {:+.2} %", percent(low), percent(high))
}

fn signed(value: f64, show: &impl Fn(f64) -> String) -> String {
    format!("{}{}", if value < 0.0 { "-" } else { "+" }, show(value.abs()))
}

fn left_out(comparison: &Comparison) -> Option<String> {
    let things = |number: usize| format::things(number, "quantity", "quantities");
    let noise =
        (comparison.noise > 0).then(|| format!("{} left out as noise", things(comparison.noise)));
    let equal =
        (comparison.equal > 0).then(|| format!("{} equal in all runs", things(comparison.equal)));
    let parts: Vec<String> = [noise, equal].into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("{}; use --all to show them", parts.join(", ")))
}

/// `{"groups":[…],"quantities":[…],"equal","noise","ok"}`; differences are absolute, from the first group to
/// each other one; ends are null where a group has a single run, hence no confidence interval.
pub(super) fn json(comparison: &Comparison) -> Value {
    let group = |group: &Group| {
        let folders = group.runs.iter().map(|run| run.folder.display().to_string());
        json!({
            "name": group.name,
            "driver": group.runs[0].driver,
            "folders": folders.collect::<Vec<_>>(),
        })
    };
    let interval = |interval: Interval| {
        let (low, high) = interval.ends.unzip();
        json!({ "mean": interval.mean, "low": low, "high": high })
    };
    let row = |row: &Row| {
        let differences = row.differences().into_iter().map(|difference| {
            let mut value = interval(difference);
            value["noise"] = difference.includes_zero().into();
            value
        });
        json!({
            "path": row.path,
            "groups": row.samples.iter().map(|s| interval(s.interval())).collect::<Vec<_>>(),
            "differences": differences.collect::<Vec<_>>(),
            "allowed": allowed(row.allowed, unit(comparison.units, &row.path, row.samples.iter().map(|s| s.mean))),
            "named": row.named,
            "within": row.within(),
        })
    };
    json!({
        "groups": comparison.groups.iter().map(group).collect::<Vec<_>>(),
        "quantities": comparison.rows.iter().map(row).collect::<Vec<_>>(),
        "equal": comparison.equal,
        "noise": comparison.noise,
        "ok": comparison.ok(),
    })
}

/// The comparison as a page with dots.
pub(super) fn page(comparison: &Comparison) -> Result<Differences, record::Error> {
    let row = |row: &Row| {
        let (words, judgement) = words(row, comparison.units);
        let cells = page_row(words, judgement, row.samples.len());
        let reference = row.samples[0].mean;
        let dots = row.differences().into_iter().map(|dot| percent(dot, reference));
        PageRow { cells, dots: dots.collect(), beyond: !row.within() }
    };
    let mut head = head(comparison);
    difference_first(&mut head, comparison.groups.len());
    let first = &comparison.groups[0].name;
    let named = comparison.rows.iter().any(|row| row.named);
    let mut notes = vec![format!(
        "Means over the seeds with Student's 95 % confidence interval. Dots show the differences of the others \
         from {first}, in percent, with Welch's 95 % confidence interval; the dashed line marks zero difference."
    )];
    notes.extend(left_out(comparison).map(|text| text + "."));
    let page = Differences {
        title: comparison.plans[0].title.clone(),
        lead: format!("{} against {first}", {
            let others = comparison.groups.iter().skip(1).map(|group| group.name.as_str());
            others.collect::<Vec<_>>().join(", ")
        }),
        ok: named.then(|| comparison.ok()),
        head,
        rows: comparison.rows.iter().map(row).collect(),
        notes,
        ..Differences::default()
    };
    let names: Vec<_> = comparison.groups.iter().map(|group| group.name.clone()).collect();
    let firsts = comparison.groups.iter().map(|group| &group.runs[0]);
    overlay(page, &names, firsts, &comparison.plans)
}

/// A row of a page, with `values` values.
pub(super) fn page_row(words: Vec<String>, judgement: Judgement, values: usize) -> Vec<PageCell> {
    let cell = |(at, text)| if at == 0 { PageCell::Text(text) } else { PageCell::Number(text) };
    let mut cells: Vec<PageCell> = words.into_iter().enumerate().map(cell).collect();
    cells.push(judgement.into());
    difference_first(&mut cells, values);
    cells
}

/// Moves the differences in front of the values, so that a wide table on a page does not hide them. `columns`
/// are the path, `values` values, the differences, the tolerance and the verdict.
pub(super) fn difference_first<T>(columns: &mut [T], values: usize) {
    let differences = columns.len().saturating_sub(2);
    if let Some(columns) = columns.get_mut(1..differences) {
        columns.rotate_left(values.min(columns.len()));
    }
}

/// A difference in percent of `reference`; not a number if that is zero.
pub(super) fn percent(difference: Interval, reference: f64) -> Interval {
    let share = |value: f64| match (value, reference) {
        (0.0, _) => 0.0,
        (_, 0.0) => f64::NAN,
        _ => 100.0 * value / reference.abs(),
    };
    let ends = difference.ends.map(|(low, high)| (share(low), share(high)));
    Interval { mean: share(difference.mean), ends }
}

/// The dot of two single values.
pub(super) fn dot(reference: f64, value: f64) -> Interval {
    percent(Interval { mean: value - reference, ends: None }, reference)
}

/// A number for a page; empty for none.
pub(super) fn number(value: Option<f64>) -> PageCell {
    PageCell::Number(value.map_or_else(String::new, digits))
}
