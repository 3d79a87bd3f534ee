//! A paper's published figures beside the measured ones.

use serde::{Deserialize, Serialize};

use crate::report::quantity::digits;
use crate::report::{Cell, Grid, Section};

/// What `suimon paper` found.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Results {
    /// The paper: `p0`.
    pub paper: String,
    /// The driver of its runs: `simulate`, `lab`.
    pub driver: String,
    /// Its items in the paper's order.
    pub items: Vec<Item>,
}

/// One figure of a paper, or one cell of a table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Item {
    /// The table or figure: `T3`.
    pub item: String,
    /// The cell: `512 KiB`.
    pub case: String,
    /// What is measured: `bandwidth`.
    pub quantity: String,
    /// In what unit: `MB/s`.
    pub unit: String,
    /// What the paper says; none where it shows a shape.
    pub published: Option<f64>,
    /// What came out here.
    pub measured: f64,
    /// At least this is needed.
    pub low: Option<f64>,
    /// At most this.
    pub high: Option<f64>,
    /// Whether it is so.
    pub ok: bool,
    /// What the difference consists of, if there is more to say than the numbers do.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub note: String,
}

impl Item {
    /// The item with its verdict: whether `measured` lies within the limits, which belong to the range.
    #[must_use]
    pub fn judged(mut self) -> Self {
        self.ok = self.low.is_none_or(|low| self.measured >= low)
            && self.high.is_none_or(|high| self.measured <= high);
        self
    }

    /// `published` and the limits as text; empty for none.
    fn columns(&self) -> [String; 8] {
        let optional = |value: Option<f64>| value.map_or_else(String::new, digits);
        [
            self.item.clone(),
            self.case.clone(),
            self.quantity.clone(),
            self.unit.clone(),
            optional(self.published),
            digits(self.measured),
            optional(self.low),
            optional(self.high),
        ]
    }
}

const HEAD: [&str; 8] =
    ["item", "case", "quantity", "unit", "published", "measured", "at least", "at most"];
/// The first column that holds numbers.
const NUMBERS: usize = 4;

impl Results {
    /// Whether every item is as it should be.
    pub fn ok(&self) -> bool {
        self.items.iter().all(|item| item.ok)
    }

    /// As JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// As a table for a terminal, a line for each item, notes below.
    pub fn to_text(&self) -> String {
        let rows: Vec<[String; 8]> = self.items.iter().map(Item::columns).collect();
        let widths = column_widths(&rows);
        let mut text = line(&HEAD.map(str::to_owned), &widths, "verdict");
        for (row, item) in rows.iter().zip(&self.items) {
            text += &line(row, &widths, if item.ok { "ok" } else { "FAILED" });
        }
        for (item, note) in self.notes() {
            text += &format!("\n{item}: {note}");
        }
        if text.ends_with('\n') { text } else { text + "\n" }
    }

    /// As a section of a report.
    pub fn section(&self) -> Section {
        let mut section = Section::new(&format!("Published and measured: {}", self.paper));
        let head: Vec<&str> = HEAD.into_iter().chain(["verdict"]).collect();
        let mut grid = Grid::new(&head);
        for item in &self.items {
            let cells = item.columns().into_iter().enumerate();
            let cell = |(column, text)| {
                if column < NUMBERS { Cell::Text(text) } else { Cell::Number(text) }
            };
            grid.row(cells.map(cell).chain([Cell::Held(item.ok)]).collect());
        }
        section.grid(&grid);
        for (item, note) in self.notes() {
            section.paragraph(&format!("{item}: {note}"));
        }
        section
    }

    /// Each note once, with the items it stands for.
    fn notes(&self) -> Vec<(String, &str)> {
        let mut notes: Vec<(String, &str)> = Vec::new();
        for item in self.items.iter().filter(|item| !item.note.is_empty()) {
            if notes.iter().all(|(_, note)| *note != item.note) {
                notes.push((format!("{} {}", item.item, item.case), &item.note));
            }
        }
        notes
    }
}

fn column_widths(rows: &[[String; 8]]) -> [usize; 8] {
    let mut widths = HEAD.map(|head| head.chars().count());
    for row in rows {
        for (width, text) in widths.iter_mut().zip(row) {
            *width = (*width).max(text.chars().count());
        }
    }
    widths
}

fn line(row: &[String; 8], widths: &[usize; 8], verdict: &str) -> String {
    let mut line = String::new();
    for (column, (text, &width)) in row.iter().zip(widths).enumerate() {
        let cell =
            if column < NUMBERS { format!("{text:<width$}") } else { format!("{text:>width$}") };
        line += &cell;
        line += "  ";
    }
    line + verdict + "\n"
}
