//! The parts of the results that the entities of a plan have.

use measured::{Part, Quantity};

use super::{Flow, Link, Node, NodeKind, Plan, Transport};

impl Flow {
    /// What it lacks for a quantity, and how a flow gets that; `None` if it has the quantity.
    pub fn lacks(&self, quantity: &Quantity) -> Option<[&'static str; 2]> {
        let (has, lacking) = match quantity.part? {
            Part::Results { counts, lacking, .. } => {
                let own = self.workload().filter(|workload| workload.results() == Some(counts));
                return own.map_or(Some(lacking), |own| own.lacking(quantity.name));
            }
            Part::Datagrams => (
                matches!(self.transport, Transport::Udp(_)),
                ["measured delay", "expect it of a flow with `datagrams` on the same path"],
            ),
            Part::Program => (
                matches!(self.transport, Transport::Program(_)),
                ["packets of a program", "name a flow with `program`"],
            ),
            Part::Completion => (
                self.tcp().is_some() && self.span.bytes.is_some(),
                ["completion times", "set `bytes` for its flows, or name other flows"],
            ),
            Part::Connection => {
                (self.tcp().is_some(), ["round trip time", "name a flow that is a connection"])
            }
            Part::Sojourn
            | Part::Impairments
            | Part::Memory
            | Part::Processor
            | Part::Pauses
            | Part::Notifications => return None,
        };
        (!has).then_some(lacking)
    }
}

impl Link {
    /// Whether the direction from `end` has that part, in a network of these nodes.
    pub fn has(&self, end: usize, part: Part, nodes: &[Node]) -> bool {
        let own = &nodes[self.ends[end].node].kind;
        match part {
            Part::Impairments => !self.ends[end].impairments.is_empty(),
            Part::Pauses => self.ends.iter().any(
                |end| matches!(&nodes[end.node].kind, NodeKind::Switch(switch) if switch.pauses()),
            ),
            Part::Notifications => match own {
                NodeKind::Switch(switch) => switch.notifies(),
                NodeKind::Host(_) => nodes.iter().any(Node::notifies),
                _ => false,
            },
            _ => true,
        }
    }
}

impl Plan {
    /// Whether the node of that number has that part.
    pub fn node_has(&self, node: usize, part: Part) -> bool {
        let kind = &self.nodes[node].kind;
        let has_link = || {
            let ends = self.links.iter().flat_map(|link| [(link, 0), (link, 1)]);
            let mut own = ends.filter(|(link, end)| link.ends[*end].node == node);
            own.any(|(link, end)| link.has(end, part, &self.nodes))
        };
        match (part, kind) {
            (Part::Memory, kind) => matches!(kind, NodeKind::Switch(_)),
            (Part::Pauses, kind) => matches!(kind, NodeKind::Switch(_)) && has_link(),
            (Part::Processor, NodeKind::Host(host)) => host.processor.is_some(),
            (Part::Processor, _) => false,
            _ => has_link(),
        }
    }
}

impl Node {
    /// Whether it sends congestion notifications.
    pub(crate) const fn notifies(&self) -> bool {
        matches!(&self.kind, NodeKind::Switch(switch) if switch.notifies())
    }
}
