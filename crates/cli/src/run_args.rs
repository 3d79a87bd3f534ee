//! What `run` and `sweep` are both told: a scenario, who runs it, and where its results go.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use scenario::{Plan, Run};

use crate::execution::{Driver, Job};
use crate::experiment::Experiment;
use crate::failure::Failure;
use crate::port::Fabric;

/// A scenario to be run, and how.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) experiment: Experiment,
    /// Who moves the packets
    #[arg(long, value_enum, default_value_t, value_name = "DRIVER")]
    pub(crate) on: Driver,
    #[command(flatten)]
    fabric: Fabric,
    /// Runs at a time, all processors unless given, in the lab always one; results do not depend on it
    #[arg(short, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// The folder: runs/NAME-SEED unless given, runs/NAME-sweep for many runs
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
    /// No progress bar and no warnings
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Say on stderr what runs, where its results go, and what it cost
    #[arg(short, long, conflicts_with = "quiet")]
    pub(crate) verbose: bool,
}

/// The workers that `-j` asks for.
pub(crate) fn workers(jobs: Option<NonZeroUsize>) -> NonZeroUsize {
    let all = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    jobs.unwrap_or_else(all)
}

impl RunArgs {
    /// Enters the lab if that is asked for, while there is one thread only; then reads the scenario.
    ///
    /// # Errors
    /// A lab that this machine does not grant, options that do not fit, a scenario that is wrong.
    pub(crate) fn runs(&self) -> Result<Vec<Run>, Failure> {
        if self.on == Driver::Lab {
            lab::privilege::acquire()?;
        } else if self.fabric != Fabric::default() {
            let help = "leave them out, or run on real packets: --on lab";
            return Err(Failure::usage("--port and --sleep are for the lab", help));
        }
        Ok(self.experiment.read()?.runs()?)
    }

    /// What a command line says of who moves the packets.
    pub(crate) fn driver_words(&self) -> Vec<String> {
        self.on.words(self.fabric)
    }

    /// How many runs at a time: real time is not shared.
    pub(crate) fn workers(&self) -> NonZeroUsize {
        if self.on == Driver::Lab { NonZeroUsize::MIN } else { workers(self.jobs) }
    }

    /// A run's job, its folder to be told by what its plan says.
    pub(crate) fn job(
        &self,
        run: &Run,
        folder: impl FnOnce(&Plan) -> PathBuf,
    ) -> Result<Job, Failure> {
        let mut plan = run.plan()?;
        let lock = scenario::lock(&plan);
        let left_out = match self.on {
            Driver::Simulator => {
                simulate::refusal::check(&plan)?;
                simulate::leave_out(&mut plan)
            }
            Driver::Lab => {
                lab::refusal::check(&plan)?;
                Vec::new()
            }
        };
        Ok(Job {
            driver: self.on,
            fabric: self.fabric,
            folder: folder(&plan),
            lock,
            left_out,
            command: [self.experiment.command(&run.parameters), self.driver_words()].concat(),
            plan,
        })
    }
}
