//! What disciplines cost a packet: every cell of every `[[cost]]`, measured after the runs, when nothing
//! else of ours keeps the machine busy.

use serde::Deserialize;
use serde_json::{Value, json};

use super::cells::{self, Place};
use super::published::{Cost, Published};
use crate::cost::case::Case;
use crate::failure::Failure;
use crate::{cost, output};

/// Rounds of which the best counts.
const ROUNDS: usize = 5;

/// All of them.
#[derive(Debug)]
pub(crate) struct Costs(Vec<Cell>);

/// One load.
#[derive(Debug)]
struct Cell {
    place: Place,
    case: Case,
    /// What `suimon cost --json` says of it; none before it was measured.
    measured: Option<Value>,
}

impl Costs {
    /// Plans them.
    pub(crate) fn new(published: &Published) -> Result<Self, Failure> {
        let mut cells = Vec::new();
        for cost in &published.cost {
            for varied in points(cost) {
                let cell = cell(cost, &varied).map_err(|error| Failure::Paper {
                    paper: published.paper.clone(),
                    message: format!("cost `{}`: {error}", cost.name),
                })?;
                cells.push(cell);
            }
        }
        Ok(Self(cells))
    }

    /// Measures them all.
    pub(crate) fn measure(mut self, quiet: bool) -> Result<Self, Failure> {
        if self.0.is_empty() {
            return Ok(self);
        }
        if !quiet {
            output::note(&format!("measuring what {} loads cost a packet", self.0.len()));
        }
        let costs = cost::measure(self.cases(), ROUNDS, true, quiet)?;
        if let Some(why) = &costs.not_counted {
            output::note(&format!("instructions are left out: {why}"));
        }
        self.take(&costs);
        Ok(self)
    }

    fn cases(&self) -> Vec<Case> {
        self.0.iter().map(|cell| cell.case.clone()).collect()
    }

    fn take(&mut self, costs: &cost::Costs) {
        for (cell, cost) in self.0.iter_mut().zip(&costs.cases) {
            cell.measured = Some(json!(cost));
        }
    }

    /// Whether `run` is one of these.
    pub(crate) fn has(&self, run: &str) -> bool {
        self.0.iter().any(|cell| cell.place.run == run)
    }

    /// The quantity at `path`, such as `nanoseconds.over_fifo`, of the cell `name` of `run`; none if it
    /// was not measured.
    pub(crate) fn read(&self, run: &str, name: &str, path: &str) -> Result<Option<f64>, String> {
        let cell = cells::find(&self.0, |cell| &cell.place, run, name)?;
        let Some(measured) = &cell.measured else { return Ok(None) };
        // Of instructions that were not counted nothing more is known.
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

fn cell<'a>(
    cost: &'a Cost,
    varied: &[(&'a str, &'a toml::Value)],
) -> Result<Cell, toml::de::Error> {
    let mut load = cost.load.clone();
    let mut queue = toml::Value::String(cost.queue.clone());
    for &(key, value) in varied {
        match key {
            "queue" => queue = value.clone(),
            _ => drop(load.insert(key.to_owned(), value.clone())),
        }
    }
    let case = [("queue".to_owned(), queue), ("load".to_owned(), load.into())];
    let case = Case::deserialize(toml::Value::Table(case.into_iter().collect()))?;
    let shown = |(_, value): &(&str, &toml::Value)| match value {
        toml::Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let name = varied.iter().map(shown).collect::<Vec<_>>().join(" / ");
    let place = Place { run: cost.name.clone(), name, varied: !varied.is_empty() };
    Ok(Cell { place, case, measured: None })
}

#[cfg(test)]
mod tests {
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
        let mut costs = Costs::new(&published).expect("right");
        assert_eq!(costs.0.len(), 4);
        assert!(costs.has("fair") && !costs.has("unfair"));
        assert_eq!(costs.read("fair", "drr / 4", "flows"), Ok(None), "not yet");
        costs.take(&cost::measure(costs.cases(), 1, false, true).expect("measured"));
        assert_eq!(costs.read("fair", "wfq / 4", "flows"), Ok(Some(4.0)));
        let ns = costs.read("fair", "drr / 4", "nanoseconds.best");
        assert!(ns.is_ok_and(|ns| ns.is_some_and(|ns| ns > 0.0)));
        let count = costs.read("fair", "drr / 4", "instructions.count");
        assert_eq!(count, Ok(None), "none was counted");
        assert!(costs.read("fair", "drr / 4", "nanoseconds.worst").is_err());
        assert!(costs.read("fair", "drr / 5", "flows").is_err());
    }
}
