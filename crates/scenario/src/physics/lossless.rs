//! Switches that pause the far ends of their links: checks of the headroom of lossless priorities, and of possible
//! deadlocks.

use std::collections::{BTreeMap, BTreeSet};

use base::Bytes;
use network::headroom::headroom;
use network::switch::{self, PauseBy};

use super::path::{Hop, way};
use super::warning::{Kind, Warning};
use crate::lock::Groups;
use crate::plan::{Link, NodeKind, Plan, Transport};

/// The switch at a node, if it pauses the far ends of its links.
fn pausing(plan: &Plan, node: usize) -> Option<&switch::Config> {
    match &plan.nodes[node].kind {
        NodeKind::Switch(config) if config.pauses() => Some(config),
        _ => None,
    }
}

/// Warns of links with more data in flight after a pause frame than the switch's headroom.
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
                "`{name}` has a headroom of {has} for `{from}`, which can send {needs} after a pause frame: up \
                 to {lost} are lost each time"
            ),
            help: "remove `headroom`: it is then computed for each link".into(),
        })
    };
    ends.filter_map(warning).collect()
}

/// Warns of switches that pause the far ends before a queue reaches its marking or notification threshold: pauses
/// mask them (Zhu et al., SIGCOMM 2015, section 4: ECN thresholds must be reached before those of PFC).
pub(super) fn masked_marks(plan: &Plan) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for (number, node) in plan.nodes.iter().enumerate() {
        let Some(config) = pausing(plan, number) else { continue };
        // A dynamic threshold has its maximum with an empty memory.
        let shared = config.shared(headrooms(plan, number)).unwrap_or(Bytes(0));
        let (over, under) = config.alpha;
        let xoff = config.xoff.unwrap_or(Bytes(
            u64::try_from(u128::from(shared.0) * u128::from(over) / u128::from(under.max(1)))
                .unwrap_or(u64::MAX),
        ));
        let marks = config.ecn.map(|thresholds| ("ecn", "marks", thresholds.min));
        let notifying = (
            config.notifies(),
            ("qcn_set_point", "sends congestion notifications", config.qcn_set_point),
        );
        let notifying = notifying.0.then_some(notifying.1);
        for (key, what, from) in marks.into_iter().chain(notifying) {
            if from < xoff {
                continue;
            }
            let [from, xoff] = [from, xoff].map(|bytes| plan.units.size(bytes));
            warnings.push(Warning {
                kind: Kind::Masked,
                about: format!("switch {}", node.name),
                message: format!(
                    "`{}` {what} from a queue of {from} on, but pauses a sender at {xoff} (XOFF): the queue of \
                     a single sender never gets that long",
                    node.name
                ),
                help: format!("lower `{key}`, or raise `xoff`"),
            });
        }
    }
    warnings
}

/// The required headroom of each port of a node.
fn headrooms(plan: &Plan, node: usize) -> impl Iterator<Item = Bytes> {
    plan.links.iter().filter_map(move |link| {
        let near = link.ends.iter().position(|end| end.node == node)?;
        let [out, far] = [near, 1 - near].map(|end| &link.ends[end].direction);
        Some(headroom(far, out, &link.config))
    })
}

/// A port that a pause can stop, as `2 * link + end`, and the priority.
type Stoppable = (usize, usize);

/// Warns of circles in which each switch waits for space in the next one's memory (a cyclic buffer dependency): a
/// deadlock.
pub(super) fn circles(plan: &Plan) -> Vec<Warning> {
    let mut waits_for: BTreeMap<Stoppable, BTreeSet<Stoppable>> = BTreeMap::new();
    for (_, steps) in ways(plan) {
        let stoppable = |step: &Step| {
            let stopped = step.stopped(plan) == Some(true);
            stopped.then_some((2 * step.hop.link + step.hop.end, usize::from(step.sent)))
        };
        for pair in steps.windows(2) {
            // Only if the first step leads into the switch that sends the second.
            if let (Some(before), Some(next)) = (stoppable(&pair[0]), stoppable(&pair[1])) {
                waits_for.entry(before).or_default().insert(next);
            }
        }
    }
    circle(&waits_for).map(|ports| warning(plan, &ports)).into_iter().collect()
}

/// The step of a packet from one node to the next.
struct Step {
    hop: Hop,
    /// The priority at the sender, which a pause frame must name to pause it.
    sent: u8,
    /// The priority at the receiver.
    taken: u8,
}

impl Step {
    /// The node that it leads to.
    fn to(&self, plan: &Plan) -> usize {
        plan.links[self.hop.link].ends[1 - self.hop.end].node
    }

    /// Whether the switch at its end can pause it, if the priority is lossless there: the whole port, or the priority
    /// at the sender (IEEE 802.1Q, 36.1).
    fn stopped(&self, plan: &Plan) -> Option<bool> {
        let switch = pausing(plan, self.to(plan))?;
        let stopped = switch.pause == PauseBy::Port || self.sent == self.taken;
        switch.lossless.contains(self.taken).then_some(stopped)
    }
}

/// The steps of each flow's packets, and of the replies.
fn ways(plan: &Plan) -> Vec<(usize, Vec<Step>)> {
    let maps = plan.priorities();
    let mut ways = Vec::new();
    for (number, flow) in plan.flows.iter().enumerate() {
        let dscp = flow.header.tos >> 2;
        let there = [flow.source, flow.destination];
        // UDP flows have no replies.
        let back = !matches!(flow.transport, Transport::Udp(_));
        let back = back.then_some([flow.destination, flow.source]);
        for ends in [there].into_iter().chain(back) {
            let mut priority = maps[plan.node_of(ends[0])].unwrap_or_default().priority(dscp);
            let hops = way(plan, number, ends).map(|(hops, _)| hops).unwrap_or_default();
            let step = |hop: Hop| {
                let mut step = Step { hop, sent: priority, taken: priority };
                if let NodeKind::Switch(switch) = &plan.nodes[step.to(plan)].kind {
                    step.taken = switch.trust().of_packet(dscp, priority);
                }
                priority = step.taken;
                step
            };
            ways.push((number, hops.into_iter().map(step).collect()));
        }
    }
    ways
}

/// Warns of switches that cannot pause a lossless priority, because the sender has the packets in another priority.
pub(super) fn unstopped(names: &Groups<'_>) -> Vec<Warning> {
    let (plan, mut seen, mut warnings) = (names.plan, BTreeSet::new(), Vec::new());
    for (flow, steps) in ways(plan) {
        for step in steps.iter().filter(|step| step.stopped(plan) == Some(false)) {
            let &Step { ref hop, sent, taken } = step;
            let to = step.to(plan);
            if !seen.insert((to, sent, taken)) {
                continue;
            }
            let from = plan.links[hop.link].ends[hop.end].node;
            let [from, to] = [from, to].map(|node| &plan.nodes[node].name);
            warnings.push(Warning {
                kind: Kind::Unstopped,
                about: format!("switch {to}"),
                message: format!(
                    "`{from}` sends packets of `{}` with priority {sent}, which becomes {taken} in `{to}`: a \
                     pause frame for {taken} does not pause {sent}, and packets without buffer space are lost",
                    names.flow_path(flow)
                ),
                help: "use the same lossless priority on both ends of a link, by `pcp` and `dscp`".into(),
            });
        }
    }
    warnings
}

/// The first circle found.
fn circle(waits_for: &BTreeMap<Stoppable, BTreeSet<Stoppable>>) -> Option<Vec<Stoppable>> {
    let mut done = BTreeSet::new();
    for &start in waits_for.keys() {
        // The current path of the search, each port with its unvisited successors.
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
            "priority {priority} can deadlock: {} wait for each other in a circle (cyclic buffer dependency)",
            names.join(", ")
        ),
        help: "use only routes up and then down a tree, or make the priority lossy at one of these switches".into(),
    }
}
