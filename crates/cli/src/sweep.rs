//! `suimon sweep`: every point of a scenario's grid, in one table and one report, with a folder for each.

use std::sync::atomic::AtomicBool;

use clap::{Args, ValueEnum};
use experiment::sweep::{self, MEASURE, OpenSweep, Sweep, SweepOptions, SweepOutcome};
use experiment::{Experiment, Job, Outcome, Steering, format};
use scenario::Run;

use crate::driver::with_dask;
use crate::exit::Exit;
use crate::failure::{self, Failure};
use crate::progress::Progress;
use crate::run::render as render_run;
use crate::run_args::RunArgs;
use crate::{check, interruption, output};
use dask::Dask;

mod dask;
mod render;

/// Run a grid of settings and seeds into one table and report; resumes an interrupted sweep
#[derive(Debug, Args)]
#[command(mut_arg("on", with_dask))]
pub(crate) struct Arguments {
    #[command(flatten)]
    args: RunArgs,
    /// A quantity for the report and the table, as a path in summary.json; can be given several times
    #[arg(long = "measure", value_name = "PATH", default_value = MEASURE)]
    measures: Vec<String>,
    /// Run all points again, not only those that are missing, incomplete or of another build
    #[arg(long)]
    fresh: bool,
    /// What the folder keeps
    #[arg(long, value_enum, default_value_t, value_name = "WHAT")]
    keep: Keep,
    /// With --on dask, the scheduler: tcp://scheduler:8786
    #[arg(value_name = "SCHEDULER")]
    scheduler: Option<String>,
    /// With --on dask, where its workers store results instead of sending them: `shared` if all machines share
    /// the folder, or the URL of an object store
    #[arg(long, value_name = "URL")]
    store: Option<String>,
}

/// What a sweep's folder keeps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Keep {
    /// Table, report, and the folder of each run
    #[default]
    All,
    /// Table and report: the folders of the runs are removed when all are done
    Table,
}

impl From<Keep> for sweep::Keep {
    fn from(keep: Keep) -> Self {
        match keep {
            Keep::All => Self::All,
            Keep::Table => Self::Table,
        }
    }
}

impl Arguments {
    /// Where Dask runs the points of `experiment`, if it does. `--on dask tcp://scheduler:8786 wan.toml` has
    /// scheduler and scenario in the other order.
    fn dask(&self, experiment: &mut Experiment) -> Result<Option<Dask>, Failure> {
        let store = self.store.clone();
        if !self.args.on.by_dask {
            return match (&self.scheduler, store) {
                (None, None) => Ok(None),
                _ => Err(Failure::usage("a scheduler and --store are for Dask", "add --on dask")),
            };
        }
        let Some(scheduler) = self.scheduler.clone() else {
            let help = "add it: --on dask tcp://scheduler:8786";
            return Err(Failure::usage("--on dask needs the address of the scheduler", help));
        };
        let file = experiment.file.to_string_lossy().into_owned();
        if file.contains("://") && !scheduler.contains("://") {
            experiment.file = scheduler.into();
            return Ok(Some(Dask { scheduler: file, store }));
        }
        Ok(Some(Dask { scheduler, store }))
    }
}

/// Runs the grid.
pub(crate) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    match grid(arguments) {
        Err(failure) if arguments.args.json => failure::print_json(&failure),
        other => other,
    }
}

fn grid(arguments: &Arguments) -> Result<Exit, Failure> {
    let mut experiment = arguments.args.experiment()?;
    let dask = arguments.dask(&mut experiment)?;
    let runs = experiment.runs()?;
    if runs.iter().all(|run| run.parameters.is_empty()) {
        let message = format!("{} has no grid", experiment.file.display());
        let help = "add --vary PATH=A,B or --seeds 1..8, or run it once: suimon run";
        return Err(Failure::usage(message, help));
    }
    let measures = arguments.measures.clone();
    let (fresh, keep) = (arguments.fresh, arguments.keep.into());
    let options = SweepOptions { measures, fresh, keep, ..options(&arguments.args) };
    if let Some(dask) = &dask
        && let Some(exit) = dask.run_points(&experiment, &options, arguments.args.quiet)?
    {
        return Ok(exit);
    }
    run_all(&arguments.args, &experiment, runs, options, dask.is_some())
}

/// The options of `suimon run`, which always starts from scratch.
pub(crate) fn options(args: &RunArgs) -> SweepOptions {
    let (driver, out) = (args.driver(), args.out.clone());
    SweepOptions { driver, out, fresh: true, ..SweepOptions::default() }
}

/// Runs the missing points and reports all; with `elsewhere`, Dask's workers have already run all points.
pub(crate) fn run_all(
    args: &RunArgs,
    experiment: &Experiment,
    runs: Vec<Run>,
    options: SweepOptions,
    elsewhere: bool,
) -> Result<Exit, Failure> {
    let measures = options.measures.clone();
    // Until here, a signal ends the program: no results exist yet.
    let sweep = Sweep::new(experiment, runs, options, &AtomicBool::new(false))?;
    if !args.quiet {
        let plans = || sweep.jobs().iter().map(|job| &job.plan);
        check::warn(&check::warnings(plans()));
        if args.on.is_real_time() {
            check::note_programs(plans());
        }
        check::note_left_out(sweep.jobs());
    }
    let mut sweep = sweep.open()?;
    if elsewhere {
        sweep.look_again();
    } else {
        note_done(args, &sweep);
    }
    let outcome = execute(args, sweep)?;
    note_runs(&outcome);
    if args.json {
        output::print_json(&outcome.document)?;
    } else {
        output::print(&render::table(&outcome.points, &measures))?;
        if outcome.unwritten.is_none() {
            let report = outcome.folder.join(record::folder::REPORT);
            output::print(&format!("\nreport: {}\n", report.display()))?;
        }
    }
    if !args.quiet && outcome.seeds_change_nothing() {
        output::note("the seeds changed nothing: all runs of a point have the same results");
    }
    note_end(&outcome);
    // The error that ended the sweep is printed last, after the results so far.
    let exit = outcome.status().into();
    let failure = outcome.failure.or(outcome.unwritten).map(Failure::from);
    Ok(failure.map_or(exit, |failure| failure::report(&failure)))
}

fn note_done(args: &RunArgs, sweep: &OpenSweep) {
    if sweep.done() > 0 && !args.quiet {
        let of = format::count(sweep.len(), "run");
        output::note(&format!("already done: {} of {of}; --fresh runs all again", sweep.done()));
    }
}

/// The progress bar, and the cost of each run that has ended.
struct Watch {
    bar: Progress,
    verbose: bool,
}

impl experiment::Progress for Watch {
    fn advance(&self, steps: u64) {
        self.bar.advance(steps);
    }

    fn ended(&self, job: &Job, outcome: &Outcome) {
        if self.verbose {
            output::note(&format!("{}: {}", job.folder.display(), render_run::cost(outcome)));
        }
    }
}

fn execute(args: &RunArgs, sweep: OpenSweep) -> Result<SweepOutcome, Failure> {
    let interrupted = interruption::watch()?;
    let bar = Progress::new(sweep.len() - sweep.done(), args.quiet);
    let watch = Watch { bar, verbose: args.verbose };
    let steering = Steering { interrupted: &interrupted, progress: &watch };
    let outcome = sweep.execute(args.workers(), steering);
    watch.bar.finish();
    Ok(outcome?)
}

fn note_runs(outcome: &SweepOutcome) {
    let substitutions = outcome.reports.iter().flat_map(|run| run.substitutions.iter().cloned());
    check::warn(&check::each_once(substitutions));
    for run in &outcome.reports {
        for program in &run.failed_programs {
            check::warn_of_failed(&format!("{}: {program}", run.folder.display()));
        }
        if let Some(warning) = &run.warning {
            output::note(&format!("{}: {warning}", run.folder.display()));
        }
    }
}

fn note_end(outcome: &SweepOutcome) {
    for point in &outcome.points {
        for (flow, why) in point.stalls() {
            output::note(&format!("{}: STALL of flow {flow}, {why}", point.job.folder.display()));
        }
    }
    let (complete, of) = (outcome.complete(), outcome.points.len());
    if complete < of {
        let why = if outcome.failure.is_some() { "" } else { "interrupted: " };
        output::note(&format!(
            "{why}{complete} of {} done; `suimon sweep` with the same settings runs the others",
            format::count(of, "run")
        ));
    }
}
