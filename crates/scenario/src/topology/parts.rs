//! The parts of a topology: the tables that a shape adds to a scenario.

use std::borrow::Cow;

use network::node::NodeKind;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;

use crate::diagnostic::Problems;
use crate::file::{Link, LinkKeys};
use crate::node::{Host, HostKeys, Plain};
use crate::queue::Queue;
use crate::setting::{Values, table};
use crate::value::{Count, Name, Quantity, RateUnit, Table, TimeUnit};

/// The kinds of nodes between a topology's hosts.
pub(super) const ROUTER: &str = "router";
pub(super) const SWITCH: &str = "switch";

/// The kind of that name.
pub(super) fn kind(kind: &str) -> NodeKind {
    NodeKind::blank(kind).expect("a kind of the registry")
}

/// The settings of a topology's switches; the shape determines their number.
#[derive(Clone, Debug, Deserialize)]
#[serde(transparent)]
pub(crate) struct Switch(Values);

impl JsonSchema for Switch {
    fn schema_name() -> Cow<'static, str> {
        "TopologySwitch".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        table(kind(SWITCH).as_settings(), generator)
    }
}

/// A shape of a topology.
pub(super) trait Shape {
    /// Adds its nodes and links; `None` if one of its numbers is invalid.
    fn build(&self, parts: &mut Parts<'_>, problems: &mut Problems) -> Option<()>;
}

/// The settings of all links and hosts of a topology.
#[derive(Clone, Copy)]
pub(super) struct Common<'f> {
    pub(super) rate: Option<&'f Quantity<RateUnit>>,
    pub(super) delay: Option<&'f Quantity<TimeUnit>>,
    pub(super) queue: Option<&'f Queue>,
    pub(super) switch: Option<&'f Switch>,
    pub(super) profile: Option<&'f Name>,
}

/// The tables that a topology adds to a scenario.
pub(super) struct Parts<'f> {
    pub(super) name: &'f Name,
    pub(super) common: Common<'f>,
    pub(super) hosts: Vec<(Name, Host)>,
    pub(super) routers: Vec<(Name, Plain)>,
    pub(super) switches: Vec<(Name, Plain)>,
    pub(super) links: Vec<(Name, Link)>,
}

/// The way a link joins the nodes of two counted ends.
#[derive(Clone, Copy)]
pub(super) enum Joins {
    /// Nodes with the same number, or all of one end with the single other.
    ByNumber,
    /// All pairs within each of this number of equal parts.
    Groups(u64),
    /// Nodes with the same remainder of their numbers by this divisor.
    Planes(u64),
}

impl Parts<'_> {
    fn named(&self, part: &str) -> Name {
        Name { text: format!("{}-{part}", self.name.text), span: self.name.span.clone() }
    }

    fn count(&self, value: u64) -> Count {
        Count { value, span: self.name.span.clone() }
    }

    pub(super) fn hosts(&mut self, part: &str, count: u64) {
        let (count, profile) = (Some(self.count(count)), self.common.profile.cloned());
        self.hosts
            .push((self.named(part), Host::of(HostKeys { count, profile, ..<_>::default() })));
    }

    /// Adds nodes between the hosts: routers, or switches if the topology has `switch`.
    pub(super) fn routers(&mut self, part: &str, count: u64) {
        let (name, count) = (self.named(part), Some(self.count(count)));
        match self.common.switch {
            None => self.routers.push((name, Plain { count, ..<_>::default() })),
            Some(Switch(settings)) => {
                self.switches.push((name, Plain { count, settings: settings.clone() }));
            }
        }
    }

    /// Adds a link between two parts, at the topology's rate unless `rate` is given.
    pub(super) fn link(
        &mut self,
        part: &str,
        between: [&str; 2],
        joins: Joins,
        rate: Option<&Quantity<RateUnit>>,
    ) {
        let span = self.name.span.clone();
        let usual = || Quantity::of("10 Gbit/s", span.clone());
        let rate = rate.or(self.common.rate).cloned().unwrap_or_else(usual);
        let delay = self.common.delay.cloned().unwrap_or_else(|| Quantity::of("1 us", span));
        let (groups, planes) = match joins {
            Joins::ByNumber => (None, None),
            Joins::Groups(groups) => (Some(self.count(groups)), None),
            Joins::Planes(planes) => (None, Some(self.count(planes))),
        };
        let mut link = Link::of(LinkKeys {
            between: between.map(|part| self.named(part)),
            groups,
            planes,
            trace: None,
            queue: self.common.queue.cloned(),
            at: Table::default(),
        });
        let settings = &mut link.settings.link;
        settings.give("rate", rate.scalar());
        settings.give("delay", delay.scalar());
        self.links.push((self.named(part), link));
    }
}

/// A number of a shape, from `least` to `most`.
pub(super) fn number(
    given: Option<&Count>,
    usual: u64,
    (least, most): (u64, u64),
    problems: &mut Problems,
) -> Option<u64> {
    let Some(given) = given else { return Some(usual) };
    if !(least..=most).contains(&given.value) {
        let message = format!("{} is out of range", given.value);
        problems.push(&given.span, message, format!("give {least} to {most}"));
        return None;
    }
    Some(given.value)
}
