//! Predefined topologies: a table of a few numbers expands to tables of hosts, routers and links.
//!
//! The expansion is ordinary scenario text: `[topology.dc.leaf_spine]` makes the hosts `dc-host.1` and so on, the
//! routers `dc-leaf` and `dc-spine`, and the links `dc-access` and `dc-fabric`. With `switch` the routers are switches
//! that share a packet memory among their ports. Flows, changes, probes and expectations refer to these names, and the
//! lock file has them in place of the topology.

mod dumbbell;
mod fat_tree;
mod leaf_spine;
mod parking_lot;
mod star;

use std::borrow::Cow;

use network::node::NodeKind;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::Deserialize;

use crate::diagnostic::{Problems, Span};
use crate::file::{Link, LinkKeys, Scenario};
use crate::node::{self, Host, Plain};
use crate::queue::Queue;
use crate::setting::{Values, table};
use crate::value::{Count, Name, Quantity, RateUnit, Table, TimeUnit};

/// A topology: exactly one of the shapes, and the settings of all its links and hosts.
macro_rules! topologies {
    ($($(#[doc = $doc:literal])* $key:ident: $module:ident::$shape:ident,)*) => {
        /// A predefined topology of hosts, routers and links. Its parts are named NAME-host and so on.
        #[derive(Clone, Debug, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct Topology {
            $($(#[doc = $doc])* pub(crate) $key: Option<$module::$shape>,)*
            /// Line rate of the links; "10 Gbit/s" unless given.
            pub(crate) rate: Option<Quantity<RateUnit>>,
            /// One-way propagation delay of the links; "1 us" unless given.
            pub(crate) delay: Option<Quantity<TimeUnit>>,
            /// Queueing discipline at both ends of every link; a fifo of 1000 packets unless given.
            pub(crate) queue: Option<Queue>,
            /// Settings of its switches, with the keys of `[switch.NAME]`; plain routers unless given.
            pub(crate) switch: Option<Switch>,
            /// TCP stack of the hosts; "linux-6" unless given.
            pub(crate) profile: Option<Name>,
        }

        impl Topology {
            /// The given shapes; a topology must have exactly one.
            fn shapes(&self) -> Vec<&dyn Shape> {
                let mut shapes: Vec<&dyn Shape> = Vec::new();
                $(shapes.extend(self.$key.as_ref().map(|shape| shape as &dyn Shape));)*
                shapes
            }
        }

        const SHAPES: &[&str] = &[$(stringify!($key)),*];
    };
}

topologies! {
    /// Two routers with a bottleneck between them, and hosts on each side.
    dumbbell: dumbbell::Dumbbell,
    /// Fat tree of k-port switches in three layers, with as many equal paths as cores (Al-Fares and others, SIGCOMM 2008).
    fat_tree: fat_tree::FatTree,
    /// Leaf-spine fabric: every leaf is linked to every spine, and hosts are at the leaves.
    leaf_spine: leaf_spine::LeafSpine,
    /// Chain of routers with a host at each: long flows compete with others at every hop.
    parking_lot: parking_lot::ParkingLot,
    /// Hosts around one switch.
    star: star::Star,
}

/// The kinds of nodes between a topology's hosts.
const ROUTER: &str = "router";
const SWITCH: &str = "switch";

/// The kind of that name.
fn named(kind: &str) -> NodeKind {
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
        table(named(SWITCH).as_settings(), generator)
    }
}

/// A shape of a topology.
trait Shape {
    /// Adds its nodes and links; `None` if one of its numbers is invalid.
    fn build(&self, parts: &mut Parts<'_>, problems: &mut Problems) -> Option<()>;
}

/// The tables that a topology adds to a scenario.
struct Parts<'f> {
    name: &'f Name,
    topology: &'f Topology,
    hosts: Vec<(Name, Host)>,
    routers: Vec<(Name, Plain)>,
    switches: Vec<(Name, Plain)>,
    links: Vec<(Name, Link)>,
}

/// The way a link joins the nodes of two counted ends.
#[derive(Clone, Copy)]
enum Joins {
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

    fn hosts(&mut self, part: &str, count: u64) {
        let (count, profile) = (Some(self.count(count)), self.topology.profile.clone());
        self.hosts.push((
            self.named(part),
            Host::of(node::HostKeys { count, profile, ..<_>::default() }),
        ));
    }

    /// Adds nodes between the hosts: routers, or switches if the topology has `switch`.
    fn routers(&mut self, part: &str, count: u64) {
        let (name, count) = (self.named(part), Some(self.count(count)));
        match &self.topology.switch {
            None => self.routers.push((name, Plain { count, ..<_>::default() })),
            Some(Switch(settings)) => {
                self.switches.push((name, Plain { count, settings: settings.clone() }));
            }
        }
    }

    /// Adds a link between two parts, at the topology's rate unless `rate` is given.
    fn link(
        &mut self,
        part: &str,
        between: [&str; 2],
        joins: Joins,
        rate: Option<&Quantity<RateUnit>>,
    ) {
        let span = self.name.span.clone();
        let usual = || Quantity::of("10 Gbit/s", span.clone());
        let rate = rate.or(self.topology.rate.as_ref()).cloned().unwrap_or_else(usual);
        let delay = self.topology.delay.clone().unwrap_or_else(|| Quantity::of("1 us", span));
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
            queue: self.topology.queue.clone(),
            at: Table::default(),
        });
        let settings = &mut link.settings.0;
        settings.give("rate", rate.scalar());
        settings.give("delay", delay.scalar());
        self.links.push((self.named(part), link));
    }
}

/// A number of a shape, from `least` to `most`.
fn number(
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

/// The scenario with every topology expanded; `None` if it has no topology.
pub(crate) fn expand(file: &Scenario, problems: &mut Problems) -> Option<Scenario> {
    if file.topology.0.is_empty() {
        return None;
    }
    let mut expanded = file.clone();
    for (name, topology) in file.topology.iter() {
        let shapes = topology.shapes();
        let [shape] = shapes[..] else {
            complain(&name.span, &name.text, shapes.len(), problems);
            continue;
        };
        let (hosts, routers, switches, links) = <_>::default();
        let mut parts = Parts { name, topology, hosts, routers, switches, links };
        if shape.build(&mut parts, problems).is_some() {
            let nodes = &mut expanded.settings;
            nodes.hosts.0.extend(parts.hosts);
            nodes.add(named(ROUTER), parts.routers);
            nodes.add(named(SWITCH), parts.switches);
            expanded.link.0.extend(parts.links);
        }
    }
    Some(expanded)
}

fn complain(span: &Span, name: &str, shapes: usize, problems: &mut Problems) {
    let message = match shapes {
        0 => format!("the topology `{name}` has no shape"),
        _ => format!("the topology `{name}` has {shapes} shapes"),
    };
    problems.push(span, message, format!("give it one of {}", SHAPES.join(", ")));
}
