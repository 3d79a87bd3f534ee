//! Switches that stop the far ends of their links: whether what they lose nothing of has the room that it needs, and
//! whether they could wait for each other in a circle.

use std::collections::{BTreeMap, BTreeSet};

use network::headroom::headroom;
use network::switch;
use traffic::control::PRIORITIES;
use traffic::{Bytes, HostId, Packet};

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

/// A port that a pause may stop, and the priority: `2 * link + end`.
type Stoppable = (usize, usize);

/// Circles in which each switch waits for room in the next one's memory (a cyclic buffer dependency): once all are
/// stopped, none goes on.
pub(super) fn circles(plan: &Plan) -> Vec<Warning> {
    let mut waits_for: BTreeMap<Stoppable, BTreeSet<Stoppable>> = BTreeMap::new();
    for (number, flow) in plan.flows.iter().enumerate() {
        let priority = usize::from(Packet::priority_of(flow.header.tos)) % PRIORITIES;
        let there = [flow.source, flow.destination];
        // Datagrams are not answered.
        let back = !matches!(flow.transport, Transport::Udp(_));
        let back = back.then_some([flow.destination, flow.source]);
        for ends in [there].into_iter().chain(back) {
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
