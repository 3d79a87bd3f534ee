//! What is to be run: a scenario file and what the command line changes in it.

use std::path::{Path, PathBuf};

use clap::Args;
use scenario::Document;

use crate::failure::Failure;

/// A scenario and its changes.
#[derive(Debug, Args)]
pub(crate) struct Experiment {
    /// The scenario; `-` reads it from stdin
    pub(crate) file: PathBuf,
    /// Set a value as if the file said so: --set emulator.wan.buffer=1MiB
    #[arg(long, value_name = "PATH=VALUE")]
    set: Vec<String>,
    /// Run once for each value: --vary emulator.wan.buffer=512KiB,1MiB; a range of 8 values is
    /// link.wan.delay=10ms..200ms/8, one of equal ratios flow.bulk.count=1..64/7log
    #[arg(long, value_name = "PATH=A,B,..")]
    vary: Vec<String>,
    /// Run once for each seed from first to last
    #[arg(long, value_name = "1..8")]
    seeds: Option<String>,
}

impl Experiment {
    /// Reads the file and applies the changes.
    pub(crate) fn read(&self) -> Result<Document, Failure> {
        let text = self.text()?;
        let mut document = Document::parse(&self.file.to_string_lossy(), &text)?;
        for assignment in &self.set {
            document.set(assignment)?;
        }
        for assignment in &self.vary {
            document.vary(assignment)?;
        }
        if let Some(range) = &self.seeds {
            document.seeds(range)?;
        }
        Ok(document)
    }

    fn text(&self) -> Result<String, Failure> {
        let read = if self.file == Path::new("-") {
            std::io::read_to_string(std::io::stdin())
        } else {
            std::fs::read_to_string(&self.file)
        };
        read.map_err(Failure::file(&self.file))
    }

    /// The file's name without folder and ending: what a run is called.
    pub(crate) fn name(&self) -> String {
        let stem = self.file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        stem.filter(|stem| stem != "-").unwrap_or_else(|| "stdin".into())
    }

    /// The words that run it again at one point of its grid, without what cannot change results.
    pub(crate) fn command(&self, parameters: &[(String, String)]) -> Vec<String> {
        let mut words = vec!["suimon".into(), "run".into(), self.file.display().to_string()];
        let pairs = parameters.iter().map(|(path, value)| format!("{path}={value}"));
        for assignment in self.set.iter().cloned().chain(pairs) {
            words.extend(["--set".into(), assignment]);
        }
        words
    }

    /// The words that run the whole grid again, without what cannot change results; `usual` is what a
    /// sweep measures unless told.
    pub(crate) fn sweep_command(&self, measures: &[String], usual: &str) -> Vec<String> {
        let mut words = vec!["suimon".into(), "sweep".into(), self.file.display().to_string()];
        let mut option = |name: &str, value: &str| words.extend([name.into(), value.into()]);
        self.set.iter().for_each(|assignment| option("--set", assignment));
        self.vary.iter().for_each(|assignment| option("--vary", assignment));
        self.seeds.iter().for_each(|range| option("--seeds", range));
        if measures != [usual] {
            measures.iter().for_each(|path| option("--measure", path));
        }
        words
    }
}
