//! The parts of a plan that are drawn: boxes for nodes, or for many identical ones, and the links between them.

use std::collections::BTreeMap;

use base::{Duration, Share};
use network::PortId;
use network::impairment::Parameters;
use scenario::Units;
use scenario::plan::{Link, NodeKind, Plan};

use crate::path::path_of;
use record::quantity::{count, share};

/// Boxes and the links between them.
#[derive(Debug)]
pub(super) struct Graph {
    pub(super) boxes: Vec<Box>,
    pub(super) wires: Vec<Wire>,
    /// Whether a box represents several hosts.
    pub(super) grouped: bool,
    /// Nodes for which there was no room.
    pub(super) left_out: usize,
}

/// A node, or several.
#[derive(Clone, Debug)]
pub(super) struct Box {
    pub(super) name: String,
    /// The lines below its name.
    pub(super) lines: Vec<String>,
    pub(super) kind: Kind,
}

/// The kind of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Host,
    Router,
    Emulator,
}

/// A link, in the direction that most flows go.
#[derive(Clone, Debug)]
pub(super) struct Wire {
    /// Boxes.
    pub(super) ends: [usize; 2],
    /// The discipline at each end.
    pub(super) disciplines: [String; 2],
    pub(super) name: String,
    /// Rate, delay, loss.
    pub(super) facts: String,
}

impl Graph {
    /// The graph of `plan` with at most `most` boxes.
    pub(super) fn new(plan: &Plan, most: usize) -> Self {
        let groups = groups(plan, most);
        let mut first: Vec<Vec<usize>> = Vec::new();
        let mut places = BTreeMap::new();
        for (node, &group) in groups.iter().enumerate() {
            let place = *places.entry(group).or_insert_with(|| {
                first.push(Vec::new());
                first.len() - 1
            });
            first[place].push(node);
        }
        let kept = kept(plan, &first, most);
        let boxes: Vec<Box> = kept.iter().map(|&group| node_box(plan, &first[group])).collect();
        let place = |node: usize| {
            let group = places.get(&groups[node])?;
            kept.iter().position(|kept| kept == group)
        };
        let forward = directions(plan);
        let mut wires = Vec::new();
        for (link, forward) in plan.links.iter().zip(forward) {
            let ends = link.ends.each_ref().map(|end| end.node);
            // For identical hosts only the link of the first one is drawn.
            if ends.iter().any(|&node| groups[node] != node) {
                continue;
            }
            if let (Some(a), Some(b)) = (place(ends[0]), place(ends[1])) {
                wires.push(wire(plan, link, [a, b], forward));
            }
        }
        let drawn: usize = kept.iter().map(|&group| first[group].len()).sum();
        Self {
            grouped: kept.iter().any(|&group| first[group].len() > 1),
            left_out: plan.nodes.len() - drawn,
            boxes,
            wires,
        }
    }

    /// Describes the picture in words.
    pub(super) fn description(&self) -> String {
        let wire = |wire: &Wire| {
            let [from, to] = wire.ends.map(|end| self.boxes[end].name.as_str());
            format!("{} from {from} to {to}: {}", wire.name, wire.facts)
        };
        self.wires.iter().map(wire).collect::<Vec<_>>().join("; ")
    }
}

/// Returns for each node the first one that it is drawn with: itself, unless there are too many.
fn groups(plan: &Plan, most: usize) -> Vec<usize> {
    let mut groups: Vec<usize> = (0..plan.nodes.len()).collect();
    if groups.len() <= most {
        return groups;
    }
    let sends = sends(plan);
    let mut links: Vec<Vec<(usize, usize)>> = vec![Vec::new(); groups.len()];
    for (number, link) in plan.links.iter().enumerate() {
        link.ends.iter().enumerate().for_each(|(end, e)| links[e.node].push((number, end)));
    }
    let mut alike = BTreeMap::new();
    for (node, group) in groups.iter_mut().enumerate() {
        let ([(link, end)], NodeKind::Host(_)) = (&links[node][..], &plan.nodes[node].kind) else {
            continue;
        };
        let link = &plan.links[*link];
        let near = discipline(plan, link, *end);
        let far = discipline(plan, link, 1 - end);
        let neighbour = link.ends[1 - end].node;
        let key = (neighbour, sends[node].signum(), facts(plan.units, link), near, far);
        *group = *alike.entry(key).or_insert(node);
    }
    groups
}

/// The groups that are drawn, routers and emulators before hosts where there is no room for all.
fn kept(plan: &Plan, groups: &[Vec<usize>], most: usize) -> Vec<usize> {
    let host = |group: &usize| matches!(plan.nodes[groups[*group][0]].kind, NodeKind::Host(_));
    let mut kept: Vec<usize> = (0..groups.len()).collect();
    kept.sort_by_key(host);
    kept.truncate(most);
    kept.sort_unstable();
    kept
}

/// Returns for each node how many more flows it sends than it receives.
fn sends(plan: &Plan) -> Vec<i64> {
    let mut sends = vec![0; plan.nodes.len()];
    for flow in &plan.flows {
        sends[flow.from] += 1;
        sends[flow.to] -= 1;
    }
    sends
}

/// Returns for each link whether most flows pass it from its first end to its second.
fn directions(plan: &Plan) -> Vec<bool> {
    let mut net = vec![0_i64; plan.links.len()];
    for (number, flow) in plan.flows.iter().enumerate() {
        for (_, PortId(port)) in path_of(plan, number, [flow.source, flow.destination]) {
            net[port as usize / 2] += if port % 2 == 0 { 1 } else { -1 };
        }
    }
    net.into_iter().map(|net| net >= 0).collect()
}

fn node_box(plan: &Plan, nodes: &[usize]) -> Box {
    let node = &plan.nodes[nodes[0]];
    let (kind, mut lines) = match &node.kind {
        NodeKind::Host(_) => (Kind::Host, Vec::new()),
        NodeKind::Router(_) => (Kind::Router, Vec::new()),
        NodeKind::Emulator(emulator) => {
            let rate = plan.units.rate(emulator.rate);
            let delay = plan.units.time.text(emulator.delay.as_secs_f64());
            (Kind::Emulator, vec![format!("{rate}, {delay}"), plan.units.size(emulator.buffer)])
        }
        other => (Kind::Router, vec![other.name().to_owned()]),
    };
    let mut name = node.name.clone();
    if let [_, .., last] = nodes {
        name = format!("{name} … {}", plan.nodes[*last].name);
        lines.push(format!("{} hosts", count(nodes.len() as u64)));
    }
    Box { name, lines, kind }
}

fn wire(plan: &Plan, link: &Link, ends: [usize; 2], forward: bool) -> Wire {
    let mut wire = Wire {
        ends,
        disciplines: [0, 1].map(|end| discipline(plan, link, end)),
        name: link.name.clone(),
        facts: facts(plan.units, link),
    };
    if !forward {
        wire.ends.reverse();
        wire.disciplines.reverse();
    }
    wire
}

/// Returns the discipline for an end's packets. An emulator's port has a buffer, which its box shows.
fn discipline(plan: &Plan, link: &Link, end: usize) -> String {
    let end = &link.ends[end];
    let conditioned = end.conditioner.iter().map(|_| "conditioner");
    let own = end.impairments.iter().filter(|own| {
        let lost = loss(own);
        lost.is_none() || lost != common_loss(link)
    });
    let others = conditioned.chain(own.map(|own| own.name()));
    let others: String = others.map(|name| format!(" + {name}")).collect();
    match plan.nodes[end.node].kind {
        NodeKind::Emulator(_) => others.trim_start_matches(" + ").to_owned(),
        _ => format!("{}{others}", end.queue.name()),
    }
}

fn facts(units: Units, link: &Link) -> String {
    let [there, back] = link.ends.each_ref().map(|end| end.direction);
    let both = |there: String, back: String| {
        if there == back { there } else { format!("{there} there, {back} back") }
    };
    let mut facts = both(units.rate(there.rate), units.rate(back.rate));
    if there.delay.max(back.delay) > Duration::ZERO {
        let text = |delay: Duration| units.time.text(delay.as_secs_f64());
        facts += &format!(", {}", both(text(there.delay), text(back.delay)));
    }
    if let Some(loss) = common_loss(link) {
        facts += &format!(", loss {}", share(f64::from(loss.0) / 2_f64.powi(32)));
    }
    facts
}

/// Returns the share that a link loses at random, if it is equal in both directions.
fn common_loss(link: &Link) -> Option<Share> {
    let [there, back] = [0, 1].map(|end| link.ends[end].impairments.iter().find_map(loss));
    there.filter(|_| there == back)
}

fn loss(parameters: &Parameters) -> Option<Share> {
    if let Parameters::Loss(own) = parameters { Some(own.share) } else { None }
}
