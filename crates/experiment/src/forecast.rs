//! The checks before the first run: whether the quantities to measure, and to expect, will exist.

use std::sync::atomic::AtomicBool;

use record::Summary;
use record::expectation::{may_come, measured, unknown};
use scenario::Plan;
use scenario::plan::NodeKind;
use simulate::Steering;

use crate::driver::DriverChoice;
use crate::error::Error;
use crate::execution::Job;

/// Prefixes of paths that a summary has only if certain events happened.
const PERHAPS: [&str; 2] = ["change.", "node."];

/// Every number that the plan's summary will have, from a world that is built but not run; none if only a real
/// kernel can run it.
///
/// # Errors
/// A discipline that refuses its parameters.
fn quantities(plan: &Plan) -> Result<Option<Vec<(String, f64)>>, Error> {
    // A run that is interrupted at once never reaches the part in `measure`; the quantities have the same names
    // without it. Modelled hosts report the quantities that programs on a kernel do.
    let mut plan = Plan { measure: None, ..plan.clone() };
    for node in &mut plan.nodes {
        if let NodeKind::Host(host) = &mut node.kind {
            host.kernel = None;
        }
    }
    let plan = &plan;
    if DriverChoice::default().check(plan).is_err() {
        return Ok(None);
    }
    let over = AtomicBool::new(true);
    let steering = Steering { interrupted: &over, progress: &|_| {} };
    let totals = simulate::run(plan, &mut (), steering)?;
    Ok(Some(Summary::new(plan, &totals).quantities()))
}

fn is_there(path: &str, known: &[(String, f64)]) -> bool {
    PERHAPS.iter().any(|perhaps| path.starts_with(perhaps))
        || measured(path, known).is_some()
        || may_come(path, known)
}

/// Refuses a plan with an expectation of a quantity that its summary will not have.
///
/// # Errors
/// The first such expectation; a discipline that refuses its parameters.
pub(crate) fn check_expectations(plan: &Plan) -> Result<(), Error> {
    if plan.expectations.is_empty() {
        return Ok(());
    }
    let Some(known) = quantities(plan)? else { return Ok(()) };
    let missing = plan.expectations.iter().find(|expected| !is_there(&expected.path, &known));
    missing.map_or(Ok(()), |missing| Err(unknown(&missing.path, &known).into()))
}

/// Refuses a measure that no run of the sweep will have; `goodput` is short for `run.goodput`.
///
/// # Errors
/// The first such measure; a discipline that refuses its parameters.
pub(crate) fn check_measures(jobs: &[Job], measures: &[String]) -> Result<(), Error> {
    let mut open: Vec<&String> = measures.iter().collect();
    let mut first = None;
    for job in jobs {
        let Some(known) = quantities(&job.plan)? else { return Ok(()) };
        let is_missing =
            |path: &str| !is_there(path, &known) && !is_there(&format!("run.{path}"), &known);
        open.retain(|path| is_missing(path));
        if open.is_empty() {
            return Ok(());
        }
        first.get_or_insert(known);
    }
    match (open.first(), first) {
        (Some(path), Some(known)) => Err(unknown(path, &known).into()),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use network::host::Kernel;
    use scenario::Document;

    use super::*;
    use crate::driver::Guests;

    #[test]
    fn what_the_examples_expect_will_be_there() {
        let scenarios = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../scenarios");
        let mut checked = 0;
        for folder in
            std::fs::read_dir(scenarios).expect("examples").map(|entry| entry.expect("one"))
        {
            for file in std::fs::read_dir(folder.path()).into_iter().flatten() {
                let path = file.expect("a file").path();
                let text = std::fs::read_to_string(&path).expect("text");
                let Ok(document) = Document::parse(&path.to_string_lossy(), &text) else {
                    continue;
                };
                // Scenarios that name further files are read by `Experiment`.
                if let Ok(mut plan) = document.plan() {
                    check_expectations(&plan).unwrap_or_else(|error| panic!("{path:?}: {error}"));
                    DriverChoice::of(&Guests(Kernel::Linux6_12)).prepare(&mut plan);
                    check_expectations(&plan).unwrap_or_else(|error| panic!("{path:?}: {error}"));
                    checked += 1;
                }
            }
        }
        assert!(checked > 20, "{checked} examples");
    }
}
