//! A paper's tables with measured values: a matrix for each quantity.

use record::paper::Item as Row;
use record::quantity::digits;
use report::{Cell, Grid, Section};

use super::measure::Measured;
use super::published::Published;
use super::table::InTable;
use crate::format;

/// One quantity of a table.
#[derive(Clone, Debug)]
pub struct MeasuredTable<'a> {
    /// `MANY goodput (Gbit/s)`.
    pub heading: String,
    /// The meaning of the columns: `senders`.
    pub columns_are: &'a str,
    /// The columns.
    pub columns: &'a [String],
    /// A label for each row, and its values by column; none for an empty cell.
    pub rows: Vec<(&'a str, Vec<Option<&'a Row>>)>,
    /// The limits of rows that have any.
    pub asked: Vec<String>,
    /// A note for the reader; only for a table's last quantity.
    pub note: &'a str,
}

/// The mark of a value outside its limits.
const SHORT: &str = "*";

/// A table for each quantity of each published table, if it has any measured values.
pub(super) fn tables<'a>(
    published: &'a Published,
    measured: &'a Measured,
) -> Vec<MeasuredTable<'a>> {
    let mut tables = Vec::new();
    for (number, table) in published.table.iter().enumerate() {
        for (place, quantity) in table.quantity.iter().enumerate() {
            let of = |row| InTable { table: number, quantity: place, row };
            let rows = table.row.iter().enumerate().map(|(row, is)| {
                let values =
                    table.columns.iter().map(|column| find(published, measured, of(row), column));
                (is.label.as_str(), values.collect::<Vec<_>>())
            });
            let rows =
                rows.filter(|(_, values)| values.iter().any(Option::is_some)).collect::<Vec<_>>();
            if rows.is_empty() {
                continue;
            }
            let unit = format!(" ({})", quantity.unit).replace(" ()", "");
            let asked = table.row.iter().filter_map(|row| {
                let (low, high) = row.asked(&quantity.quantity)?;
                Some(format!("{}: {}", row.label, format::range(low, high, digits)))
            });
            let last = place + 1 == table.quantity.len();
            tables.push(MeasuredTable {
                heading: format!("{} {}{unit}", table.table, quantity.quantity),
                columns_are: &table.columns_are,
                columns: &table.columns,
                rows,
                asked: asked.collect(),
                note: if last { &table.note } else { "" },
            });
        }
    }
    tables
}

/// The value of a table's cell.
fn find<'a>(
    published: &Published,
    measured: &'a Measured,
    place: InTable,
    column: &str,
) -> Option<&'a Row> {
    let is = |item: usize| published.item.get(item).is_some_and(|item| item.place == Some(place));
    let case = measured.rows.iter().find(|case| is(case.item) && case.row.case == column)?;
    Some(&case.row)
}

/// A value as text.
pub fn value(row: Option<&Row>) -> String {
    let Some(row) = row else { return String::new() };
    let short = if row.ok != Some(false) && row.note.is_empty() { "" } else { SHORT };
    format!("{}{short}", digits(row.measured))
}

/// A section of the report.
pub(super) fn section(table: &MeasuredTable<'_>) -> Section {
    let mut section = Section::new(&table.heading);
    let head = std::iter::once(table.columns_are).chain(table.columns.iter().map(String::as_str));
    let mut grid = Grid::new(&head.collect::<Vec<_>>());
    for (label, values) in &table.rows {
        let values = values.iter().map(|row| Cell::number(value(*row)));
        grid.row(std::iter::once(Cell::text_of(*label)).chain(values).collect());
    }
    section.grid(&grid);
    for text in table.notes() {
        section.paragraph(&text);
    }
    section
}

impl MeasuredTable<'_> {
    /// The notes below the table.
    pub fn notes(&self) -> Vec<String> {
        let asked = self.asked.join("; ");
        let asked = (!self.asked.is_empty())
            .then(|| format!("Requirement: {asked}. {SHORT} marks values that miss it."));
        asked.into_iter().chain((!self.note.is_empty()).then(|| self.note.to_owned())).collect()
    }
}
