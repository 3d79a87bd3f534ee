//! Which links and nodes the summary counts rather than lists: those of a topology or a `count` through which nothing
//! went.

use std::collections::BTreeSet;

use measured::{IdleSummary, group_of};
use network::PortId;
use scenario::plan::{Plan, Target};

use crate::totals::Totals;

/// The links and nodes that have an entry.
pub(super) struct Listed {
    /// Whether a link has one, by link.
    pub(super) links: Vec<bool>,
    /// Whether a node has one, by node.
    pub(super) nodes: Vec<bool>,
}

impl Listed {
    pub(super) fn new(plan: &Plan, totals: &Totals) -> Self {
        let named = Named::of(plan);
        let ports = totals.ports.chunks_exact(2);
        let used = ports.map(|ports| !ports.iter().all(|port| port.is_idle()));
        let used: Vec<bool> = used.take(plan.links.len()).collect();
        let mut busy: Vec<bool> = totals.nodes.iter().map(|node| !node.is_idle()).collect();
        busy.resize(plan.nodes.len(), false);
        for (link, _) in plan.links.iter().zip(&used).filter(|(_, used)| **used) {
            link.ends.iter().for_each(|end| busy[end.node] = true);
        }
        let is_single = |name: &str| plan.probes.idle || group_of(name).is_none();
        let links = plan.links.iter().zip(&used);
        let nodes = plan.nodes.iter().zip(&busy);
        Self {
            links: links
                .map(|(l, used)| *used || is_single(&l.name) || named.links.contains(&*l.name))
                .collect(),
            nodes: nodes
                .map(|(n, busy)| *busy || is_single(&n.name) || named.nodes.contains(&*n.name))
                .collect(),
        }
    }

    /// The number of those without an entry.
    pub(super) fn others(&self, plan: &Plan) -> IdleSummary {
        let links = plan.links.iter().map(|link| link.name.as_str()).zip(&self.links);
        let nodes = plan.nodes.iter().map(|node| node.name.as_str()).zip(&self.nodes);
        IdleSummary::of(counted(links), counted(nodes))
    }
}

/// How many are not listed, by the name of their `count`, in the order of the plan.
fn counted<'n>(all: impl Iterator<Item = (&'n str, &'n bool)>) -> Vec<(String, u64)> {
    let mut found: Vec<(String, u64)> = Vec::new();
    for group in all.filter(|(_, listed)| !**listed).filter_map(|(name, _)| group_of(name)) {
        match found.last_mut() {
            Some((last, count)) if last == group => *count += 1,
            _ => found.push((group.to_owned(), 1)),
        }
    }
    found
}

/// Links and nodes that the scenario names one by one, beyond their declaration.
#[derive(Default)]
struct Named<'p> {
    links: BTreeSet<&'p str>,
    nodes: BTreeSet<&'p str>,
}

impl<'p> Named<'p> {
    fn of(plan: &'p Plan) -> Self {
        let mut named = Self::default();
        let expected = plan.expectations.iter().map(|expectation| expectation.path.as_str());
        let compared = plan.comparison.tolerances.iter().map(|tolerance| tolerance.path.as_str());
        expected.chain(compared).for_each(|path| named.add_path(path));
        let probes = &plan.probes;
        let ports = probes.bandwidth.iter().map(|probe| probe.port);
        let ports = ports.chain(probes.sequences.iter().map(|probe| probe.port));
        let ports = ports.chain(probes.captures.iter().map(|probe| probe.port));
        let changed = plan.changes.iter().filter_map(|change| match change.target {
            Target::Port(port, _) => Some(port),
            Target::Sockets(_) => None,
        });
        ports.chain(changed).for_each(|port| named.add_port(plan, port));
        named
    }

    /// Adds what a path is of: each part of it that may be a name.
    fn add_path(&mut self, path: &'p str) {
        let Some((kind, within)) = path.split_once('.') else { return };
        let names = within.match_indices('.').map(|(dot, _)| &within[..dot]);
        match kind {
            "link" => self.links.extend(names),
            "node" | "emulator" => self.nodes.extend(names),
            _ => {}
        }
    }

    fn add_port(&mut self, plan: &'p Plan, port: PortId) {
        let (link, end) = (port.0 as usize / 2, port.0 as usize % 2);
        if let Some(link) = plan.links.get(link) {
            self.links.insert(&link.name);
            self.nodes.insert(&plan.nodes[link.ends[end].node].name);
        }
    }
}
