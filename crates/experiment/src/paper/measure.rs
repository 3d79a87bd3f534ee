//! Items: the results of the runs for each published figure.

use std::collections::BTreeMap;

use record::paper::{Item as Row, Results};

use super::cells::{Cell, Cells};
use super::costs::Costs;
use super::library::{self, Simulated};
use super::published::{Case, Item, Published};
use super::statistic;
use crate::driver::DriverChoice;
use crate::error::Error;

/// All items of complete runs.
#[derive(Debug)]
pub(super) struct Measured {
    /// The paper.
    pub(super) paper: String,
    /// The driver.
    pub(super) driver: DriverChoice,
    /// The items' cases, in the paper's order.
    pub(super) rows: Vec<MeasuredCase>,
}

/// A case with its measured value.
#[derive(Debug)]
pub(super) struct MeasuredCase {
    /// The index of its item in [`Published::item`].
    pub(super) item: usize,
    /// The position on the x axis of a figure.
    pub(super) x: Option<f64>,
    /// Published, measured, limits, verdict.
    pub(super) row: Row,
}

impl Measured {
    /// The cases as data.
    pub(super) fn results(&self) -> Results {
        let items = self.rows.iter().map(|case| case.row.clone()).collect();
        Results { paper: self.paper.clone(), driver: self.driver.manifest().into(), items }
    }

    /// Whether every case with limits is within them.
    pub(super) fn ok(&self) -> bool {
        self.rows.iter().all(|case| case.row.ok != Some(false))
    }
}

/// The tolerance of a published value, where `published.toml` states no other.
pub(super) const TOLERANCE: f64 = 0.1;

/// A reader of numbers from sources; none if the source's run is not complete.
struct Reader<'a> {
    cells: &'a Cells,
    costs: &'a Costs,
    /// Summaries as paths and numbers, by run folder: a summary of many flows is long.
    summaries: BTreeMap<&'a std::path::Path, Vec<(String, f64)>>,
}

/// The source of one number.
struct Source<'a> {
    run: Option<&'a str>,
    cell: &'a str,
    path: Option<&'a str>,
    best_of: &'a [String],
    probe: Option<&'a str>,
    statistic: Option<super::published::Statistic>,
    of_rate: bool,
}

impl<'a> Source<'a> {
    /// The source of a case; defaults to its item's.
    fn of(item: &'a Item, case: &'a Case) -> Self {
        Self {
            run: case.run.as_deref().or(item.run.as_deref()),
            cell: case.cell.as_deref().unwrap_or(&case.case),
            path: case.path.as_deref().or(item.path.as_deref()),
            best_of: &item.best_of,
            probe: case.probe.as_deref().or(item.probe.as_deref()),
            statistic: item.statistic,
            of_rate: item.of_rate,
        }
    }
}

/// Measures every case.
pub(super) fn all(
    published: &Published,
    cells: &Cells,
    costs: &Costs,
    driver: DriverChoice,
) -> Result<Measured, Error> {
    let simulated = match driver.is_real() {
        false => Vec::new(),
        true => library::simulated(&published.paper)?,
    };
    let mut reader = Reader { cells, costs, summaries: BTreeMap::new() };
    let mut rows = Vec::new();
    for (number, item) in published.item.iter().enumerate() {
        let mut values = Vec::new();
        for case in &item.cases {
            let value = reader.measure(item, case, &values).map_err(|message| {
                let message = format!("{} {}: {message}", item.item, case.case);
                Error::paper(&published.paper, &message)
            })?;
            values.push(value);
            if let Some(value) = value {
                let note = reader.slowed(item, case);
                let short = case.short_of.filter(|limits| !limits.hold(value));
                let note = short.map_or(note, |limits| limits.short_of());
                let row = row(item, case, value, driver);
                let is_same = |(name, quantity, case, _): &&Simulated| {
                    (name, quantity, case) == (&row.item, &row.quantity, &row.case)
                };
                let simulated = simulated.iter().find(is_same).map(|&(.., value)| value);
                let row = Row { note, simulated, ..row };
                rows.push(MeasuredCase {
                    item: number,
                    x: case.x.or_else(|| leading(&case.case)),
                    row,
                });
            }
        }
    }
    Ok(Measured { paper: published.paper.clone(), driver, rows })
}

fn row(item: &Item, case: &Case, measured: f64, driver: DriverChoice) -> Row {
    let limits = case.limits(driver);
    let row = Row {
        item: item.item.clone(),
        case: case.case.clone(),
        quantity: item.quantity.clone(),
        unit: item.unit.clone(),
        published: case.published,
        tolerance: case.published.map(|_| case.tolerance.or(item.tolerance).unwrap_or(TOLERANCE)),
        measured,
        low: limits.low,
        high: limits.high,
        calibrated: super::page::is_calibrated(item, driver),
        ..Row::default()
    };
    row.judged()
}

/// The geometric mean; none unless all values are known.
fn geometric_mean(values: &[Option<f64>]) -> Option<f64> {
    let logarithms: Vec<f64> =
        values.iter().map(|value| value.map(f64::ln)).collect::<Option<_>>()?;
    (!logarithms.is_empty())
        .then(|| (logarithms.iter().sum::<f64>() / logarithms.len() as f64).exp())
}

/// The number at the beginning of a text: 512 of `512 KiB`.
fn leading(text: &str) -> Option<f64> {
    let end = text.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(text.len());
    text[..end].parse().ok()
}

impl<'a> Reader<'a> {
    /// The case's value, given those of the item's earlier cases.
    fn measure(
        &mut self,
        item: &'a Item,
        case: &'a Case,
        before: &[Option<f64>],
    ) -> Result<Option<f64>, String> {
        if case.mean {
            return Ok(geometric_mean(before));
        }
        let own = Source::of(item, case);
        let Some(value) = self.read(&own)? else { return Ok(None) };
        let scale = case.scale.unwrap_or(item.scale);
        let Some(over) = &item.over else { return Ok(Some(value * scale)) };
        let divisor = self.read(&Source {
            run: over.run.as_deref().or(own.run),
            cell: case.over.as_deref().or(over.cell.as_deref()).unwrap_or(own.cell),
            path: over.path.as_deref().or(own.path),
            best_of: &[],
            probe: over.probe.as_deref().or(own.probe),
            ..own
        })?;
        Ok(divisor.map(|divisor| value / divisor * scale))
    }

    /// A note on how the case's run was slowed down for the machine, if it was.
    fn slowed(&self, item: &Item, case: &Case) -> String {
        let Source { run, cell, .. } = Source::of(item, case);
        let cell = self.cells.find(run.unwrap_or_default(), cell);
        match cell.map_or(1, |cell| cell.slowed_by.get()) {
            1 => String::new(),
            by => format!("rates and buffers divided by {by}, with the same round trip"),
        }
    }

    fn read(&mut self, source: &Source<'a>) -> Result<Option<f64>, String> {
        let run = source.run.ok_or("it names no run")?;
        if self.costs.has(run) {
            return self.costs.read(run, source.cell, source.path.ok_or("it names no path")?);
        }
        let cell = self.cells.find(run, source.cell)?;
        if cell.outcome.is_none() {
            return Ok(None);
        }
        let value = match (source.path, source.statistic, source.probe) {
            (_, Some(statistic), Some(probe)) => statistic::of(statistic, probe, cell)?,
            (Some(path), None, _) => {
                let mut least = self.quantity(cell, path)?;
                for path in source.best_of {
                    let other = self.quantity(cell, path)?;
                    least = least.zip(other).map(|(least, other)| least.min(other));
                }
                let Some(least) = least else { return Ok(None) };
                least
            }
            _ => return Err("give a path, or a probe with a statistic".into()),
        };
        let slowed_by = if source.of_rate { cell.slowed_by.get() } else { 1 };
        Ok(Some(value * slowed_by as f64))
    }

    /// A quantity of the summary; `None` if a kernel does not report it, such as when a qdisc had first measured its rate.
    fn quantity(&mut self, cell: &'a Cell, path: &str) -> Result<Option<f64>, String> {
        let all = || cell.outcome.as_ref().map(|o| o.summary.quantities()).unwrap_or_default();
        let known = self.summaries.entry(&cell.job.folder).or_insert_with(all);
        let found = known.binary_search_by(|(known, _)| known.as_str().cmp(path));
        match found {
            Ok(place) => Ok(Some(known[place].1)),
            Err(_) if cell.job.driver.is_real() => Ok(None),
            Err(_) => Err(format!("the summary has no `{path}`")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mean_is_of_all() {
        let mean = geometric_mean(&[Some(2.0), Some(8.0)]).expect("one");
        assert!((mean - 4.0).abs() < 1e-12, "{mean}");
        assert_eq!(geometric_mean(&[Some(2.0), None]), None);
        assert_eq!(geometric_mean(&[]), None);
    }

    #[test]
    fn a_case_begins_with_its_place() {
        assert_eq!(leading("512 KiB"), Some(512.0));
        assert_eq!(leading("62.5"), Some(62.5));
        assert_eq!(leading("paced"), None);
    }
}
