//! Runs a scenario many times into one folder, by the library and nothing else: what callers in other languages are
//! measured against.
//!
//! ```text
//! cargo run --release --package experiment --example runs -- wire.toml 1000 FOLDER
//! ```

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use experiment::{DriverChoice, Experiment, Steering};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [file, count, folder] = words.as_slice() else {
        return Err("give a scenario, a number of runs and a folder".into());
    };
    let (count, folder) = (count.parse::<u64>()?, PathBuf::from(folder));
    let text = Some(std::fs::read_to_string(file)?);
    let interrupted = AtomicBool::new(false);
    for seed in 0..count {
        let text = text.clone();
        let experiment = Experiment { text, seed: Some(seed), ..Experiment::new(file) };
        let steering = Steering { interrupted: &interrupted, progress: &() };
        experiment.run(DriverChoice::default(), Some(folder.clone()), steering)?;
    }
    Ok(())
}
