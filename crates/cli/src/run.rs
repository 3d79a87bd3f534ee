//! `suimon run`: simulates a scenario, or every point of its sweep.

use clap::Args;
use results::LabReport;
use scenario::Run;

use crate::execution::{Driver, Job, Outcome};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::order::Order;
use crate::progress::Progress;
use crate::{check, folders, interruption, output, sweep};

pub(crate) mod shown;

/// What `run` is told.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    order: Order,
}

/// Runs the scenario; a grid is a sweep that starts over.
pub(crate) fn act(arguments: &Arguments) -> Result<Exit, Failure> {
    let order = &arguments.order;
    let runs = order.runs()?;
    match runs.as_slice() {
        [run] if run.parameters.is_empty() => single(order, run),
        runs => sweep::run(order, runs, &sweep::Wishes::of_run()),
    }
}

fn single(order: &Order, run: &Run) -> Result<Exit, Failure> {
    let name = order.experiment.name();
    let chosen = order.out.clone();
    let job = order
        .job(run, |plan| chosen.unwrap_or_else(|| folders::of_run(&name, plan.seed, order.on)))?;
    if !order.quiet {
        check::tell(&check::warnings([&job.plan]));
    }
    let interrupted = interruption::watch()?;
    let progress = match order.on {
        Driver::Simulator => Progress::new(1, order.quiet),
        Driver::Lab => Progress::in_real_time(&job.plan, order.quiet),
    };
    let outcome = job.execute(&interrupted, &progress);
    progress.finish();
    let outcome = outcome?;
    tell(order, &job, &outcome)?;
    let exit = if outcome.complete() { Exit::met(outcome.ok()) } else { Exit::Interrupted };
    // What broke the lab is told last, after what was measured so far.
    outcome.failure.map_or(Ok(exit), |failure| Err(failure.into()))
}

fn tell(order: &Order, job: &Job, outcome: &Outcome) -> Result<(), Failure> {
    if let Some(warning) = outcome.lab.as_ref().and_then(LabReport::warning) {
        output::note(&warning);
    }
    if !outcome.complete() {
        output::note(&shown::interruption(&job.plan, outcome));
    }
    if order.json {
        let mut value = outcome.to_value();
        value["folder"] = job.folder.display().to_string().into();
        return output::print_json(&value);
    }
    output::print(&shown::run(job, outcome))
}
