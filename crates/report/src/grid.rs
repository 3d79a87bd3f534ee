//! Tables for people, with numbers that programs can read too.

use std::fmt::Write;

use scenario::Units;

use super::escape;
use record::quantity::{self, Kind, count};

mod fold;

pub use fold::{FOLDED_MIN, name_of_members};

/// A table for people.
#[derive(Clone, Debug, Default)]
pub struct Grid {
    head: Vec<String>,
    rows: Vec<Vec<Cell>>,
    units: Units,
    rows_max: Option<usize>,
}

/// A table's cell.
#[derive(Clone, Debug, PartialEq)]
pub enum Cell {
    /// Words.
    Text(String),
    /// A number, set flush right.
    Number(String),
    /// A number of the summary, set flush right.
    Measure(Measure),
    /// A quantity in the unit of its column, set flush right; with its path if it is one of the summary.
    Quantity(Kind, f64, Option<String>),
    /// Whether a condition held.
    Held(bool),
}

/// A number of `summary.json` in readable form, with its path there and its exact value, so that a program can
/// compare the page with the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measure {
    text: String,
    path: String,
    value: String,
}

impl Measure {
    /// The quantity at `path`, which is `value`, shown as `text`.
    pub fn new(path: impl Into<String>, value: f64, text: impl ToString) -> Self {
        Self { text: text.to_string(), path: path.into(), value: value.to_string() }
    }

    pub(crate) fn html(&self) -> String {
        let [path, value, text] = [&self.path, &self.value, &self.text].map(|part| escape(part));
        format!("<span data-path=\"{path}\" data-value=\"{value}\">{text}</span>")
    }
}

impl Grid {
    /// A table with these column heads.
    pub fn new(head: &[impl AsRef<str>]) -> Self {
        let head = head.iter().map(|head| head.as_ref().to_owned()).collect();
        Self { head, rows: Vec::new(), units: Units::default(), rows_max: None }
    }

    /// Limits the number of rows, after those that are alike are folded.
    #[must_use]
    pub const fn at_most(mut self, rows: usize) -> Self {
        self.rows_max = Some(rows);
        self
    }

    /// Sets the units of the quantities.
    #[must_use]
    pub const fn in_units(mut self, units: Units) -> Self {
        self.units = units;
        self
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(cells);
    }

    /// Whether it has no rows.
    pub const fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    pub(super) fn write(&self, out: &mut String) {
        let units: Vec<Units> = (0..self.head.len()).map(|column| self.units_of(column)).collect();
        let folded = fold::rows(&self.rows, &units);
        self.open(out);
        let most = self.rows_max.unwrap_or(usize::MAX);
        for fold::Row { cells, folded } in folded.iter().take(most) {
            match folded {
                None => row(out, cells, &units),
                Some(folded) => folded_row(out, cells, folded),
            }
        }
        *out += "</tbody></table></div>\n";
        if folded.len() < self.rows.len() {
            let all = count(self.rows.len() as u64);
            let _ = writeln!(out, "<details><summary>All {all} rows</summary>");
            self.open(out);
            self.rows.iter().take(most).for_each(|cells| row(out, cells, &units));
            *out += "</tbody></table></div></details>\n";
        }
    }

    /// Begins a table with the head.
    fn open(&self, out: &mut String) {
        *out += "<div class=\"wide\"><table><thead><tr>";
        for (column, head) in self.head.iter().enumerate() {
            let first = self.rows.first().and_then(|row| row.get(column));
            let class = first.filter(|cell| cell.is_number()).map_or("", Cell::class);
            let _ = write!(out, "<th{class}>{}</th>", escape(head));
        }
        *out += "</tr></thead><tbody>\n";
    }

    /// The units of a column.
    fn units_of(&self, column: usize) -> Units {
        let quantities = self.rows.iter().filter_map(|row| match row.get(column)? {
            Cell::Quantity(kind, value, _) => Some((*kind, *value)),
            _ => None,
        });
        quantity::of_column(self.units, quantities)
    }
}

fn row(out: &mut String, cells: &[Cell], units: &[Units]) {
    *out += "<tr>";
    for (cell, units) in cells.iter().zip(units) {
        let _ = write!(out, "<td{}>{}</td>", cell.class(), cell.text(*units));
    }
    *out += "</tr>\n";
}

/// Writes the row that stands for several; `cells` are those of the first.
fn folded_row(out: &mut String, cells: &[Cell], folded: &fold::Folded) {
    let (name, rows) = (escape(&folded.name), count(folded.rows as u64));
    let _ = write!(out, "<tr><td>{name} × {rows}</td>");
    for (cell, range) in cells.iter().skip(1).zip(&folded.ranges) {
        let _ = write!(out, "<td{}>{}</td>", cell.class(), escape(range));
    }
    *out += "</tr>\n";
}

impl Cell {
    /// Words.
    pub fn text_of(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// A number with its unit.
    pub fn number(text: impl ToString) -> Self {
        Self::Number(text.to_string())
    }

    /// A number of the summary with its unit: see [`Measure::new`].
    pub fn measure(path: impl Into<String>, value: f64, text: impl ToString) -> Self {
        Self::Measure(Measure::new(path, value, text))
    }

    /// A quantity that is not in the summary.
    pub const fn quantity(kind: Kind, value: f64) -> Self {
        Self::Quantity(kind, value, None)
    }

    const fn is_number(&self) -> bool {
        matches!(self, Self::Number(_) | Self::Measure(_) | Self::Quantity(..))
    }

    pub(super) const fn class(&self) -> &'static str {
        match self {
            Self::Text(_) => "",
            Self::Number(_) | Self::Measure(_) | Self::Quantity(..) => " class=\"n\"",
            Self::Held(true) => " class=\"ok\"",
            Self::Held(false) => " class=\"fail\"",
        }
    }

    /// Its text in a column of these units.
    pub(super) fn text(&self, units: Units) -> String {
        match self {
            Self::Text(text) | Self::Number(text) => escape(text),
            Self::Quantity(kind, value, path) => {
                let text = units.unit(*kind).show(*value);
                match path {
                    Some(path) => Measure::new(path, *value, text).html(),
                    None => escape(&text),
                }
            }
            Self::Measure(measure) => measure.html(),
            Self::Held(true) => "✓ holds".to_owned(),
            Self::Held(false) => "✗ fails".to_owned(),
        }
    }
}
