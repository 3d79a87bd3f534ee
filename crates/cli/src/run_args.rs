//! Common arguments of `run` and `sweep`: the scenario, the driver, and the folder of the results.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use experiment::{DriverChoice, Experiment};

use crate::driver::{self, On, QdiscPlace};
use crate::failure::Failure;
use crate::port::Fabric;
use crate::scenario_args::ScenarioArgs;

/// A scenario to run, and how.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    scenario: ScenarioArgs,
    /// The driver
    #[arg(long, value_parser = driver::parser(), default_value = "simulator", value_name = "DRIVER")]
    pub(crate) on: On,
    #[command(flatten)]
    fabric: Fabric,
    /// The place of the disciplines of hosts with guest kernels [default: that of the scenario, or the card]
    #[arg(long, value_enum, value_name = "PLACE")]
    qdisc: Option<QdiscPlace>,
    /// Number of parallel runs; results do not depend on it [default: the number of CPUs; always 1 in the lab]
    #[arg(short, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// The output folder [default: runs/NAME-SEED, or runs/NAME-sweep for several runs]
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    pub(crate) json: bool,
    /// Show no progress bar and no warnings
    #[arg(short, long)]
    pub(crate) quiet: bool,
    /// Print on stderr what runs, where its results go, and what it cost
    #[arg(short, long, conflicts_with = "quiet")]
    pub(crate) verbose: bool,
}

/// The number of workers that `-j` requests.
pub(crate) fn workers(jobs: Option<NonZeroUsize>) -> NonZeroUsize {
    let all = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    jobs.unwrap_or_else(all)
}

impl RunArgs {
    /// The driver.
    pub(crate) fn driver(&self) -> DriverChoice {
        self.on.with(self.fabric, self.qdisc)
    }

    /// Enters the lab if it is requested, while there is only one thread; then reads the scenario, possibly
    /// from stdin.
    ///
    /// # Errors
    /// A lab that this machine does not permit, or options that do not fit together.
    pub(crate) fn experiment(&self) -> Result<Experiment, Failure> {
        self.on.check(self.fabric, self.qdisc)?;
        self.driver().acquire()?;
        self.scenario.experiment()
    }

    /// The number of parallel runs: 1 in real time.
    pub(crate) fn workers(&self) -> NonZeroUsize {
        if self.on.is_real_time() { NonZeroUsize::MIN } else { workers(self.jobs) }
    }
}
