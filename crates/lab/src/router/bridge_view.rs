//! The node of a scenario that a router runs, and the nodes that represent the networks on its two sides.

use base::{Duration, HostId};
use network::PortId;
use network::host;
use scenario::Plan;
use scenario::plan::{NodeKind, Probes, Wire};

use super::Port;
use super::interface::{Interface, Medium};
use crate::attachment::{Entry, Place};
use crate::error::Error;

/// A node with two links, in the order of the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BridgeView {
    node: usize,
    /// The node's port on each link, and the node at the far end.
    sides: [(PortId, usize); 2],
}

impl BridgeView {
    /// Finds the node `name`, or the only node that forwards.
    pub(super) fn find(plan: &Plan, name: Option<&str>) -> Result<Self, Error> {
        let node = node(plan, name)?;
        let ends = plan.links.iter().enumerate().flat_map(|(number, link)| {
            let at =
                move |end: usize| (2 * number + end, link.ends[end].node, link.ends[1 - end].node);
            [at(0), at(1)]
        });
        let sides = ends.filter(|&(_, near, _)| near == node);
        let sides: Vec<_> = sides.map(|(port, _, far)| (PortId(port as u32), far)).collect();
        let name = &plan.nodes[node].name;
        match *sides.as_slice() {
            [first, second] if first.1 != second.1 => Ok(Self { node, sides: [first, second] }),
            [_, _] => {
                let message = format!("both links of `{name}` lead to the same node");
                Err(Error::unfit(message, "connect each to a separate host"))
            }
            _ => {
                let message = format!("`{name}` has {} links, but a router needs two", sides.len());
                Err(Error::unfit(message, "choose a node with two links with --node"))
            }
        }
    }

    /// The plan in which only that node is active, without end. Its neighbours represent networks, and gaps are sent as
    /// frames. `delays` is whether sojourn times are recorded.
    pub(super) fn plan_of(&self, plan: &Plan, delays: bool) -> Plan {
        let mut plan = Plan {
            duration: Duration::MAX,
            changes: Vec::new(),
            probes: Probes { delays, ..Probes::default() },
            ..plan.clone()
        };
        for (port, far) in self.sides {
            plan.nodes[far].kind = NodeKind::Host(host::Config::default());
            plan.links[port.0 as usize / 2].lab.wire = Wire::Frames;
        }
        plan
    }

    /// The place of each interface at the node.
    pub(super) fn places(&self, interfaces: &[Interface; 2]) -> [Place; 2] {
        [0, 1].map(|side| {
            let (port, source) = self.sides[side];
            let (_, destination) = self.sides[1 - side];
            Place {
                interface: interfaces[side].index,
                entry: Entry::Wire {
                    by: PortId(port.0 ^ 1),
                    source: HostId(source as u32),
                    destination: HostId(destination as u32),
                },
                fed_by: port,
                gaps_from: interfaces[side].address,
                pending_checksums: interfaces[side].medium != Medium::Wire,
            }
        })
    }

    /// The node's ports.
    pub(super) fn ports(&self, plan: &Plan, interfaces: &[Interface; 2]) -> [Port; 2] {
        [0, 1].map(|side| {
            let (id, _) = self.sides[side];
            let link = &plan.links[id.0 as usize / 2];
            let name = format!("{}:{}", plan.nodes[self.node].name, link.name);
            Port { name, id, interface: interfaces[side].name.clone() }
        })
    }

    /// Adds a note for each interface whose MTU is larger than its link's.
    pub(super) fn compare_mtus(
        &self,
        plan: &Plan,
        interfaces: &[Interface; 2],
        notes: &mut Vec<String>,
    ) {
        for (Interface { name, mtu, .. }, (port, _)) in interfaces.iter().zip(self.sides) {
            let link = &plan.links[port.0 as usize / 2];
            if u64::from(*mtu) > link.config.mtu.0 {
                notes.push(format!(
                    "{name} accepts datagrams of {mtu} bytes, but link {} drops those above {}: \
                     set the link's mtu",
                    link.name, link.config.mtu.0
                ));
            }
        }
    }
}

fn node(plan: &Plan, name: Option<&str>) -> Result<usize, Error> {
    let forwards = |kind: &NodeKind| !matches!(kind, NodeKind::Host(_));
    let all = || plan.nodes.iter().enumerate().filter(|(_, node)| forwards(&node.kind));
    let names = || all().map(|(_, node)| node.name.as_str()).collect::<Vec<_>>().join(", ");
    if let Some(name) = name {
        let found = all().find(|(_, node)| node.name == name).map(|(number, _)| number);
        let message = || format!("there is no router or emulator `{name}`");
        return found.ok_or_else(|| Error::unfit(message(), format!("choose one of {}", names())));
    }
    match all().map(|(number, _)| number).collect::<Vec<_>>().as_slice() {
        &[only] => Ok(only),
        [] => {
            let help = "add [router.r] and its two links, or start from `suimon init`";
            Err(Error::unfit("the scenario has no router", help))
        }
        _ => {
            let message = format!("the scenario has several routers: {}", names());
            Err(Error::unfit(message, "choose one with --node"))
        }
    }
}
