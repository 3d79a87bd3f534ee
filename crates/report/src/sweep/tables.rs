//! The tables of a sweep's report: means over the seeds, and every run.

use std::fmt::Write;

use crate::confidence::Sample;
use crate::interval::Span;
use crate::sweep::{Digest, Point};
use crate::{Section, escape};
use record::quantity::digits;

/// Rows of the table of means; the others are in `sweep.parquet`.
const MEANS_MAX: usize = 400;

/// A path that may wrap after its points and underscores, so that a long one makes no wide column.
fn breakable(path: &str) -> String {
    let text = escape(path).replace('.', ".<wbr>").replace('_', "_<wbr>");
    format!("<span class=\"path\">{text}</span>")
}

impl Digest<'_> {
    /// The means of all seeds with their intervals, a row for each combination.
    pub(super) fn means(&self) -> Section {
        let mut section = Section::new("Means");
        let combinations = self.combinations();
        let shown = &combinations[..combinations.len().min(MEANS_MAX)];
        let mut html = String::from("<div class=\"wide\"><table><thead><tr>");
        for axis in self.axes {
            let _ = write!(html, "<th>{}</th>", breakable(&axis.path));
        }
        html += "<th class=\"n\">runs</th>";
        for measure in 0..self.measures.len() {
            let head = breakable(&self.head(measure));
            let _ = write!(html, "<th class=\"n\">{head}</th><th>95 % confidence</th><th></th>");
        }
        html += "</tr></thead><tbody>\n";
        let spans = (0..self.measures.len()).map(|measure| self.span(shown, measure));
        let spans: Vec<Span> = spans.collect();
        for places in shown {
            self.mean_row(&mut html, places, &spans);
        }
        html += "</tbody></table></div>";
        section.raw(&html);
        if combinations.len() > shown.len() {
            let text =
                format!("{MEANS_MAX} of {} rows; sweep.parquet has all.", combinations.len());
            section.paragraph(&text);
        }
        section.paragraph("Over the seeds, with Student's 95 % confidence interval of the mean.");
        section
    }

    fn span(&self, shown: &[Vec<usize>], measure: usize) -> Span {
        let intervals = shown.iter().map(|places| self.sample(places, measure));
        let intervals = intervals.filter(|sample| sample.count > 0).map(|s| s.interval());
        let ends = intervals.flat_map(|i| {
            let (low, high) = i.ends.unwrap_or((i.mean, i.mean));
            [low, high]
        });
        Span::of(ends)
    }

    fn mean_row(&self, html: &mut String, places: &[usize], spans: &[Span]) {
        *html += "<tr>";
        for (axis, &place) in self.axes.iter().zip(places) {
            let _ = write!(html, "<td class=\"label\">{}</td>", escape(&axis.label(place)));
        }
        let samples = (0..spans.len()).map(|measure| self.sample(places, measure));
        let samples: Vec<Sample> = samples.collect();
        let runs = samples.iter().map(|sample| sample.count).max().unwrap_or(0);
        let _ = write!(html, "<td class=\"n\">{runs}</td>");
        for (measure, (sample, span)) in samples.iter().zip(spans).enumerate() {
            let (unit, interval) = (self.units[measure].factor(), sample.interval());
            if sample.count == 0 {
                *html += "<td class=\"n\">–</td><td></td><td></td>";
                continue;
            }
            let ends = interval
                .ends
                .map(|(low, high)| format!("{} .. {}", digits(low / unit), digits(high / unit)));
            let _ = write!(
                html,
                "<td class=\"n\">{}</td><td class=\"n\">{}</td><td>{}</td>",
                digits(interval.mean / unit),
                ends.unwrap_or_default(),
                span.dot(interval, None)
            );
        }
        *html += "</tr>\n";
    }

    /// Every run, with a link to its folder if there is one.
    pub(super) fn runs(&self) -> Section {
        let mut section = Section::new("Runs");
        let mut html = String::from("<div class=\"wide\"><table><thead><tr><th>run</th>");
        for axis in self.axes {
            let _ = write!(html, "<th>{}</th>", breakable(&axis.path));
        }
        html += "<th class=\"n\">seed</th>";
        for measure in 0..self.measures.len() {
            let _ = write!(html, "<th class=\"n\">{}</th>", breakable(&self.head(measure)));
        }
        html += "<th>verdict</th></tr></thead><tbody>\n";
        self.points.iter().for_each(|point| self.run_row(&mut html, point));
        html += "</tbody></table></div>";
        section.raw(&html);
        section
    }

    fn run_row(&self, html: &mut String, point: &Point) {
        let folder = escape(&point.folder);
        let number = folder.split('-').next().unwrap_or(&folder);
        let _ = match point.complete && self.linked {
            true => write!(html, "<tr><td><a href=\"{folder}/\">{number}</a></td>"),
            false => write!(html, "<tr><td>{number}</td>"),
        };
        for (axis, &place) in self.axes.iter().zip(&point.places) {
            let _ = write!(html, "<td class=\"label\">{}</td>", escape(&axis.label(place)));
        }
        let _ = write!(html, "<td class=\"n\">{}</td>", point.seed);
        for measure in 0..self.measures.len() {
            let value = point.values.get(measure).copied().flatten();
            let text =
                value.map_or_else(|| "–".to_owned(), |v| digits(v / self.units[measure].factor()));
            let _ = write!(html, "<td class=\"n\">{text}</td>");
        }
        *html += match (point.complete, point.held) {
            (false, _) => "<td>not done</td></tr>\n",
            (true, None) => "<td></td></tr>\n",
            (true, Some(true)) => "<td class=\"ok\">✓ holds</td></tr>\n",
            (true, Some(false)) => "<td class=\"fail\">✗ fails</td></tr>\n",
        };
    }
}
