//! Text tables for a terminal: aligned columns, headings in bold, no lines.

use std::fmt::Write;

use record::quantity;
use scenario::Units;

mod cell;
mod fold;

pub(crate) use cell::Cell;

/// How a column is aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// A table under construction.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    headings: Vec<(String, Align)>,
    rows: Vec<Vec<Cell>>,
    units: Units,
}

impl Table {
    /// An empty table. A heading that begins with `>` makes a right-aligned column of numbers.
    pub(crate) fn new(headings: &[impl AsRef<str>]) -> Self {
        let align = |heading: &str| match heading.strip_prefix('>') {
            Some(rest) => (rest.to_owned(), Align::Right),
            None => (heading.to_owned(), Align::Left),
        };
        let headings = headings.iter().map(|heading| align(heading.as_ref()));
        Self { headings: headings.collect(), rows: Vec::new(), units: Units::default() }
    }

    /// The table with its quantities in these units.
    pub(crate) fn in_units(self, units: Units) -> Self {
        Self { units, ..self }
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Whether it has no row.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The number of rows.
    pub(crate) fn len(&self) -> usize {
        self.rows.len()
    }

    /// The table with the rows of the members of a count, such as the ports of 64 hosts, as one row.
    pub(crate) fn folded(self) -> Self {
        Self { rows: fold::rows(&self.formatted()), ..self }
    }

    /// The first rows of the table.
    pub(crate) fn at_most(mut self, rows: usize) -> Self {
        self.rows.truncate(rows);
        self
    }

    /// The text, each line ending in a newline.
    pub(crate) fn render(&self) -> String {
        let rows = self.formatted();
        let widths = self.widths(&rows);
        let mut text = String::new();
        let headings = self.headings.iter().map(|(heading, _)| Cell::heading(heading));
        if self.headings.iter().any(|(heading, _)| !heading.is_empty()) {
            self.line(&mut text, &widths, &headings.collect::<Vec<_>>());
        }
        for row in &rows {
            self.line(&mut text, &widths, row);
        }
        text
    }

    /// The rows, with every quantity in the unit of its column.
    fn formatted(&self) -> Vec<Vec<Cell>> {
        let quantities =
            |column: usize| self.rows.iter().filter_map(move |row| row.get(column)?.quantity);
        let columns = (0..self.headings.len())
            .map(|column| quantity::of_column(self.units, quantities(column)));
        let columns: Vec<Units> = columns.collect();
        let mut rows = self.rows.clone();
        for (cell, units) in rows.iter_mut().flat_map(|row| row.iter_mut().zip(&columns)) {
            if let Some((kind, value)) = cell.quantity {
                cell.text = units.unit(kind).show(value);
            }
        }
        rows
    }

    fn widths(&self, rows: &[Vec<Cell>]) -> Vec<usize> {
        let width = |column: usize| {
            let cells = rows.iter().filter_map(|row| row.get(column));
            let cells = cells.map(|cell| cell.text.chars().count());
            cells.max().unwrap_or(0).max(self.headings[column].0.chars().count())
        };
        (0..self.headings.len()).map(width).collect()
    }

    fn line(&self, text: &mut String, widths: &[usize], cells: &[Cell]) {
        let mut padding = 0;
        for ((cell, &width), (_, align)) in cells.iter().zip(widths).zip(&self.headings) {
            let room = width.saturating_sub(cell.text.chars().count());
            let (before, after) = if *align == Align::Right { (room, 0) } else { (0, room) };
            // Padding is written before the next cell, so that no line ends in spaces.
            if !cell.text.is_empty() {
                let blanks = padding + before;
                let Cell { text: words, style, .. } = cell;
                let _ = write!(text, "{:blanks$}{style}{words}{style:#}", "");
                padding = after + 2;
            } else {
                padding += width + 2;
            }
        }
        text.push('\n');
    }
}

#[cfg(test)]
mod tests {
    use record::quantity::Kind;

    use super::*;

    #[test]
    fn columns_align_and_no_line_ends_in_blanks() {
        let mut table = Table::new(&["flow", ">goodput", ""]);
        table.row(["bulk".into(), "59.4 MB/s".into(), "".into()]);
        table.row(["b".into(), "".into(), "x".into()]);
        let plain = anstream::adapter::strip_str(&table.render()).to_string();
        assert_eq!(plain, "flow    goodput\nbulk  59.4 MB/s\nb                x\n");
    }

    #[test]
    fn a_column_has_one_unit() {
        let mut table = Table::new(&["flow", ">goodput", ">min RTT"]).in_units(Units::default());
        for (name, rate, time) in [("a", 117.5e6, Some(0.2)), ("b", 1.25e3, None)] {
            let rate = Cell::quantity(Kind::Rate, rate);
            table.row([name.into(), rate, Cell::measured(Kind::Time, time)]);
        }
        let plain = anstream::adapter::strip_str(&table.render()).to_string();
        let wanted = "flow      goodput  min RTT\na      940 Mbit/s   200 ms\nb     0.01 Mbit/s\n";
        assert_eq!(plain, wanted);
    }
}
