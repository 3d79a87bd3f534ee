//! The policy of one host of a scenario: the settings that its keys ask for.
//!
//! Only keys that the scenario gives are policy. A profile's other values describe the kernel that is modelled, and this
//! machine has its own.

mod buffers;
mod congestion;
mod draft;
mod line;
mod links;
mod pacing;
mod phases;
mod queues;
mod sysctls;
mod unset;

use scenario::plan::NodeKind;

use super::Change;
use super::journal::Origin;
use base::Fault;

use draft::{Draft, ends};

pub use draft::{Problem, Request};
pub use links::DeviceOption;

/// The policy of a host for this machine.
#[derive(Debug)]
pub struct Policy {
    /// The scenario's host.
    pub origin: Origin,
    /// Every setting that the policy is about, in the order of the changes.
    pub settings: Vec<Change>,
    /// Keys that are left alone, with the reason.
    pub notes: Vec<String>,
    /// What keeps it from being applied.
    pub problems: Vec<Problem>,
}

impl Policy {
    /// The settings of the policy, compared with this machine. Nothing is changed; if the
    /// request permits it, a device whose gaps are to be filled sends up to three thousand gap frames.
    ///
    /// # Errors
    /// If the scenario has no such host, or its links have no device here.
    pub fn of(request: &Request<'_>) -> Result<Self, Fault> {
        let node = host(request)?;
        let attached = links::attach(request, node)?;
        let ends = ends(request.plan, node);
        let mut draft =
            Draft { request, settings: Vec::new(), notes: Vec::new(), problems: Vec::new() };
        if !nix::unistd::geteuid().is_root() {
            draft
                .problem("changing this machine requires root", "sudo suimon host apply FILE HOST");
        }
        congestion::add(&mut draft, &ends, &attached);
        phases::add(&mut draft, &ends);
        buffers::add(&mut draft, &ends);
        sysctls::add(&mut draft, &ends);
        queues::add(&mut draft, &ends, &attached);
        unset::add(&mut draft, &ends);
        unset::add_lacking(&mut draft, node);
        let Draft { settings, notes, problems, .. } = draft;
        let origin = Origin { file: request.file.clone(), host: request.host.to_owned() };
        Ok(Self { origin, settings, notes, problems })
    }

    /// The settings that change.
    pub fn changes(&self) -> Vec<Change> {
        let differs = |change: &&Change| !change.before.is_same(&change.wanted);
        self.settings.iter().filter(differs).cloned().collect()
    }

    /// Whether the policy can be applied.
    ///
    /// # Errors
    /// Everything that is missing.
    pub fn check(&self) -> Result<(), Fault> {
        let Some(first) = self.problems.first() else { return Ok(()) };
        let more = match self.problems.len() - 1 {
            0 => String::new(),
            more => format!(" (and {more} more: suimon host plan)"),
        };
        Err(Fault::lacking(format!("{}{more}", first.what), first.help.clone()))
    }
}

/// The number of the host in the plan.
fn host(request: &Request<'_>) -> Result<usize, Fault> {
    let nodes = &request.plan.nodes;
    let is_host = |kind: &NodeKind| matches!(kind, NodeKind::Host(_));
    let found = nodes.iter().position(|node| node.name == request.host && is_host(&node.kind));
    found.ok_or_else(|| {
        let hosts = nodes.iter().filter(|node| is_host(&node.kind)).map(|node| node.name.as_str());
        let hosts: Vec<&str> = hosts.take(20).collect();
        let message = format!("{} has no host `{}`", request.file, request.host);
        Fault::usage(message, format!("choose one of: {}", hosts.join(", ")))
    })
}
