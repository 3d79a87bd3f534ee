//! `suimon paper`: runs a paper's experiments and holds them against its published figures.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::Args;
use experiment::Steering;
use experiment::paper::{Paper, PaperOptions};

use crate::driver::Driver;
use crate::exit::Exit;
use crate::failure::Failure;
use crate::port::Fabric;
use crate::progress::Progress;
use crate::run_args::workers;
use crate::{interruption, output};

mod costs;
mod render;

/// What `paper` is told.
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The paper; `suimon list papers` shows them
    paper: String,
    /// Only these tables and figures
    #[arg(long, value_name = "T3,F8", value_delimiter = ',')]
    only: Vec<String>,
    /// Who moves the packets; the lab's runs take their real time, one after the other
    #[arg(long, value_enum, value_name = "DRIVER", default_value_t)]
    on: Driver,
    /// On real packets only what takes little time: fewer cells, shorter runs
    #[arg(long)]
    quick: bool,
    /// Runs at a time, all processors unless given; results do not depend on it
    #[arg(short, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Where the report and every run's folder go: runs/PAPER or runs/PAPER-lab unless given
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Print one JSON document
    #[arg(long)]
    json: bool,
    /// No progress bar
    #[arg(short, long)]
    quiet: bool,
}

/// Runs what the paper needs, and judges.
pub(crate) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let options = PaperOptions {
        driver: arguments.on.with(Fabric::default()),
        quick: arguments.quick,
        only: arguments.only.clone(),
        out: arguments.out.clone(),
    };
    // The lab is entered while there is one thread only.
    options.driver.acquire()?;
    let paper = Paper::new(&arguments.paper, options)?;
    costs::check(&paper)?;
    let paper = paper.open()?;
    let interrupted = interruption::watch()?;
    let progress = Progress::new(paper.runs(), arguments.quiet);
    // Real time is not shared.
    let alone = arguments.on == Driver::Lab;
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
        output::note("interrupted: items whose runs did not come to their end are left out");
    }
    Ok(exit)
}
