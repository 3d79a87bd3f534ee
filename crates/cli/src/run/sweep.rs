//! Many runs: each in a folder of its own, and a table of all.

use std::path::{Path, PathBuf};

use results::report::quantity;
use scenario::Run;
use serde_json::{Value, json};
use simulate::sweep::{Crew, sweep, weight};

use super::{Arguments, job, workers};
use crate::execution::{Job, Outcome};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::folders::{self, SWEEP};
use crate::progress::Progress;
use crate::table::{Cell, Table};
use crate::{amount, check, interruption, output};

/// Runs them all and tells of them.
pub(super) fn act(arguments: &Arguments, runs: &[Run]) -> Result<Exit, Failure> {
    let chosen = arguments.out.clone();
    let folder = chosen.unwrap_or_else(|| folders::of_sweep(&arguments.experiment.name()));
    let jobs = jobs(arguments, runs, &folder)?;
    if !arguments.quiet {
        check::tell(&check::warnings(jobs.iter().map(|job| &job.plan)));
    }
    folders::create_for_many(&folder, SWEEP)?;
    write(&folder, &json!({ "complete": false, "runs": [] }))?;
    let outcomes = execute(arguments, &jobs)?;
    let document = document(runs, &jobs, &outcomes);
    write(&folder, &document)?;
    if arguments.json {
        output::print_json(&document)?;
    } else {
        let sweep = folder.join(SWEEP);
        let table = table(runs, &outcomes).render();
        output::print(&format!("{table}\nall of it: {}\n", sweep.display()))?;
    }
    Ok(exit(&outcomes))
}

fn jobs(arguments: &Arguments, runs: &[Run], folder: &Path) -> Result<Vec<Job>, Failure> {
    let place = |index: usize, run: &Run| -> PathBuf {
        folder.join(folders::of_point(index, runs.len(), &run.label))
    };
    let numbered = runs.iter().enumerate();
    numbered.map(|(index, run)| job(arguments, run, |_| place(index, run))).collect()
}

/// `None` for a run that an interruption left out.
fn execute(arguments: &Arguments, jobs: &[Job]) -> Result<Vec<Option<Outcome>>, Failure> {
    let interrupted = interruption::watch()?;
    let progress = Progress::new(jobs.len(), arguments.quiet);
    let crew = Crew { workers: workers(arguments.jobs), interrupted: &interrupted };
    let outcomes =
        sweep(jobs, crew, |job| weight(&job.plan), |job| job.execute(&interrupted, &progress));
    progress.finish();
    outcomes.into_iter().map(Option::transpose).collect()
}

fn exit(outcomes: &[Option<Outcome>]) -> Exit {
    let done = |outcome: &Option<Outcome>| outcome.as_ref().is_some_and(Outcome::complete);
    if !outcomes.iter().all(done) {
        return Exit::Interrupted;
    }
    Exit::met(outcomes.iter().flatten().all(Outcome::ok))
}

fn write(folder: &Path, document: &Value) -> Result<(), Failure> {
    let path = folder.join(SWEEP);
    std::fs::write(&path, output::json(document) + "\n").map_err(Failure::file(&path))
}

/// All runs as JSON. Without their cost, so that it has the same bytes whatever the workers; that is
/// in each run's manifest.
fn document(runs: &[Run], jobs: &[Job], outcomes: &[Option<Outcome>]) -> Value {
    let entries = runs.iter().zip(jobs).zip(outcomes).map(|((run, job), outcome)| {
        let folder = job.folder.file_name().map(|name| name.to_string_lossy());
        let parameters: serde_json::Map<String, Value> =
            run.parameters.iter().map(|(path, value)| (path.clone(), json!(value))).collect();
        json!({
            "folder": folder,
            "parameters": parameters,
            "summary": outcome.as_ref().map(|outcome| outcome.summary.to_value()),
            "expectations": outcome.as_ref().map(|outcome| &outcome.verdicts),
        })
    });
    let complete = outcomes.iter().all(|o| o.as_ref().is_some_and(Outcome::complete));
    json!({ "complete": complete, "runs": entries.collect::<Vec<_>>() })
}

fn table(runs: &[Run], outcomes: &[Option<Outcome>]) -> Table {
    let mut table = Table::new(&[
        "run",
        ">goodput",
        ">",
        ">fairness",
        ">drops",
        ">resent",
        ">timeouts",
        "verdict",
    ]);
    for (run, outcome) in runs.iter().zip(outcomes) {
        table.row(row(run, outcome.as_ref()));
    }
    table
}

fn row(run: &Run, outcome: Option<&Outcome>) -> Vec<Cell> {
    let label = run.label.as_str().into();
    let Some(outcome) = outcome else { return vec![label, "not run".into()] };
    let total = &outcome.summary.run;
    let verdict = match (outcome.complete(), outcome.verdicts.is_empty()) {
        (false, _) => "interrupted".into(),
        (true, true) => "".into(),
        (true, false) => Cell::verdict(outcome.ok()),
    };
    vec![
        label,
        amount::bit_rate(total.goodput).into(),
        quantity::rate(total.goodput).into(),
        format!("{:.4}", total.fairness).into(),
        total.drops.to_string().into(),
        total.retransmissions.to_string().into(),
        total.timeouts.to_string().into(),
        verdict,
    ]
}
