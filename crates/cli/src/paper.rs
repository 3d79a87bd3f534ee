//! `suimon paper`: reproduces a paper's experiments and compares them with its published values.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use experiment::Steering;
use experiment::paper::{Paper, PaperOptions};

use crate::driver::{self, On, QdiscPlace};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::port::Fabric;
use crate::progress::Progress;
use crate::run_args::workers;
use crate::{interruption, output};

mod costs;
mod render;

/// Reproduce a paper's experiments and compare them with its published values
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The paper; see `suimon list papers`
    paper: String,
    /// Only these tables and figures
    #[arg(long, value_name = "T3,F8", value_delimiter = ',')]
    only: Vec<String>,
    /// The driver; the lab runs experiments one at a time, in real time
    #[arg(long, value_parser = driver::parser(), value_name = "DRIVER", default_value = "simulator")]
    on: On,
    /// The place of the disciplines of hosts with guest kernels [default: that of the scenario, or the card]
    #[arg(long, value_enum, value_name = "PLACE")]
    qdisc: Option<QdiscPlace>,
    /// With real packets, only short experiments: fewer cells, shorter runs
    #[arg(long)]
    quick: bool,
    /// Number of parallel runs; results do not depend on it [default: the number of CPUs]
    #[arg(short, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Folder of the report and of every run [default: runs/PAPER, or runs/PAPER-lab]
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// Show no progress bar
    #[arg(short, long)]
    quiet: bool,
}

/// Runs the experiments of the paper, and checks the results.
pub(crate) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    arguments.on.check(Fabric::default(), arguments.qdisc)?;
    let options = PaperOptions {
        driver: arguments.on.with(Fabric::default(), arguments.qdisc),
        quick: arguments.quick,
        only: arguments.only.clone(),
        out: arguments.out.clone(),
    };
    // The lab is entered while there is only one thread.
    options.driver.acquire()?;
    let paper = Paper::new(&arguments.paper, options)?;
    costs::check(&paper)?;
    let paper = paper.open()?;
    let interrupted = interruption::watch()?;
    let progress = Progress::new(paper.runs(), arguments.quiet);
    // Real-time runs do not share the machine.
    let alone = arguments.on.is_real_time();
    let workers = if alone { NonZeroUsize::MIN } else { workers(arguments.jobs) };
    let steering = Steering { interrupted: &interrupted, progress: &progress };
    let runs = paper.execute(workers, steering);
    progress.finish();
    let mut runs = runs?;
    costs::measure(&mut runs, arguments.quiet)?;
    let outcome = runs.finish()?;
    outcome.notes.iter().for_each(|note| output::note(note));
    if arguments.json {
        output::print_json(&outcome.results())?;
    } else {
        let text = render::text(
            outcome.title(),
            &outcome.items(),
            &outcome.tables(),
            outcome.calibration().as_deref(),
            &outcome.verdict(),
        );
        output::print(&format!("{text}\nreport: {}\n", outcome.report.display()))?;
    }
    let exit = outcome.status().into();
    if exit == Exit::Interrupted {
        output::note("interrupted: items with unfinished runs are left out");
    }
    Ok(exit)
}
