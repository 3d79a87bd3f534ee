//! A paper's items as text.

use experiment::format;
use experiment::paper::{MeasuredItem, MeasuredTable, value};
use record::quantity::digits;

use crate::table::{Cell, Table};

/// The items, one line per case; then the tables, one line per row; then the verdict.
pub(super) fn text(
    title: &str,
    items: &[MeasuredItem<'_>],
    tables: &[MeasuredTable<'_>],
    calibration: Option<&str>,
    verdict: &str,
) -> String {
    let has_simulated =
        items.iter().flat_map(|item| &item.cases).any(|case| case.simulated.is_some());
    let head = ["item", "case", ">published", ">simulated", ">measured", "allowed", "verdict"];
    let head = head.into_iter().filter(|head| has_simulated || *head != ">simulated");
    let mut table = Table::new(&head.collect::<Vec<_>>());
    for item in items {
        for (place, case) in item.cases.iter().enumerate() {
            let name = if place == 0 { item.heading.as_str() } else { "" };
            let verdict =
                if case.is_judged() { Cell::verdict(case.ok == Some(true)) } else { "".into() };
            let known = |value: Option<f64>| Cell::from(value.map_or_else(String::new, digits));
            let mut row = vec![name.into(), case.case.as_str().into(), known(case.published)];
            row.extend(has_simulated.then(|| known(case.simulated)));
            row.extend([
                digits(case.measured).into(),
                format::range(case.low, case.high, digits).into(),
                verdict,
            ]);
            table.row(row);
        }
    }
    let noted = items.iter().filter(|item| !item.note.is_empty());
    let notes: String = noted.map(|item| format!("\n{}: {}\n", item.heading, item.note)).collect();
    let calibration = calibration.map_or_else(String::new, |text| format!("\n{text}\n"));
    let items = if items.is_empty() { String::new() } else { table.render() };
    let tables: String = tables.iter().map(matrix).collect();
    format!("{title}\n\n{items}{calibration}{notes}{tables}\n{verdict}\n")
}

/// One quantity of a table, and its notes.
fn matrix(of: &MeasuredTable<'_>) -> String {
    let columns: Vec<String> = of.columns.iter().map(|column| format!(">{column}")).collect();
    let head = std::iter::once(of.columns_are).chain(columns.iter().map(String::as_str));
    let mut table = Table::new(&head.collect::<Vec<_>>());
    for (label, values) in &of.rows {
        let values = values.iter().map(|row| Cell::from(value(*row)));
        table.row(std::iter::once(Cell::from(*label)).chain(values));
    }
    let notes: String = of.notes().iter().map(|note| format!("{note}\n")).collect();
    format!("\n{}\n{}{notes}", of.heading, table.render())
}

#[cfg(test)]
mod tests {
    use record::paper::Item;

    use super::*;

    #[test]
    fn what_is_calibrated_says_so_and_why() {
        let row =
            Item { case: "512 KiB".into(), measured: 59.0, low: Some(50.0), ..Item::default() };
        let row = row.judged();
        let item = MeasuredItem {
            heading: "T4 bandwidth (MB/s), calibrated".into(),
            note: "of one flow",
            cases: vec![&row, &row],
        };
        let text = text("A paper", &[item], &[], Some("calibrated: a buffer"), "2 of 2 within");
        assert_eq!(text.matches("T4 bandwidth (MB/s), calibrated").count(), 2, "{text}");
        assert!(
            text.contains("at least 50") && text.contains("\ncalibrated: a buffer\n"),
            "{text}"
        );
        assert!(text.ends_with(": of one flow\n\n2 of 2 within\n"), "{text}");
    }
}
