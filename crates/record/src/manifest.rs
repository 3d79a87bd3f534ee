//! `manifest.json`: which command made a run folder, on what machine, and whether the run is complete.
//!
//! The only file of a simulated run that may differ between two runs of the same seed.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::lab::LabReport;
use crate::totals::{Cost, Ending};

/// The manifest's name in a run folder.
pub const FILE: &str = "manifest.json";
/// The version of the folder's layout and of its tables.
pub const SCHEMA: u32 = 1;

/// The parameters with which a run was started.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Manifest {
    /// The run's id, which is also in its tables: see [`crate::Provenance`]. The run folder sets it.
    pub run: String,
    /// The build of this version: builds from other sources may have another version of an algorithm.
    #[serde(skip)]
    pub build: String,
    /// The driver: `simulate`, `lab`.
    pub driver: String,
    /// The seed.
    pub seed: u64,
    /// The command line that reproduces the results, without options that cannot change them (number of workers,
    /// folder), so that the report that shows it stays the same.
    pub command: Vec<String>,
    /// The command line as it was given.
    pub arguments: Vec<String>,
    /// The parts of the scenario that the driver left out, in words: those that need a real kernel, in the simulator.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<String>,
    /// The guest kernel of hosts that have one: Linux' version, and a hash of our configuration and patches.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub guest_kernel: Option<String>,
    /// Further information about guests, in words; known at the run's end.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub guest_notes: Vec<String>,
    /// The state of the machine during a run on real packets; known at its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lab: Option<LabReport>,
    /// Whether the disk was full before its end; known then.
    #[serde(skip_serializing_if = "is_false")]
    pub disk_full: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
const fn is_false(value: &bool) -> bool {
    !*value
}

/// The file: the manifest with the version, the machine and the end of the run.
#[derive(Serialize)]
struct File<'a> {
    suimon: &'a str,
    build: &'a str,
    schema: u32,
    #[serde(flatten)]
    manifest: &'a Manifest,
    complete: bool,
    /// Simulated seconds reached; none while it runs.
    simulated_seconds: Option<f64>,
    engine: Option<Cost>,
    environment: Environment,
    /// The length of every other file, in bytes.
    files: &'a BTreeMap<String, u64>,
}

/// The part of a manifest that is read.
#[derive(Debug, Deserialize)]
pub(crate) struct Stored {
    pub(crate) suimon: String,
    #[serde(default)]
    pub(crate) build: String,
    pub(crate) schema: u32,
    pub(crate) driver: String,
    pub(crate) command: Vec<String>,
    pub(crate) complete: bool,
    pub(crate) lab: Option<LabReport>,
    #[serde(default)]
    pub(crate) left_out: Vec<String>,
    #[serde(default)]
    pub(crate) guest_notes: Vec<String>,
    pub(crate) engine: Option<Cost>,
    #[serde(default)]
    pub(crate) environment: Environment,
    #[serde(default)]
    pub(crate) files: BTreeMap<String, u64>,
}

impl Stored {
    /// Reads the manifest in `folder`.
    pub(crate) fn read(folder: &Path) -> Result<Self, Error> {
        crate::stored_run::json(folder, FILE)
    }
}

/// The machine. Fields that it does not report are empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Environment {
    /// Operating system.
    pub os: String,
    /// Processor architecture.
    pub architecture: String,
    /// Kernel release.
    pub kernel: String,
    /// Processor model.
    pub cpu: String,
    /// Processors this process may use.
    pub processors: usize,
}

impl Environment {
    /// Reads this machine's from `/proc`.
    pub fn read() -> Self {
        let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        let cpus = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = cpus.lines().find_map(|line| line.strip_prefix("model name"));
        let model = model.and_then(|rest| rest.split_once(':')).map_or("", |(_, name)| name);
        Self {
            os: std::env::consts::OS.to_owned(),
            architecture: std::env::consts::ARCH.to_owned(),
            kernel: release.trim().to_owned(),
            cpu: model.trim().to_owned(),
            processors: std::thread::available_parallelism().map_or(0, usize::from),
        }
    }
}

impl Manifest {
    /// Returns the file's text; without an ending it says that the run is not complete.
    pub(crate) fn to_json(
        &self,
        ending: Option<Ending>,
        cost: Option<Cost>,
        files: &BTreeMap<String, u64>,
    ) -> Result<String, Error> {
        let file = File {
            suimon: env!("CARGO_PKG_VERSION"),
            build: &self.build,
            schema: SCHEMA,
            manifest: self,
            complete: ending.is_some_and(|ending| ending.complete),
            simulated_seconds: ending.map(|ending| ending.at.as_secs_f64()),
            engine: cost,
            environment: Environment::read(),
            files,
        };
        let text = serde_json::to_string_pretty(&file).map_err(Error::json(Path::new(FILE)))?;
        Ok(text + "\n")
    }
}

/// Notes a new length of a file of `folder`.
///
/// # Errors
/// If the manifest cannot be read or written.
pub(crate) fn set_length(folder: &Path, name: &str, length: u64) -> Result<(), Error> {
    let path = folder.join(FILE);
    let text = crate::regular::read_text(&path).map_err(Error::io(&path))?;
    let key = format!("\"{name}\": ");
    let Some((before, after)) = text.split_once(&key) else { return Ok(()) };
    let rest = after.trim_start_matches(|c: char| c.is_ascii_digit());
    crate::folder::write(&path, &format!("{before}{key}{length}{rest}"))
}
