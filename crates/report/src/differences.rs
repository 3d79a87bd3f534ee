//! The report of a comparison: a table that draws each difference as a dot with its interval.

use std::fmt::Write;

use scenario::Units;

use crate::chart::Chart;
use crate::confidence::Interval;
use crate::curves::overlay;
use crate::curves::{Colours, Figure};
use crate::interval::Span;
use crate::{Cell, Mood, Page, Section, escape};
use record::error::Error;

/// The difference up to which the scale is linear, percent; beyond, it is logarithmic. A quantity that is many times
/// another is thus neither cut off, nor does it compress the rest.
const LINEAR: f64 = 10.0;

/// The contents of a report of a comparison.
#[derive(Clone, Debug, Default)]
pub struct Differences {
    /// The subject of the comparison.
    pub title: String,
    /// A sentence on what is compared.
    pub lead: String,
    /// Whether everything that is judged is as expected; none if nothing is judged.
    pub ok: Option<bool>,
    /// The command line that reproduces the comparison; empty for none.
    pub command: Vec<String>,
    /// The heads of the columns, except that of the dots.
    pub head: Vec<String>,
    /// One for each quantity.
    pub rows: Vec<Row>,
    /// The curves of all runs in shared charts, each with its caption: see [`overlay`].
    pub charts: Vec<(Chart, String)>,
    /// Notes on the dots and on what is left out, a paragraph each.
    pub notes: Vec<String>,
}

/// A quantity.
#[derive(Clone, Debug)]
pub struct Row {
    /// A cell for each head.
    pub cells: Vec<Cell>,
    /// A dot for each of the other runs, in percent of the reference, with its interval.
    pub dots: Vec<Interval>,
}

impl Differences {
    /// Draws the curves of the runs in shared charts.
    ///
    /// # Errors
    /// If a table of one of them cannot be read.
    pub fn overlay(&mut self, runs: &[overlay::Overlaid<'_>]) -> Result<(), Error> {
        let mut colours = Colours::default();
        let paint = |Figure { mut chart, caption }: Figure| {
            colours.paint(&mut chart);
            (chart, caption)
        };
        self.charts = overlay::figures(runs)?.into_iter().map(paint).collect();
        Ok(())
    }

    /// The page.
    pub fn to_html(&self) -> String {
        let title = if self.title.is_empty() { "A comparison" } else { &self.title };
        let mut page = Page::new(title, &self.lead);
        match self.ok {
            None => {}
            Some(true) => page.banner(Mood::Good, "All judged values are within tolerance."),
            Some(false) => page.banner(Mood::Bad, "At least one value is outside tolerance."),
        }
        let mut section = Section::new("Differences");
        section.body += &self.table();
        self.notes.iter().for_each(|note| section.paragraph(note));
        page.section(&section);
        if !self.charts.is_empty() {
            let mut section = Section::new("Curves");
            self.charts.iter().for_each(|(chart, caption)| section.figure(chart, caption));
            page.section(&section);
        }
        let mut section = Section::new("Compare again");
        section.command(&self.command);
        page.section(&section);
        page.to_html()
    }

    /// Writes the table. The dots follow the name of the quantity, where no wide table hides them.
    fn table(&self) -> String {
        let mut html = String::from("<div class=\"wide\"><table><thead><tr>");
        let (span, far) = self.span();
        for (column, head) in self.head.iter().enumerate() {
            let cell = self.rows.first().and_then(|row| row.cells.get(column));
            let class = cell.filter(|cell| matches!(cell, Cell::Number(_))).map_or("", Cell::class);
            // The name of a run may be long: its words wrap.
            let _ = write!(html, "<th{class} style=\"white-space:normal\">{}</th>", escape(head));
            if column == 0 {
                let _ = write!(html, "<th>{}</th>", escape(&scale(far)));
            }
        }
        html += "</tr></thead><tbody>\n";
        for row in &self.rows {
            html += "<tr>";
            for (column, cell) in row.cells.iter().enumerate() {
                let _ = write!(html, "<td{}>{}</td>", cell.class(), cell.text(Units::default()));
                if column == 0 {
                    let _ = write!(html, "<td>{}</td>", dots(row, span));
                }
            }
            html += "</tr>\n";
        }
        html + "</tbody></table></div>\n"
    }

    /// Returns the scale of all dots, with zero in the middle, and how far it reaches.
    fn span(&self) -> (Span, f64) {
        let dots = self.rows.iter().flat_map(|row| &row.dots);
        let ends = dots.flat_map(|dot| {
            let (low, high) = dot.ends.unwrap_or((dot.mean, dot.mean));
            [low, high, dot.mean]
        });
        let far = ends.filter(|end| end.is_finite()).map(f64::abs).fold(0.0, f64::max);
        let far = if far > 0.0 { far } else { 1.0 };
        (Span::of([-far, far]).logarithmic_beyond(LINEAR), far)
    }
}

/// Draws the dots one below the other; NaN has none.
fn dots(row: &Row, span: Span) -> String {
    let dots = row.dots.iter().filter(|dot| dot.mean.is_finite());
    dots.map(|dot| span.dot(*dot, Some(0.0))).collect::<Vec<_>>().join("<br>")
}

fn scale(far: f64) -> String {
    let text = record::quantity::digits(far);
    let log = if far > LINEAR { format!(", logarithmic beyond {LINEAR} %") } else { String::new() };
    format!("−{text} % .. +{text} %{log}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_dots_and_names_are_text() {
        let row = Row {
            cells: vec![Cell::text_of("a<b"), Cell::Held(false)],
            dots: vec![
                Interval { mean: 3.0, ends: Some((-1.0, 7.0)) },
                Interval { mean: f64::NAN, ends: None },
            ],
        };
        let page = Differences {
            title: "Two drivers".into(),
            lead: String::new(),
            ok: Some(false),
            command: vec!["suimon".into(), "compare".into()],
            head: vec!["quantity".into(), "verdict".into()],
            rows: vec![row],
            notes: vec!["Lines hold 95 %.".into()],
            charts: Vec::new(),
        };
        let html = page.to_html();
        assert!(
            html.contains("a&lt;b") && html.contains("✗ fails") && html.contains("−7 %"),
            "{html}"
        );
        assert_eq!(html.matches("<svg").count(), 1, "what is no number has no dot");
        assert!(html.contains("logarithmic beyond"), "{html}");
    }
}
