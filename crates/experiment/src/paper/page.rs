//! A paper's items for people, and its report.

use record::paper::Item as Row;
use record::quantity::digits;
use report::{Cell, Grid, Mood, Page, Section};

use super::cells::Cells;
use super::figures;
use super::measure::{Measured, MeasuredCase, TOLERANCE};
use super::measured_table;
use super::published::{Item, Published};
use crate::driver::DriverChoice;
use crate::error::Error;
use crate::format;

/// An item with its measured values.
#[derive(Clone, Debug)]
pub struct MeasuredItem<'a> {
    /// `T4 bandwidth (MB/s), calibrated`.
    pub heading: String,
    /// A note for the reader.
    pub note: &'a str,
    /// Its cases; at least one.
    pub cases: Vec<&'a Row>,
}

/// The number of verdicts, and of the good ones.
fn tally(verdicts: impl Iterator<Item = Option<bool>>) -> (usize, usize) {
    verdicts.flatten().fold((0, 0), |(all, good), ok| (all + 1, good + usize::from(ok)))
}

/// The outcome: the values within their range, which is a guarantee, and those near the published ones.
pub(super) fn verdict(measured: &Measured) -> (Mood, String) {
    let rows = || measured.rows.iter().map(|case| &case.row);
    let (judged, kept) = tally(rows().map(|row| row.ok));
    let (published, near) = tally(rows().map(|row| row.within_tolerance));
    let reported = measured.rows.len() - judged;
    let usual = rows().filter_map(|row| row.tolerance).all(|tolerance| tolerance == TOLERANCE);
    let tolerance =
        if usual { "10 %" } else { "their tolerance (10 % unless the account states another)" };
    let near = format!("{near} of {published} published values within {tolerance}");
    let text = format!("{kept} of {judged} within their range, {reported} reported only\n{near}");
    (if kept == judged { Mood::Good } else { Mood::Bad }, text)
}

/// The items outside tables with their cases, in the paper's order; items without cases are left out.
fn groups<'a>(
    published: &'a Published,
    measured: &'a Measured,
) -> impl Iterator<Item = (&'a Item, Vec<&'a MeasuredCase>)> {
    let items = published.item.iter().enumerate().filter(|(_, item)| item.place.is_none());
    let groups = items.map(|(number, item)| {
        let cases = measured.rows.iter().filter(move |case| case.item == number);
        (item, cases.collect::<Vec<_>>())
    });
    groups.filter(|(_, cases)| !cases.is_empty())
}

/// The items outside tables, for people.
pub(super) fn items<'a>(published: &'a Published, measured: &'a Measured) -> Vec<MeasuredItem<'a>> {
    let items = groups(published, measured).map(|(item, cases)| MeasuredItem {
        heading: heading(item, measured.driver),
        note: &item.note,
        cases: cases.into_iter().map(|case| &case.row).collect(),
    });
    items.collect()
}

/// `T4 bandwidth (MB/s), calibrated`.
fn heading(item: &Item, driver: DriverChoice) -> String {
    let unit = if item.unit.is_empty() { String::new() } else { format!(" ({})", item.unit) };
    let calibrated = if is_calibrated(item, driver) { ", calibrated" } else { "" };
    format!("{} {}{unit}{calibrated}", item.item, item.quantity)
}

/// Whether a value depends on a fit to the paper: on real packets none does.
pub(super) fn is_calibrated(item: &Item, driver: DriverChoice) -> bool {
    item.calibrated && !driver.is_real()
}

/// The meaning of `calibrated`, if an item is.
pub(super) fn calibration(published: &Published, measured: &Measured) -> Option<String> {
    let mut items = groups(published, measured).map(|(item, _)| item);
    let any = items.any(|item| is_calibrated(item, measured.driver));
    any.then(|| format!("calibrated: {}", published.calibration))
}

/// The report: the verdict, the items, the figures.
pub(super) fn page(
    published: &Published,
    cells: &Cells,
    measured: &Measured,
    notes: &[String],
    command: &[String],
) -> Result<Page, Error> {
    let by = measured.driver.description().place;
    let lead = format!("Paper {}: published numbers and those measured {by}", published.paper);
    let mut page = Page::new(&published.title, &lead);
    let (mood, verdict) = verdict(measured);
    page.banner(mood, &verdict);
    if let Some(calibration) = calibration(published, measured) {
        page.banner(Mood::Neutral, &calibration);
    }
    notes.iter().for_each(|note| page.banner(Mood::Neutral, note));
    sections(published, measured).iter().for_each(|section| page.section(section));
    if !published.figure.is_empty() {
        page.section(&figures::section(published, cells, measured)?);
    }
    let mut again = Section::new("Run it again");
    again.command(command);
    page.section(&again);
    Ok(page)
}

/// A section for each item, and for each quantity of the tables.
fn sections(published: &Published, measured: &Measured) -> Vec<Section> {
    let items = items(published, measured);
    let tables = measured_table::tables(published, measured);
    items.iter().map(section).chain(tables.iter().map(measured_table::section)).collect()
}

fn section(item: &MeasuredItem<'_>) -> Section {
    let mut section = Section::new(&item.heading);
    // A figure without numbers in the text has nothing to compare with.
    let has_numbers = item.cases.iter().any(|case| case.published.is_some());
    let has_simulated = item.cases.iter().any(|case| case.simulated.is_some());
    let head = ["Case", "Published", "Simulated", "Measured", "Allowed", "Verdict"];
    let head = head.into_iter().filter(|head| {
        (has_numbers || *head != "Published") && (has_simulated || *head != "Simulated")
    });
    let mut grid = Grid::new(&head.collect::<Vec<_>>());
    for case in &item.cases {
        let known = |value: Option<f64>| Cell::number(value.map_or_else(String::new, digits));
        let verdict = match case.is_judged() {
            true => Cell::Held(case.ok == Some(true)),
            false => Cell::text_of(""),
        };
        let mut row = vec![Cell::text_of(&case.case)];
        row.extend(has_numbers.then(|| known(case.published)));
        row.extend(has_simulated.then(|| known(case.simulated)));
        row.extend([
            Cell::number(digits(case.measured)),
            Cell::text_of(format::range(case.low, case.high, digits)),
            verdict,
        ]);
        grid.row(row);
    }
    section.grid(&grid);
    if !has_numbers {
        section.paragraph("The paper shows this without numbers.");
    }
    if !item.note.is_empty() {
        section.paragraph(item.note);
    }
    section
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::driver::Lab;
    use crate::paper::library;

    /// One case of each item, measured by `driver`.
    fn measured(published: &Published, driver: DriverChoice) -> Measured {
        let rows = published.item.iter().enumerate().map(|(item, of)| {
            let row = record::paper::Item {
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
        let simulated = measured(&published, DriverChoice::default());
        let headings = |measured: &Measured| -> Vec<String> {
            items(&published, measured).into_iter().map(|item| item.heading).collect()
        };
        let told = headings(&simulated);
        for item in ["T4 bandwidth, unpaced Scalable (MB/s), calibrated", "T5 drops, calibrated"] {
            assert!(told.iter().any(|heading| heading == item), "{item} is not in {told:?}");
        }
        let told = told.join("\n");
        assert!(!told.contains("linux-6 (MB/s), calibrated") && !told.contains("T3 drops, cal"));
        let wanted = format!("calibrated: {}", published.calibration);
        assert_eq!(calibration(&published, &simulated), Some(wanted));
        let mut rows = simulated.results().items.into_iter();
        assert!(rows.any(|item| item.item == "T4" && item.calibrated));
        let mut page = report::Page::new("", "");
        sections(&published, &simulated).iter().for_each(|section| page.section(section));
        assert!(page.to_html().contains("T4 drops, calibrated"), "the report");
        let real = measured(&published, DriverChoice::of(&Lab));
        assert!(!headings(&real).join("").contains("calibrated"), "nothing is on real packets");
        assert_eq!(calibration(&published, &real), None);
    }
}
