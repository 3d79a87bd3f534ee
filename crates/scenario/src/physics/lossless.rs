//! Switches that stop the far ends of their links: whether what they lose nothing of has the room that it needs, and
//! whether they could wait for each other in a circle.

use std::collections::{BTreeMap, BTreeSet};

use network::headroom::headroom;
use network::switch;
use traffic::control::PRIORITIES;
use traffic::{Bytes, HostId};

use super::{Hop, Kind, Warning, way};
use crate::plan::{Link, NodeKind, Plan, Transport};

/// The switch at a node, if it stops the far ends of its links.
fn pausing(plan: &Plan, node: usize) -> Option<&switch::Config> {
    match &plan.nodes[node].kind {
        NodeKind::Switch(config) if config.pauses() => Some(config),
        _ => None,
    }
}

/// Links from which more comes in after "stop" than a switch has room for.
pub(super) fn small_headrooms(plan: &Plan) -> Vec<Warning> {
    let ends = plan.links.iter().flat_map(|link| [(link, 0), (link, 1)]);
    let warning = |(link, near): (&Link, usize)| {
        let [own, far] = [near, 1 - near].map(|end| &link.ends[end]);
        let given = pausing(plan, own.node)?.headroom?;
        let needed = headroom(&far.direction, &own.direction, &link.config);
        let (name, from) = (&plan.nodes[own.node].name, &plan.nodes[far.node].name);
        let [has, needs, lost] =
            [given, needed, needed - given].map(|bytes: Bytes| plan.units.size(bytes));
        (given < needed).then(|| Warning {
            kind: Kind::Headroom,
            about: format!("switch {name}"),
            message: format!(
                "`{name}` has a headroom of {has} for what `{from}` sends, which can be {needs} after \"stop\": up to \
                 {lost} of it are lost each time"
            ),
            help: "leave `headroom` out: it is computed for each link".into(),
        })
    };
    ends.filter_map(warning).collect()
}

/// Switches that stop the far ends before a queue is as long as it has to be for marks or notifications: pauses mask them
/// (Zhu et al., SIGCOMM 2015, section 4: the thresholds of ECN have to be reached before those of PFC).
pub(super) fn masked_marks(plan: &Plan) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for (number, node) in plan.nodes.iter().enumerate() {
        let Some(config) = pausing(plan, number) else { continue };
        // A threshold that is a share of what is left is as high as it may be: of an empty memory.
        let shared = config.shared(headrooms(plan, number)).unwrap_or(Bytes(0));
        let (over, under) = config.alpha;
        let xoff = config.xoff.unwrap_or(Bytes(
            u64::try_from(u128::from(shared.0) * u128::from(over) / u128::from(under.max(1)))
                .unwrap_or(u64::MAX),
        ));
        let marks = config.ecn.map(|thresholds| ("ecn", "marks", thresholds.min));
        let told =
            (config.notifies(), ("qcn_set_point", "tells of congestion", config.qcn_set_point));
        let told = told.0.then_some(told.1);
        for (key, what, from) in marks.into_iter().chain(told) {
            if from < xoff {
                continue;
            }
            let [from, xoff] = [from, xoff].map(|bytes| plan.units.size(bytes));
            warnings.push(Warning {
                kind: Kind::Masked,
                about: format!("switch {}", node.name),
                message: format!(
                    "`{}` {what} from {from} of a queue on, and stops who sends to it from {xoff} on (XOFF): of one sender the \
                     queue never gets there",
                    node.name
                ),
                help: format!("lower `{key}`, or raise `xoff`"),
            });
        }
    }
    warnings
}

/// What each port of a node needs as headroom.
fn headrooms(plan: &Plan, node: usize) -> impl Iterator<Item = Bytes> {
    plan.links.iter().filter_map(move |link| {
        let near = link.ends.iter().position(|end| end.node == node)?;
        let [out, far] = [near, 1 - near].map(|end| &link.ends[end].direction);
        Some(headroom(far, out, &link.config))
    })
}

/// A port that a pause may stop, and the priority: `2 * link + end`.
type Stoppable = (usize, usize);

/// Circles in which each switch waits for room in the next one's memory (a cyclic buffer dependency): once all are
/// stopped, none goes on.
pub(super) fn circles(plan: &Plan) -> Vec<Warning> {
    let mut waits_for: BTreeMap<Stoppable, BTreeSet<Stoppable>> = BTreeMap::new();
    let maps = plan.priorities();
    for (number, flow) in plan.flows.iter().enumerate() {
        let priority_from = |HostId(from)| {
            let map = maps[plan.node_of(HostId(from))].unwrap_or_default();
            usize::from(map.priority(flow.header.tos >> 2)) % PRIORITIES
        };
        let there = [flow.source, flow.destination];
        // Datagrams are not answered.
        let back = !matches!(flow.transport, Transport::Udp(_));
        let back = back.then_some([flow.destination, flow.source]);
        for ends in [there].into_iter().chain(back) {
            let priority = priority_from(ends[0]);
            for pair in stopped_hops(plan, number, ends, priority).windows(2) {
                let [before, next] = [pair[0], pair[1]];
                // Only where one leads into the switch that sends the other.
                if let (Some(before), Some(next)) = (before, next) {
                    waits_for.entry((before, priority)).or_default().insert((next, priority));
                }
            }
        }
    }
    circle(&waits_for).map(|ports| warning(plan, &ports)).into_iter().collect()
}

/// The ports on a way, each if the switch behind it may stop that priority there.
fn stopped_hops(
    plan: &Plan,
    flow: usize,
    ends: [HostId; 2],
    priority: usize,
) -> Vec<Option<usize>> {
    let hops = way(plan, flow, ends).map(|(hops, _)| hops).unwrap_or_default();
    let stoppable = |hop: &Hop| {
        let far = plan.links[hop.link].ends[1 - hop.end].node;
        let stops = pausing(plan, far)?.lossless.contains(priority as u8);
        stops.then_some(2 * hop.link + hop.end)
    };
    hops.iter().map(stoppable).collect()
}

/// The first circle that there is.
fn circle(waits_for: &BTreeMap<Stoppable, BTreeSet<Stoppable>>) -> Option<Vec<Stoppable>> {
    let mut done = BTreeSet::new();
    for &start in waits_for.keys() {
        // The way down to where it is, each with those that it waits for and were not yet looked at.
        let mut way: Vec<(Stoppable, Vec<Stoppable>)> = Vec::new();
        let next_of = |port| waits_for.get(&port).into_iter().flatten().copied().collect();
        if !done.contains(&start) {
            way.push((start, next_of(start)));
        }
        while let Some((port, rest)) = way.last_mut() {
            let Some(next) = rest.pop() else {
                done.insert(*port);
                way.pop();
                continue;
            };
            if let Some(begin) = way.iter().position(|&(on_way, _)| on_way == next) {
                return Some(way[begin..].iter().map(|&(port, _)| port).collect());
            }
            if !done.contains(&next) {
                way.push((next, next_of(next)));
            }
        }
    }
    None
}

fn warning(plan: &Plan, ports: &[Stoppable]) -> Warning {
    let name = |&(port, _): &Stoppable| {
        let (link, end) = (&plan.links[port / 2], port % 2);
        format!("{}:{}", plan.nodes[link.ends[end].node].name, link.name)
    };
    let names: Vec<String> = ports.iter().map(name).collect();
    let priority = ports.first().map_or(0, |&(_, priority)| priority);
    Warning {
        kind: Kind::Circle,
        about: names[0].clone(),
        message: format!(
            "priority {priority} can stop without end: {} wait for each other in a circle (cyclic buffer dependency)",
            names.join(", ")
        ),
        help: "let routes go up and then down a tree only, or make the priority lossy at one of these switches".into(),
    }
}
