//! Upper limits of a rate, drawn beside it: line rates, and the limits of WAN emulators.

use network::PortId;
use scenario::plan::NodeKind;
use scenario::{Plan, Unit};

use crate::chart::Mark;
use crate::path::path_of;

/// Limits much above the data would compress them, and are not drawn.
const MARK_ABOVE: f64 = 2.5;
/// More limits than these are hard to distinguish.
const MARKS_MAX: usize = 3;

/// The limit of a rate, bytes a second.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Limit {
    pub(super) name: String,
    pub(super) rate: f64,
}

/// The line rate of a port.
pub(super) fn line_rate(plan: &Plan, port: PortId) -> Limit {
    let link = &plan.links[port.0 as usize / 2];
    let rate = link.ends[port.0 as usize % 2].direction.rate.bits_per_second() as f64 / 8.0;
    Limit { name: format!("line rate of {}", link.name), rate }
}

/// The limit of a node that is a WAN emulator.
pub(super) fn emulator(plan: &Plan, node: usize) -> Option<Limit> {
    let NodeKind::Emulator(emulator) = &plan.nodes[node].kind else { return None };
    let rate = emulator.rate.bits_per_second() as f64 / 8.0;
    Some(Limit { name: format!("limit of {}", plan.nodes[node].name), rate })
}

/// Returns the bottleneck on the path of each of these flows, each once; none if there are too many.
pub(super) fn bottlenecks(plan: &Plan, flows: impl Iterator<Item = usize>) -> Vec<Limit> {
    let mut found: Vec<Limit> = Vec::new();
    for number in flows {
        let flow = &plan.flows[number];
        let (from, to) = (flow.source, flow.destination);
        let ends = if flow.reader() == flow.to { [from, to] } else { [to, from] };
        let path = path_of(plan, number, ends);
        let limits = path.into_iter().flat_map(|(node, port)| {
            [Some(line_rate(plan, port)), emulator(plan, node)].into_iter().flatten()
        });
        let least = limits.min_by(|a, b| a.rate.total_cmp(&b.rate));
        found.extend(least.filter(|least| !found.contains(least)));
        if found.len() > MARKS_MAX {
            return Vec::new();
        }
    }
    found
}

/// Returns the limits near the largest value, `top`.
pub(super) fn marks(limits: Vec<Limit>, top: f64, unit: Unit) -> Vec<Mark> {
    let near = limits.into_iter().filter(|limit| limit.rate <= MARK_ABOVE * top);
    let mark = |limit: Limit| Mark {
        name: format!("{}, {}", limit.name, unit.show(limit.rate)),
        y: limit.rate / unit.factor(),
    };
    near.map(mark).collect()
}
