//! The network of a plan as a picture: senders on the left, receivers on the right, and the nodes between them.

use scenario::plan::Plan;

use super::Section;

mod graph;
mod layers;
mod picture;

use graph::Graph;

/// More boxes are hard to distinguish: identical hosts share a box, and the rest is left out.
const BOXES_MAX: usize = 40;

/// The picture with its legend.
pub(super) fn section(plan: &Plan) -> Section {
    let mut section = Section::new("Topology");
    let graph = Graph::new(plan, BOXES_MAX);
    let description = graph.description();
    let mut caption =
        "Hosts are boxes, routers round, WAN emulators dashed. The discipline of each port is \
                       at its end of the link."
            .to_owned();
    if graph.grouped {
        caption += " Hosts that are alike share a box.";
    }
    if graph.left_out > 0 {
        caption += &match graph.left_out {
            1 => " 1 more node is left out.".to_owned(),
            more => format!(" {more} more nodes are left out."),
        };
    }
    let layers = layers::lay_out(&graph);
    section.picture(&picture::svg(&graph, &layers, &description), &caption);
    section
}
