//! The hosts with real kernels, and the flows that the simulator can run.

use super::{Flow, NodeKind, Plan};

impl Plan {
    /// Whether the node with that number is a host with a real kernel in the simulator too.
    pub fn has_kernel(&self, node: usize) -> bool {
        matches!(&self.nodes[node].kind, NodeKind::Host(host) if host.kernel.is_some())
    }

    /// Whether the disciplines of the node's ports are qdiscs of its kernel, in the simulator too.
    pub fn has_qdiscs(&self, node: usize) -> bool {
        matches!(&self.nodes[node].kind, NodeKind::Host(host) if host.has_qdiscs())
    }

    /// Whether any host has a real kernel in the simulator.
    pub fn has_kernels(&self) -> bool {
        (0..self.nodes.len()).any(|node| self.has_kernel(node))
    }

    /// Whether the simulator's own stack runs both ends of the flow.
    pub fn is_modelled(&self, flow: &Flow) -> bool {
        !flow.takes_a_kernel() && ![flow.from, flow.to].iter().any(|&end| self.has_kernel(end))
    }

    /// Whether the simulator can run the flow: with its own stack, with kernels at both ends, or as a connection
    /// between the two.
    pub fn is_simulated(&self, flow: &Flow) -> bool {
        let joins = !flow.takes_a_kernel() && flow.tcp().is_some();
        joins || self.is_modelled(flow) || self.has_kernel(flow.from) && self.has_kernel(flow.to)
    }
}
