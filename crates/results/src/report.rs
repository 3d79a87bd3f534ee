//! Reports: one HTML page with everything in it, that works offline, in the dark and on paper.
//!
//! Building blocks first ([`Page`], [`Section`], [`Grid`]); [`run`] and [`crate::paper`] put pages
//! together from them.

use std::fmt::Write;

use crate::chart::Chart;

mod curves;
pub mod differences;
mod heat;
mod interval;
pub mod quantity;
pub mod run;
pub mod sweep;

const STYLE: &str = include_str!("report/style.css");

/// A page in the making.
#[derive(Clone, Debug)]
pub struct Page {
    title: String,
    body: String,
}

/// A section of a page.
#[derive(Clone, Debug)]
pub struct Section {
    body: String,
}

/// A table for people.
#[derive(Clone, Debug, Default)]
pub struct Grid {
    head: Vec<String>,
    rows: Vec<Vec<Cell>>,
}

/// A table's cell.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cell {
    /// Words.
    Text(String),
    /// A number, set flush right.
    Number(String),
    /// Whether something held.
    Held(bool),
}

/// How good news are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mood {
    /// All is well.
    Good,
    /// Something failed.
    Bad,
    /// Neither.
    Neutral,
}

/// Text that HTML takes for text.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c => out.push(c),
        }
    }
    out
}

impl Page {
    /// A page with a title and a line under it.
    pub fn new(title: &str, lead: &str) -> Self {
        let body = format!("<h1>{}</h1><p class=\"lead\">{}</p>", escape(title), escape(lead));
        Self { title: title.to_owned(), body }
    }

    /// Adds what a reader must know first.
    pub fn banner(&mut self, mood: Mood, text: &str) {
        let class = match mood {
            Mood::Good => "good",
            Mood::Bad => "bad",
            Mood::Neutral => "neutral",
        };
        let _ = write!(self.body, "<p class=\"banner {class}\">{}</p>", escape(text));
    }

    /// Adds a section.
    pub fn section(&mut self, section: &Section) {
        let _ = writeln!(self.body, "<section>{}</section>", section.body);
    }

    /// The page.
    pub fn to_html(&self) -> String {
        let title = escape(&self.title);
        let body = &self.body;
        format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta name=\"viewport\" content=\"width=device-width\">\
             <meta name=\"color-scheme\" content=\"light dark\">\
             <title>{title}</title><style>{STYLE}</style></head>\n\
             <body><main>{body}</main><footer>Made by Suimon {}</footer></body></html>\n",
            env!("CARGO_PKG_VERSION")
        )
    }
}

impl Section {
    /// A section with a heading.
    pub fn new(heading: &str) -> Self {
        Self { body: format!("<h2>{}</h2>\n", escape(heading)) }
    }

    /// Adds a paragraph.
    pub fn paragraph(&mut self, text: &str) {
        let _ = writeln!(self.body, "<p>{}</p>", escape(text));
    }

    /// Adds lines to be typed as they stand.
    pub fn code(&mut self, text: &str) {
        let _ = writeln!(self.body, "<pre>{}</pre>", escape(text));
    }

    /// Adds a table.
    pub fn grid(&mut self, grid: &Grid) {
        grid.write(&mut self.body);
    }

    /// Adds a chart with words under it.
    pub fn figure(&mut self, chart: &Chart, caption: &str) {
        let (svg, title, caption) = (chart.to_svg(), escape(&chart.title), escape(caption));
        let _ = writeln!(
            self.body,
            "<figure><h3>{title}</h3>{svg}<figcaption>{caption}</figcaption></figure>"
        );
    }
}

impl Grid {
    /// A table with these column heads.
    pub fn new(head: &[&str]) -> Self {
        Self { head: head.iter().map(|&h| h.to_owned()).collect(), rows: Vec::new() }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<Cell>) {
        self.rows.push(cells);
    }

    /// Whether it has no rows.
    pub const fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    fn write(&self, out: &mut String) {
        *out += "<div class=\"wide\"><table><thead><tr>";
        for (column, head) in self.head.iter().enumerate() {
            let first = self.rows.first().and_then(|row| row.get(column));
            let class =
                first.filter(|cell| matches!(cell, Cell::Number(_))).map_or("", Cell::class);
            let _ = write!(out, "<th{class}>{}</th>", escape(head));
        }
        *out += "</tr></thead><tbody>\n";
        for row in &self.rows {
            *out += "<tr>";
            for cell in row {
                let _ = write!(out, "<td{}>{}</td>", cell.class(), cell.text());
            }
            *out += "</tr>\n";
        }
        *out += "</tbody></table></div>\n";
    }
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

    const fn class(&self) -> &'static str {
        match self {
            Self::Text(_) => "",
            Self::Number(_) => " class=\"n\"",
            Self::Held(true) => " class=\"ok\"",
            Self::Held(false) => " class=\"fail\"",
        }
    }

    fn text(&self) -> String {
        match self {
            Self::Text(text) | Self::Number(text) => escape(text),
            Self::Held(true) => "✓ holds".to_owned(),
            Self::Held(false) => "✗ fails".to_owned(),
        }
    }
}
