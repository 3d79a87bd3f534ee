//! Effects of a plan's switches on the rest of its network.

use base::{Bytes, DscpMap};
use network::headroom::headroom;

use super::{Link, Node, NodeKind, Plan};

impl Plan {
    /// Whether a switch sends congestion notifications (QCN).
    pub fn has_notifications(&self) -> bool {
        self.nodes.iter().any(Node::notifies)
    }

    /// Whether a switch pauses the far ends of its links.
    pub fn has_pauses(&self) -> bool {
        let pauses = |node: &Node| matches!(&node.kind, NodeKind::Switch(s) if s.pauses());
        self.nodes.iter().any(pauses)
    }

    /// The map from code points to priorities of each host, if it is not the class selector: the host's own map, or
    /// that of its first switch, as a "willing" interface receives it (DCBX, IEEE 802.1Qaz).
    pub fn priorities(&self) -> Vec<Option<DscpMap>> {
        let own = |node: &Node| match &node.kind {
            NodeKind::Host(host) => host.dscp,
            _ => None,
        };
        let mut maps: Vec<_> = self.nodes.iter().map(own).collect();
        for link in &self.links {
            for (end, far) in [(0, 1), (1, 0)].map(|(end, far)| (&link.ends[end], &link.ends[far]))
            {
                if let (NodeKind::Host(_), NodeKind::Switch(switch)) =
                    (&self.nodes[end.node].kind, &self.nodes[far.node].kind)
                {
                    maps[end.node] = maps[end.node].or(switch.dscp);
                }
            }
        }
        maps
    }
}

/// The required headroom of each port of a node.
pub(crate) fn headrooms(node: usize, links: &[Link]) -> impl Iterator<Item = Bytes> {
    links.iter().filter_map(move |link| {
        let near = link.ends.iter().position(|end| end.node == node)?;
        let [out, far] = [near, 1 - near].map(|end| &link.ends[end].direction);
        Some(headroom(far, out, &link.config))
    })
}
