//! A scenario and the changes to it on the command line.

use std::path::{Path, PathBuf};

use clap::Args;
use experiment::{Experiment, read_text};

use crate::failure::{self, Failure};

/// A scenario and the changes to it.
#[derive(Debug, Args)]
pub(crate) struct ScenarioArgs {
    /// The scenario file; `-` reads it from stdin
    pub(crate) file: PathBuf,
    /// Set a value as in the file: --set emulator.wan.buffer=1MiB
    #[arg(long, value_name = "PATH=VALUE")]
    set: Vec<String>,
    /// Run once for each value: --vary emulator.wan.buffer=512KiB,1MiB; a range with 8 equal steps is
    /// link.wan.delay=10ms..200ms/8, with equal ratios flow.bulk.count=1..64/7log
    #[arg(long, value_name = "PATH=A,B,..")]
    vary: Vec<String>,
    /// Random seed, instead of the file's
    #[arg(long, value_name = "N", conflicts_with = "seeds")]
    seed: Option<u64>,
    /// Run once for each seed in a range
    #[arg(long, value_name = "1..8")]
    seeds: Option<String>,
}

impl ScenarioArgs {
    /// Reads the experiment; stdin is read to its end.
    pub(crate) fn experiment(&self) -> Result<Experiment, Failure> {
        let text = (self.file == Path::new("-")).then(|| read_text(std::io::stdin()));
        Ok(Experiment {
            file: self.file.clone(),
            text: text.transpose().map_err(failure::file(&self.file))?,
            set: self.set.clone(),
            vary: self.vary.clone(),
            seed: self.seed,
            seeds: self.seeds.clone(),
            ..Experiment::default()
        })
    }

    /// Whether the command line leaves the file unchanged.
    pub(crate) fn is_plain(&self) -> bool {
        self.set.is_empty() && self.vary.is_empty() && self.seeds.is_none()
    }
}
