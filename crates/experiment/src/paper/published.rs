//! `published.toml`: what a paper measured, and which runs measure it here.
//!
//! A `[[run]]` is one scenario, perhaps varied over a grid; it executes once however many items use it.
//! So is a `[[cost]]`, which is what a discipline costs a packet (`suimon cost`).
//! An `[[item]]` holds a table's cells, a `[[table]]` is such items of several runs, a `[[figure]]` is drawn in the report.

use std::num::NonZeroU64;

use record::quantity::digits;
use serde::Deserialize;

use super::table::{InTable, Table};
use crate::driver::Driver;
use crate::format;

/// A paper.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Published {
    /// Its name: `p0`.
    pub(super) paper: String,
    /// Its title.
    pub(super) title: String,
    /// What in the simulator is fitted to the paper's own figures; items that hang on it are marked.
    #[serde(default)]
    pub(super) calibration: String,
    /// The runs.
    #[serde(default)]
    pub(super) run: Vec<Run>,
    /// What disciplines cost; items call these runs too.
    #[serde(default)]
    pub(super) cost: Vec<Cost>,
    /// Tables and figures as numbers; those of `table` come last.
    #[serde(default)]
    pub(super) item: Vec<Item>,
    /// Several runs over the same cells.
    #[serde(default)]
    pub(super) table: Vec<Table>,
    /// Figures as pictures.
    #[serde(default)]
    pub(super) figure: Vec<Figure>,
}

/// One scenario, perhaps varied.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Run {
    /// What items and figures call it.
    pub(super) name: String,
    /// The scenario, a file beside this one.
    pub(super) scenario: String,
    /// Paths set to values, as with `suimon run --set`.
    #[serde(default)]
    pub(super) set: toml::Table,
    /// Paths with the values they take in turn; a cell's name is its values joined with " / ".
    #[serde(default)]
    pub(super) vary: toml::Table,
    /// Paths that change with the one of `vary`: as many values as that has.
    #[serde(default)]
    pub(super) with: toml::Table,
    /// What the cells of such a run are called, in their order; by the one value of `vary` unless given.
    #[serde(default)]
    pub(super) names: Vec<String>,
    /// How it runs on real packets; not at all unless given.
    pub(super) lab: Option<InLab>,
}

impl Run {
    /// The run that is the same on real packets.
    fn same_as(&self) -> Option<&str> {
        self.lab.as_ref()?.same_as.as_deref()
    }
}

/// How a run goes on real packets, which takes its real time.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct InLab {
    /// The run that is the same there, as hosts then have this machine's TCP whatever their profiles: it runs
    /// once, for both.
    pub(super) same_as: Option<String>,
    /// What is set in addition.
    #[serde(default)]
    pub(super) set: toml::Table,
    /// How it runs with `--quick`; not at all unless given.
    pub(super) quick: Option<Quick>,
    /// What rates and buffers are divided by where the machine does not keep up with them.
    pub(super) slower: Option<NonZeroU64>,
}

/// How a run goes when there is little time.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Quick {
    /// The cells that run; all unless given.
    pub(super) cells: Option<Vec<String>>,
    /// What is set in addition.
    #[serde(default)]
    pub(super) set: toml::Table,
}

/// A discipline under a load, perhaps varied.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Cost {
    /// What items call it.
    pub(super) name: String,
    /// The queue, as `suimon cost` takes it.
    #[serde(default)]
    pub(super) queue: String,
    /// The load, by the names of the options of `suimon cost`.
    #[serde(default)]
    pub(super) load: toml::Table,
    /// `queue`, or what is in the load, with the values that it takes in turn; cells are named as a run's.
    #[serde(default)]
    pub(super) vary: toml::Table,
}

/// A table, a row of one, or a figure's numbers.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Item {
    /// The table or figure: `T4`.
    pub(super) item: String,
    /// What is measured: `bandwidth`.
    pub(super) quantity: String,
    /// In what unit: `MB/s`; none for a ratio or count.
    #[serde(default)]
    pub(super) unit: String,
    /// The run that measures it.
    pub(super) run: Option<String>,
    /// The quantity in its summary: `flow.bulk.goodput`, in bytes, seconds, bytes per second, counts; of
    /// a cost, as in `suimon cost --json`: `nanoseconds.over_fifo`.
    pub(super) path: Option<String>,
    /// In place of a path, the probe whose record is looked at: a bandwidth or sequence probe by name,
    /// a flow for cwnd, NODE:LINK for a queue.
    pub(super) probe: Option<String>,
    /// What is taken of that record.
    pub(super) statistic: Option<Statistic>,
    /// The measured value is what the run says times this.
    #[serde(default = "one")]
    pub(super) scale: f64,
    /// Whether it is in proportion to the rates: then it is multiplied by what a run had to be slowed by.
    #[serde(default)]
    pub(super) of_rate: bool,
    /// What the value is divided by, of the same cell: makes a ratio.
    pub(super) over: Option<Over>,
    /// The cells.
    pub(super) cases: Vec<Case>,
    /// Whether the simulated value hangs on what is fitted to the paper: it shows what explains the published
    /// one, and predicts nothing.
    #[serde(default)]
    pub(super) calibrated: bool,
    /// What the reader should know.
    #[serde(default)]
    pub(super) note: String,
    /// Where it stands in a table.
    #[serde(skip)]
    pub(super) place: Option<InTable>,
}

const fn one() -> f64 {
    1.0
}

/// What an item is divided by; what is not given is the item's own.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Over {
    /// The run.
    pub(super) run: Option<String>,
    /// The quantity in its summary.
    pub(super) path: Option<String>,
    /// The probe.
    pub(super) probe: Option<String>,
    /// The cell, where it is not that of the case.
    pub(super) cell: Option<String>,
}

/// One number out of what a probe recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Statistic {
    /// The fullest bin, bytes per second.
    BandwidthMax,
    /// The emptiest whole bin, bytes per second.
    BandwidthMin,
    /// The mean over the bins, bytes per second.
    BandwidthMean,
    /// Standard deviation over mean of the bins: how much it swings.
    BandwidthSpread,
    /// Least time from a packet to the next, seconds.
    SpacingMin,
    /// The time from a packet to the next that half of them keep, seconds.
    SpacingMedian,
    /// Longest time from a packet to the next, seconds.
    SpacingMax,
    /// Greatest congestion window, packets.
    CwndMax,
    /// Slow start threshold at the end, packets.
    SsthreshLast,
    /// Longest queue seen in a sample, bytes.
    QueueMax,
}

/// One cell of a table.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Case {
    /// What it is called; the run's cell of the same name is measured.
    #[serde(default)]
    pub(super) case: String,
    /// The run's cell, where the case is called otherwise.
    pub(super) cell: Option<String>,
    /// Another run than the item's.
    pub(super) run: Option<String>,
    /// Another path than the item's.
    pub(super) path: Option<String>,
    /// Another probe than the item's.
    pub(super) probe: Option<String>,
    /// Another scale than the item's.
    pub(super) scale: Option<f64>,
    /// In place of a cell: the geometric mean of the item's cases before it.
    #[serde(default)]
    pub(super) mean: bool,
    /// Another cell than the item's that the value is divided by.
    pub(super) over: Option<String>,
    /// Where it lies in a figure; the number that `case` begins with unless given.
    pub(super) x: Option<f64>,
    /// What the paper says.
    pub(super) published: Option<f64>,
    /// At least this is asked for.
    pub(super) low: Option<f64>,
    /// At most this.
    pub(super) high: Option<f64>,
    /// The same on real packets; nothing is asked of them unless given.
    pub(super) lab: Option<Limits>,
    /// What it is known to fall short of: told beside the value, and nothing fails.
    #[serde(skip)]
    pub(super) short_of: Option<Limits>,
}

/// What is asked of a value.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Limits {
    /// At least this.
    pub(super) low: Option<f64>,
    /// At most this.
    pub(super) high: Option<f64>,
}

impl Limits {
    /// Whether a value lies within.
    pub(super) fn hold(self, value: f64) -> bool {
        self.low.is_none_or(|low| value >= low) && self.high.is_none_or(|high| value <= high)
    }

    /// What is said of a value that does not.
    pub(super) fn short_of(self) -> String {
        format!("falls short of {}", format::range(self.low, self.high, digits))
    }
}

impl Case {
    /// What is asked of it when that driver moves the packets.
    pub(super) fn limits(&self, driver: Driver) -> Limits {
        match driver {
            Driver::Simulator => Limits { low: self.low, high: self.high },
            Driver::Kernel(_) | Driver::Lab(_) => self.lab.unwrap_or_default(),
        }
    }
}

/// A picture.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Figure {
    /// The figure: `F8`.
    pub(super) figure: String,
    /// What it shows.
    pub(super) title: String,
    /// The run of every series that names none.
    pub(super) run: Option<String>,
    /// The cell of every series that names none.
    #[serde(default)]
    pub(super) case: String,
    /// The horizontal axis; from the series unless given.
    pub(super) x: Option<String>,
    /// The vertical axis; from the series unless given.
    pub(super) y: Option<String>,
    /// The curves.
    pub(super) series: Vec<Series>,
    /// Horizontal lines, in the vertical axis's unit.
    #[serde(default)]
    pub(super) marks: Vec<Mark>,
    /// What stands below it.
    #[serde(default)]
    pub(super) note: String,
}

/// One curve.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Series {
    /// What is drawn.
    pub(super) kind: Kind,
    /// Its name in the legend.
    pub(super) label: String,
    /// As in [`Item`]; for `xy` there is none.
    pub(super) probe: Option<String>,
    /// Another run than the figure's.
    pub(super) run: Option<String>,
    /// Another cell than the figure's.
    pub(super) case: Option<String>,
    /// For `xy`: the item whose cases are the points.
    pub(super) item: Option<String>,
    /// For `xy`: the item's quantity, where the item has several.
    pub(super) quantity: Option<String>,
    /// For `xy`: which value of each case.
    #[serde(default)]
    pub(super) value: Value,
}

/// What a curve shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Kind {
    /// A bandwidth probe's bins, MB/s over seconds.
    Bandwidth,
    /// A sequence probe, MB over seconds.
    Sequence,
    /// A flow's congestion window, packets over seconds.
    Cwnd,
    /// A queue's length, KiB over seconds.
    Queue,
    /// An item's cases.
    Xy,
}

/// One of a case's values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Value {
    /// As points.
    #[default]
    Measured,
    /// As a curve.
    Published,
}

/// A limit.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Mark {
    /// Its name.
    pub(super) label: String,
    /// Where.
    pub(super) y: f64,
}

impl Published {
    /// Reads the file, and looks whether what it refers to is in it.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let mut published: Self = toml::from_str(text).map_err(|error| error.to_string())?;
        for run in published.run.iter().filter(|run| !run.with.is_empty()) {
            let counts = |paths: &toml::Table| -> Vec<usize> {
                paths.values().map(|values| values.as_array().map_or(0, Vec::len)).collect()
            };
            let [count] = counts(&run.vary)[..] else {
                return Err(format!("run `{}`: `with` goes with one path of `vary`", run.name));
            };
            if counts(&run.with).iter().any(|&values| values != count) {
                return Err(format!("run `{}`: `with` has other than {count} values", run.name));
            }
        }
        for (number, table) in published.table.iter().enumerate() {
            published.item.extend(table.items(number)?);
        }
        let stand_ins = published.run.iter().filter_map(Run::same_as);
        for name in published.run_names().into_iter().chain(stand_ins) {
            let costs = published.cost.iter().map(|cost| &cost.name);
            if !published.run.iter().map(|run| &run.name).chain(costs).any(|known| known == name) {
                return Err(format!("there is no run `{name}`"));
            }
        }
        Ok(published)
    }

    /// The runs that items and figures name.
    fn run_names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        for item in &self.item {
            names.extend([item.run.as_deref()]);
            names.extend([item.over.as_ref().and_then(|over| over.run.as_deref())]);
            names.extend(item.cases.iter().map(|case| case.run.as_deref()));
        }
        for figure in &self.figure {
            names.push(figure.run.as_deref());
            names.extend(figure.series.iter().map(|series| series.run.as_deref()));
        }
        names.into_iter().flatten().collect()
    }

    /// Leaves the items and figures of these names, the runs they need, and whatever else they draw.
    ///
    /// # Errors
    /// A name that there is not.
    pub(super) fn only(&mut self, names: &[String]) -> Result<(), String> {
        let is = |name: &str, wanted: &str| name.eq_ignore_ascii_case(wanted);
        let known = |wanted: &String| {
            self.item.iter().any(|item| is(&item.item, wanted))
                || self.figure.iter().any(|figure| is(&figure.figure, wanted))
        };
        if let Some(unknown) = names.iter().find(|name| !known(name)) {
            return Err(unknown.clone());
        }
        self.figure.retain(|figure| names.iter().any(|name| is(&figure.figure, name)));
        let drawn: Vec<String> =
            self.figure.iter().flat_map(|f| &f.series).filter_map(|s| s.item.clone()).collect();
        self.item.retain(|item| names.iter().chain(&drawn).any(|name| is(&item.item, name)));
        let named = self.run_names();
        let stand_ins = self.run.iter().filter(|run| named.contains(&run.name.as_str()));
        let needed: Vec<String> = stand_ins
            .filter_map(Run::same_as)
            .chain(named.iter().copied())
            .map(str::to_owned)
            .collect();
        self.run.retain(|run| needed.contains(&run.name));
        self.cost.retain(|cost| needed.contains(&cost.name));
        Ok(())
    }

    /// The name of every item and figure, each once.
    pub(super) fn names(&self) -> Vec<&str> {
        let items = self.item.iter().map(|item| item.item.as_str());
        let mut names: Vec<&str> = Vec::new();
        for name in items.chain(self.figure.iter().map(|figure| figure.figure.as_str())) {
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }
}
