//! The report of a comparison: a table that draws each difference as a small bar.

use std::fmt::Write;

use crate::confidence::Interval;
use crate::report::interval::Span;
use crate::report::{Cell, Mood, Page, Section, escape};

/// Bars end here, percent: a quantity that is many times another would press the rest together.
const PERCENT_MAX: f64 = 100.0;

/// What a report of a comparison tells.
#[derive(Clone, Debug, Default)]
pub struct Differences {
    /// What is compared.
    pub title: String,
    /// The same in a sentence.
    pub lead: String,
    /// Whether all that is judged is as it should be; none where nothing is judged.
    pub ok: Option<bool>,
    /// The command line that compares them again; empty for none.
    pub command: Vec<String>,
    /// The columns' heads, that of the bars aside.
    pub head: Vec<String>,
    /// One for each quantity.
    pub rows: Vec<Row>,
    /// What a reader should know of the bars and of what is left out, a paragraph each.
    pub notes: Vec<String>,
}

/// A quantity.
#[derive(Clone, Debug)]
pub struct Row {
    /// A cell for each head.
    pub cells: Vec<Cell>,
    /// A bar for each of the others, in percent of what they are held against.
    pub bars: Vec<Interval>,
}

impl Differences {
    /// The page.
    pub fn to_html(&self) -> String {
        let title = if self.title.is_empty() { "A comparison" } else { &self.title };
        let mut page = Page::new(title, &self.lead);
        match self.ok {
            None => {}
            Some(true) => {
                page.banner(Mood::Good, "All that is judged lies within what is allowed.")
            }
            Some(false) => page.banner(Mood::Bad, "Something lies beyond what is allowed."),
        }
        let mut section = Section::new("Differences");
        section.body += &self.table();
        self.notes.iter().for_each(|note| section.paragraph(note));
        page.section(&section);
        let mut section = Section::new("Compare them again");
        section.command(&self.command);
        page.section(&section);
        page.to_html()
    }

    /// The bars stand behind the name of the quantity, where no wide table hides them.
    fn table(&self) -> String {
        let mut html = String::from("<div class=\"wide\"><table><thead><tr>");
        let (span, far) = self.span();
        for (column, head) in self.head.iter().enumerate() {
            let cell = self.rows.first().and_then(|row| row.cells.get(column));
            let class = cell.filter(|cell| matches!(cell, Cell::Number(_))).map_or("", Cell::class);
            // What names a run may be long: its words wrap.
            let _ = write!(html, "<th{class} style=\"white-space:normal\">{}</th>", escape(head));
            if column == 0 {
                let _ = write!(html, "<th>{}</th>", escape(&scale(far)));
            }
        }
        html += "</tr></thead><tbody>\n";
        for row in &self.rows {
            html += "<tr>";
            for (column, cell) in row.cells.iter().enumerate() {
                let _ = write!(html, "<td{}>{}</td>", cell.class(), cell.text());
                if column == 0 {
                    let _ = write!(html, "<td>{}</td>", bars(row, span));
                }
            }
            html += "</tr>\n";
        }
        html + "</tbody></table></div>\n"
    }

    /// The scale of all bars, which has zero in the middle, and how far it reaches.
    fn span(&self) -> (Span, f64) {
        let bars = self.rows.iter().flat_map(|row| &row.bars);
        let ends = bars.flat_map(|bar| {
            let (low, high) = bar.ends.unwrap_or((bar.mean, bar.mean));
            [low, high, bar.mean]
        });
        let far = ends.filter(|end| end.is_finite()).map(f64::abs).fold(0.0, f64::max);
        let far = if far > 0.0 { far.min(PERCENT_MAX) } else { 1.0 };
        (Span::of([-far, far]), far)
    }
}

/// One below the other; what is no number has none.
fn bars(row: &Row, span: Span) -> String {
    let bars = row.bars.iter().filter(|bar| bar.mean.is_finite());
    bars.map(|bar| span.bar(*bar, Some(0.0))).collect::<Vec<_>>().join("<br>")
}

fn scale(far: f64) -> String {
    let far = crate::report::quantity::digits(far);
    format!("−{far} % .. +{far} %")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_have_bars_and_names_are_text() {
        let row = Row {
            cells: vec![Cell::text_of("a<b"), Cell::Held(false)],
            bars: vec![
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
            notes: vec!["Bars hold 95 %.".into()],
        };
        let html = page.to_html();
        assert!(
            html.contains("a&lt;b") && html.contains("✗ fails") && html.contains("−7 %"),
            "{html}"
        );
        assert_eq!(html.matches("<svg").count(), 1, "what is no number has no bar");
        assert!(html.contains("lies beyond"));
    }
}
