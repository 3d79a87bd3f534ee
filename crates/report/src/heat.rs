//! Heat maps as SVG: a value for each pair of two settings, as a colour and as a number.

use std::fmt::Write;

use crate::chart::Scale;
use crate::escape;
use record::quantity::digits;
use scenario::significant;

const WIDTH: f64 = 760.0;
/// Room for the scale of colours and its numbers.
const RIGHT: f64 = 84.0;
/// The approximate width of a letter of 12 pixels.
const LETTER: f64 = 7.0;
/// The longest name of a row that is given room.
const ROW_NAME: f64 = 200.0;
/// Numbers smaller than this are left to the table.
const FONT_MIN: f64 = 6.5;
/// The height of a cell from which on it has room for two lines.
const TWO_LINES: f64 = 30.0;

/// Corners of the colour scale, low to high: cividis. Its lightness rises evenly, in grey and for readers of any
/// colour vision (Nuñez, Anderton, Renslow, "Optimizing colormaps with consideration for color vision deficiency",
/// PLOS ONE 13(7), 2018).
const SCALE: [[f64; 3]; 5] = [
    [0.0, 32.0, 77.0],
    [65.0, 77.0, 107.0],
    [124.0, 123.0, 120.0],
    [188.0, 175.0, 111.0],
    [255.0, 234.0, 70.0],
];

/// A heat map.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Heat {
    /// A title, for readers who do not see it.
    pub(crate) title: String,
    /// The quantity with its unit: `run.goodput (Mbit/s)`.
    pub(crate) label: String,
    /// The meaning of the columns.
    pub(crate) x: String,
    /// The columns' values.
    pub(crate) columns: Vec<String>,
    /// The meaning of the rows.
    pub(crate) y: String,
    /// The rows' values, the first at the bottom.
    pub(crate) rows: Vec<String>,
    /// Each row's cells; none where nothing was measured.
    pub(crate) cells: Vec<Vec<Option<Cell>>>,
    /// The values at the ends of the colour scale.
    pub(crate) range: (f64, f64),
    /// How values are distributed along the colour scale.
    pub(crate) scale: Scale,
}

/// The value of a pair of settings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Cell {
    /// The mean over the seeds.
    pub(crate) mean: f64,
    /// Half the width of the mean's confidence interval, if there is one.
    pub(crate) half: Option<f64>,
    /// The number of runs.
    pub(crate) runs: usize,
}

impl Cell {
    /// `14.51 ± 7.7`.
    fn text(self) -> String {
        let half = self.half.map_or_else(String::new, |half| format!(" ± {}", rounded(half)));
        digits(self.mean) + &half
    }
}

/// The uncertainty of a value, in two digits.
fn rounded(half: f64) -> String {
    significant(half, 2)
}

impl Heat {
    /// The picture.
    pub(crate) fn to_svg(&self) -> String {
        let frame = Frame::of(self);
        let title = escape(&self.title);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {:.0}\" role=\"img\" \
             aria-label=\"{title}\" font-family=\"system-ui, sans-serif\" font-size=\"12\" \
             class=\"heat\" fill=\"var(--ink, #1b1b1b)\" data-head=\"{}\"><title>{title}</title>",
            frame.top + frame.height(self.rows.len()) + frame.bottom,
            escape(
                &serde_json::json!([self.x, self.y, self.label, "half width of the 95 % interval"])
                    .to_string()
            )
        );
        for (row, cells) in self.cells.iter().enumerate() {
            for (column, &cell) in cells.iter().enumerate() {
                self.cell(&mut svg, &frame, (column, row), cell);
            }
        }
        self.names(&mut svg, &frame);
        self.scale(&mut svg, &frame);
        svg + "</svg>"
    }

    fn cell(&self, svg: &mut String, frame: &Frame, at: (usize, usize), cell: Option<Cell>) {
        let (x, y) = frame.corner(at, self.rows.len());
        let (width, height) = (frame.cell.0, frame.cell.1);
        let runs = |cell: Cell| {
            if cell.runs > 1 { format!(" ({} runs)", cell.runs) } else { String::new() }
        };
        let name = escape(&format!(
            "{} = {}, {} = {}: {}",
            self.x,
            self.columns[at.0],
            self.y,
            self.rows[at.1],
            cell.map_or_else(|| "not run".to_owned(), |cell| cell.text() + &runs(cell))
        ));
        let value = cell.map(|cell| cell.mean);
        let rgb = value.map(|value| colour(self.place(value)));
        let fill = rgb.map_or_else(|| "var(--panel, #f6f7f9)".to_owned(), hex);
        let _ = write!(
            svg,
            "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" \
             fill=\"{fill}\" stroke=\"var(--paper, #fff)\" data-row=\"{}\"><title>{name}</title></rect>",
            escape(&self.row(at, cell).to_string())
        );
        let text = value.map_or_else(|| "–".to_owned(), digits);
        // The interval is below the mean where there is room.
        let half = cell.and_then(|cell| cell.half).filter(|_| height >= TWO_LINES);
        let half = half.map(|half| format!("± {}", rounded(half)));
        let ink = rgb.map_or("var(--ink, #1b1b1b)", ink);
        let up = if half.is_some() { 7.0 } else { 0.0 };
        let (x, y) = (x + width / 2.0, y + height / 2.0);
        write_text(svg, (x, y - up), (width, 12.0), ink, &text);
        half.iter().for_each(|half| write_text(svg, (x, y + up), (width, 10.5), ink, half));
    }

    /// Returns a cell as a row of data: its settings, its mean and half of its interval.
    fn row(&self, at: (usize, usize), cell: Option<Cell>) -> serde_json::Value {
        let (mean, half) = (cell.map(|cell| cell.mean), cell.and_then(|cell| cell.half));
        serde_json::json!([self.columns[at.0], self.rows[at.1], mean, half])
    }

    /// Returns the position of a value on the scale; the middle if there is one value only.
    fn place(&self, value: f64) -> f64 {
        let (low, high) = self.range;
        if self.scale == Scale::Log && high > low {
            return ((value / low).ln() / (high / low).ln()).clamp(0.0, 1.0);
        }
        if high > low { ((value - low) / (high - low)).clamp(0.0, 1.0) } else { 0.5 }
    }

    /// Writes the values of rows and columns, and what they mean.
    fn names(&self, svg: &mut String, frame: &Frame) {
        let below = frame.top + frame.height(self.rows.len());
        for (column, name) in self.columns.iter().enumerate() {
            let x = frame.left + frame.cell.0 * (column as f64 + 0.5);
            let name = escape(name);
            let _ = match frame.turned {
                false => write!(
                    svg,
                    "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{name}</text>",
                    below + 16.0
                ),
                true => write!(
                    svg,
                    "<text transform=\"translate({:.1} {:.1}) rotate(-40)\" \
                     text-anchor=\"end\">{name}</text>",
                    x + 4.0,
                    below + 13.0
                ),
            };
        }
        for (row, name) in self.rows.iter().enumerate() {
            let (_, y) = frame.corner((0, row), self.rows.len());
            let (x, y) = (frame.left - 7.0, y + frame.cell.1 / 2.0 + 4.0);
            let name = escape(name);
            let _ =
                write!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"end\">{name}</text>");
        }
        let (middle, low) = ((frame.left + WIDTH - RIGHT) / 2.0, below + frame.bottom - 6.0);
        let (x, y) = (escape(&self.x), escape(&self.y));
        let _ = write!(
            svg,
            "<text x=\"{middle:.1}\" y=\"{low:.1}\" text-anchor=\"middle\" font-weight=\"600\">{x}\
             </text><text x=\"0\" y=\"13\" font-weight=\"600\">{y}</text>"
        );
    }

    /// The scale of colours with its ends.
    fn scale(&self, svg: &mut String, frame: &Frame) {
        const STEPS: u32 = 24;
        let (height, x) = (frame.height(self.rows.len()), WIDTH - RIGHT + 14.0);
        for step in 0..STEPS {
            let share = f64::from(step) / f64::from(STEPS);
            let y = frame.top + height * (1.0 - share - 1.0 / f64::from(STEPS));
            let fill = hex(colour(share + 0.5 / f64::from(STEPS)));
            // A little higher than its share, so that no gap shows between two of them.
            let high = height / f64::from(STEPS) + 0.4;
            let _ = write!(
                svg,
                "<rect x=\"{x}\" y=\"{y:.1}\" width=\"12\" height=\"{high:.1}\" fill=\"{fill}\"/>"
            );
        }
        let ends = [(self.range.1, frame.top + 10.0), (self.range.0, frame.top + height)];
        for (value, y) in ends {
            let (x, text) = (x + 17.0, digits(value));
            let _ = write!(svg, "<text x=\"{x}\" y=\"{y:.1}\" font-size=\"11\">{text}</text>");
        }
        if self.scale == Scale::Log {
            // The powers of ten that are far enough from the ends.
            let powers = self.range.0.log10().ceil() as i32..=self.range.1.log10().floor() as i32;
            for value in powers.map(|power| 10_f64.powi(power)) {
                let y = frame.top + height * (1.0 - self.place(value)) + 4.0;
                if (ends[0].1 + 12.0..=ends[1].1 - 12.0).contains(&y) {
                    let (line, x, text) = (y - 4.0, x + 17.0, digits(value));
                    let _ = write!(
                        svg,
                        "<path d=\"M{:.1} {line:.1}h5\" stroke=\"var(--ink, #1b1b1b)\"/>\
                         <text x=\"{x}\" y=\"{y:.1}\" font-size=\"11\">{text}</text>",
                        x - 8.0
                    );
                }
            }
            let _ = write!(svg, "<text x=\"{x}\" y=\"13\" font-size=\"11\">log</text>");
        }
    }
}

/// Writes a cell's text around the middle `(x, y)`, smaller where a cell of that width requires it.
fn write_text(
    svg: &mut String,
    (x, y): (f64, f64),
    (width, most): (f64, f64),
    ink: &str,
    text: &str,
) {
    let font = (width / (0.62 * text.chars().count() as f64)).min(most);
    if font >= FONT_MIN {
        let y = y + 0.35 * font;
        let _ = write!(
            svg,
            "<text x=\"{x:.1}\" y=\"{y:.1}\" font-size=\"{font:.1}\" text-anchor=\"middle\" \
             fill=\"{ink}\" pointer-events=\"none\">{text}</text>"
        );
    }
}

/// Returns the scale for values: logarithmic if they are positive and span more than a decade and a half.
pub(crate) fn scale_of(values: impl IntoIterator<Item = f64>) -> Scale {
    const SPAN: f64 = 30.0;
    let (mut low, mut high) = (f64::MAX, f64::MIN);
    values.into_iter().for_each(|value| (low, high) = (low.min(value), high.max(value)));
    if low > 0.0 && high > SPAN * low { Scale::Log } else { Scale::Linear }
}

/// The positions in the picture.
struct Frame {
    left: f64,
    top: f64,
    bottom: f64,
    cell: (f64, f64),
    /// Whether the columns' names are too long to be side by side.
    turned: bool,
}

impl Frame {
    fn of(heat: &Heat) -> Self {
        let longest = |names: &[String]| {
            let letters = names.iter().map(|name| name.chars().count()).max();
            LETTER * letters.unwrap_or(0) as f64
        };
        let left = longest(&heat.rows).clamp(24.0, ROW_NAME) + 14.0;
        let width = (WIDTH - left - RIGHT) / heat.columns.len().max(1) as f64;
        let turned = longest(&heat.columns) + 6.0 > width;
        // A name turned by 40 degrees is as high as the sine times its length.
        let names = if turned { 0.65 * longest(&heat.columns).min(ROW_NAME) + 12.0 } else { 18.0 };
        Self {
            left,
            top: 22.0,
            bottom: names + 22.0,
            cell: (width, (width * 0.55).clamp(24.0, 42.0)),
            turned,
        }
    }

    fn height(&self, rows: usize) -> f64 {
        self.cell.1 * rows as f64
    }

    /// A cell's upper left corner; the first row is the lowest.
    fn corner(&self, (column, row): (usize, usize), rows: usize) -> (f64, f64) {
        let from_top = rows.saturating_sub(row + 1);
        (self.left + self.cell.0 * column as f64, self.top + self.height(from_top))
    }
}

/// The scale's colour at a share of its length.
fn colour(share: f64) -> [u8; 3] {
    let place = share.clamp(0.0, 1.0) * (SCALE.len() - 1) as f64;
    let below = (place as usize).min(SCALE.len() - 2);
    let part = place - below as f64;
    let mix = |c: usize| SCALE[below][c] + part * (SCALE[below + 1][c] - SCALE[below][c]);
    [0, 1, 2].map(|c| mix(c).round() as u8)
}

fn hex([r, g, b]: [u8; 3]) -> String {
    format!("#{r:02x}{g:02x}{b:02x}")
}

/// Black or white, whichever is easier to read on `rgb`.
fn ink(rgb: [u8; 3]) -> &'static str {
    let light = luminance(rgb) + 0.05;
    // Contrast with white is 1.05 / light, with black light / 0.05 (WCAG 2.2).
    if 1.05 / light > light / 0.05 { "#fff" } else { "#000" }
}

/// Relative luminance (WCAG 2.2).
fn luminance(rgb: [u8; 3]) -> f64 {
    let linear = |part: u8| {
        let part = f64::from(part) / 255.0;
        if part <= 0.040_45 { part / 12.92 } else { ((part + 0.055) / 1.055).powf(2.4) }
    };
    let [r, g, b] = rgb.map(linear);
    0.2126 * r + 0.7152 * g + 0.0722 * b
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_scale_gets_lighter_throughout_and_numbers_stand_out() {
        let shares = (0..=100).map(|n| f64::from(n) / 100.0);
        let lights: Vec<f64> = shares.map(|share| luminance(colour(share))).collect();
        assert!(lights.windows(2).all(|pair| pair[0] < pair[1]), "{lights:?}");
        for share in 0..=100 {
            let rgb = colour(f64::from(share) / 100.0);
            let light = luminance(rgb) + 0.05;
            let contrast = if ink(rgb) == "#fff" { 1.05 / light } else { light / 0.05 };
            assert!(contrast >= 4.5, "{contrast} at {share} %");
        }
    }

    #[test]
    fn cells_have_colours_and_numbers_and_gaps_are_shown() {
        let heat = Heat {
            title: "goodput".into(),
            label: "goodput (Mbit/s)".into(),
            x: "delay".into(),
            columns: vec!["1 ms".into(), "2 ms".into()],
            y: "buffer".into(),
            rows: vec!["<4>".into()],
            cells: vec![vec![Some(Cell { mean: 1.5, half: None, runs: 1 }), None]],
            range: (1.5, 3.0),
            scale: Scale::Linear,
        };
        let svg = heat.to_svg();
        assert!(svg.contains("fill=\"#00204d\"") && svg.contains(">1.5</text>"), "{svg}");
        assert!(svg.contains("delay = 2 ms, buffer = &lt;4&gt;: not run"), "{svg}");
        assert!(!svg.contains("<4>"));
    }

    #[test]
    fn values_over_decades_are_told_apart_and_have_their_intervals() {
        let cell = |mean: f64, half| Some(Cell { mean, half, runs: 3 });
        let values = [1.5, 15.0, 150.0, 1500.0];
        let heat = Heat {
            title: "wait".into(),
            label: "wait (ms)".into(),
            x: "delay".into(),
            columns: values.map(|v| format!("{v} ms")).to_vec(),
            y: "buffer".into(),
            rows: ["1", "2", "4"].map(String::from).to_vec(),
            cells: vec![
                vec![
                    cell(1.5, Some(0.123)),
                    cell(15.0, None),
                    cell(150.0, None),
                    cell(1500.0, None)
                ];
                3
            ],
            range: (1.5, 1500.0),
            scale: scale_of(values),
        };
        let places = values.map(|value| (3.0 * heat.place(value)).round());
        assert_eq!(places, [0.0, 1.0, 2.0, 3.0], "equal steps of colour for equal ratios");
        let svg = heat.to_svg();
        assert!(
            svg.contains("1.5 ± 0.12 (3 runs)</title>") && svg.contains(">± 0.12</text>"),
            "{svg}"
        );
        assert!(svg.contains(">log</text>") && svg.contains(">100</text>"), "{svg}");
        assert_eq!(scale_of([0.0, 1.0, 1e6]), Scale::Linear, "zero has no place on a logarithm");
        assert_eq!(scale_of([3.0, 60.0]), Scale::Linear);
    }
}
