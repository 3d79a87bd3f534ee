//! Text tables for a terminal: aligned columns, headings in bold, no lines.

use std::borrow::Cow;
use std::fmt::Write;

use anstyle::{AnsiColor, Style};

use crate::sanitise;

/// How a column is aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// One cell.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    text: String,
    style: Style,
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self { text: shown(text.into()), style: Style::new() }
    }
}

/// As it is shown, so that its width is known.
fn shown(text: String) -> String {
    match sanitise::text(&text) {
        Cow::Borrowed(_) => text,
        Cow::Owned(shown) => shown,
    }
}

impl Cell {
    /// A verdict: green or red.
    pub(crate) fn verdict(ok: bool) -> Self {
        let (text, colour) = if ok { ("ok", AnsiColor::Green) } else { ("FAILED", AnsiColor::Red) };
        Self { text: text.into(), style: Style::new().fg_color(Some(colour.into())) }
    }

    /// How a thing is: green if all is well, red if nothing is, yellow between.
    pub(crate) fn state(text: &str, well: bool, bad: bool) -> Self {
        let colour = match (well, bad) {
            (true, _) => AnsiColor::Green,
            (_, true) => AnsiColor::Red,
            _ => AnsiColor::Yellow,
        };
        Self { text: text.into(), style: Style::new().fg_color(Some(colour.into())) }
    }

    /// What stands above the rows of a section.
    pub(crate) fn heading(text: impl Into<String>) -> Self {
        Self { text: shown(text.into()), style: Style::new().bold() }
    }
}

/// A table in the making.
#[derive(Clone, Debug)]
pub(crate) struct Table {
    headings: Vec<(String, Align)>,
    rows: Vec<Vec<Cell>>,
}

impl Table {
    /// An empty one. A heading that begins with `>` makes a column of numbers, aligned right.
    pub(crate) fn new(headings: &[impl AsRef<str>]) -> Self {
        let align = |heading: &str| match heading.strip_prefix('>') {
            Some(rest) => (rest.to_owned(), Align::Right),
            None => (heading.to_owned(), Align::Left),
        };
        let headings = headings.iter().map(|heading| align(heading.as_ref()));
        Self { headings: headings.collect(), rows: Vec::new() }
    }

    /// Adds a row.
    pub(crate) fn row(&mut self, cells: impl IntoIterator<Item = Cell>) {
        self.rows.push(cells.into_iter().collect());
    }

    /// Whether it has no row.
    pub(crate) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The text, each line ending in a newline.
    pub(crate) fn render(&self) -> String {
        let widths = self.widths();
        let mut text = String::new();
        let bold = Style::new().bold();
        let headings = self.headings.iter().map(|(h, _)| Cell { text: h.clone(), style: bold });
        if self.headings.iter().any(|(heading, _)| !heading.is_empty()) {
            self.line(&mut text, &widths, &headings.collect::<Vec<_>>());
        }
        for row in &self.rows {
            self.line(&mut text, &widths, row);
        }
        text
    }

    fn widths(&self) -> Vec<usize> {
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
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
            // Padding is written before the next cell, so that no line ends in blanks.
            if !cell.text.is_empty() {
                let blanks = padding + before;
                let Cell { text: words, style } = cell;
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
    use super::*;

    #[test]
    fn columns_align_and_no_line_ends_in_blanks() {
        let mut table = Table::new(&["flow", ">goodput", ""]);
        table.row(["bulk".into(), "59.4 MB/s".into(), "".into()]);
        table.row(["b".into(), "".into(), "x".into()]);
        let plain = anstream::adapter::strip_str(&table.render()).to_string();
        assert_eq!(plain, "flow    goodput\nbulk  59.4 MB/s\nb                x\n");
    }
}
