//! The program that `benches/cost` counts the instructions of.

use std::error::Error;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use clap::Parser;
use cost::{Case, Load, instructions};
use record::folder::{RunFolder, TemporaryFolder};
use record::{Manifest, Recorder, Steering};
use scenario::{Document, Plan};
use serde_json::json;

/// Counts what a packet costs.
#[derive(Debug, Parser)]
enum Command {
    /// Simulate a scenario and record it as `suimon run` does; print its events and packet-hops
    Run {
        /// The scenario
        file: PathBuf,
        /// Set a value as if the file said so
        #[arg(long, value_name = "PATH=VALUE")]
        set: Vec<String>,
    },
    /// Count the instructions of a packet through a discipline
    Discipline {
        /// A discipline, or a queue as in a scenario
        queue: String,
        #[command(flatten)]
        load: Load,
    },
    /// Carry packets for the cases on standard input, under callgrind
    #[command(hide = true)]
    Carry,
}

fn main() -> Result<(), Box<dyn Error>> {
    match Command::parse() {
        Command::Run { file, set } => run(&plan(&file, &set)?),
        Command::Discipline { queue, load } => {
            let counted = instructions::count(&[Case { queue, load }], &["carry"])?;
            println!("{}", json!({ "instructions": counted[0].count }));
            Ok(())
        }
        Command::Carry => {
            let cases: Vec<Case> = serde_json::from_reader(std::io::stdin())?;
            Ok(instructions::carry(&cases)?)
        }
    }
}

/// The plan of a scenario file with `set` changed.
fn plan(file: &Path, set: &[String]) -> Result<Plan, Box<dyn Error>> {
    let mut document = Document::parse(&file.to_string_lossy(), &fs::read_to_string(file)?)?;
    for assignment in set {
        document.set(assignment)?;
    }
    Ok(document.plan()?)
}

/// Runs `plan`, with a recorder if a probe asks for one, into a folder that goes.
fn run(plan: &Plan) -> Result<(), Box<dyn Error>> {
    let folder = TemporaryFolder::new_in(&std::env::temp_dir(), "suimon-gate-")?;
    let run = RunFolder::create(&folder.path().join("run"), manifest(plan), &scenario::lock(plan))?;
    let interrupted = AtomicBool::new(false);
    let steering = Steering { interrupted: &interrupted, progress: &|_| {} };
    let totals = if Recorder::is_needed(plan) {
        let mut recorder = Recorder::in_folder(plan, run.files())?;
        let totals = simulate::run(plan, &mut recorder, steering)?;
        recorder.finish(&totals)?;
        totals
    } else {
        simulate::run(plan, &mut (), steering)?
    };
    let engine = &totals.engine;
    println!("{}", json!({ "packet_hops": engine.packet_hops, "events": engine.events }));
    Ok(())
}

fn manifest(plan: &Plan) -> Manifest {
    Manifest {
        run: String::new(),
        build: String::new(),
        driver: "simulate".into(),
        seed: plan.seed,
        command: Vec::new(),
        arguments: Vec::new(),
        left_out: Vec::new(),
        guest_kernel: None,
        guest_notes: Vec::new(),
        lab: None,
        disk_full: false,
    }
}
