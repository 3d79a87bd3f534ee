//! The cost of disciplines per packet: every cell of every `[[cost]]`. The caller measures them after the runs,
//! when no other process of ours keeps the machine busy.

use serde_json::Value;

use super::cells::{self, Place};
use super::published::{Cost, Published};

/// All cells.
#[derive(Debug)]
pub(super) struct Costs(Vec<Cell>);

/// A discipline under a load; an item of the paper needs its cost.
#[derive(Clone, Debug)]
pub struct CostCase {
    /// The name in the paper's items.
    pub name: String,
    /// `queue`, and the `load` by the names of the options of `suimon cost`.
    pub case: toml::Table,
}

/// One load.
#[derive(Debug)]
struct Cell {
    place: Place,
    case: toml::Table,
    /// The output of `suimon cost --json` for it; none before it is measured.
    measured: Option<Value>,
}

impl Costs {
    /// Plans all cells.
    pub(super) fn new(published: &Published) -> Self {
        let costs = published.cost.iter();
        let cells = costs.flat_map(|cost| points(cost).into_iter().map(|point| cell(cost, &point)));
        Self(cells.collect())
    }

    /// The cases to measure.
    pub(super) fn cases(&self) -> Vec<CostCase> {
        let case = |cell: &Cell| CostCase { name: cell.place.run.clone(), case: cell.case.clone() };
        self.0.iter().map(case).collect()
    }

    /// Stores the measured costs, in the order of the cases.
    pub(super) fn take(&mut self, measured: Vec<Value>) {
        for (cell, measured) in self.0.iter_mut().zip(measured) {
            cell.measured = Some(measured);
        }
    }

    /// Whether `run` is one of these.
    pub(super) fn has(&self, run: &str) -> bool {
        self.0.iter().any(|cell| cell.place.run == run)
    }

    /// The quantity at `path`, such as `nanoseconds.over_fifo`, of the cell `name` of `run`; none if it
    /// was not measured.
    pub(super) fn read(&self, run: &str, name: &str, path: &str) -> Result<Option<f64>, String> {
        let cell = cells::find(&self.0, |cell| &cell.place, run, name)?;
        let Some(measured) = &cell.measured else { return Ok(None) };
        // The instructions may not have been counted.
        match path.split('.').try_fold(measured, |value, key| value.get(key)) {
            Some(value) => Ok(value.as_f64()),
            None if measured["instructions"].is_null() && path.starts_with("instructions.") => {
                Ok(None)
            }
            None => Err(format!("a cost has no `{path}`")),
        }
    }
}

/// A value for each key that is varied.
type Point<'a> = Vec<(&'a str, &'a toml::Value)>;

/// Every point of the grid.
fn points(cost: &Cost) -> Vec<Point<'_>> {
    let mut points = vec![Point::new()];
    for (key, values) in &cost.vary {
        let values = values.as_array().map(Vec::as_slice).unwrap_or_default();
        let all = points.iter().flat_map(|point| {
            values.iter().map(|value| [point.as_slice(), &[(key.as_str(), value)]].concat())
        });
        points = all.collect();
    }
    points
}

fn cell(cost: &Cost, varied: &[(&str, &toml::Value)]) -> Cell {
    let mut load = cost.load.clone();
    let mut queue = toml::Value::String(cost.queue.clone());
    for &(key, value) in varied {
        match key {
            "queue" => queue = value.clone(),
            _ => drop(load.insert(key.to_owned(), value.clone())),
        }
    }
    let case = [("queue".to_owned(), queue), ("load".to_owned(), load.into())];
    let shown = |(_, value): &(&str, &toml::Value)| match value {
        toml::Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let name = varied.iter().map(shown).collect::<Vec<_>>().join(" / ");
    let place = Place { run: cost.name.clone(), name, varied: !varied.is_empty() };
    Cell { place, case: case.into_iter().collect(), measured: None }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const TEXT: &str = r#"
paper = "p"
title = "a paper"

[[cost]]
name = "fair"
load = { classes = 2, backlog = 1 }
vary = { queue = ["drr", "wfq"], flows = [2, 4] }

[[item]]
item = "T1"
quantity = "time"
run = "fair"
path = "nanoseconds.best"
cases = [{ case = "drr / 4" }]
"#;

    #[test]
    fn a_cost_is_varied_measured_and_read() {
        let published = Published::read(TEXT).expect("right");
        let mut costs = Costs::new(&published);
        assert_eq!(costs.0.len(), 4);
        assert!(costs.has("fair") && !costs.has("unfair"));
        assert_eq!(costs.read("fair", "drr / 4", "flows"), Ok(None), "not yet");
        let flows = |case: CostCase| case.case["load"]["flows"].as_integer();
        let measured = costs.cases().into_iter().map(|case| {
            json!({ "flows": flows(case), "nanoseconds": { "best": 3.5 }, "instructions": null })
        });
        costs.take(measured.collect());
        assert_eq!(costs.read("fair", "wfq / 4", "flows"), Ok(Some(4.0)));
        let ns = costs.read("fair", "drr / 4", "nanoseconds.best");
        assert_eq!(ns, Ok(Some(3.5)));
        let count = costs.read("fair", "drr / 4", "instructions.count");
        assert_eq!(count, Ok(None), "none was counted");
        assert!(costs.read("fair", "drr / 4", "nanoseconds.worst").is_err());
        assert!(costs.read("fair", "drr / 5", "flows").is_err());
    }
}
