//! A policy under construction, and what it is made from.

use scenario::plan::{Flow, Tcp};
use scenario::{Document, Plan};
use transport::Config;

use super::super::Change;
use super::super::setting::{Setting, State};
use super::links::DeviceOption;

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

/// The end of a connection at the host.
#[derive(Debug)]
pub(super) struct FlowEnd<'a> {
    pub(super) flow: &'a Flow,
    pub(super) tcp: &'a Tcp,
    pub(super) config: &'a Config,
    /// Whether it is the sending end.
    pub(super) sends: bool,
    pub(super) path: scenario::Path,
}

impl FlowEnd<'_> {
    /// The table of this end's TCP in `[flow.NAME]`.
    pub(super) const fn table(&self) -> &'static str {
        if self.sends { "tcp" } else { "receiver_tcp" }
    }

    /// The host's link of the flow.
    pub(super) fn link(&self) -> Option<usize> {
        let links = &self.path.links;
        let hop = if self.sends { links.first() } else { links.last() };
        hop.map(|hop| hop.link)
    }

    /// Whether it writes data.
    pub(super) fn writes(&self) -> bool {
        self.sends || self.tcp.workload.both_write()
    }

    /// Whether it reads data.
    pub(super) fn reads(&self) -> bool {
        !self.sends || self.tcp.workload.both_write()
    }
}

/// The connections of a host.
pub(super) fn ends(plan: &Plan, node: usize) -> Vec<FlowEnd<'_>> {
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
pub(super) struct Draft<'a> {
    pub(super) request: &'a Request<'a>,
    pub(super) settings: Vec<Change>,
    pub(super) notes: Vec<String>,
    pub(super) problems: Vec<Problem>,
}

impl Draft<'_> {
    /// Where the file gives a key of `[TABLE.NAME]`; of the table that a count makes several of, as well.
    pub(super) fn place(&self, table: &str, name: &str, keys: &[&str]) -> Option<String> {
        let group = name.rsplit_once('.').map(|(group, _)| group);
        [Some(name), group].into_iter().flatten().find_map(|name| {
            let path: Vec<&str> = [table, name].iter().chain(keys).copied().collect();
            self.request.document.place(&path).map(|place| place.to_string())
        })
    }

    pub(super) fn note(&mut self, note: impl Into<String>) {
        let note = note.into();
        if !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }

    pub(super) fn problem(&mut self, what: impl Into<String>, help: impl Into<String>) {
        let problem = Problem { what: what.into(), help: help.into() };
        if !self.problems.contains(&problem) {
            self.problems.push(problem);
        }
    }

    /// Adds a setting, whose present state is read. Another value for the same setting is a problem.
    pub(super) fn want(&mut self, setting: Setting, wanted: State, why: impl Into<String>) {
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
