//! The policy of one host of a scenario: the settings that its keys ask for.
//!
//! Only keys that the scenario gives are policy. A profile's other values describe the kernel that is modelled, and this
//! machine has its own.

mod buffers;
mod congestion;
mod line;
mod links;
mod pacing;
mod phases;
mod queues;
mod sysctls;
mod unset;

use scenario::plan::{Flow, NodeKind, Tcp};
use scenario::{Document, Plan};
use transport::Config;

use super::Change;
use super::error::Error;
use super::journal::Origin;
use super::setting::{Setting, State};

pub use links::DeviceOption;

/// What is asked for.
#[derive(Debug)]
pub struct Request<'a> {
    /// The scenario.
    pub document: &'a Document,
    /// Its plan.
    pub plan: &'a Plan,
    /// The scenario's file, for messages.
    pub file: String,
    /// The name of the host.
    pub host: &'a str,
    /// The devices of its links.
    pub devices: &'a [DeviceOption],
    /// Whether frames may be sent, to find out which of them a device sends.
    pub may_send: bool,
}

/// Something that keeps the policy from being applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// What is missing or impossible.
    pub what: String,
    /// The command or the change of the scenario that helps.
    pub help: String,
}

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
    pub fn of(request: &Request<'_>) -> Result<Self, Error> {
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
    pub fn check(&self) -> Result<(), Error> {
        let Some(first) = self.problems.first() else { return Ok(()) };
        let more = match self.problems.len() - 1 {
            0 => String::new(),
            more => format!(" (and {more} more: suimon host plan)"),
        };
        Err(Error::lacking(format!("{}{more}", first.what), first.help.clone()))
    }
}

/// The number of the host in the plan.
fn host(request: &Request<'_>) -> Result<usize, Error> {
    let nodes = &request.plan.nodes;
    let is_host = |kind: &NodeKind| matches!(kind, NodeKind::Host(_));
    let found = nodes.iter().position(|node| node.name == request.host && is_host(&node.kind));
    found.ok_or_else(|| {
        let hosts = nodes.iter().filter(|node| is_host(&node.kind)).map(|node| node.name.as_str());
        let hosts: Vec<&str> = hosts.take(20).collect();
        let message = format!("{} has no host `{}`", request.file, request.host);
        Error::refused(message, format!("choose one of: {}", hosts.join(", ")))
    })
}

/// The end of a connection at the host.
#[derive(Debug)]
struct FlowEnd<'a> {
    flow: &'a Flow,
    tcp: &'a Tcp,
    config: &'a Config,
    /// Whether it is the sending end.
    sends: bool,
    path: scenario::Path,
}

impl FlowEnd<'_> {
    /// The table of this end's TCP in `[flow.NAME]`.
    const fn table(&self) -> &'static str {
        if self.sends { "tcp" } else { "receiver_tcp" }
    }

    /// The host's link of the flow.
    fn link(&self) -> Option<usize> {
        let links = &self.path.links;
        let hop = if self.sends { links.first() } else { links.last() };
        hop.map(|hop| hop.link)
    }

    /// Whether it writes data.
    fn writes(&self) -> bool {
        self.sends || self.tcp.workload.both_write()
    }

    /// Whether it reads data.
    fn reads(&self) -> bool {
        !self.sends || self.tcp.workload.both_write()
    }
}

/// The connections of a host.
fn ends(plan: &Plan, node: usize) -> Vec<FlowEnd<'_>> {
    let mut ends = Vec::new();
    for (number, flow) in plan.flows.iter().enumerate() {
        let (Some(tcp), Some(path)) = (flow.tcp(), scenario::path(plan, flow, number)) else {
            continue;
        };
        for (at, config, sends) in [(flow.from, &tcp.sender, true), (flow.to, &tcp.receiver, false)]
        {
            if at == node {
                ends.push(FlowEnd { flow, tcp, config, sends, path: path.clone() });
            }
        }
    }
    ends
}

/// A policy under construction.
struct Draft<'a> {
    request: &'a Request<'a>,
    settings: Vec<Change>,
    notes: Vec<String>,
    problems: Vec<Problem>,
}

impl Draft<'_> {
    /// Where the file gives a key of `[TABLE.NAME]`; of the table that a count makes several of, as well.
    fn place(&self, table: &str, name: &str, keys: &[&str]) -> Option<String> {
        let group = name.rsplit_once('.').map(|(group, _)| group);
        [Some(name), group].into_iter().flatten().find_map(|name| {
            let path: Vec<&str> = [table, name].iter().chain(keys).copied().collect();
            self.request.document.place(&path).map(|place| place.to_string())
        })
    }

    fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    fn problem(&mut self, what: impl Into<String>, help: impl Into<String>) {
        let problem = Problem { what: what.into(), help: help.into() };
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    /// Adds a setting, whose present state is read. Another value for the same setting is a problem.
    fn want(&mut self, setting: Setting, wanted: State, why: impl Into<String>) {
        let why = why.into();
        if let Some(other) = self.settings.iter().find(|change| change.setting == setting) {
            if !other.wanted.is_same(&wanted) {
                let name = setting.name();
                let what = format!(
                    "{name} cannot be {} ({why}) and {} ({})",
                    wanted.shown, other.wanted.shown, other.why
                );
                self.problem(what, "give both flows the same value with --set");
            }
            return;
        }
        match setting.read() {
            Ok(before) => self.settings.push(Change { setting, before, wanted, why }),
            Err(error) => {
                let what = format!("{}: {error} ({why})", setting.name());
                self.problem(what, "leave the key out with --set PATH=none, or use a kernel and a device that have it");
            }
        }
    }
}
