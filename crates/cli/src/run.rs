//! `suimon run`: simulates a scenario, or every point of its sweep.

use clap::Args;
use experiment::{Experiment, Job, Outcome, RunDocument, Steering, folders};
use record::LabReport;
use scenario::{Plan, Run};

use crate::exit::Exit;
use crate::failure::{self, Failure};
use crate::progress::Progress;
use crate::run_args::RunArgs;
use crate::{check, interruption, output, sweep};

pub(crate) mod render;

/// Run a scenario, or every point of its sweep
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    args: RunArgs,
}

/// Runs the scenario; a grid runs as a sweep that starts from scratch.
pub(crate) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    match runs(&arguments.args) {
        Err(failure) if arguments.args.json => failure::print_json(&failure),
        other => other,
    }
}

fn runs(args: &RunArgs) -> Result<Exit, Failure> {
    let experiment = args.experiment()?;
    let runs = experiment.runs()?;
    match runs.as_slice() {
        [run] if run.parameters.is_empty() => single(args, &experiment, run),
        _ => sweep::run_all(args, &experiment, runs, sweep::options(args), false),
    }
}

fn single(args: &RunArgs, experiment: &Experiment, run: &Run) -> Result<Exit, Failure> {
    let (name, driver, chosen) = (experiment.name(), args.driver(), args.out.clone());
    let folder = |plan: &Plan| chosen.unwrap_or_else(|| folders::of_run(&name, plan.seed, driver));
    let job = experiment.job(run, driver, folder)?;
    if !args.quiet {
        check::warn(&check::warnings(std::iter::once(&job.plan)));
        if driver.is_real_time() {
            check::note_programs([&job.plan]);
        }
        check::note_left_out([&job]);
    }
    job.check()?;
    if args.verbose {
        output::note(&render::beginning(&job));
    }
    let interrupted = interruption::watch()?;
    let progress = match driver.is_real_time() {
        false => Progress::new(1, args.quiet),
        true => Progress::in_real_time(&job.plan, args.quiet),
    };
    let outcome = job.execute(Steering { interrupted: &interrupted, progress: &progress });
    progress.finish();
    let outcome = outcome?;
    print_outcome(args, &job, &outcome)?;
    let exit = outcome.status().into();
    // The error that ended the run is printed last, after the results so far.
    Ok(outcome.failure.map(Failure::from).map_or(exit, |failure| failure::report(&failure)))
}

fn print_outcome(args: &RunArgs, job: &Job, outcome: &Outcome) -> Result<(), Failure> {
    if let Some(warning) = outcome.lab.as_ref().and_then(LabReport::warning) {
        output::note(&warning);
    }
    check::warn(outcome.substitutions());
    outcome.failed_programs().iter().for_each(|program| check::warn_of_failed(program));
    if !outcome.complete() {
        output::note(&render::interruption(&job.plan, outcome));
    }
    if args.verbose {
        output::note(&render::cost(outcome));
    }
    if args.json {
        return output::print_json(&RunDocument::new(outcome, &job.folder));
    }
    output::print(&render::run(job, outcome))
}
