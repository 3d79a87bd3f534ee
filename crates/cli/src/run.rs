//! `suimon run`: simulates a scenario, or every point of its sweep.

use clap::Args;
use results::LabReport;
use scenario::Run;

use crate::execution::{Driver, Job, Outcome};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::run_args::RunArgs;
use crate::{check, folders, interruption, output, sweep};

pub(crate) mod render;

/// What `run` is told.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    args: RunArgs,
}

/// Runs the scenario; a grid is a sweep that starts over.
pub(crate) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    match runs(&arguments.args) {
        Err(failure) if arguments.args.json => failure.print_json(),
        other => other,
    }
}

fn runs(args: &RunArgs) -> Result<Exit, Failure> {
    let runs = args.runs()?;
    match runs.as_slice() {
        [run] if run.parameters.is_empty() => single(args, run),
        runs => sweep::run_all(args, runs, &sweep::SweepOptions::of_run()),
    }
}

fn single(args: &RunArgs, run: &Run) -> Result<Exit, Failure> {
    let name = args.experiment.name();
    let chosen = args.out.clone();
    let job =
        args.job(run, |plan| chosen.unwrap_or_else(|| folders::of_run(&name, plan.seed, args.on)))?;
    if !args.quiet {
        check::warn(&check::warnings([&job.plan]));
        if args.on == Driver::Lab {
            check::tell_programs([&job.plan]);
        }
        check::tell_left_out([&job]);
    }
    job.check()?;
    if args.verbose {
        output::note(&render::beginning(&job));
    }
    let interrupted = interruption::watch()?;
    let progress = match args.on {
        Driver::Simulator => Progress::new(1, args.quiet),
        Driver::Lab => Progress::in_real_time(&job.plan, args.quiet),
    };
    let outcome = job.execute(&interrupted, &progress);
    progress.finish();
    let outcome = outcome?;
    print_outcome(args, &job, &outcome)?;
    let exit = if outcome.complete() { Exit::met(outcome.ok()) } else { Exit::Interrupted };
    // What ended it is told last, after what was measured so far.
    Ok(outcome.failure.map_or(exit, |failure| failure.report()))
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
        let mut value = outcome.to_value();
        value["folder"] = job.folder.display().to_string().into();
        if let Some(failure) = &outcome.failure {
            value["failure"] = failure.to_string().into();
        }
        return output::print_json(&value);
    }
    output::print(&render::run(job, outcome))
}
