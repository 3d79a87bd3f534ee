//! Runs that differ only in their seed, as one sample each: means, and differences beyond noise.

use std::collections::BTreeSet;

use record::StoredRun;
use record::expectation::{measured, unknown};
use report::confidence::{Interval, Sample};
use scenario::plan::Within;
use scenario::{Plan, Units};

use super::loads;
use super::runs::{self, settings};
use crate::error::Error;

/// The maximum number of settings in a name.
const NAME_MAX: usize = 2;

/// Every number of a run's summary, in alphabetical order.
type Quantities = Vec<(String, f64)>;

/// Runs of one scenario by one driver, with different seeds.
#[derive(Debug)]
pub(super) struct Group {
    /// The name that distinguishes this group from the others.
    pub(super) name: String,
    /// Its runs; at least one.
    pub(super) runs: Vec<StoredRun>,
}

/// Groups, and their values for each quantity.
#[derive(Debug)]
pub(super) struct Comparison {
    /// The groups; the first is the reference.
    pub(super) groups: Vec<Group>,
    /// The plans of their first runs.
    pub(super) plans: Vec<Plan>,
    /// The units of the first.
    pub(super) units: Units,
    /// The quantities that differ by more than noise or have a tolerance, or all.
    pub(super) rows: Vec<Row>,
    /// The number of quantities without a tolerance that are equal in all runs, and left out.
    pub(super) equal: usize,
    /// The number of quantities that differ only by noise, and are left out.
    pub(super) noise: usize,
}

/// One quantity.
#[derive(Debug)]
pub(super) struct Row {
    /// Its path.
    pub(super) path: String,
    /// The sample of each group.
    pub(super) samples: Vec<Sample>,
    /// The tolerance of the means.
    pub(super) allowed: Within,
    /// Whether the scenario has a tolerance for it, so that it is judged.
    pub(super) named: bool,
}

impl Row {
    /// The differences from the first group to each other one.
    pub(super) fn differences(&self) -> Vec<Interval> {
        let others = self.samples.iter().skip(1);
        others.map(|other| self.samples[0].difference(other)).collect()
    }

    /// Whether all differences may be due to the seeds alone.
    pub(super) fn is_noise(&self) -> bool {
        self.differences().iter().all(Interval::includes_zero)
    }

    /// Whether the means are within tolerance.
    pub(super) fn within(&self) -> bool {
        self.samples.iter().all(|other| self.allowed.holds(self.samples[0].mean, other.mean))
    }
}

impl Comparison {
    /// Whether every named quantity is within tolerance.
    pub(super) fn ok(&self) -> bool {
        self.rows.iter().all(|row| !row.named || row.within())
    }
}

/// Groups the runs by driver and scenario without its seed, in the order of their first run.
pub(super) fn gather(runs: Vec<StoredRun>) -> Vec<Group> {
    let mut keys: Vec<(String, String)> = Vec::new();
    let mut groups: Vec<Group> = Vec::new();
    for run in runs {
        let key = (run.driver.clone(), without_seed(&run.scenario));
        match keys.iter().position(|known| *known == key) {
            Some(place) => groups[place].runs.push(run),
            None => {
                keys.push(key);
                groups.push(Group { name: String::new(), runs: vec![run] });
            }
        }
    }
    name(&mut groups);
    groups
}

/// The scenario without its seed: a lock file has it in a line of its own, above all tables.
fn without_seed(scenario: &str) -> String {
    let (mut lines, mut found) = (String::new(), false);
    for line in scenario.lines() {
        if !found && line.starts_with("seed = ") {
            found = true;
            continue;
        }
        lines += line;
        lines.push('\n');
    }
    lines
}

/// Names each group by what only it has: the settings of its command line, else those of its scenario, or its
/// first folder if these are many; and by its driver if there are several.
fn name(groups: &mut [Group]) {
    let given: Vec<_> =
        groups.iter().map(|group| command_settings(&group.runs[0].command)).collect();
    let settings = groups.iter().map(|group| settings(&group.runs[0].scenario));
    let text = |(path, value): (String, String)| format!("{path}={}", value.trim_matches('"'));
    let settings: Vec<_> = settings.map(|all| all.into_iter().map(text).collect()).collect();
    let several = runs::several_drivers(groups.iter().map(|group| &group.runs[0]));
    for (place, group) in groups.iter_mut().enumerate() {
        let first = &group.runs[0];
        let differ = own(&settings, place);
        let mut words: Vec<String> = several.then(|| first.driver.clone()).into_iter().collect();
        let fits = |own: &Vec<String>| (1..=NAME_MAX).contains(&own.len());
        match [own(&given, place), differ.clone()].into_iter().find(fits) {
            Some(own) => words.push(own.join(", ")),
            None if several && differ.is_empty() => {}
            None => words.push(first.folder.display().to_string()),
        }
        group.name = words.join(" ");
    }
}

/// The settings of a command line.
fn command_settings(command: &[String]) -> BTreeSet<String> {
    let pairs = command.windows(2).filter(|pair| pair[0] == "--set");
    pairs.map(|pair| pair[1].clone()).collect()
}

/// The elements of the set at `place`, without the seed, that not all sets have.
fn own(sets: &[BTreeSet<String>], place: usize) -> Vec<String> {
    let shared = |setting: &&String| sets.iter().all(|set| set.contains(*setting));
    let own = sets[place].iter().filter(|setting| !shared(setting));
    own.filter(|setting| !setting.starts_with("seed=")).cloned().collect()
}

/// Compares groups.
///
/// # Errors
/// Groups of different scenarios, a tolerance for a quantity that one of them does not have.
pub(super) fn compare(groups: Vec<Group>, all: bool) -> Result<Comparison, Error> {
    let runs: Vec<&StoredRun> = groups.iter().flat_map(|group| &group.runs).collect();
    let plan = runs::plans(&runs)?.swap_remove(0);
    let firsts: Vec<&StoredRun> = groups.iter().map(|group| &group.runs[0]).collect();
    let plans = runs::plans(&firsts)?;
    let quantities = groups.iter().map(|group| group.runs.iter().map(loads::quantities).collect());
    let quantities: Vec<Vec<Quantities>> = quantities.collect();
    let (mut rows, mut equal, mut noise) = (Vec::new(), 0, 0);
    for path in runs::paths(runs, &plan, all) {
        let own = plan.comparison.tolerances.iter().rev().find(|tolerance| tolerance.path == path);
        let values = match values(&path, &quantities) {
            Ok(values) => values,
            Err(known) if own.is_some() => Err(unknown(&path, known))?,
            // A quantity that one of them does not have is not compared.
            Err(_) => continue,
        };
        let allowed = own.map_or(Within::Percent(plan.comparison.percent), |own| own.within);
        let samples = values.iter().map(|values| Sample::of(values)).collect();
        let row = Row { path, samples, allowed, named: own.is_some() };
        let mut flat = values.iter().flatten();
        let first = flat.next();
        match all || row.named {
            true => rows.push(row),
            false if flat.all(|value| Some(value) == first) => equal += 1,
            false if row.is_noise() => noise += 1,
            false => rows.push(row),
        }
    }
    Ok(Comparison { groups, plans, units: plan.units, rows, equal, noise })
}

/// The values of a path in every run of every group, or the quantities of a run that does not have it.
fn values<'q>(path: &str, groups: &'q [Vec<Quantities>]) -> Result<Vec<Vec<f64>>, &'q Quantities> {
    let of = |known: &'q Quantities| measured(path, known).ok_or(known);
    groups.iter().map(|runs| runs.iter().map(of).collect()).collect()
}
