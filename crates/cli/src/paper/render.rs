//! A paper's items as text, as JSON and as sections of the report.

use report::{self, Grid, Mood, Section};
use results::paper::Results;
use results::quantity::digits;

use super::measure::{Measured, MeasuredCase};
use super::published::{Item, Published};
use crate::execution::Driver;
use crate::format;
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

/// `T4 bandwidth (MB/s), calibrated`.
fn heading(item: &Item, driver: Driver) -> String {
    let unit = if item.unit.is_empty() { String::new() } else { format!(" ({})", item.unit) };
    let calibrated = if is_calibrated(item, driver) { ", calibrated" } else { "" };
    format!("{} {}{unit}{calibrated}", item.item, item.quantity)
}

/// Whether a value hangs on what is fitted to the paper: on real packets none does.
pub(super) fn is_calibrated(item: &Item, driver: Driver) -> bool {
    item.calibrated && driver == Driver::Simulator
}

/// What `calibrated` means, where an item is.
pub(super) fn calibration(published: &Published, measured: &Measured) -> Option<String> {
    let shown = groups(published, measured).filter(|(_, cases)| !cases.is_empty());
    let mut items = shown.map(|(item, _)| item);
    let any = items.any(|item| is_calibrated(item, measured.driver));
    any.then(|| format!("calibrated: {}", published.calibration))
}

fn limits(case: &MeasuredCase) -> String {
    format::range(case.row.low, case.row.high, digits)
}

fn published_value(case: &MeasuredCase) -> String {
    case.row.published.map_or_else(String::new, digits)
}

/// Item by item, a line for each case; a count at the end.
pub(super) fn text(published: &Published, measured: &Measured) -> String {
    let mut table = Table::new(&["item", "case", ">published", ">measured", "allowed", "verdict"]);
    for (item, cases) in groups(published, measured) {
        for (place, case) in cases.iter().enumerate() {
            let name = if place == 0 { heading(item, measured.driver) } else { String::new() };
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
    let notes: String =
        noted.map(|(i, _)| format!("\n{}: {}\n", heading(i, measured.driver), i.note)).collect();
    let calibration = calibration(published, measured);
    let calibration = calibration.map_or_else(String::new, |text| format!("\n{text}\n"));
    let (title, table, verdict) = (&published.title, table.render(), verdict(measured).1);
    format!("{title}\n\n{table}{calibration}{notes}\n{verdict}\n")
}

/// A table for each item.
pub(super) fn sections(published: &Published, measured: &Measured) -> Vec<Section> {
    let present = groups(published, measured).filter(|(_, cases)| !cases.is_empty());
    present.map(|(item, cases)| section(item, &cases, measured.driver)).collect()
}

fn section(item: &Item, cases: &[&MeasuredCase], driver: Driver) -> Section {
    let mut section = Section::new(&heading(item, driver));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::paper::library;
    use crate::paper::measure::{Measured, MeasuredCase};

    /// One case of each item, by that driver.
    fn measured(published: &Published, driver: Driver) -> Measured {
        let rows = published.item.iter().enumerate().map(|(item, of)| {
            let row = results::paper::Item {
                item: of.item.clone(),
                calibrated: is_calibrated(of, driver),
                ..Default::default()
            };
            MeasuredCase { item, x: None, row }
        });
        Measured { paper: published.paper.clone(), driver, rows: rows.collect() }
    }

    #[test]
    fn what_hangs_on_an_estimate_is_labelled_calibrated_wherever_it_is_shown() {
        let published = library::published("p0").expect("a paper");
        let simulated = measured(&published, Driver::Simulator);
        let text = text(&published, &simulated);
        for item in ["T4 bandwidth, unpaced Scalable (MB/s), calibrated", "T5 drops, calibrated"] {
            assert!(text.contains(item), "{item} is not in\n{text}");
        }
        assert!(text.contains(&format!("calibrated: {}", published.calibration)), "{text}");
        assert!(!text.contains("linux-6 (MB/s), calibrated") && !text.contains("T3 drops, cal"));
        assert!(json(&simulated).items.iter().any(|item| item.item == "T4" && item.calibrated));
        let mut page = report::Page::new("", "");
        sections(&published, &simulated).iter().for_each(|section| page.section(section));
        assert!(page.to_html().contains("T4 drops, calibrated"), "the report");
        let real = measured(&published, Driver::Lab);
        assert!(
            !super::text(&published, &real).contains("calibrated"),
            "nothing is on real packets"
        );
    }
}
