//! `[host.NAME]`: an end system.

use network::host;
use network::node::Kind;
use schemars::JsonSchema;
use serde::Deserialize;
use traffic::Duration;

use super::Table;
use crate::diagnostic::Problems;
use crate::file::User;
use crate::lock::{line, node_programs, string, time};
use crate::plan::Node;
use crate::setting::{Declared, With};
use crate::value::{AddressUnit, Commands, Count, Name, Quantity, TimeUnit};

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
    pub(crate) processor: Option<Processor>,
    /// What runs there during the whole run, in the lab: "python3 -m http.server 80", or several in an
    /// array. `{address}` is the host's own.
    pub(crate) program: Option<Commands>,
    /// As whom its programs run: "nobody" has no rights and writes to its own folder only, "root" may do
    /// everything on this machine; "nobody" unless given.
    #[serde(rename = "as")]
    pub(crate) user: Option<User>,
}

/// What a segment costs a host's processor. What is not given is the machine's, or free.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Processor {
    /// A machine whose costs are known; "ideal" unless given.
    pub(crate) machine: Option<Machine>,
    /// For each segment received.
    pub(crate) per_segment: Option<Quantity<TimeUnit>>,
    /// For each entry of the retransmission queue that an ACK makes the stack walk.
    pub(crate) per_walked: Option<Quantity<TimeUnit>>,
    /// Segments that may wait (Linux: netdev_max_backlog).
    pub(crate) backlog: Option<Count>,
    /// Whether a backlog that overflowed takes nothing before it is empty, as in Linux 2.4.
    pub(crate) throttle: Option<bool>,
}

/// A machine by name.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
pub(crate) enum Machine {
    /// Takes no time for a segment.
    #[serde(rename = "ideal")]
    Ideal,
    /// Paper 0's: a Pentium 4 of 2.8 GHz with Linux 2.4.26, calibrated to that paper's tables 4 to 6.
    #[serde(rename = "pentium-4-linux-2.4")]
    Pentium4Linux24,
}

impl Table for Host {
    fn count(&self) -> Option<&Count> {
        self.count.as_ref()
    }

    fn kind(&self, problems: &mut Problems) -> Option<Kind> {
        let (config, processor) =
            (super::config(&self.settings, problems), processor(self, problems));
        Some(Kind::Host(host::Config { processor: processor?, ..config? }))
    }

    fn as_host(&self) -> Option<&Host> {
        Some(self)
    }
}

/// What a segment costs; `Some(None)` for nothing.
fn processor(table: &Host, problems: &mut Problems) -> Option<Option<host::Processor>> {
    let Some(processor) = &table.processor else { return Some(None) };
    let machine = match processor.machine {
        Some(Machine::Pentium4Linux24) => Some(host::Processor::PENTIUM_4_LINUX_2_4),
        Some(Machine::Ideal) | None => None,
    };
    let usual = machine.unwrap_or(host::Processor::FREE);
    let mut time = |given: &Option<Quantity<TimeUnit>>, usual: Duration| match given {
        Some(quantity) => quantity.read(problems),
        None => Some(usual),
    };
    let per_segment = time(&processor.per_segment, usual.per_segment);
    let per_walked = time(&processor.per_walked, usual.per_walked);
    let backlog = match &processor.backlog {
        Some(count) => backlog(count, problems),
        None => Some(usual.backlog),
    };
    let costs = host::Processor {
        per_segment: per_segment?,
        per_walked: per_walked?,
        backlog: backlog?,
        throttle: processor.throttle.unwrap_or(usual.throttle),
    };
    // Where nothing costs time nothing waits, and there is no backlog to model.
    let Processor { per_segment, per_walked, backlog, throttle, .. } = processor;
    let given = per_segment.is_some() || per_walked.is_some() || backlog.is_some();
    let modelled = machine.is_some() || given || throttle.is_some();
    Some(modelled.then_some(costs))
}

fn backlog(count: &Count, problems: &mut Problems) -> Option<u32> {
    let backlog = u32::try_from(count.value).ok().filter(|&n| n > 0);
    if backlog.is_none() {
        let message = format!("a backlog of {} segments", count.value);
        problems.push(&count.span, message, "give 1 to 4294967295; Linux has 300 to 1000");
    }
    backlog
}

/// What a lock file says of hosts beyond their settings.
pub(crate) fn write(config: &host::Config, members: &[Node], text: &mut String) {
    let node = &members[0];
    line(text, "address", &string(&node.address.to_string()));
    if let Some(processor) = &config.processor {
        line(text, "processor.per_segment", &time(processor.per_segment));
        line(text, "processor.per_walked", &time(processor.per_walked));
        line(text, "processor.backlog", &processor.backlog.to_string());
        line(text, "processor.throttle", &processor.throttle.to_string());
    }
    let programs = node_programs(members).unwrap_or_default();
    let programs: Vec<String> = programs.iter().map(|line| string(line)).collect();
    line(text, "program", &format!("[{}]", programs.join(", ")));
    if !node.programs.is_empty() {
        line(text, "as", &string(node.user.name()));
    }
}
