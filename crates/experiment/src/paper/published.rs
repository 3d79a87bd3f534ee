//! `published.toml`: a paper's published values, and the runs that measure them here.
//!
//! A `[[run]]` is one scenario, optionally varied over a grid; it executes once for any number of items. The
//! same applies to a `[[cost]]`, the cost of a discipline per packet (`suimon cost`). An `[[item]]` holds a
//! table's cells, a `[[table]]` defines such items of several runs, a `[[figure]]` is drawn in the report.

use std::num::NonZeroU64;

use record::quantity::digits;
use serde::Deserialize;

use super::table::{InTable, Table};
use crate::driver::DriverChoice;
use crate::format;

/// A paper.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Published {
    /// Its name: `p0`.
    pub(super) paper: String,
    /// Its title.
    pub(super) title: String,
    /// The parts of the simulator that are fitted to the paper's own figures; items that depend on them are
    /// marked.
    #[serde(default)]
    pub(super) calibration: String,
    /// The runs.
    #[serde(default)]
    pub(super) run: Vec<Run>,
    /// The costs of disciplines; items refer to them as runs too.
    #[serde(default)]
    pub(super) cost: Vec<Cost>,
    /// Tables and figures as numbers; those from `table` come last.
    #[serde(default)]
    pub(super) item: Vec<Item>,
    /// Tables of several runs over the same cells.
    #[serde(default)]
    pub(super) table: Vec<Table>,
    /// Figures as pictures.
    #[serde(default)]
    pub(super) figure: Vec<Figure>,
}

/// One scenario, optionally varied.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Run {
    /// The name, to which items and figures refer.
    pub(super) name: String,
    /// The scenario, a file in the same folder.
    pub(super) scenario: String,
    /// Settings by path, as with `suimon run --set`.
    #[serde(default)]
    pub(super) set: toml::Table,
    /// Paths with the values they take in turn; a cell's name is its values joined with " / ".
    #[serde(default)]
    pub(super) vary: toml::Table,
    /// Paths that change together with the one of `vary`, with the same number of values.
    #[serde(default)]
    pub(super) with: toml::Table,
    /// The names of such a run's cells, in order; by default the values of `vary`.
    #[serde(default)]
    pub(super) names: Vec<String>,
    /// The settings for real packets; by default the run is left out.
    pub(super) lab: Option<InLab>,
    /// Where the discipline of a router is if those of hosts are qdiscs of their kernels.
    pub(super) qdisc: Option<AtHost>,
}

/// A discipline of a router that takes the place of a host's, and the links that change places with it. Both are
/// `NODE:LINK`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AtHost {
    /// The router's port.
    pub(super) router: String,
    /// The host's port.
    pub(super) host: String,
}

impl Run {
    /// The name of the run that is the same on real packets.
    fn same_as(&self) -> Option<&str> {
        self.lab.as_ref()?.same_as.as_deref()
    }
}

/// The settings of a run on real packets, which takes real time.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct InLab {
    /// The run that is the same on real packets, where all hosts have this machine's TCP regardless of profile:
    /// it runs once for both.
    pub(super) same_as: Option<String>,
    /// Additional settings.
    #[serde(default)]
    pub(super) set: toml::Table,
    /// The settings for `--quick`; by default the run is left out.
    pub(super) quick: Option<Quick>,
    /// The divisor of rates and buffers if the machine does not keep up.
    pub(super) slower: Option<NonZeroU64>,
}

/// The settings of a quick run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Quick {
    /// The cells that run; all by default.
    pub(super) cells: Option<Vec<String>>,
    /// Additional settings.
    #[serde(default)]
    pub(super) set: toml::Table,
}

/// A discipline under a load, optionally varied.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Cost {
    /// The name, to which items refer.
    pub(super) name: String,
    /// The queue, as `suimon cost` takes it.
    #[serde(default)]
    pub(super) queue: String,
    /// The load, by the names of the options of `suimon cost`.
    #[serde(default)]
    pub(super) load: toml::Table,
    /// `queue`, or keys of the load, with the values that they take in turn; cells are named as those of a run.
    #[serde(default)]
    pub(super) vary: toml::Table,
}

/// A table, a row of one, or a figure's numbers.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Item {
    /// The table or figure: `T4`.
    pub(super) item: String,
    /// The measured quantity: `bandwidth`.
    pub(super) quantity: String,
    /// The unit: `MB/s`; none for a ratio or count.
    #[serde(default)]
    pub(super) unit: String,
    /// The run that measures it.
    pub(super) run: Option<String>,
    /// The quantity in its summary: `flow.bulk.goodput`, in bytes, seconds, bytes per second, counts; for a
    /// cost, as in `suimon cost --json`: `nanoseconds.over_fifo`.
    pub(super) path: Option<String>,
    /// Further quantities of the same run: the least of them and `path` counts, where a paper publishes the best of
    /// several runs.
    #[serde(default)]
    pub(super) best_of: Vec<String>,
    /// Instead of a path, the probe to read: a bandwidth or sequence probe by name, a flow for cwnd, NODE:LINK
    /// for a queue.
    pub(super) probe: Option<String>,
    /// The statistic of that recording.
    pub(super) statistic: Option<Statistic>,
    /// The factor from the run's value to the measured value.
    #[serde(default = "one")]
    pub(super) scale: f64,
    /// Whether the value is proportional to the rates: then it is multiplied by the divisor of a slowed-down
    /// run.
    #[serde(default)]
    pub(super) of_rate: bool,
    /// The divisor of the value, from the same cell: makes a ratio.
    pub(super) over: Option<Over>,
    /// The cells.
    pub(super) cases: Vec<Case>,
    /// The relative tolerance around each published value; 0.1 by default. The paper's account says why it is another.
    pub(super) tolerance: Option<f64>,
    /// Whether the simulated value depends on a fit to the paper: it explains the published value, and predicts
    /// nothing.
    #[serde(default)]
    pub(super) calibrated: bool,
    /// A note for the reader.
    #[serde(default)]
    pub(super) note: String,
    /// The position in a table.
    #[serde(skip)]
    pub(super) place: Option<InTable>,
}

const fn one() -> f64 {
    1.0
}

/// The divisor of an item; missing keys default to the item's own.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Over {
    /// The run.
    pub(super) run: Option<String>,
    /// The quantity in its summary.
    pub(super) path: Option<String>,
    /// The probe.
    pub(super) probe: Option<String>,
    /// The cell, if it is not that of the case.
    pub(super) cell: Option<String>,
}

/// One number from the recording of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Statistic {
    /// The fullest bin, bytes per second.
    BandwidthMax,
    /// The emptiest whole bin, bytes per second.
    BandwidthMin,
    /// The mean over the bins, bytes per second.
    BandwidthMean,
    /// Standard deviation over mean of the bins.
    BandwidthSpread,
    /// Minimum time from a packet to the next, seconds.
    SpacingMin,
    /// Median time from a packet to the next, seconds.
    SpacingMedian,
    /// Maximum time from a packet to the next, seconds.
    SpacingMax,
    /// Maximum congestion window, packets.
    CwndMax,
    /// Slow start threshold at the end, packets.
    SsthreshLast,
    /// Maximum queue in a sample, bytes.
    QueueMax,
}

/// One cell of a table.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Case {
    /// The name; the run's cell of the same name is measured.
    #[serde(default)]
    pub(super) case: String,
    /// The run's cell, if its name differs from the case's.
    pub(super) cell: Option<String>,
    /// The run, if it is not the item's.
    pub(super) run: Option<String>,
    /// The path, if it is not the item's.
    pub(super) path: Option<String>,
    /// The probe, if it is not the item's.
    pub(super) probe: Option<String>,
    /// The scale, if it is not the item's.
    pub(super) scale: Option<f64>,
    /// Instead of a cell: the geometric mean of the item's earlier cases.
    #[serde(default)]
    pub(super) mean: bool,
    /// The cell of the divisor, if it is not the item's.
    pub(super) over: Option<String>,
    /// The position on the x axis of a figure; defaults to the number that `case` begins with.
    pub(super) x: Option<f64>,
    /// The published value.
    pub(super) published: Option<f64>,
    /// The tolerance, if it is not the item's.
    pub(super) tolerance: Option<f64>,
    /// The lower limit.
    pub(super) low: Option<f64>,
    /// The upper limit.
    pub(super) high: Option<f64>,
    /// The limits for real packets; none by default.
    pub(super) lab: Option<Limits>,
    /// Limits that the value is known to miss: shown beside the value, and nothing fails.
    #[serde(skip)]
    pub(super) short_of: Option<Limits>,
}

/// Limits of a value.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Limits {
    /// The lower limit.
    pub(super) low: Option<f64>,
    /// The upper limit.
    pub(super) high: Option<f64>,
}

impl Limits {
    /// Whether `value` is within the limits.
    pub(super) fn hold(self, value: f64) -> bool {
        self.low.is_none_or(|low| value >= low) && self.high.is_none_or(|high| value <= high)
    }

    /// The text for a value outside the limits.
    pub(super) fn short_of(self) -> String {
        format!("falls short of {}", format::range(self.low, self.high, digits))
    }
}

impl Case {
    /// The limits of the value for a driver.
    pub(super) fn limits(&self, driver: DriverChoice) -> Limits {
        match driver.is_real() {
            false => Limits { low: self.low, high: self.high },
            true => self.lab.unwrap_or_default(),
        }
    }
}

/// A picture.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Figure {
    /// The figure: `F8`.
    pub(super) figure: String,
    /// The title.
    pub(super) title: String,
    /// The run of series without one of their own.
    pub(super) run: Option<String>,
    /// The cell of series without one of their own.
    #[serde(default)]
    pub(super) case: String,
    /// The label of the horizontal axis; by default from the series.
    pub(super) x: Option<String>,
    /// The label of the vertical axis; by default from the series.
    pub(super) y: Option<String>,
    /// The curves.
    pub(super) series: Vec<Series>,
    /// Horizontal lines, in the vertical axis's unit.
    #[serde(default)]
    pub(super) marks: Vec<Mark>,
    /// The note below the figure.
    #[serde(default)]
    pub(super) note: String,
}

/// One curve.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Series {
    /// The kind of curve.
    pub(super) kind: Kind,
    /// Its name in the legend.
    pub(super) label: String,
    /// The probe, as in [`Item`]; none for `xy`.
    pub(super) probe: Option<String>,
    /// The run, if it is not the figure's.
    pub(super) run: Option<String>,
    /// The cell, if it is not the figure's.
    pub(super) case: Option<String>,
    /// For `xy`: the item that has the points as its cases.
    pub(super) item: Option<String>,
    /// For `xy`: the item's quantity, if the item has several.
    pub(super) quantity: Option<String>,
    /// For `xy`: the value of each case that is drawn.
    #[serde(default)]
    pub(super) value: Value,
}

/// The kind of a curve.
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
    /// The measured values, as points.
    #[default]
    Measured,
    /// The published values, as a curve.
    Published,
}

/// A limit.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Mark {
    /// Its name.
    pub(super) label: String,
    /// The position.
    pub(super) y: f64,
}

impl Published {
    /// Reads the file, and checks that its references are in it.
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

    /// Keeps the items and figures with these names, the runs they need, and the items that the figures draw.
    ///
    /// # Errors
    /// An unknown name.
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
