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

/// How many rows are in sight before the others are folded.
const SHOWN_MAX: usize = 40;

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
    /// Whether it differs by more than what is allowed.
    pub beyond: bool,
}

impl Row {
    /// How far the farthest dot is from the reference.
    fn far(&self) -> f64 {
        let means = self.dots.iter().map(|dot| dot.mean.abs());
        // A difference from zero has no percentage.
        means.map(|mean| if mean.is_nan() { f64::INFINITY } else { mean }).fold(0.0, f64::max)
    }
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
        let [shown, more, within] = self.ordered();
        section.paragraph(&self.count());
        section.body += &self.table(&shown);
        self.folded(&mut section, "more that differ less", &more);
        self.folded(&mut section, "within what is allowed", &within);
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

    /// How many quantities differ by more than what is allowed.
    fn count(&self) -> String {
        let beyond = self.rows.iter().filter(|row| row.beyond).count();
        let (all, verb) = (self.rows.len(), if beyond == 1 { "differs" } else { "differ" });
        format!("{beyond} of {all} quantities {verb} by more than what is allowed.")
    }

    /// The rows that are in sight, then those beyond what is allowed that are too many for that, then all others. Each part
    /// is in the order of the rows; where all are within, they are in sight if they are few.
    fn ordered(&self) -> [Vec<&Row>; 3] {
        let mut beyond: Vec<&Row> = self.rows.iter().filter(|row| row.beyond).collect();
        let within: Vec<&Row> = self.rows.iter().filter(|row| !row.beyond).collect();
        if beyond.is_empty() && within.len() <= SHOWN_MAX {
            return [within, Vec::new(), Vec::new()];
        }
        if beyond.len() <= SHOWN_MAX {
            return [beyond, Vec::new(), within];
        }
        beyond.sort_by(|a, b| b.far().total_cmp(&a.far()));
        let more = beyond.split_off(SHOWN_MAX);
        [beyond, more, within]
    }

    /// Adds rows that a click shows.
    fn folded(&self, section: &mut Section, what: &str, rows: &[&Row]) {
        if !rows.is_empty() {
            let summary = format!("{} {what}", rows.len());
            let table = self.table(rows);
            let _ =
                write!(section.body, "<details><summary>{summary}</summary>\n{table}</details>\n");
        }
    }

    /// Writes a table of rows. The dots follow the name of the quantity, where no wide table hides them.
    fn table(&self, rows: &[&Row]) -> String {
        if rows.is_empty() {
            return String::new();
        }
        let mut html = String::from("<div class=\"wide\"><table><thead><tr>");
        let (span, far) = self.span();
        for (column, head) in self.head.iter().enumerate() {
            let cell = rows.first().and_then(|row| row.cells.get(column));
            let class = cell.filter(|cell| matches!(cell, Cell::Number(_))).map_or("", Cell::class);
            // The name of a run may be long: its words wrap.
            let _ =
                write!(html, "<th{class} style=\"white-space:normal\">{}</th>", breakable(head));
            if column == 0 {
                let scale = escape(&scale(far));
                let _ = write!(html, "<th style=\"white-space:normal\">{scale}</th>");
            }
        }
        html += "</tr></thead><tbody>\n";
        for row in rows {
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

/// The name of a run that may wrap between its settings and within their paths.
fn breakable(name: &str) -> String {
    escape(name).replace('=', "=<wbr>").replace('.', ".<wbr>")
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
            beyond: true,
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
        assert!(html.contains("At least one value is outside tolerance."), "{html}");
        assert!(html.contains("1 of 1 quantities differs by more"), "{html}");
    }

    #[test]
    fn what_differs_comes_first_and_the_rest_is_folded() {
        let row = |number: u32| Row {
            cells: vec![Cell::text_of(format!("q{number}."))],
            dots: vec![Interval { mean: f64::from(number), ends: None }],
            beyond: number >= 100,
        };
        let page = Differences { rows: (0..150).map(row).collect(), ..Differences::default() };
        let html = page.to_html();
        let place = |text: &str| html.find(text).unwrap_or_else(|| panic!("{text} is not there"));
        assert!(html.contains("50 of 150 quantities differ by more than what is allowed."));
        let (more, within) =
            (place("10 more that differ less"), place("100 within what is allowed"));
        assert!(place("q149.") < more && place("q110.") < more);
        assert!(more < place("q109.") && place("q100.") < within && within < place("q0."));
        assert_eq!(html.matches("<details>").count(), 2);
    }
}
