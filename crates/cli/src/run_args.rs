//! Common arguments of `run` and `sweep`: the scenario, the driver, and the folder of the results.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use clap::builder::TypedValueParser;
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
    /// Number of cores for each run of modelled hosts; results do not depend on it [default: 1]
    #[arg(long, value_name = "N", value_parser = cores())]
    cores: Option<NonZeroUsize>,
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

/// The parser of `--cores`.
fn cores() -> impl TypedValueParser<Value = NonZeroUsize> {
    let range = clap::value_parser!(u64).range(1..=CORES_MAX);
    range.map(|cores| NonZeroUsize::new(cores as usize).unwrap_or(NonZeroUsize::MIN))
}

/// The maximum of `--cores`: each part of a run takes some memory for the others' nodes and links.
const CORES_MAX: u64 = 256;

/// The number of workers that `-j` requests.
pub(crate) fn workers(jobs: Option<NonZeroUsize>) -> NonZeroUsize {
    let all = || std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    jobs.unwrap_or_else(all)
}

impl RunArgs {
    /// The driver.
    pub(crate) fn driver(&self) -> DriverChoice {
        let mut driver = self.on.with(self.fabric, self.qdisc);
        driver.options.cores = self.cores;
        driver
    }

    /// Enters the lab if it is requested, while there is only one thread; then reads the scenario, possibly
    /// from stdin.
    ///
    /// # Errors
    /// A lab that this machine does not permit, or options that do not fit together.
    pub(crate) fn experiment(&self) -> Result<Experiment, Failure> {
        self.on.check(self.fabric, self.qdisc)?;
        self.on.check_cores(self.cores)?;
        self.driver().acquire()?;
        self.scenario.experiment()
    }

    /// The number of parallel runs: 1 in real time, and by default as many as the processors have cores for.
    pub(crate) fn workers(&self) -> NonZeroUsize {
        if self.on.is_real_time() {
            return NonZeroUsize::MIN;
        }
        let each = self.cores.filter(|_| self.jobs.is_none()).map_or(1, NonZeroUsize::get);
        NonZeroUsize::new(workers(self.jobs).get() / each).unwrap_or(NonZeroUsize::MIN)
    }
}
