//! The report of a sweep: the results over the varied settings, and every run.

use std::collections::BTreeMap;

use scenario::{Measure, Unit, Units, measure, value_label};

use crate::confidence::Sample;
use crate::{Mood, Page, Section};
use record::quantity::Kind;

mod figures;
mod tables;

/// The contents of a report of a sweep.
#[derive(Clone, Debug)]
pub struct Sweep {
    /// The scenario's units.
    pub units: Units,
    /// The scenario's title.
    pub title: String,
    /// The command line that reproduces the results.
    pub command: Vec<String>,
    /// The varied settings, except the seed.
    pub axes: Vec<Axis>,
    /// The shown results: paths of the summary, such as `run.goodput`.
    pub measures: Vec<String>,
    /// Every run, in the grid's order.
    pub points: Vec<Point>,
    /// Whether the folders of the runs are kept, so that there are files to link to.
    pub linked: bool,
}

/// A setting and its values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// Its path.
    pub path: String,
    /// Its values in turn, as they were written.
    pub values: Vec<String>,
}

/// One run of a sweep.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The index of its value on each axis.
    pub places: Vec<usize>,
    /// Its seed.
    pub seed: u64,
    /// The name of its folder, next to the report.
    pub folder: String,
    /// Whether it came to its end.
    pub complete: bool,
    /// Whether its expectations hold; none if there are none.
    pub held: Option<bool>,
    /// Its value of each measure; empty for a run that is not complete.
    pub values: Vec<Option<f64>>,
}

/// A sweep with the data that all its tables and pictures need, computed once.
struct Digest<'a> {
    axes: &'a [Axis],
    measures: &'a [String],
    points: &'a [Point],
    linked: bool,
    /// The samples over all seeds for a combination of settings, one for each measure.
    samples: BTreeMap<&'a [usize], Vec<Sample>>,
    /// Each measure's unit.
    units: Vec<Unit>,
}

impl Sweep {
    /// The page.
    pub fn to_html(&self) -> String {
        let digest = Digest::of(self);
        let title = if self.title.is_empty() { "A sweep" } else { &self.title };
        let mut page = Page::new(title, &digest.lead());
        digest.banners(&mut page);
        for measure in 0..self.measures.len() {
            if let Some(section) = figures::section(&digest, measure) {
                page.section(&section);
            }
        }
        if digest.seeds() > 1 {
            page.section(&digest.means());
        }
        page.section(&digest.runs());
        page.section(&self.again());
        page.to_html()
    }

    fn again(&self) -> Section {
        let mut section = Section::new("Run it again");
        section.command(&self.command);
        let again = match self.linked {
            true => {
                "Finished runs are not repeated. `suimon report FOLDER` renders the report of one of them."
            }
            false => {
                "The folders of the runs are not kept, so a complete sweep is repeated as a whole."
            }
        };
        section.paragraph(&format!(
            "{again} sweep.parquet has a row for each run: its settings, its seed and every number \
             of its summary, in seconds, bytes and bytes per second.",
        ));
        section
    }
}

impl<'a> Digest<'a> {
    fn of(sweep: &'a Sweep) -> Self {
        let mut there: BTreeMap<&[usize], Vec<&Point>> = BTreeMap::new();
        for point in &sweep.points {
            there.entry(point.places.as_slice()).or_default().push(point);
        }
        let value = |point: &Point, measure: usize| *point.values.get(measure)?;
        let sample = |points: &[&Point], measure| {
            let values = points.iter().filter_map(|point| value(point, measure));
            Sample::of(&values.collect::<Vec<_>>())
        };
        let all = 0..sweep.measures.len();
        let samples = there.into_iter().map(|(places, points)| {
            (places, all.clone().map(|measure| sample(&points, measure)).collect())
        });
        let greatest = |measure: usize| {
            let values = sweep.points.iter().filter_map(|point| value(point, measure));
            values.map(f64::abs).fold(0.0, f64::max)
        };
        let units = sweep.measures.iter().enumerate();
        Self {
            axes: &sweep.axes,
            measures: &sweep.measures,
            points: &sweep.points,
            linked: sweep.linked,
            samples: samples.collect(),
            units: units
                .map(|(measure, path)| sweep.units.unit(Kind::of(path)).fit([greatest(measure)]))
                .collect(),
        }
    }

    fn lead(&self) -> String {
        let axis = |axis: &Axis| format!("{} of {}", count(axis.values.len(), "value"), axis.path);
        let mut words: Vec<String> = self.axes.iter().map(axis).collect();
        words.push(count(self.seeds(), "seed"));
        format!("{}: {}", count(self.points.len(), "run"), words.join(", "))
    }

    /// How many seeds each combination of settings was run with.
    fn seeds(&self) -> usize {
        let combinations: usize = self.axes.iter().map(|axis| axis.values.len()).product();
        self.points.len() / combinations.max(1)
    }

    fn banners(&self, page: &mut Page) {
        let all = self.points.len();
        let done = self.points.iter().filter(|point| point.complete).count();
        if done < all {
            let text = format!(
                "Incomplete: {done} of {} done; the same command again runs the others.",
                count(all, "run")
            );
            page.banner(Mood::Bad, &text);
        }
        let judged = self.points.iter().filter(|point| point.held.is_some()).count();
        let failed = self.points.iter().filter(|point| point.held == Some(false)).count();
        match (judged, failed) {
            (0, _) => page.banner(Mood::Neutral, "No expectations defined."),
            (1, 0) => page.banner(Mood::Good, "The expectations hold in the run."),
            (1, 1) => page.banner(Mood::Bad, "Expectations failed in the run."),
            (_, 0) => {
                page.banner(Mood::Good, &format!("The expectations hold in all {judged} runs."))
            }
            _ => {
                let text = format!("Expectations failed in {failed} of {judged} runs.");
                page.banner(Mood::Bad, &text);
            }
        }
    }

    /// Returns the sample over all seeds of a combination of settings.
    fn sample(&self, places: &[usize], measure: usize) -> Sample {
        let samples = self.samples.get(places).and_then(|samples| samples.get(measure));
        samples.copied().unwrap_or_else(|| Sample::of(&[]))
    }

    /// Every combination of settings, the last axis running fastest.
    fn combinations(&self) -> Vec<Vec<usize>> {
        let mut all = vec![Vec::new()];
        for axis in self.axes {
            let longer = |before: &Vec<usize>| {
                let before = before.clone();
                (0..axis.values.len()).map(move |place| [before.as_slice(), &[place]].concat())
            };
            all = all.iter().flat_map(longer).collect();
        }
        all
    }

    /// `run.goodput (MB/s)`.
    fn head(&self, measure: usize) -> String {
        self.units[measure].label(&self.measures[measure])
    }
}

/// `1 run`, `4 runs`.
fn count(number: usize, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

impl Section {
    /// Adds HTML without escaping it.
    fn raw(&mut self, html: &str) {
        self.body.push_str(html);
        self.body.push('\n');
    }
}

impl Axis {
    /// Returns a value as people read it.
    fn label(&self, place: usize) -> String {
        self.values.get(place).map_or_else(String::new, |value| value_label(value))
    }

    fn labels(&self) -> Vec<String> {
        (0..self.values.len()).map(|place| self.label(place)).collect()
    }

    /// Returns its values as numbers of one unit, if all are quantities of one kind: the unit that most of them are
    /// written in, the first one in a tie.
    fn numbers(&self) -> Option<(Vec<f64>, Unit)> {
        let all: Vec<Measure> = self.values.iter().map(|v| measure(v)).collect::<Option<_>>()?;
        let dimension = all.first()?.dimension;
        if all.iter().any(|measure| measure.dimension != dimension) {
            return None;
        }
        let typed = self.values.iter().map(|value| Unit::written(value));
        let typed: Vec<Unit> = typed.collect::<Option<_>>()?;
        let votes = |unit: &Unit| typed.iter().filter(|other| *other == unit).count();
        let unit = typed.iter().rev().max_by_key(|unit| votes(unit))?;
        Some((all.iter().map(|measure| measure.value / unit.factor()).collect(), *unit))
    }
}
