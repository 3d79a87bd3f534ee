//! The activities of the ranks of an MPI job over time, as SVG: a row for each rank, time to the right, coloured by
//! activity.

use std::collections::BTreeMap;
use std::fmt::Write;

use record::error::Error;
use record::rows::{RankRow, TableRow};
use record::table::Table;
use scenario::{Unit, Units};

use crate::chart::Axis;
use crate::{Page, Section, escape};

const WIDTH: f64 = 760.0;
const RIGHT: f64 = 14.0;
const BOTTOM: f64 = 44.0;
const LEGEND_LINE: f64 = 20.0;
/// The approximate width of a letter of 12 pixels.
const LETTER: f64 = 7.0;
/// The maximum height of all rows together, and the minimum and maximum of one row.
const HEIGHT_MAX: f64 = 640.0;
const ROW: (f64, f64) = (2.5, 18.0);
/// The minimum distance between two names of rows.
const NAME_LINE: f64 = 14.0;
/// The most columns: one per pixel, and fewer for many ranks, so that the page stays small.
const COLUMNS_MAX: u64 = 680;
const CELLS_MAX: u64 = 90_000;

/// A row's height in its own coordinates: parts of a column are drawn to a twentieth.
const STEPS: i64 = 20;
/// A lower row has no room for parts of a column.
const LOW: f64 = 6.0;

/// An activity of a rank, from the bottom of its row to the top.
struct Activity {
    name: &'static str,
    /// An explanation, if it needs one.
    about: &'static str,
    /// Its colour's name in the page, and the colour where there is no page.
    colour: (&'static str, &'static str),
    time: fn(&RankRow) -> u64,
}

/// Colours that distinguish causes: grey where the rank works, cool ones for the path, warm ones for TCP.
const ACTIVITIES: [Activity; 11] = [
    Activity {
        name: "computing",
        about: "",
        colour: ("w0", "#d5d9df"),
        time: |row| row.computing_ns,
    },
    Activity {
        name: "late sender",
        about: "the data was not sent yet",
        colour: ("w1", "#8d939c"),
        time: |row| row.sender_ns,
    },
    Activity {
        name: "latency",
        about: "half the minimum RTT",
        colour: ("w2", "#9ccbe9"),
        time: |row| row.latency_ns,
    },
    Activity {
        name: "bandwidth",
        about: "links and queues on the path, and any time without another cause",
        colour: ("w3", "#0072b2"),
        time: |row| row.bandwidth_ns,
    },
    Activity {
        name: "slow start",
        about: "the sender's congestion window below its slow start threshold",
        colour: ("w4", "#e69f00"),
        time: |row| row.slow_start_ns,
    },
    Activity {
        name: "window",
        about: "the sender's congestion window above that threshold",
        colour: ("w5", "#f3d25b"),
        time: |row| row.window_ns,
    },
    Activity {
        name: "recovery",
        about: "a lost segment, detected without a timeout",
        colour: ("w6", "#cc79a7"),
        time: |row| row.recovery_ns,
    },
    Activity {
        name: "RTO",
        about: "a retransmission timeout and the recovery after it",
        colour: ("w7", "#c8321f"),
        time: |row| row.rto_ns,
    },
    Activity {
        name: "buffers",
        about: "a full receive window or send buffer",
        colour: ("w8", "#009e73"),
        time: |row| row.buffer_ns,
    },
    Activity {
        name: "Nagle",
        about: "a small segment that waited for an ACK",
        colour: ("w9", "#6b4fa0"),
        time: |row| row.nagle_ns,
    },
    Activity {
        name: "pacing",
        about: "the sender's pacing rate",
        colour: ("w10", "#7fcdb0"),
        time: |row| row.pacing_ns,
    },
];

/// The times of a rank's activities, in the order of [`ACTIVITIES`], nanoseconds.
type Times = [u64; ACTIVITIES.len()];

/// A job's timeline.
#[derive(Clone, Debug)]
pub(crate) struct Timeline {
    title: String,
    /// The last rank.
    last: u64,
    /// How long a column is, nanoseconds, and how many there are.
    column_ns: u64,
    columns: usize,
    /// The times by rank, one column after the other.
    times: Vec<Times>,
}

impl Timeline {
    /// Creates the timeline of the rows of one job; none if there are no rows.
    pub(crate) fn new(job: &str, rows: &[RankRow]) -> Option<Self> {
        let last = rows.iter().map(|row| row.rank).max()?;
        let end = rows.iter().map(|row| row.time_ns + row.length_ns).max()?;
        let length = rows.iter().map(|row| row.length_ns).max()?.max(1);
        let most = COLUMNS_MAX.min(CELLS_MAX / (last + 1)).max(1);
        let column_ns = length * end.div_ceil(length).div_ceil(most);
        let columns = end.div_ceil(column_ns) as usize;
        let mut times = vec![Times::default(); columns * (last as usize + 1)];
        for row in rows {
            let column = (row.time_ns / column_ns) as usize;
            let own = &mut times[row.rank as usize * columns + column];
            own.iter_mut().zip(&ACTIVITIES).for_each(|(time, what)| *time += (what.time)(row));
        }
        let title = format!("Ranks of {job}");
        Some(Self { title, last, column_ns, columns, times })
    }

    /// Columns of a rank.
    fn row(&self, rank: usize) -> &[Times] {
        &self.times[rank * self.columns..(rank + 1) * self.columns]
    }

    fn ranks(&self) -> usize {
        self.last as usize + 1
    }

    /// The times of all ranks.
    fn sum(&self) -> Times {
        let mut sum = Times::default();
        for times in &self.times {
            sum.iter_mut().zip(times).for_each(|(sum, time)| *sum += time);
        }
        sum
    }

    /// The picture, with times in a unit.
    pub(crate) fn to_svg(&self, unit: Unit) -> String {
        let sum = self.sum();
        let left = LETTER * format!("{}", self.last).len() as f64 + 34.0;
        let mut legend = String::new();
        let lines = self.legend(&mut legend, &sum, left);
        let height = (HEIGHT_MAX / self.ranks() as f64).clamp(ROW.0, ROW.1);
        let (top, all) = (12.0 + LEGEND_LINE * f64::from(lines), height * self.ranks() as f64);
        let title = escape(&self.title);
        let mut svg = format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"ranks\" viewBox=\"0 0 {WIDTH} {:.0}\" \
             role=\"img\" aria-label=\"{title}\" font-family=\"system-ui, sans-serif\" font-size=\"12\" \
             fill=\"var(--ink, #1b1b1b)\"><title>{title}</title><desc>The activity of each rank over time.</desc>{legend}\
             <g transform=\"translate({left:.0} {top:.0})\">",
            top + all + BOTTOM,
        );
        let plot = Plot { width: WIDTH - RIGHT - left, height, all };
        plot.axis(&mut svg, unit, self.end());
        (0..self.ranks()).for_each(|rank| self.draw(&mut svg, &plot, rank));
        plot.names(&mut svg, self.ranks());
        self.hovered(&mut svg, &plot, unit);
        svg + "</g></svg>"
    }

    /// When it ends, seconds.
    fn end(&self) -> f64 {
        self.columns as f64 * self.column_ns as f64 / 1e9
    }

    /// Returns the caption of the picture.
    fn caption(&self, units: Units) -> String {
        let column = self.column_ns as f64 / 1e9;
        let column = units.time.fit([column]).show(column);
        let sum = self.sum();
        let done =
            ACTIVITIES.iter().zip(&sum).filter(|(what, time)| **time > 0 && !what.about.is_empty());
        let causes: Vec<String> =
            done.map(|(what, _)| format!("{}: {}", what.name, what.about)).collect();
        format!(
            "One row per rank, in columns of {column}; shares are of all ranks' time. Causes of waiting: {}. The causes \
             of one wait are in a fixed order, not in order of time. \
             Hover over a row for its rank's times; {} has all intervals.",
            causes.join("; "),
            RankRow::FILE
        )
    }

    /// Writes the names of the activities that occur, each with its share of all time.
    fn legend(&self, svg: &mut String, sum: &Times, left: f64) -> u32 {
        let all = sum.iter().sum::<u64>().max(1) as f64;
        let (mut x, mut lines) = (left, 1);
        for (what, &time) in ACTIVITIES.iter().zip(sum).filter(|(_, time)| **time > 0) {
            let text = format!("{} {}", what.name, percent(time as f64 / all));
            let width = 34.0 + LETTER * text.len() as f64;
            if x + width > WIDTH && x > left {
                (x, lines) = (left, lines + 1);
            }
            let y = LEGEND_LINE * f64::from(lines) - 7.0;
            let _ = write!(
                svg,
                "<rect x=\"{x:.0}\" y=\"{:.0}\" width=\"12\" height=\"12\" rx=\"2\" fill=\"{}\"/>\
                 <text x=\"{:.0}\" y=\"{y:.0}\">{text}</text>",
                y - 10.0,
                what.fill(),
                x + 18.0,
            );
            x += width;
        }
        lines
    }

    /// Draws a rank's row: the activities of each column on top of each other. First the whole of a column's shares
    /// is drawn, then over it the shares without the uppermost one, and so on. In a low row, a column has the colour
    /// of its longest activity.
    fn draw(&self, svg: &mut String, plot: &Plot, rank: usize) {
        let own: Vec<Times> = match plot.height >= LOW {
            true => self.row(rank).to_vec(),
            false => self.row(rank).iter().map(longest).collect(),
        };
        let _ = write!(
            svg,
            "<g shape-rendering=\"crispEdges\" transform=\"translate(0 {:.1}) scale({:.4} {:.4})\">",
            plot.height * rank as f64,
            plot.width / self.columns as f64,
            (plot.height - plot.gap()) / STEPS as f64
        );
        for (place, what) in ACTIVITIES.iter().enumerate().rev() {
            if own.iter().any(|times| times[place] > 0) {
                let heights = own.iter().map(|times| self.steps(times[..=place].iter().sum()));
                let _ = write!(svg, "<path d=\"{}\" fill=\"{}\"/>", stairs(heights), what.fill());
            }
        }
        *svg += "</g>";
    }

    /// How high a part of a column is.
    fn steps(&self, time: u64) -> i64 {
        (time as f64 / self.column_ns as f64 * STEPS as f64).round() as i64
    }

    /// Adds the tooltip of a rank: its activities in total, and their durations.
    fn hovered(&self, svg: &mut String, plot: &Plot, unit: Unit) {
        for rank in 0..self.ranks() {
            let mut sum = Times::default();
            for times in self.row(rank) {
                sum.iter_mut().zip(times).for_each(|(sum, time)| *sum += time);
            }
            let all = sum.iter().sum::<u64>();
            let mut text = format!("rank {rank}: {}", unit.show(all as f64 / 1e9));
            for (what, &time) in ACTIVITIES.iter().zip(&sum).filter(|(_, time)| **time > 0) {
                let share = percent(time as f64 / all as f64);
                let _ = write!(text, "\n{} {} ({share})", what.name, unit.show(time as f64 / 1e9));
            }
            let _ = write!(
                svg,
                "<rect class=\"row\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"transparent\">\
                 <title>{text}</title></rect>",
                plot.height * rank as f64,
                plot.width,
                plot.height,
            );
        }
    }
}

impl Activity {
    fn fill(&self) -> String {
        format!("var(--{}, {})", self.colour.0, self.colour.1)
    }
}

/// Keeps only the longest activity.
fn longest(times: &Times) -> Times {
    let all = times.iter().sum();
    let most =
        times.iter().enumerate().max_by_key(|&(_, time)| *time).map_or(0, |(place, _)| place);
    let mut only = Times::default();
    only[most] = all;
    only
}

/// Returns the path of the area below stairs of these heights, each one wide.
fn stairs(heights: impl Iterator<Item = i64>) -> String {
    let (mut path, mut height, mut along) = (format!("M0 {STEPS}"), 0, 0);
    for next in heights {
        if next != height {
            if along > 0 {
                let _ = write!(path, "h{along}");
            }
            let _ = write!(path, "v{}", height - next);
            (height, along) = (next, 0);
        }
        along += 1;
    }
    let _ = write!(path, "h{along}V{STEPS}z");
    path
}

/// A share with two digits.
fn percent(share: f64) -> String {
    match 100.0 * share {
        percent if percent >= 9.95 => format!("{percent:.0} %"),
        percent if percent >= 0.1 => format!("{percent:.1} %"),
        _ => "&lt; 0.1 %".to_owned(),
    }
}

/// Adds a section with the timeline of each job in the table.
pub(crate) fn sections(page: &mut Page, table: &Table<RankRow>, units: Units) -> Result<(), Error> {
    let mut jobs: BTreeMap<_, (String, Vec<RankRow>)> = BTreeMap::new();
    table.each(|row, names| {
        let job =
            jobs.entry(row.job).or_insert_with(|| (names.text(row.job).to_owned(), Vec::new()));
        job.1.push(*row);
    })?;
    let timelines = jobs.values().filter_map(|(job, rows)| Timeline::new(job, rows));
    let timelines: Vec<Timeline> = timelines.collect();
    if timelines.is_empty() {
        return Ok(());
    }
    let mut section = Section::new("What ranks waited for");
    for timeline in &timelines {
        if timelines.len() > 1 {
            section.heading(&timeline.title);
        }
        let unit = units.duration.fit([timeline.end()]);
        section.picture(&timeline.to_svg(unit), &timeline.caption(units));
    }
    page.section(&section);
    Ok(())
}

/// The positions of the rows.
struct Plot {
    width: f64,
    /// The height of a row, and of all.
    height: f64,
    all: f64,
}

impl Plot {
    /// Between two rows, if they are high enough to have any.
    const fn gap(&self) -> f64 {
        if self.height >= 8.0 {
            2.0
        } else if self.height >= 5.0 {
            1.0
        } else {
            0.0
        }
    }

    /// The time axis with its lines, to `end` seconds.
    fn axis(&self, svg: &mut String, unit: Unit, end: f64) {
        let label = escape(&unit.label("time"));
        for (place, text) in Axis::new("").range(0.0, end / unit.factor()).ticks(8) {
            let x = place * self.width;
            let _ = write!(
                svg,
                "<path d=\"M{x:.1} 0v{:.1}\" stroke=\"var(--rule, #d9dce1)\"/>\
                 <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{text}</text>",
                self.all + 4.0,
                self.all + 18.0,
            );
        }
        let _ = write!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>",
            self.width / 2.0,
            self.all + 36.0
        );
    }

    /// The numbers of ranks, as many as there is room for.
    fn names(&self, svg: &mut String, ranks: usize) {
        let step = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]
            .into_iter()
            .find(|step| *step as f64 * self.height >= NAME_LINE)
            .unwrap_or(1024);
        for rank in (0..ranks).step_by(step) {
            let y = self.height * (rank as f64 + 0.5) + 4.0 - self.gap() / 2.0;
            let _ = write!(svg, "<text x=\"-7\" y=\"{y:.1}\" text-anchor=\"end\">{rank}</text>");
        }
        let _ = write!(
            svg,
            "<text transform=\"translate(-{:.0} {:.1}) rotate(-90)\" text-anchor=\"middle\">rank</text>",
            LETTER * format!("{}", ranks - 1).len() as f64 + 16.0,
            self.all / 2.0
        );
    }
}
