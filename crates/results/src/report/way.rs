//! The way that a flow's packets take through a plan.

use network::PortId;
use scenario::plan::Plan;

/// Each node that a packet leaves on its way, with the port it takes.
pub(super) fn way(plan: &Plan, from: usize, to: usize) -> Vec<(usize, PortId)> {
    let mut way = Vec::new();
    let mut node = from;
    // A way passes no node twice.
    while node != to && way.len() < plan.nodes.len() {
        let Some(link) = plan.routes.next(node, to) else { break };
        let ends = &plan.links[link as usize].ends;
        let end = usize::from(ends[0].node != node);
        way.push((node, PortId(2 * link + u32::from(end == 1))));
        node = ends[1 - end].node;
    }
    way
}
