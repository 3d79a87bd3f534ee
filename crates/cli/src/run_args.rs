//! What `run` and `sweep` are both told: a scenario, who runs it, and where its results go.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use experiment::Experiment;

use crate::driver::Driver;
use crate::failure::Failure;
use crate::port::Fabric;
use crate::scenario_args::ScenarioArgs;

/// A scenario to be run, and how.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    scenario: ScenarioArgs,
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
    /// Who moves the packets.
    pub(crate) fn driver(&self) -> experiment::Driver {
        self.on.with(self.fabric)
    }

    /// Enters the lab if that is asked for, while there is one thread only; then reads what is from stdin.
    ///
    /// # Errors
    /// A lab that this machine does not grant, options that do not fit.
    pub(crate) fn experiment(&self) -> Result<Experiment, Failure> {
        if self.on != Driver::Lab && self.fabric != Fabric::default() {
            let help = "leave them out, or run on real packets: --on lab";
            return Err(Failure::usage("--port and --sleep are for the lab", help));
        }
        self.driver().acquire()?;
        self.scenario.experiment()
    }

    /// How many runs at a time: real time is not shared.
    pub(crate) fn workers(&self) -> NonZeroUsize {
        if self.on == Driver::Lab { NonZeroUsize::MIN } else { workers(self.jobs) }
    }
}
