//! The path that a flow's packets take through a plan.

use base::HostId;
use network::PortId;
use scenario::plan::Plan;

/// Returns each node that a packet of flow number `flow` leaves, with the port that it takes.
pub(super) fn path_of(plan: &Plan, flow: usize, ends: [HostId; 2]) -> Vec<(usize, PortId)> {
    let mut path = Vec::new();
    let [mut node, to] = ends.map(|end| plan.node_of(end));
    // A path passes no node twice.
    while node != to && path.len() < plan.nodes.len() {
        let Some(link) = plan.next_link(node, flow, ends) else { break };
        let ends = &plan.links[link as usize].ends;
        let end = usize::from(ends[0].node != node);
        path.push((node, PortId(2 * link + u32::from(end == 1))));
        node = ends[1 - end].node;
    }
    path
}
