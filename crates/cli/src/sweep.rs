//! `suimon sweep`: every point of a scenario's grid, in one table, one report, and a folder each.
//!
//! What is told of a point is read back from its folder, whether it was run now or by an earlier sweep
//! that was interrupted, so that both come to the same bytes.

use std::path::{Path, PathBuf};

use clap::Args;
use results::LabReport;
use scenario::Run;
use simulate::sweep::{WorkerPool, sweep, weight};

use crate::execution::{Driver, Job, Outcome};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::folders::{self, SWEEP};
use crate::progress::Progress;
use crate::run::render as render_run;
use crate::run_args::RunArgs;
use crate::{check, forecast, format, interruption, output};

mod files;
mod point;
mod render;

use point::Point;

/// What `sweep` is told.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    #[command(flatten)]
    args: RunArgs,
    /// What the report shows, by its path in summary.json; may be given more than once
    #[arg(long = "measure", value_name = "PATH", default_value = MEASURE)]
    measures: Vec<String>,
    /// Run everything anew, in place of what is missing, incomplete or of another build
    #[arg(long)]
    fresh: bool,
}

/// What is shown unless told.
const MEASURE: &str = "run.goodput";

/// What a sweep does beyond its arguments.
#[derive(Debug)]
pub(crate) struct SweepOptions {
    /// What the report shows.
    measures: Vec<String>,
    /// Whether earlier runs are left aside.
    fresh: bool,
}

impl SweepOptions {
    /// `suimon run` always runs.
    pub(crate) fn of_run() -> Self {
        Self { measures: vec![MEASURE.into()], fresh: true }
    }
}

/// Runs the grid.
pub(crate) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    match grid(arguments) {
        Err(failure) if arguments.args.json => failure.print_json(),
        other => other,
    }
}

fn grid(arguments: &Arguments) -> Result<Exit, Failure> {
    let runs = arguments.args.runs()?;
    if runs.iter().all(|run| run.parameters.is_empty()) {
        let message = format!("{} has no grid", arguments.args.experiment.file.display());
        let help = "add --vary PATH=A,B or --seeds 1..8, or run it once: suimon run";
        return Err(Failure::usage(message, help));
    }
    let measures = arguments.measures.clone();
    run_all(&arguments.args, &runs, &SweepOptions { measures, fresh: arguments.fresh })
}

/// Runs what is not done yet and tells of all.
pub(crate) fn run_all(
    args: &RunArgs,
    runs: &[Run],
    options: &SweepOptions,
) -> Result<Exit, Failure> {
    let chosen = args.out.clone();
    let folder = chosen.unwrap_or_else(|| folders::of_sweep(&args.experiment.name(), args.on));
    let jobs = jobs(args, runs, &folder)?;
    if !args.quiet {
        check::warn(&check::warnings(jobs.iter().map(|job| &job.plan)));
        if args.on == Driver::Lab {
            check::tell_programs(jobs.iter().map(|job| &job.plan));
        }
        check::tell_left_out(&jobs);
    }
    jobs.iter().try_for_each(Job::check)?;
    forecast::check_measures(&jobs, &options.measures)?;
    let _lock = folders::create_for_many(&folder, SWEEP)?;
    if !options.fresh {
        refuse_another(&folder, &jobs)?;
    }
    let done: Vec<bool> = jobs.iter().map(|job| !options.fresh && point::is_done(job)).collect();
    tell_done(args, &done);
    files::begin(&folder)?;
    let Executed { ended, failure, programs_failed } = execute(args, &jobs, &done)?;
    let points = runs.iter().zip(&jobs).zip(&ended);
    let points = points.map(|((run, job), &ended)| Point::new(run, job, ended));
    let points: Vec<Point<'_>> = points.collect::<Result<_, _>>()?;
    let command = args.experiment.sweep_command(&options.measures, MEASURE);
    let command = [command, args.driver_words()].concat();
    let document = render::document(&points);
    let written = files::write(&folder, &document, &points, command, &options.measures);
    if args.json {
        output::print_json(&document)?;
    } else {
        let (table, report) = (render::table(&points), folder.join(results::folder::REPORT));
        output::print(&table)?;
        if written.is_ok() {
            output::print(&format!("\nreport: {}\n", report.display()))?;
        }
    }
    if !args.quiet && point::seeds_change_nothing(&points) {
        output::note("the seeds changed nothing: all runs of a point came to the same numbers");
    }
    // What broke is told last, after what was measured so far.
    let exit = tell_end(&points, failure.is_some());
    let failure = failure.or(written.err());
    let exit = if exit == Exit::Fine && programs_failed { Exit::Unmet } else { exit };
    Ok(failure.map_or(exit, |failure| failure.report()))
}

fn jobs(args: &RunArgs, runs: &[Run], folder: &Path) -> Result<Vec<Job>, Failure> {
    let place = |index: usize, run: &Run| -> PathBuf {
        folder.join(folders::of_point(index, runs.len(), &run.label))
    };
    let numbered = runs.iter().enumerate();
    numbered.map(|(index, run)| args.job(run, |_| place(index, run))).collect()
}

/// Refuses to mix a grid's runs with those of another grid, which would lose its table and report.
fn refuse_another(folder: &Path, jobs: &[Job]) -> Result<(), Failure> {
    let entries = std::fs::read_dir(folder).map_err(Failure::folder(folder))?;
    let runs = entries.flatten().map(|entry| entry.path());
    let runs = runs.filter(|place| place.join(results::manifest::FILE).exists());
    match runs.filter(|place| jobs.iter().all(|job| job.folder != *place)).min() {
        None => Ok(()),
        Some(other) => {
            let name = other.file_name().unwrap_or_default().display();
            let message = format!("{} holds the runs of another grid: {name}", folder.display());
            let help = "give --out another folder, or --fresh to put this grid's table over theirs";
            Err(Failure::usage(message, help))
        }
    }
}

fn tell_done(args: &RunArgs, done: &[bool]) {
    let number = done.iter().filter(|done| **done).count();
    if number > 0 && !args.quiet {
        let of = format::count(done.len(), "run");
        output::note(&format!("done already: {number} of {of}; --fresh runs all again"));
    }
}

/// What came of a grid's runs.
struct Executed {
    /// Whether each job's folder now holds its results, in part at least.
    ended: Vec<bool>,
    /// How the lab broke, if it did.
    failure: Option<Failure>,
    /// A program of the scenario failed in some run.
    programs_failed: bool,
}

/// Runs what is not `done`.
fn execute(args: &RunArgs, jobs: &[Job], done: &[bool]) -> Result<Executed, Failure> {
    let interrupted = interruption::watch()?;
    let open = jobs.iter().enumerate().zip(done).filter(|(_, done)| !**done);
    let open: Vec<(usize, &Job)> = open.map(|(job, _)| job).collect();
    let progress = Progress::new(open.len(), args.quiet);
    let crew = WorkerPool { workers: args.workers(), interrupted: &interrupted };
    let weight = |(_, job): &(usize, &Job)| weight(&job.plan);
    let outcomes = sweep(&open, crew, weight, |(_, job)| {
        let outcome = job.execute(&interrupted, &progress);
        if let (true, Ok(outcome)) = (args.verbose, &outcome) {
            output::note(&format!("{}: {}", job.folder.display(), render_run::cost(outcome)));
        }
        outcome
    });
    progress.finish();
    let (mut ended, mut failure, mut programs_failed) = (done.to_vec(), None, false);
    let done_now = outcomes.iter().flatten().flatten();
    let substitutions = done_now.flat_map(|outcome| outcome.substitutions().iter().cloned());
    check::warn(&check::each_once(substitutions));
    for ((index, job), outcome) in open.iter().zip(outcomes) {
        match outcome {
            None => {}
            // What the others came to is told all the same.
            Some(Err(error)) => failure = failure.or(Some(error)),
            Some(Ok(outcome)) => {
                tell_lab(job, &outcome);
                ended[*index] = true;
                programs_failed |= !outcome.failed_programs().is_empty();
                failure = failure.or(outcome.failure);
            }
        }
    }
    Ok(Executed { ended, failure, programs_failed })
}

fn tell_lab(job: &Job, outcome: &Outcome) {
    for program in outcome.failed_programs() {
        check::warn_of_failed(&format!("{}: {program}", job.folder.display()));
    }
    if let Some(warning) = outcome.lab.as_ref().and_then(LabReport::warning) {
        output::note(&format!("{}: {warning}", job.folder.display()));
    }
}

fn tell_end(points: &[Point<'_>], failed: bool) -> Exit {
    let complete = points.iter().filter(|point| point.complete()).count();
    if complete < points.len() {
        let (of, why) = (points.len(), if failed { "" } else { "interrupted: " });
        output::note(&format!(
            "{why}{complete} of {of} runs are done; `suimon sweep` with the same settings runs the others"
        ));
        return Exit::Interrupted;
    }
    Exit::met(points.iter().all(|point| point.held() != Some(false)))
}
