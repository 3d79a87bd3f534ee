//! Charts: lines, steps and points over linear or logarithmic axes, as SVG and as data for a script.
//!
//! A chart takes its colours from the page (`--ink`, `--rule`, `--c0` …) and has its own where the page has none. One
//! SVG therefore works in a report, dark or light, and as a separate file.

use std::borrow::Cow;
use std::fmt::Write;

mod area;
mod axis;
pub(crate) mod data;
mod decimate;
mod dense;
mod fold;

pub use area::Area;
pub use axis::{Axis, Scale};
pub use decimate::{Decimator, Thinned};

use crate::escape;

/// Columns of a chart's data, for a [`Decimator`]: three per pixel of the SVG. So a wide screen has the extremes of
/// its own pixels, and thinning the data again for the SVG gives the result of thinning once.
pub const COLUMNS: u32 = 3 * PIXELS;

/// Pixels across the plot.
const PIXELS: u32 = (WIDTH - LEFT - RIGHT) as u32;

const WIDTH: f64 = 760.0;
const LEFT: f64 = 64.0;
const RIGHT: f64 = 14.0;
const BOTTOM: f64 = 44.0;
const PLOT_HEIGHT: f64 = 230.0;
const LEGEND_LINE: f64 = 20.0;
/// The approximate width of a letter of the legend.
const LETTER: f64 = 7.2;

/// Colours that are distinguishable with any colour vision (Okabe and Ito, "Color universal design", 2008), darkest
/// first.
pub const PALETTE: [&str; 6] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9"];

/// Dash patterns that distinguish lines where colours do not, on paper or to the eye, by the colour's place: lengths
/// of line and gap in pixels, as SVG has them.
const DASHES: [&str; PALETTE.len()] = ["", "9 4", "3 3", "9 3 3 3", "16 4", "9 3 2 3 2 3"];
/// The dash pattern of [`Shape::Dashed`].
const LIMIT: &str = "5 4";

/// How a series is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    /// A line from point to point.
    #[default]
    Line,
    /// A dashed line, for limits or expected values.
    Dashed,
    /// A value holds until the next: bins.
    Step,
    /// Dots.
    Points,
}

/// One series.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// How it is drawn.
    pub shape: Shape,
    /// The index of its colour in [`PALETTE`], modulo its length.
    pub colour: usize,
    /// Its points with `x` rising; a `y` that is NaN breaks the line.
    pub points: Vec<(f64, f64)>,
    /// The means of its columns where its points are thinned ([`Thinned::means`]).
    pub means: Vec<(f64, f64)>,
    /// An area behind it, such as confidence intervals; empty for none.
    pub area: Area,
}

/// A horizontal line with a name: a limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// Its name, written on it.
    pub name: String,
    /// Its value.
    pub y: f64,
}

/// A chart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Chart {
    /// A title, for readers who do not see it.
    pub title: String,
    /// A description in a sentence or two.
    pub description: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis.
    pub y: Axis,
    /// The series, the last on top.
    pub series: Vec<Series>,
    /// Limits.
    pub marks: Vec<Mark>,
}

impl Chart {
    /// Returns the chart as SVG.
    pub fn to_svg(&self) -> String {
        let legend = self.legend();
        let top = 14.0 + LEGEND_LINE * f64::from(legend.lines);
        let [x, y] = self.layouts();
        let plot = Plot { x, y, width: WIDTH - LEFT - RIGHT, height: PLOT_HEIGHT };
        let mut svg = self.open(top + PLOT_HEIGHT + BOTTOM);
        svg += &legend.svg;
        let _ = write!(svg, "<g transform=\"translate({LEFT} {top})\">");
        plot.grid(&mut svg);
        // An inner picture clips everything beyond the axes.
        let (width, height) = (plot.width, plot.height);
        let _ = write!(svg, "<svg width=\"{width}\" height=\"{height}\">");
        self.marks.iter().for_each(|mark| plot.mark_line(&mut svg, mark));
        self.series.iter().for_each(|series| plot.area(&mut svg, series));
        self.series.iter().for_each(|series| plot.series(&mut svg, series));
        svg += "</svg>";
        self.marks.iter().for_each(|mark| plot.mark_text(&mut svg, mark));
        self.labels(&mut svg, &plot);
        svg += "</g></svg>";
        svg
    }

    /// Returns the layouts of both axes for the data.
    fn layouts(&self) -> [axis::Layout; 2] {
        let points = || self.series.iter().flat_map(|s| &s.points).filter(|p| !p.1.is_nan());
        let marks = self.marks.iter().map(|mark| mark.y);
        let ends = self.series.iter().flat_map(|s| s.area.ends());
        [
            self.x.lay_out(points().map(|p| p.0), 8, true),
            self.y.lay_out(points().map(|p| p.1).chain(marks).chain(ends), 5, false),
        ]
    }

    fn open(&self, height: f64) -> String {
        let (title, description) = (escape(&self.title), escape(&self.description));
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" role=\"img\" \
             aria-label=\"{title}\" font-family=\"system-ui, sans-serif\" font-size=\"12\" \
             fill=\"var(--ink, #1b1b1b)\"><title>{title}</title><desc>{description}</desc>"
        )
    }

    /// The names of the series in a row above the plot, or in several.
    fn legend(&self) -> Legend {
        let mut legend = Legend { svg: String::new(), lines: 0 };
        let named = self.series.iter().filter(|s| !s.name.is_empty());
        let mut x = LEFT;
        for series in named {
            let width = 34.0 + LETTER * series.name.chars().count() as f64;
            if legend.lines == 0 || x + width > WIDTH - RIGHT && x > LEFT {
                legend.lines += 1;
                x = LEFT;
            }
            let y = LEGEND_LINE * f64::from(legend.lines) - 7.0;
            key(&mut legend.svg, series, x, y - 4.0);
            let (left, name) = (x + 24.0, escape(&series.name));
            let _ = write!(legend.svg, "<text x=\"{left:.0}\" y=\"{y}\">{name}</text>");
            x += width;
        }
        legend
    }

    fn labels(&self, svg: &mut String, plot: &Plot) {
        let (x, y) = (escape(&self.x.label), escape(&self.y.label));
        let (middle, below) = (plot.width / 2.0, plot.height + 36.0);
        let _ = write!(svg, "<text x=\"{middle}\" y=\"{below}\" text-anchor=\"middle\">{x}</text>");
        let (left, middle) = (14.0 - LEFT, plot.height / 2.0);
        let _ = write!(
            svg,
            "<text transform=\"translate({left} {middle}) rotate(-90)\" \
             text-anchor=\"middle\">{y}</text>"
        );
    }
}

struct Legend {
    svg: String,
    lines: u32,
}

/// Draws the sample of a series in the legend.
fn key(svg: &mut String, series: &Series, x: f64, y: f64) {
    let colour = colour(series.colour);
    let _ = match series.shape {
        Shape::Points => {
            write!(svg, "<circle cx=\"{:.0}\" cy=\"{y}\" r=\"3\" fill=\"{colour}\"/>", x + 9.0)
        }
        _ => write!(
            svg,
            "<path d=\"M{x:.0} {y}h20\" stroke=\"{colour}\" stroke-width=\"2.5\"{}/>",
            dashes(series.dash())
        ),
    };
}

fn colour(number: usize) -> String {
    let place = number % PALETTE.len();
    format!("var(--c{place}, {})", PALETTE[place])
}

fn dashes(dash: &str) -> String {
    if dash.is_empty() { String::new() } else { format!(" stroke-dasharray=\"{dash}\"") }
}

impl Series {
    /// Returns its dash pattern; empty for a solid line.
    const fn dash(&self) -> &'static str {
        match self.shape {
            Shape::Dashed => LIMIT,
            Shape::Points => "",
            // A colour that is used again gets another pattern.
            _ => DASHES[(self.colour + self.colour / PALETTE.len()) % DASHES.len()],
        }
    }

    /// Returns its points as far as the SVG's pixels show them.
    fn shown(&self, x: &axis::Layout) -> Cow<'_, [(f64, f64)]> {
        if x.scale == Scale::Log || self.points.len() <= 4 * PIXELS as usize {
            return Cow::Borrowed(&self.points);
        }
        let mut decimator = Decimator::new((x.low, x.high), PIXELS);
        self.points.iter().for_each(|&(x, y)| decimator.push(x, y));
        Cow::Owned(decimator.finish())
    }
}

/// The area between the axes.
struct Plot {
    x: axis::Layout,
    y: axis::Layout,
    width: f64,
    height: f64,
}

impl Plot {
    fn at(&self, (x, y): (f64, f64)) -> (f64, f64) {
        (self.x.place(x) * self.width, self.height * (1.0 - self.y.place(y)))
    }

    fn grid(&self, svg: &mut String) {
        let (width, height) = (self.width, self.height);
        let mut lines = String::new();
        for (value, text) in &self.y.ticks {
            let y = height * (1.0 - self.y.place(*value));
            let _ = write!(lines, "M0 {y:.1}h{width}");
            let _ = write!(
                svg,
                "<text x=\"-7\" y=\"{:.1}\" text-anchor=\"end\">{text}</text>",
                y + 4.0
            );
        }
        for (value, text) in &self.x.ticks {
            let x = width * self.x.place(*value);
            let _ = write!(lines, "M{x:.1} {height}v4");
            let below = height + 18.0;
            let _ = write!(
                svg,
                "<text x=\"{x:.1}\" y=\"{below}\" text-anchor=\"middle\">{text}</text>"
            );
        }
        let _ = write!(svg, "<path d=\"{lines}\" stroke=\"var(--rule, #d5d5d5)\" fill=\"none\"/>");
    }

    fn series(&self, svg: &mut String, series: &Series) {
        let colour = colour(series.colour);
        let points = series.shown(&self.x);
        let path = match series.shape {
            Shape::Points => self.dots(&points),
            Shape::Step => self.curve(svg, series, &steps(&points)),
            Shape::Line => self.curve(svg, series, &points),
            Shape::Dashed => self.line(&points),
        };
        // A dot is a line of no length with a round cap; round caps would fill the gaps of a dashed one.
        let width = if series.shape == Shape::Points { 3.0 } else { 1.5 };
        let cap = if series.dash().is_empty() { "round" } else { "butt" };
        let _ = write!(
            svg,
            "<path d=\"{path}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"{width}\" \
             stroke-linejoin=\"round\" stroke-linecap=\"{cap}\"{}/>",
            dashes(series.dash())
        );
    }

    /// Returns the path of a curve, and fills the ranges where it swings too fast for a line.
    fn curve(&self, svg: &mut String, series: &Series, points: &[(f64, f64)]) -> String {
        if self.x.scale == Scale::Log {
            return self.line(points);
        }
        let dense::Drawn { line, ranges } = dense::draw(self, points, &series.means);
        if !ranges.is_empty() {
            let colour = colour(series.colour);
            let _ = write!(svg, "<path d=\"{ranges}\" fill=\"{colour}\" fill-opacity=\"0.25\"/>");
        }
        line
    }

    fn line(&self, points: &[(f64, f64)]) -> String {
        let mut path = String::new();
        let mut pen = 'M';
        for &point in points {
            let (x, y) = self.at(point);
            if !(x.is_finite() && y.is_finite()) {
                pen = 'M';
                continue;
            }
            let _ = write!(path, "{pen}{x:.1} {y:.1}");
            pen = 'L';
        }
        path
    }

    fn dots(&self, points: &[(f64, f64)]) -> String {
        let mut path = String::new();
        for (x, y) in points.iter().map(|&point| self.at(point)) {
            if x.is_finite() && y.is_finite() {
                let _ = write!(path, "M{x:.1} {y:.1}h0");
            }
        }
        path
    }

    fn mark_line(&self, svg: &mut String, mark: &Mark) {
        let y = self.height * (1.0 - self.y.place(mark.y));
        let _ = write!(
            svg,
            "<path d=\"M0 {y:.1}h{}\" stroke=\"var(--ink, #1b1b1b)\" stroke-dasharray=\"2 4\"/>",
            self.width
        );
    }

    fn mark_text(&self, svg: &mut String, mark: &Mark) {
        let y = self.height * (1.0 - self.y.place(mark.y)) - 4.0;
        let (x, name) = (self.width - 4.0, escape(&mark.name));
        // An outline in the page's colour keeps the text readable on top of a line.
        let _ = write!(
            svg,
            "<text x=\"{x}\" y=\"{y:.1}\" text-anchor=\"end\" stroke=\"var(--paper, #fff)\" \
             stroke-width=\"3\" paint-order=\"stroke\">{name}</text>"
        );
    }
}

/// The corners of a line that holds each value until the next.
fn steps(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let mut corners = Vec::with_capacity(2 * points.len());
    let mut held = f64::NAN;
    for &(x, y) in points {
        if !held.is_nan() {
            corners.push((x, held));
        }
        corners.push((x, y));
        held = y;
    }
    corners
}
