//! `[host.NAME]`: an end system.

use network::host::{self, Coalescing};
use network::node::Kind;
use network::reaction_point;
use schemars::JsonSchema;
use serde::Deserialize;
use traffic::setting::{Field, Setting, Settings, Value};

use super::{Table, machine};
use crate::diagnostic::Problems;
use crate::file::User;
use crate::lock::{line, node_programs, string};
use crate::plan::Node;
use crate::setting::{Declared, Named, With, written};
use crate::value::{AddressUnit, Commands, Count, Name, Quantity};

/// The table of a host.
pub(crate) type Host = With<Declared<host::Config>, HostKeys>;

// What it is, the settings say.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct HostKeys {
    /// How many, named NAME.1, NAME.2, …; without it, one that bears the bare name.
    pub(crate) count: Option<Count>,
    /// Its address, and with a count those that follow; 10.0.0.1 and so on, by place in the file, unless
    /// given.
    pub(crate) address: Option<Quantity<AddressUnit>>,
    /// The TCP stack of its connections; "linux-6" unless given.
    pub(crate) profile: Option<Name>,
    /// What a segment costs its processor; nothing unless given.
    pub(crate) processor: Option<Declared<Processor>>,
    /// How its interfaces tell it of frames; of each at once unless given.
    pub(crate) coalesce: Option<Declared<Coalescing>>,
    /// How its interfaces slow flows down where switches tell of congestion (`qcn`); as IEEE 802.1Qau has it unless given.
    pub(crate) qcn: Option<Declared<reaction_point::Config>>,
    /// What runs there during the whole run, in the lab or where the host has a `kernel`: "python3 -m http.server 80", or several in an
    /// array. `{address}` is the host's own.
    pub(crate) program: Option<Commands>,
    /// As whom its programs run: "nobody" has no rights and writes to its own folder only, "root" may do
    /// everything on this machine; "nobody" unless given.
    #[serde(rename = "as")]
    pub(crate) user: Option<User>,
}

/// A processor as the file describes it: by `machine`, what that one costs, and by the others what is different.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Processor {
    pub(super) costs: host::Processor,
}

/// The machine that the other settings start from, which is read before them.
pub(super) const MACHINE: Setting = Setting {
    name: "machine",
    kind: <String as Field>::KIND.expect("text"),
    required: false,
    range: <String as Field>::RANGE,
    doc: "A machine whose costs are known, \"ideal\" unless given: \"pentium-4-linux-2.4\", \"pentium-4-e1000\", \
          \"pentium-ii-266\", \"pentium-iii-xeon-550\"; or \"file:NAME\", as `suimon cost host` writes one.",
};

impl Settings for Processor {
    fn settings(&self) -> Vec<Setting> {
        [vec![MACHINE], self.costs.settings()].concat()
    }

    fn get(&self, name: &str) -> Option<Value> {
        self.costs.get(name)
    }

    fn set(&mut self, name: &str, value: Value) -> bool {
        name == MACHINE.name || self.costs.set(name, value)
    }

    fn doc(&self) -> &'static str {
        self.costs.doc()
    }
}

impl Named for Processor {
    const NAME: &'static str = "Processor";
}

impl Named for Coalescing {
    const NAME: &'static str = "Coalescing";
}

impl Named for reaction_point::Config {
    const NAME: &'static str = "ReactionPoint";
}

impl Table for Host {
    fn count(&self) -> Option<&Count> {
        self.count.as_ref()
    }

    fn kind(&self, problems: &mut Problems) -> Option<Kind> {
        let (config, processor, coalesce, qcn) = (
            super::config(&self.settings, problems),
            processor(self, problems),
            coalesce(self, problems),
            reaction_point(self, problems),
        );
        Some(Kind::Host(host::Config {
            processor: processor?,
            coalesce: coalesce?,
            qcn: qcn?,
            ..config?
        }))
    }

    fn as_host(&self) -> Option<&Host> {
        Some(self)
    }
}

/// What a segment costs; `Some(None)` for nothing.
fn processor(table: &Host, problems: &mut Problems) -> Option<Option<host::Processor>> {
    let Some(processor) = &table.processor else { return Some(None) };
    let machine = processor.scalar(MACHINE.name);
    let machine = machine.map(|named| machine::read(&named.text, &named.span, problems));
    let mut costs = Processor { costs: machine.unwrap_or(Some(host::Processor::FREE))? };
    processor.adjust(&mut costs, problems)?;
    let Processor { costs } = costs;
    // Where nothing costs time nothing waits, and there is no backlog to model.
    Some((costs != host::Processor::FREE).then_some(costs))
}

/// How frames are told of; `Some(None)` for each at once.
fn coalesce(table: &Host, problems: &mut Problems) -> Option<Option<Coalescing>> {
    let Some(coalesce) = &table.coalesce else { return Some(None) };
    if table.processor.is_some() {
        let help =
            "leave out one: a processor whose work is modelled is told of each frame at once";
        problems.push(&coalesce.span, "`coalesce` beside `processor`", help);
        return None;
    }
    coalesce.read(problems).map(Some)
}

/// How flows are slowed down; `Some(None)` as the standard has it.
fn reaction_point(table: &Host, problems: &mut Problems) -> Option<Option<reaction_point::Config>> {
    let Some(qcn) = &table.qcn else { return Some(None) };
    let config = qcn.read(problems)?;
    qcn.accept(config.check(), problems)?;
    Some(Some(config))
}

/// What a lock file says of hosts beyond their settings.
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
