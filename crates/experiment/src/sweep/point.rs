//! A point of a sweep, read from its folder.

use std::collections::BTreeMap;

use record::{StoredRun, Verdict};
use scenario::Run;

use crate::error::Error;
use crate::execution::Job;
use crate::sweep::Keep;

/// The parameter that is not an axis: its values are repetitions.
pub(super) const SEED: &str = "seed";

/// One run with the contents of its folder.
#[derive(Debug)]
pub struct Point {
    /// Its parameters.
    pub run: Run,
    /// The job.
    pub job: Job,
    /// The results; none if it was not run.
    pub stored: Option<StoredRun>,
    /// Every number of its summary, in alphabetical order.
    pub quantities: Vec<(String, f64)>,
    /// The verdicts on its expectations; none for an incomplete run.
    pub verdicts: Vec<Verdict>,
}

/// Whether the job's folder holds what this program would produce: a complete run of the same scenario
/// (identical lock file), by the same driver and build, with all files unchanged that it keeps until the sweep's end.
pub(super) fn is_done(job: &Job, keep: Keep) -> bool {
    StoredRun::read(&job.folder).is_ok_and(|stored| {
        stored.stands_for(&job.lock, job.driver.manifest(), crate::BUILD)
            && match keep {
                Keep::All => stored.is_whole(),
                Keep::Table => stored.has_results(),
            }
    })
}

/// Whether there are repetitions, and all of them have the same results.
pub(super) fn seeds_change_nothing(points: &[Point]) -> bool {
    let mut firsts = BTreeMap::new();
    let mut repeated = false;
    for point in points.iter().filter(|point| point.complete()) {
        let first = *firsts.entry(point.settings()).or_insert(point);
        repeated |= first.job.plan.seed != point.job.plan.seed;
        if first.results().ne(point.results()) {
            return false;
        }
    }
    repeated
}

impl Point {
    /// Reads the folder of a run that has `ended`, early or not.
    ///
    /// # Errors
    /// A folder that cannot be read, and an expectation that no summary has.
    pub(super) fn new(run: Run, job: Job, ended: bool) -> Result<Self, Error> {
        let stored = if ended { Some(StoredRun::read(&job.folder)?) } else { None };
        let quantities = stored.as_ref().map(StoredRun::quantities).unwrap_or_default();
        let complete = stored.as_ref().is_some_and(|stored| stored.complete);
        let judged = if complete { &job.plan.expectations[..] } else { &[] };
        let verdicts = record::judge_quantities(judged, &quantities)?;
        Ok(Self { run, job, stored, quantities, verdicts })
    }

    /// The parameters without the seed.
    fn settings(&self) -> Vec<(&str, &str)> {
        let all = self.run.parameters.iter().filter(|(path, _)| path != SEED);
        all.map(|(path, value)| (path.as_str(), value.as_str())).collect()
    }

    /// The quantities without the seed.
    fn results(&self) -> impl Iterator<Item = &(String, f64)> {
        self.quantities.iter().filter(|(path, _)| path != "run.seed")
    }

    /// Whether the run is complete.
    pub fn complete(&self) -> bool {
        self.stored.as_ref().is_some_and(|stored| stored.complete)
    }

    /// Whether its expectations hold; none if there are no expectations.
    pub fn held(&self) -> Option<bool> {
        (!self.verdicts.is_empty()).then(|| self.verdicts.iter().all(|verdict| verdict.ok))
    }

    /// Its stalled flows, each with what it waits for.
    pub fn stalls(&self) -> impl Iterator<Item = (&str, &str)> {
        self.stored.iter().flat_map(StoredRun::stalls)
    }

    /// The value at a path of the summary, or at the path that it is short for.
    pub fn measured(&self, path: &str) -> Option<f64> {
        record::expectation::measured(path, &self.quantities)
    }

    /// The name of its folder.
    pub fn folder(&self) -> String {
        let name = self.job.folder.file_name().map(|name| name.to_string_lossy().into_owned());
        name.unwrap_or_default()
    }
}
