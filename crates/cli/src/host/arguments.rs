//! What the commands of `suimon host` have in common.

use std::path::PathBuf;

use clap::Args;
use experiment::Experiment;
use host::policy::{self, DeviceOption, Policy, Request};

use crate::failure::{self, Failure};

/// A host of a scenario, and the devices of its links.
#[derive(Debug, Args)]
pub(super) struct HostArgs {
    /// The scenario file
    pub(super) file: PathBuf,
    /// The host in the scenario
    pub(super) host: String,
    /// The device of a link of the host; without `LINK=`, of the only one [default: that of the default route]
    #[arg(long, value_name = "LINK=DEVICE")]
    pub(super) device: Vec<DeviceOption>,
    /// Set a value as in the file: --set "flow.bulk.congestion=cubic"
    #[arg(long, value_name = "PATH=VALUE")]
    pub(super) set: Vec<String>,
}

/// The folder of the journal.
#[derive(Debug, Args)]
pub(super) struct StateArgs {
    /// The folder of the journal
    #[arg(long, value_name = "FOLDER", default_value = policy::FOLDER)]
    pub(super) state: PathBuf,
}

impl HostArgs {
    /// The policy for this machine. A scenario without `duration` is accepted: no time passes here.
    pub(super) fn policy(&self, may_send: bool) -> Result<Policy, Failure> {
        let text = std::fs::read_to_string(&self.file).map_err(failure::file(&self.file))?;
        let lacks = text.parse::<toml::Table>().is_ok_and(|table| !table.contains_key("duration"));
        let set = lacks.then(|| "duration=1 s".to_owned()).into_iter().chain(self.set.clone());
        let experiment = Experiment {
            file: self.file.clone(),
            text: Some(text),
            set: set.collect(),
            ..Experiment::default()
        };
        let document = experiment.document()?;
        let plan = document.plan()?;
        let request = Request {
            document: &document,
            plan: &plan,
            file: self.file.display().to_string(),
            host: &self.host,
            devices: &self.device,
            may_send,
        };
        Policy::of(&request)
    }
}

/// Refuses a user who may not change this machine.
pub(super) fn require_root(verb: &str) -> Result<(), Failure> {
    match nix::unistd::geteuid().is_root() {
        true => Ok(()),
        false => Err(Failure::lacking(
            "changing this machine requires root",
            format!("sudo suimon host {verb}"),
        )),
    }
}
