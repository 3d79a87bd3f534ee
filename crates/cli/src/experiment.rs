//! What is to be run: a scenario file and what the command line changes in it.

use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::FileTypeExt;
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
    /// The seed of everything random, in place of the file's
    #[arg(long, value_name = "N", conflicts_with = "seeds")]
    seed: Option<u64>,
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
        if let Some(seed) = self.seed {
            document.set(&format!("seed={seed}"))?;
        }
        for assignment in &self.vary {
            document.vary(assignment)?;
        }
        if let Some(range) = &self.seeds {
            document.seeds(range)?;
        }
        for name in document.files() {
            let path = self.beside(&name);
            let text = open(&path).and_then(read).map_err(Failure::file(&path))?;
            document.supply(name, text);
        }
        Ok(document)
    }

    /// The path of a file that the scenario names: it counts from the scenario's folder.
    fn beside(&self, name: &str) -> PathBuf {
        self.file.parent().map_or_else(|| name.into(), |folder| folder.join(name))
    }

    fn text(&self) -> Result<String, Failure> {
        let read = if self.file == Path::new("-") {
            read(std::io::stdin())
        } else {
            open(&self.file).and_then(read)
        };
        read.map_err(Failure::file(&self.file))
    }

    /// The file's name without folder and ending: what a run is called.
    pub(crate) fn name(&self) -> String {
        let stem = self.file.file_stem().map(|stem| stem.to_string_lossy().into_owned());
        stem.filter(|stem| stem != "-").unwrap_or_else(|| "stdin".into())
    }

    /// Whether the command line changes nothing in the file.
    pub(crate) fn is_plain(&self) -> bool {
        self.set.is_empty() && self.vary.is_empty() && self.seeds.is_none()
    }

    /// The words that run it again at one point of its grid, without what cannot change results.
    pub(crate) fn command(&self, parameters: &[(String, String)]) -> Vec<String> {
        let mut words = vec!["suimon".into(), "run".into(), self.file.display().to_string()];
        let pairs = parameters.iter().map(|(path, value)| format!("{path}={value}"));
        for assignment in self.set.iter().cloned().chain(pairs) {
            words.extend(["--set".into(), assignment]);
        }
        words.extend(self.seed.into_iter().flat_map(seed_option));
        words
    }

    /// The words that run the whole grid again, without what cannot change results; `usual` is what a
    /// sweep measures unless told.
    pub(crate) fn sweep_command(&self, measures: &[String], usual: &str) -> Vec<String> {
        let mut words = vec!["suimon".into(), "sweep".into(), self.file.display().to_string()];
        let mut option = |name: &str, value: &str| words.extend([name.into(), value.into()]);
        self.set.iter().for_each(|assignment| option("--set", assignment));
        self.seed.iter().for_each(|seed| option("--seed", &seed.to_string()));
        self.vary.iter().for_each(|assignment| option("--vary", assignment));
        self.seeds.iter().for_each(|range| option("--seeds", range));
        if measures != [usual] {
            measures.iter().for_each(|path| option("--measure", path));
        }
        words
    }
}

fn seed_option(seed: u64) -> [String; 2] {
    ["--seed".into(), seed.to_string()]
}

/// More is no scenario: the parser says where its own limit lies.
const BYTES_MAX: u64 = 64 << 20;

/// Opens a file or a pipe, but no device, which need not have an end.
fn open(path: &Path) -> io::Result<File> {
    let kind = std::fs::metadata(path)?.file_type();
    if kind.is_char_device() || kind.is_block_device() {
        let why = "it is a device: name a file, or `-` for stdin";
        return Err(io::Error::new(ErrorKind::InvalidInput, why));
    }
    File::open(path)
}

/// Reads to the end, if that comes before too much.
fn read(source: impl Read) -> io::Result<String> {
    let mut bytes = Vec::new();
    source.take(BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > BYTES_MAX {
        let why = format!("longer than {} MiB, which no scenario is", BYTES_MAX >> 20);
        return Err(io::Error::new(ErrorKind::FileTooLarge, why));
    }
    let no_text = || io::Error::new(ErrorKind::InvalidData, "stream did not contain valid UTF-8");
    String::from_utf8(bytes).map_err(|_| no_text())
}
