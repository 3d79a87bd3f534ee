//! `suimon demo`: the effect of pacing in a few seconds: a table, a plot and a report.

use std::path::PathBuf;

use clap::Args;
use experiment::{DriverChoice, Job, Outcome, Steering};
use record::{folder, summary::Summary};
use scenario::{Document, Units};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::progress::Progress;
use crate::run::render;
use crate::{interruption, output};

mod picture;

/// The scenario, as in the repository.
const SCENARIO: &str = include_str!("../../../scenarios/demo.toml");
/// Its two flows, and the probes of what each sends, which have the same names.
const FLOWS: [&str; 2] = ["stock", "paced"];

/// Show in a few seconds what pacing does: a run, a plot, a report
#[derive(Debug, Args)]
pub(crate) struct Arguments {
    /// The run folder
    #[arg(short, long, value_name = "DIR", default_value = "runs/demo")]
    out: PathBuf,
    /// Show no progress bar
    #[arg(short, long)]
    quiet: bool,
}

/// Simulates the scenario, and shows the results.
pub(crate) fn run(arguments: &Arguments) -> Result<Exit, Failure> {
    let plan = Document::parse("demo.toml", scenario::without_schema(SCENARIO))?.plan()?;
    let job = Job::new(DriverChoice::default(), plan, arguments.out.clone());
    let interrupted = interruption::watch()?;
    let progress = Progress::new(1, arguments.quiet);
    let outcome = job.execute(Steering { interrupted: &interrupted, progress: &progress });
    progress.finish();
    let outcome = outcome?;
    if !outcome.complete() {
        output::note(&render::interruption(&job.plan, &outcome));
        return outcome.failure.map_or(Ok(Exit::Interrupted), |failure| Err(failure.into()));
    }
    output::print(&text(&outcome, &job)?)?;
    Ok(outcome.status().into())
}

fn text(outcome: &Outcome, job: &Job) -> Result<String, Failure> {
    let results = render::results(outcome, job.plan.units);
    let recording = outcome.recording.as_ref();
    let picture = recording
        .map(|recording| picture::of(recording, &FLOWS, job.plan.units.rate))
        .transpose()?;
    let (picture, words) = (picture.unwrap_or_default(), words(&outcome.summary, job.plan.units));
    let report = job.folder.join(folder::REPORT);
    Ok(format!("{results}\n{picture}\n{words}\nreport: {}\n", report.display()))
}

/// The result in two lines.
fn words(summary: &Summary, units: Units) -> String {
    let goodput = |flow: &str| summary.flow.get(flow).map_or(0.0, |flow| flow.goodput);
    let [stock, paced] = FLOWS.map(goodput);
    let unit = units.rate.fit([stock, paced]);
    format!(
        "stock: bursts at the rate of the sender's link overflow the router's buffer; goodput {}.\n\
         paced: gap packets pace the same TCP at the path's rate; goodput {}, {:.1} times as much.\n",
        unit.show(stock),
        unit.show(paced),
        paced / stock.max(1.0),
    )
}
