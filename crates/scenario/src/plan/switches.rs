//! What a plan's switches have the rest of its network do.

use network::headroom::headroom;
use traffic::{Bytes, DscpMap};

use super::{Link, Node, NodeKind, Plan};

impl Plan {
    /// Whether a switch tells senders of congestion (QCN).
    pub fn has_notifications(&self) -> bool {
        let notifies = |node: &Node| matches!(&node.kind, NodeKind::Switch(s) if s.notifies());
        self.nodes.iter().any(notifies)
    }

    /// Whether a switch stops the far ends of its links by pause frames.
    pub fn has_pauses(&self) -> bool {
        let pauses = |node: &Node| matches!(&node.kind, NodeKind::Switch(s) if s.pauses());
        self.nodes.iter().any(pauses)
    }

    /// By node which priority a code point has at a host, where that is not its class selector: by the host's own map, or
    /// that of the switch that it hangs on, the first of several, as an interface that is "willing" is told (DCBX,
    /// IEEE 802.1Qaz).
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

/// What each port of a node needs as headroom.
pub(crate) fn headrooms(node: usize, links: &[Link]) -> impl Iterator<Item = Bytes> {
    links.iter().filter_map(move |link| {
        let near = link.ends.iter().position(|end| end.node == node)?;
        let [out, far] = [near, 1 - near].map(|end| &link.ends[end].direction);
        Some(headroom(far, out, &link.config))
    })
}
