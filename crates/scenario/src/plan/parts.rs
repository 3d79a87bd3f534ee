//! The parts of the results that the entities of a plan have.

use measured::{Part, Quantity};

use super::{Flow, Link, Node, NodeKind, Transport};

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

impl Node {
    /// Whether it sends congestion notifications.
    pub(crate) const fn notifies(&self) -> bool {
        matches!(&self.kind, NodeKind::Switch(switch) if switch.notifies())
    }
}
