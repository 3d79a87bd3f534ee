//! Runs of one scenario.

use std::collections::BTreeSet;

use record::expectation::{measured, unknown};
use record::{LabReport, StoredRun};
use report::Overlaid;
use report::differences::Differences;
use scenario::plan::Within;
use scenario::{Plan, Units};

use super::{loads, rows};
use crate::error::Error;

/// The maximum number of settings that are listed; more are only counted.
const SETTINGS_MAX: usize = 6;

/// Runs, and their values for each quantity.
#[derive(Debug)]
pub(super) struct Comparison {
    /// The runs; the first is the reference.
    pub(super) runs: Vec<StoredRun>,
    /// Their plans.
    pub(super) plans: Vec<Plan>,
    /// The units of the first.
    pub(super) units: Units,
    /// The quantities that differ, or all.
    pub(super) rows: Vec<Row>,
    /// The number of quantities without a tolerance that are equal in all runs, and left out.
    pub(super) equal: usize,
}

/// One quantity.
#[derive(Debug)]
pub(super) struct Row {
    /// Its path.
    pub(super) path: String,
    /// The value of each run.
    pub(super) values: Vec<f64>,
    /// The tolerance.
    pub(super) allowed: Within,
    /// Whether the scenario has a tolerance for it, so that it is judged.
    pub(super) named: bool,
}

impl Row {
    /// The first value, and that of the others which differs most from it.
    pub(super) fn farthest(&self) -> (f64, f64) {
        let reference = self.values.first().copied().unwrap_or_default();
        let others = self.values.iter().skip(1).copied();
        let far = |value: &f64| (value - reference).abs();
        let farthest = others.max_by(|a, b| far(a).total_cmp(&far(b)));
        (reference, farthest.unwrap_or(reference))
    }

    /// Whether all values are within tolerance.
    pub(super) fn within(&self) -> bool {
        let (reference, farthest) = self.farthest();
        self.allowed.holds(reference, farthest)
    }
}

impl Comparison {
    /// Whether every named quantity is within tolerance.
    pub(super) fn ok(&self) -> bool {
        self.rows.iter().all(|row| !row.named || row.within())
    }
}

/// Draws runs' curves in the same charts of a page.
pub(super) fn overlay<'r>(
    mut page: Differences,
    names: &[String],
    runs: impl IntoIterator<Item = &'r StoredRun>,
    plans: &[Plan],
) -> Result<Differences, record::Error> {
    let runs = names.iter().zip(runs).zip(plans);
    let runs: Vec<_> = runs.map(|((name, run), plan)| Overlaid { name, run, plan }).collect();
    page.overlay(&runs)?;
    Ok(page)
}

/// The runs' plans.
///
/// # Errors
/// If one belongs to a different scenario than the first.
pub(super) fn plans(runs: &[&StoredRun]) -> Result<Vec<Plan>, Error> {
    let plans = runs.iter().map(|run| run.plan()).collect::<Result<Vec<_>, _>>()?;
    for (run, plan) in runs.iter().zip(&plans) {
        if let Some(difference) = other_network(&plans[0], plan) {
            let first = runs[0].folder.display();
            let message =
                format!("{} belongs to another scenario: {difference}", run.folder.display());
            return Err(Error::usage(message, format!("compare runs of the scenario of {first}")));
        }
        loads::check(runs[0], run)?;
    }
    Ok(plans)
}

/// The part of the second plan, extra or missing, that makes it a different network; flows and settings may
/// differ.
fn other_network(one: &Plan, other: &Plan) -> Option<String> {
    let pairs = parts(one).into_iter().zip(parts(other));
    pairs
        .filter_map(|(one, other)| {
            let more = other.difference(&one).next().map(|part| format!("it has {part}"));
            more.or_else(|| one.difference(&other).next().map(|part| format!("it has no {part}")))
        })
        .next()
}

/// Nodes and links, as text.
fn parts(plan: &Plan) -> [BTreeSet<String>; 2] {
    let name = |node: usize| plan.nodes[node].name.as_str();
    let nodes = plan.nodes.iter().map(|node| format!("{} `{}`", node.kind.name(), node.name));
    let links = plan.links.iter().map(|link| {
        let [a, b] = [&link.ends[0], &link.ends[1]].map(|end| name(end.node));
        format!("link `{}` between `{a}` and `{b}`", link.name)
    });
    [nodes.collect(), links.collect()]
}

/// Whether the runs have different drivers.
pub(super) fn several_drivers<'r>(mut runs: impl Iterator<Item = &'r StoredRun>) -> bool {
    let first = runs.next();
    runs.any(|run| first.is_some_and(|first| run.driver != first.driver))
}

/// Warnings about a run for the reader.
pub(super) fn notes(run: &StoredRun) -> Vec<String> {
    let folder = run.folder.display();
    let warning = run.lab.as_ref().and_then(LabReport::warning);
    let warning = warning.map(|warning| format!("{folder}: {warning}"));
    let incomplete = format!("{folder} is incomplete: it was interrupted");
    let stalls = run.stalls().map(|(flow, why)| format!("{folder}: flow {flow} stalled, {why}"));
    let left_out = run.left_out.iter().map(|what| format!("{folder} left out: {what}"));
    let incomplete = (!run.complete).then_some(incomplete);
    warning.into_iter().chain(incomplete).chain(stalls).chain(left_out).collect()
}

/// The paths that are compared: the most informative ones, those with a tolerance, and those with an
/// expectation.
pub(super) fn paths<'r>(
    runs: impl IntoIterator<Item = &'r StoredRun>,
    plan: &Plan,
    all: bool,
) -> Vec<String> {
    let summaries: Vec<_> = runs.into_iter().map(|run| &run.summary).collect();
    let mut paths = rows::paths(&summaries, all);
    let named = plan.comparison.tolerances.iter().map(|tolerance| tolerance.path.as_str());
    let expected = plan.expectations.iter().map(|expectation| expectation.path.as_str());
    for path in named.chain(expected) {
        if !paths.iter().any(|known| known == path) {
            paths.push(path.to_owned());
        }
    }
    paths
}

/// Compares runs.
///
/// # Errors
/// Runs of different scenarios, a tolerance for a quantity that one of them does not have.
pub(super) fn compare(runs: Vec<StoredRun>, all: bool) -> Result<Comparison, Error> {
    let plans = plans(&runs.iter().collect::<Vec<_>>())?;
    let plan = &plans[0];
    let quantities: Vec<_> = runs.iter().map(loads::quantities).collect();
    let named: Vec<&str> = plan.comparison.tolerances.iter().map(|t| t.path.as_str()).collect();
    let (mut rows, mut equal) = (Vec::new(), 0);
    for path in paths(&runs, plan, all) {
        let values = quantities.iter().map(|known| measured(&path, known).ok_or(known));
        let values = match values.collect::<Result<Vec<f64>, _>>() {
            Ok(values) => values,
            Err(known) if named.contains(&path.as_str()) => Err(unknown(&path, known))?,
            // A quantity that one of them does not have is not compared.
            Err(_) => continue,
        };
        let own = plan.comparison.tolerances.iter().rev().find(|tolerance| tolerance.path == path);
        // Judged quantities are shown even if nothing differs.
        if !all && own.is_none() && values.iter().all(|value| value == &values[0]) {
            equal += 1;
            continue;
        }
        let allowed = own.map_or(Within::Percent(plan.comparison.percent), |own| own.within);
        rows.push(Row { path, values, allowed, named: own.is_some() });
    }
    Ok(Comparison { runs, units: plan.units, plans, rows, equal })
}

/// Lists the settings that differ, if any: the user may have compared other runs than intended.
pub(super) fn differing_settings(runs: &[StoredRun]) -> Option<String> {
    let settings: Vec<_> = runs.iter().map(|run| settings(&run.scenario)).collect();
    let first = &settings[0];
    let mut differ: BTreeSet<String> = BTreeSet::new();
    for other in &settings[1..] {
        differ.extend(first.symmetric_difference(other).map(|(path, _)| of_group(path)));
    }
    if differ.is_empty() {
        return None;
    }
    let more = match differ.len().saturating_sub(SETTINGS_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let shown: Vec<String> = differ.into_iter().take(SETTINGS_MAX).collect();
    Some(format!("their scenarios differ in {}{more}", shown.join(", ")))
}

/// The path for all members of a `count`: `link.cable.at.switch.rate` for `link.cable.7.at.switch.rate`.
fn of_group(path: &str) -> String {
    let named = path.split('.').filter(|key| !key.bytes().all(|byte| byte.is_ascii_digit()));
    named.collect::<Vec<_>>().join(".")
}

/// Every setting of a scenario with its path.
pub(super) fn settings(scenario: &str) -> BTreeSet<(String, String)> {
    let mut found = BTreeSet::new();
    if let Ok(table) = scenario.parse::<toml::Table>() {
        flatten("", &toml::Value::Table(table), &mut found);
    }
    found
}

fn flatten(path: &str, value: &toml::Value, found: &mut BTreeSet<(String, String)>) {
    match value {
        toml::Value::Table(table) => {
            for (key, inner) in table {
                let dot = if path.is_empty() { "" } else { "." };
                flatten(&format!("{path}{dot}{key}"), inner, found);
            }
        }
        other => drop(found.insert((path.to_owned(), other.to_string()))),
    }
}
