//! A paper's items as text, as JSON and as sections of the report.

use results::paper::Results;
use results::report::quantity::digits;
use results::report::{self, Grid, Mood, Section};

use super::measure::{Measured, MeasuredCase};
use super::published::{Item, Published};
use crate::amount;
use crate::table::{Cell, Table};

/// `{"paper","driver","items":[…]}`; a case without limits is ok.
pub(super) fn json(measured: &Measured) -> Results {
    let items = measured.rows.iter().map(|case| case.row.clone()).collect();
    Results { paper: measured.paper.clone(), driver: measured.driver.name().into(), items }
}

/// How many cases have limits, and how many keep them.
fn tally(measured: &Measured) -> (usize, usize) {
    let judged = || measured.rows.iter().filter(|case| is_judged(case));
    (judged().count(), judged().filter(|case| case.row.ok).count())
}

const fn is_judged(case: &MeasuredCase) -> bool {
    case.row.low.is_some() || case.row.high.is_some()
}

/// The outcome in one sentence.
pub(super) fn verdict(measured: &Measured) -> (Mood, String) {
    let (judged, kept) = tally(measured);
    let reported = measured.rows.len() - judged;
    let text = format!("{kept} of {judged} within their range, {reported} reported only");
    (if kept == judged { Mood::Good } else { Mood::Bad }, text)
}

/// Items with their cases, in the paper's order.
fn groups<'a>(
    published: &'a Published,
    measured: &'a Measured,
) -> impl Iterator<Item = (&'a Item, Vec<&'a MeasuredCase>)> {
    published.item.iter().enumerate().map(|(number, item)| {
        (item, measured.rows.iter().filter(|case| case.item == number).collect())
    })
}

fn heading(item: &Item) -> String {
    let unit = if item.unit.is_empty() { String::new() } else { format!(" ({})", item.unit) };
    format!("{} {}{unit}", item.item, item.quantity)
}

fn limits(case: &MeasuredCase) -> String {
    amount::range(case.row.low, case.row.high, digits)
}

fn published_value(case: &MeasuredCase) -> String {
    case.row.published.map_or_else(String::new, digits)
}

/// Item by item, a line for each case; a count at the end.
pub(super) fn text(published: &Published, measured: &Measured) -> String {
    let mut table = Table::new(&["item", "case", ">published", ">measured", "allowed", "verdict"]);
    for (item, cases) in groups(published, measured) {
        for (place, case) in cases.iter().enumerate() {
            let name = if place == 0 { heading(item) } else { String::new() };
            let verdict = if is_judged(case) { Cell::verdict(case.row.ok) } else { "".into() };
            table.row([
                name.into(),
                case.row.case.as_str().into(),
                published_value(case).into(),
                digits(case.row.measured).into(),
                limits(case).into(),
                verdict,
            ]);
        }
    }
    let noted =
        groups(published, measured).filter(|(i, cases)| !(i.note.is_empty() || cases.is_empty()));
    let notes: String = noted.map(|(i, _)| format!("\n{}: {}\n", heading(i), i.note)).collect();
    format!("{}\n\n{}{notes}\n{}\n", published.title, table.render(), verdict(measured).1)
}

/// A table for each item.
pub(super) fn sections(published: &Published, measured: &Measured) -> Vec<Section> {
    let present = groups(published, measured).filter(|(_, cases)| !cases.is_empty());
    present.map(|(item, cases)| section(item, &cases)).collect()
}

fn section(item: &Item, cases: &[&MeasuredCase]) -> Section {
    let mut section = Section::new(&heading(item));
    // Of a figure without numbers in the text there is nothing to set beside what was measured.
    let has_numbers = cases.iter().any(|case| case.row.published.is_some());
    let head = ["Case", "Published", "Measured", "Allowed", "Verdict"];
    let head = head.into_iter().filter(|head| has_numbers || *head != "Published");
    let mut grid = Grid::new(&head.collect::<Vec<_>>());
    for case in cases {
        let published = has_numbers.then(|| report::Cell::number(published_value(case)));
        let verdict = match is_judged(case) {
            true => report::Cell::Held(case.row.ok),
            false => report::Cell::text_of(""),
        };
        let mut row = vec![report::Cell::text_of(&case.row.case)];
        row.extend(published);
        row.extend([
            report::Cell::number(digits(case.row.measured)),
            report::Cell::text_of(limits(case)),
            verdict,
        ]);
        grid.row(row);
    }
    section.grid(&grid);
    if !has_numbers {
        section.paragraph("The paper shows this without numbers.");
    }
    if !item.note.is_empty() {
        section.paragraph(&item.note);
    }
    section
}
