//! `[host.NAME]`: an end system.

use network::host::{self, Coalescing};
use network::node::NodeKind;
use network::reaction_point;
use schemars::JsonSchema;
use serde::Deserialize;

use super::machine;
use super::processor::{MACHINE, Processor};
use crate::diagnostic::Problems;
use crate::file::User;
use crate::literal::{line, string};
use crate::lock::node_programs;
use crate::plan::Node;
use crate::setting::{Declared, Named, With, written};
use crate::value::{AddressUnit, Commands, Count, Name, Quantity};

/// The table of a host.
pub(crate) type Host = With<Declared<host::Config>, HostKeys>;

// The settings describe the host.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct HostKeys {
    /// Number of hosts, named NAME.1, NAME.2, …; without it, a single host with the plain name.
    pub(crate) count: Option<Count>,
    /// Address; members of a counted host get the following ones; 10.0.0.1 and so on, in file order, unless given.
    pub(crate) address: Option<Quantity<AddressUnit>>,
    /// TCP stack of its connections; "linux-6" unless given.
    pub(crate) profile: Option<Name>,
    /// Processing costs; none unless given.
    pub(crate) processor: Option<Declared<Processor>>,
    /// Interrupt coalescing of its interfaces; an interrupt per frame unless given.
    pub(crate) coalesce: Option<Declared<Coalescing>>,
    /// Reaction of its interfaces to congestion notifications of switches (`qcn`); the defaults of IEEE 802.1Qau
    /// unless given.
    pub(crate) qcn: Option<Declared<reaction_point::Config>>,
    /// Program that runs during the whole run, in the lab or where the host has a `kernel`: "python3 -m http.server
    /// 80", or several in an array. `{address}` is the host's own.
    pub(crate) program: Option<Commands>,
    /// User of its programs: "nobody" has no privileges and writes only to its own folder, "root" has all privileges
    /// on this machine; "nobody" unless given.
    #[serde(rename = "as")]
    pub(crate) user: Option<User>,
}

impl Named for host::Config {
    const NAME: &'static str = "Host";
}

impl Named for Coalescing {
    const NAME: &'static str = "Coalescing";
}

impl Named for reaction_point::Config {
    const NAME: &'static str = "ReactionPoint";
}

impl Host {
    /// The kind of the node with its settings.
    pub(super) fn kind(&self, problems: &mut Problems) -> Option<NodeKind> {
        let (config, processor, coalesce, qcn) = (
            self.settings.read(problems),
            processor(self, problems),
            coalesce(self, problems),
            reaction_point(self, problems),
        );
        Some(NodeKind::Host(host::Config {
            processor: processor?,
            coalesce: coalesce?,
            qcn: qcn?,
            ..config?
        }))
    }
}

/// The processing costs; `Some(None)` for none.
fn processor(table: &Host, problems: &mut Problems) -> Option<Option<host::Processor>> {
    let Some(processor) = &table.processor else { return Some(None) };
    let machine = processor.scalar(MACHINE.name);
    let machine = machine.map(|named| machine::read(&named.text, &named.span, problems));
    let mut costs = Processor { costs: machine.unwrap_or(Some(host::Processor::FREE))? };
    processor.apply(&mut costs, problems)?;
    let Processor { costs } = costs;
    // Without costs nothing waits, and there is no backlog to model.
    Some((costs != host::Processor::FREE).then_some(costs))
}

/// The interrupt coalescing; `Some(None)` for an interrupt per frame.
fn coalesce(table: &Host, problems: &mut Problems) -> Option<Option<Coalescing>> {
    let Some(coalesce) = &table.coalesce else { return Some(None) };
    if table.processor.is_some() {
        let help = "remove one of them: a modelled processor receives each frame at once";
        problems.push(&coalesce.span, "`coalesce` and `processor` are mutually exclusive", help);
        return None;
    }
    coalesce.read(problems).map(Some)
}

/// The reaction to congestion notifications; `Some(None)` for the standard's defaults.
fn reaction_point(table: &Host, problems: &mut Problems) -> Option<Option<reaction_point::Config>> {
    let Some(qcn) = &table.qcn else { return Some(None) };
    let config = qcn.read(problems)?;
    qcn.accept(config.check(), problems)?;
    Some(Some(config))
}

/// Writes the entries of hosts in a lock file, besides their settings.
pub(crate) fn write(config: &host::Config, members: &[Node], text: &mut String) {
    let node = &members[0];
    line(text, "address", &string(&node.address.to_string()));
    if let Some(processor) = &config.processor {
        for (name, value) in written(processor) {
            line(text, &format!("processor.{name}"), &value);
        }
    }
    if let Some(coalesce) = &config.coalesce {
        for (name, value) in written(coalesce) {
            line(text, &format!("coalesce.{name}"), &value);
        }
    }
    if let Some(qcn) = &config.qcn {
        for (name, value) in written(qcn) {
            line(text, &format!("qcn.{name}"), &value);
        }
    }
    let programs = node_programs(members).unwrap_or_default();
    let programs: Vec<String> = programs.iter().map(|line| string(line)).collect();
    line(text, "program", &format!("[{}]", programs.join(", ")));
    if !node.programs.is_empty() {
        line(text, "as", &string(node.user.name()));
    }
}
