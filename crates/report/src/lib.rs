//! Reports: one self-contained HTML page that works offline, in dark mode and on paper.
//!
//! A chart is in the page twice: as SVG, which paper and browsers without scripts show, and as data, from which the
//! page's script draws charts with a cursor. A page loads nothing, and forbids the browser to.
//!
//! The building blocks are [`Page`], [`Section`] and [`Grid`]. [`run`], [`sweep`] and [`differences`] make pages from
//! them, and the command line makes that of a paper.

use std::fmt::Write;

use crate::chart::Chart;
use crate::chart::data::Data;

pub mod chart;
mod command;
pub mod confidence;
mod curves;
pub mod differences;
mod glance;
mod grid;
mod heat;
mod interval;
mod path;
mod ranks;
pub mod run;
mod script;
pub mod sweep;
mod topology;

pub use curves::overlay::Overlaid;
pub use glance::Card;
pub use grid::{Cell, FOLDED_MIN, Grid, Measure, name_of_members};
pub use run::{Run as RunReport, stored_to_html};

const STYLE: &str = include_str!("style.css");

/// The policy for browsers: a page may load only what it contains, and run only our scripts. Images are those that it
/// makes itself, to save a figure as PNG.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:; script-src";

/// A page while it is built.
#[derive(Clone, Debug)]
pub struct Page {
    title: String,
    body: String,
    charts: Data,
}

/// A section of a page.
#[derive(Clone, Debug)]
pub struct Section {
    body: String,
    charts: Vec<Chart>,
}

/// The mood of a banner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mood {
    /// All is well.
    Good,
    /// Something failed.
    Bad,
    /// Neither.
    Neutral,
}

/// Escapes text for HTML.
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
        Self { title: title.to_owned(), body, charts: Data::default() }
    }

    /// Adds what a reader must know first, as a banner.
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
        section.charts.iter().for_each(|chart| self.charts.add(chart));
    }

    /// The page.
    pub fn to_html(&self) -> String {
        let title = escape(&self.title);
        let body = &self.body;
        let style = if self.charts.is_empty() { String::new() } else { script::style() };
        let scripts = script::scripts(&self.charts, body);
        let sources = script::HASHES.map(|hash| format!("'{hash}'")).join(" ");
        format!(
            "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
             <meta http-equiv=\"Content-Security-Policy\" content=\"{POLICY} {sources}\">\
             <meta name=\"viewport\" content=\"width=device-width\">\
             <meta name=\"color-scheme\" content=\"light dark\">\
             <title>{title}</title><style>{style}{STYLE}</style></head>\n\
             <body><main>{body}</main><footer>Made by Suimon {}</footer>\n{scripts}</body></html>\n",
            env!("CARGO_PKG_VERSION")
        )
    }
}

impl Section {
    /// A section with a heading.
    pub fn new(heading: &str) -> Self {
        Self { body: format!("<h2>{}</h2>\n", escape(heading)), charts: Vec::new() }
    }

    /// Adds a paragraph.
    pub fn paragraph(&mut self, text: &str) {
        let _ = writeln!(self.body, "<p>{}</p>", escape(text));
    }

    /// Adds a line on how to use what follows, where scripts run.
    pub fn hint(&mut self, text: &str) {
        let _ = writeln!(self.body, "<p class=\"hint\">{}</p>", escape(text));
    }

    /// Adds lines to be typed literally.
    pub fn code(&mut self, text: &str) {
        let _ = writeln!(self.body, "<pre>{}</pre>", escape(text));
    }

    /// Adds a table.
    pub fn grid(&mut self, grid: &Grid) {
        grid.write(&mut self.body);
    }

    /// Adds key numbers.
    pub fn cards(&mut self, cards: &[Card]) {
        glance::write(cards, &mut self.body);
    }

    /// Adds a heading below the section's.
    pub(crate) fn heading(&mut self, text: &str) {
        let _ = writeln!(self.body, "<h3>{}</h3>", escape(text));
    }

    /// Adds a picture, as SVG, with words under it.
    pub(crate) fn picture(&mut self, svg: &str, caption: &str) {
        let caption = escape(caption);
        let _ = writeln!(
            self.body,
            "<figure><div class=\"wide\">{svg}</div><figcaption>{caption}</figcaption></figure>"
        );
    }

    /// Adds a chart with words under it.
    pub fn figure(&mut self, chart: &Chart, caption: &str) {
        let (svg, title, caption) = (chart.to_svg(), escape(&chart.title), escape(caption));
        // Charts and their data have one order.
        let _ = writeln!(
            self.body,
            "<figure class=\"chart\"><h3>{title}</h3>{svg}<figcaption>{caption}</figcaption></figure>"
        );
        self.charts.push(chart.clone());
    }
}
