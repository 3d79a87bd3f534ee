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
mod parts;
mod star;

use schemars::JsonSchema;
use serde::Deserialize;

use crate::diagnostic::{Problems, Span};
use crate::file::Link;
use crate::node::Nodes;
use crate::queue::Queue;
use crate::value::{Name, Quantity, RateUnit, Table, TimeUnit};
use parts::{Common, Parts, ROUTER, SWITCH, Shape, Switch, kind};

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
            /// What all its links and hosts have.
            fn common(&self) -> Common<'_> {
                Common {
                    rate: self.rate.as_ref(),
                    delay: self.delay.as_ref(),
                    queue: self.queue.as_ref(),
                    switch: self.switch.as_ref(),
                    profile: self.profile.as_ref(),
                }
            }

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

/// Adds the nodes and links of the topologies to those of the scenario.
pub(crate) fn expand(
    topologies: &Table<Topology>,
    (nodes, links): (&mut Nodes, &mut Table<Link>),
    problems: &mut Problems,
) {
    for (name, topology) in topologies.iter() {
        let shapes = topology.shapes();
        let [shape] = shapes[..] else {
            complain(&name.span, &name.text, shapes.len(), problems);
            continue;
        };
        let common = topology.common();
        let (hosts, routers, switches, links_of) = <_>::default();
        let mut parts = Parts { name, common, hosts, routers, switches, links: links_of };
        if shape.build(&mut parts, problems).is_some() {
            nodes.hosts.0.extend(parts.hosts);
            nodes.add(kind(ROUTER), parts.routers);
            nodes.add(kind(SWITCH), parts.switches);
            links.0.extend(parts.links);
        }
    }
}

fn complain(span: &Span, name: &str, shapes: usize, problems: &mut Problems) {
    let message = match shapes {
        0 => format!("the topology `{name}` has no shape"),
        _ => format!("the topology `{name}` has {shapes} shapes"),
    };
    problems.push(span, message, format!("give it one of {}", SHAPES.join(", ")));
}
