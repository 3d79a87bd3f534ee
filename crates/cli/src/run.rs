//! `suimon run`: simulates a scenario, or every point of its sweep.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use results::LabReport;
use scenario::Run;

use crate::execution::{Driver, Job, Outcome};
use crate::exit::Exit;
use crate::experiment::Experiment;
use crate::failure::Failure;
use crate::port::Fabric;
use crate::progress::Progress;
use crate::{check, folders, interruption, output};

pub(crate) mod shown;
mod sweep;

/// What `run` is told.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    experiment: Experiment,
    /// Who moves the packets
    #[arg(long, value_enum, default_value_t, value_name = "DRIVER")]
    on: Driver,
    #[command(flatten)]
    fabric: Fabric,
    /// Runs at a time, all processors unless given; results do not depend on it
    #[arg(short, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// The run folder: runs/NAME-SEED unless given, runs/NAME-sweep for many runs
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// No progress bar and no warnings
    #[arg(long)]
    quiet: bool,
}

/// The workers that `-j` asks for.
pub(crate) fn workers(jobs: Option<NonZeroUsize>) -> NonZeroUsize {
    let all = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    jobs.unwrap_or_else(all)
}

/// Runs the scenario.
pub(crate) fn act(arguments: &Arguments) -> Result<Exit, Failure> {
    if arguments.on == Driver::Lab {
        // While there is one thread only.
        lab::privilege::acquire()?;
    } else if arguments.fabric != Fabric::default() {
        let help = "leave them out, or run on real packets: --on lab";
        return Err(Failure::usage("--port and --sleep are for the lab", help));
    }
    let runs = arguments.experiment.read()?.runs()?;
    match runs.as_slice() {
        [run] if run.parameters.is_empty() => single(arguments, run),
        runs => sweep::act(arguments, runs),
    }
}

/// A run's job, its folder to be told by what its plan says.
fn job(
    arguments: &Arguments,
    run: &Run,
    folder: impl FnOnce(&scenario::Plan) -> PathBuf,
) -> Result<Job, Failure> {
    let plan = run.plan()?;
    Ok(Job {
        driver: arguments.on,
        fabric: arguments.fabric,
        folder: folder(&plan),
        lock: scenario::lock(&plan),
        command: arguments.experiment.command(&run.parameters),
        plan,
    })
}

fn single(arguments: &Arguments, run: &Run) -> Result<Exit, Failure> {
    let name = arguments.experiment.name();
    let chosen = arguments.out.clone();
    let job = job(arguments, run, |plan| {
        chosen.unwrap_or_else(|| folders::of_run(&name, plan.seed, arguments.on))
    })?;
    if !arguments.quiet {
        check::tell(&check::warnings([&job.plan]));
    }
    let interrupted = interruption::watch()?;
    let progress = match arguments.on {
        Driver::Simulator => Progress::new(1, arguments.quiet),
        Driver::Lab => Progress::in_real_time(&job.plan, arguments.quiet),
    };
    let outcome = job.execute(&interrupted, &progress);
    progress.finish();
    let outcome = outcome?;
    tell(arguments, &job, &outcome)?;
    let exit = if outcome.complete() { Exit::met(outcome.ok()) } else { Exit::Interrupted };
    // What broke the lab is told last, after what was measured so far.
    outcome.failure.map_or(Ok(exit), |failure| Err(failure.into()))
}

fn tell(arguments: &Arguments, job: &Job, outcome: &Outcome) -> Result<(), Failure> {
    if let Some(warning) = outcome.lab.as_ref().and_then(LabReport::warning) {
        output::note(&warning);
    }
    if !outcome.complete() {
        output::note(&shown::interruption(&job.plan, outcome));
    }
    if arguments.json {
        let mut value = outcome.to_value();
        value["folder"] = job.folder.display().to_string().into();
        return output::print_json(&value);
    }
    output::print(&shown::run(job, outcome))
}
