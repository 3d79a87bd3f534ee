//! Routes by fewest hops: a router spreads flows over all next hops on shortest paths (ECMP, RFC 2992); a host uses
//! the first one in file order.
//!
//! Hosts do not forward, and most have one link: their packets leave by it, and packets for them follow the routes to
//! their router. So the table has rows and columns only for routers, emulators and hosts with several links, and its
//! size does not depend on the number of hosts. An interface of a host with several links is routed as a host with
//! that link alone.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::diagnostic::Problems;
use crate::file::Scenario;
use crate::plan::{Interface, Link, Node, NodeKind};

/// The maximum number of rows: every pair has a route entry of 4 bytes, 256 MiB in all.
const ROWS_MAX: usize = 8_192;

/// The next hops from every node, and every interface with its own address, to every other one. Interfaces are
/// numbered after the nodes, as in packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Routes {
    places: Vec<Place>,
    /// The next-hop set from one of the table's nodes to another, row by row; [`NONE`] without a path.
    table: Vec<u32>,
    /// The links of each next-hop set, in file order.
    sets: Vec<Box<[u32]>>,
    /// The number of rows.
    width: usize,
}

const NONE: u32 = u32::MAX;

/// The place of a node in the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// A row of the table.
    Row(u32),
    /// A host with one link, or one interface of the host `node`, to the node `at`; `row` is the row of `at`,
    /// [`NONE`] if that does not forward.
    Leaf { node: u32, link: u32, at: u32, row: u32 },
}

/// The attachment of a destination, for a forwarding table by prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// The node at the other end of a host's only link, with that link.
    pub gateway: Option<(usize, u32)>,
    /// The prefix that leads there: a row of [`Routes::by_prefix`].
    pub prefix: Option<u32>,
}

impl Routes {
    /// The link on which `node` sends packets for `destination`, the first of several; `None` without a path, or if
    /// they are the same.
    pub fn next(&self, node: usize, destination: usize) -> Option<u32> {
        self.next_hops(node, destination).first().copied()
    }

    /// The links on shortest paths from `node` to `destination`, in file order; empty without a path, or if they
    /// belong to one host. A host has at most one, an interface its own.
    pub fn next_hops(&self, node: usize, destination: usize) -> &[u32] {
        use std::slice::from_ref;
        let (Some(from), Some(to)) = (self.places.get(node), self.places.get(destination)) else {
            return &[];
        };
        let (node, destination) = (self.node(node), self.node(destination));
        match (from, to) {
            _ if node == destination => &[],
            (Place::Leaf { link, at, .. }, to) if *at as usize == destination => match to {
                // The other end delivers it by another of its links.
                Place::Leaf { link: last, .. } if last != link => &[],
                _ => from_ref(link),
            },
            (Place::Row(_), Place::Leaf { link, at, .. }) if *at as usize == node => from_ref(link),
            (Place::Row(from), Place::Row(to) | Place::Leaf { row: to, .. }) => {
                self.set(*from, *to)
            }
            (Place::Leaf { link, row: from, .. }, Place::Row(to) | Place::Leaf { row: to, .. }) => {
                let joined = *from != NONE && from == to || !self.set(*from, *to).is_empty();
                if joined { from_ref(link) } else { &[] }
            }
        }
    }

    /// The node with that number, or the node of the interface with that number.
    pub fn node(&self, number: usize) -> usize {
        match self.places.get(number) {
            Some(Place::Leaf { node, .. }) => *node as usize,
            Some(Place::Row(_)) | None => number,
        }
    }

    /// Every link on the shortest paths from `from` to `to`, without duplicates.
    pub fn links_between(&self, links: &[Link], from: usize, to: usize) -> BTreeSet<u32> {
        let (mut found, mut open, mut seen) = (BTreeSet::new(), vec![from], BTreeSet::new());
        while let Some(node) = open.pop() {
            for &number in self.next_hops(node, to) {
                let [a, b] = &links[number as usize].ends;
                let far = if a.node == self.node(node) { b.node } else { a.node };
                found.insert(number);
                if seen.insert(far) {
                    open.push(far);
                }
            }
        }
        found
    }

    /// The attachment of `node`, or of the interface with that number.
    pub fn attachment(&self, node: usize) -> Attachment {
        let prefix = |row: u32| (row != NONE).then_some(row);
        match self.places.get(node) {
            None => Attachment { gateway: None, prefix: None },
            Some(Place::Row(row)) => Attachment { gateway: None, prefix: prefix(*row) },
            Some(Place::Leaf { link, at, row, .. }) => {
                Attachment { gateway: Some((*at as usize, *link)), prefix: prefix(*row) }
            }
        }
    }

    /// The next hops from `node` by prefix, none without a path; `None` for a host with one link.
    pub fn by_prefix(&self, node: usize) -> Option<impl Iterator<Item = &[u32]>> {
        let Place::Row(row) = *self.places.get(node)? else { return None };
        Some((0..self.width as u32).map(move |to| self.set(row, to)))
    }

    /// Whether there are no nodes, so that no routes are known.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The next-hop set between two rows.
    fn set(&self, from: u32, to: u32) -> &[u32] {
        if from == NONE || to == NONE {
            return &[];
        }
        let set = self.table[from as usize * self.width + to as usize];
        self.sets.get(set as usize).map_or(&[], |links| links)
    }

    pub(super) fn resolve(nodes: &[Node], interfaces: &[Interface], links: &[Link]) -> Self {
        let neighbours = neighbours(nodes.len(), links);
        let is_host = |node: usize| matches!(nodes[node].kind, NodeKind::Host(_));
        let only_link = |node: usize| match neighbours[node][..] {
            [link] if is_host(node) => Some(link),
            _ => None,
        };
        let core: Vec<usize> = (0..nodes.len()).filter(|&node| only_link(node).is_none()).collect();
        let mut rows = vec![NONE; nodes.len()];
        core.iter().zip(0..).for_each(|(&node, row)| rows[node] = row);
        let leaf = |node: usize, (link, at): (u32, usize)| {
            let row = if is_host(at) { NONE } else { rows[at] };
            Place::Leaf { node: node as u32, link, at: at as u32, row }
        };
        let place = |node| match only_link(node) {
            Some(way) => leaf(node, way),
            None => Place::Row(rows[node]),
        };
        let interface = |&Interface { node, link, .. }: &Interface| {
            let [a, b] = &links[link].ends;
            leaf(node, (link as u32, if a.node == node { b.node } else { a.node }))
        };
        let places = (0..nodes.len()).map(place).chain(interfaces.iter().map(interface)).collect();
        // Other nodes do not forward between the table's nodes.
        let ways: Vec<Vec<(u32, usize)>> = core
            .iter()
            .map(|&node| {
                let ways = neighbours[node].iter().filter(|&&(_, to)| rows[to] != NONE);
                ways.map(|&(link, to)| (link, rows[to] as usize)).collect()
            })
            .collect();
        let forwards: Vec<bool> = core.iter().map(|&node| !is_host(node)).collect();
        let (table, sets) = table(&forwards, &ways);
        Self { places, table, sets, width: core.len() }
    }
}

/// Reports too many routers, emulators and hosts with several links for the table.
pub(super) fn check(file: &Scenario, nodes: &[Node], links: &[Link], problems: &mut Problems) {
    let mut degrees = vec![0_usize; nodes.len()];
    links.iter().flat_map(|link| &link.ends).for_each(|end| degrees[end.node] += 1);
    let is_leaf = |node: &Node, degree| matches!(node.kind, NodeKind::Host(_)) && degree == 1;
    let rows = nodes.iter().zip(degrees).filter(|&(node, degree)| !is_leaf(node, degree)).count();
    let place = file.link.iter().next().map(|(name, _)| name.span.clone());
    if rows > ROWS_MAX {
        let message = format!("{rows} routers, emulators and hosts without exactly one link");
        let help = format!("reduce them to at most {ROWS_MAX}; hosts with one link do not count");
        problems.push(&place.unwrap_or(0..0), message, help);
    }
}

/// The next-hop set from each node to each other one, row by row, and the links of every set.
fn table(forwards: &[bool], ways: &[Vec<(u32, usize)>]) -> (Vec<u32>, Vec<Box<[u32]>>) {
    let width = ways.len();
    let (mut table, mut sets) = (vec![NONE; width * width], Vec::<Box<[u32]>>::new());
    let mut known: Vec<BTreeMap<Box<[u32]>, u32>> = vec![BTreeMap::new(); width];
    let mut tree = Tree { hops: vec![UNREACHED; width], queue: VecDeque::new() };
    let mut links = Vec::new();
    for destination in 0..width {
        tree.grow(destination, forwards, ways);
        for node in 0..width {
            links.clear();
            tree.next_hops(node, &ways[node], forwards, destination, &mut links);
            if links.is_empty() {
                continue;
            }
            let set = known[node].get(&*links).copied().unwrap_or_else(|| {
                let set = sets.len() as u32;
                sets.push(links.as_slice().into());
                known[node].insert(links.as_slice().into(), set);
                set
            });
            table[node * width + destination] = set;
        }
    }
    (table, sets)
}

/// The links of each node, in file order, with the node at the other end.
fn neighbours(count: usize, links: &[Link]) -> Vec<Vec<(u32, usize)>> {
    let mut neighbours = vec![Vec::new(); count];
    for (number, link) in links.iter().enumerate() {
        let [a, b] = [link.ends[0].node, link.ends[1].node];
        neighbours[a].push((number as u32, b));
        neighbours[b].push((number as u32, a));
    }
    neighbours
}

/// The distance in hops of every node from one destination.
struct Tree {
    hops: Vec<u32>,
    queue: VecDeque<usize>,
}

const UNREACHED: u32 = u32::MAX;

impl Tree {
    fn grow(&mut self, destination: usize, forwards: &[bool], ways: &[Vec<(u32, usize)>]) {
        self.hops.fill(UNREACHED);
        self.hops[destination] = 0;
        self.queue.push_back(destination);
        while let Some(node) = self.queue.pop_front() {
            if node != destination && !forwards[node] {
                continue;
            }
            for &(_, next) in &ways[node] {
                if self.hops[next] == UNREACHED {
                    self.hops[next] = self.hops[node] + 1;
                    self.queue.push_back(next);
                }
            }
        }
    }

    /// Adds the links to forwarding nodes that are one hop nearer; only the first one for a host.
    fn next_hops(
        &self,
        node: usize,
        ways: &[(u32, usize)],
        forwards: &[bool],
        destination: usize,
        links: &mut Vec<u32>,
    ) {
        let hops = self.hops[node];
        if hops == 0 || hops == UNREACHED {
            return;
        }
        let nearer = |n: usize| self.hops[n] == hops - 1 && (n == destination || forwards[n]);
        let most = if forwards[node] { usize::MAX } else { 1 };
        let shortest = ways.iter().filter(|&&(_, n)| nearer(n)).map(|&(link, _)| link);
        links.extend(shortest.take(most));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Document;

    /// The next hops by a search from the destination through all nodes.
    fn searched(nodes: &[Node], links: &[Link]) -> Vec<Vec<Vec<u32>>> {
        let neighbours = neighbours(nodes.len(), links);
        let forwards: Vec<bool> =
            nodes.iter().map(|node| !matches!(node.kind, NodeKind::Host(_))).collect();
        let mut tree = Tree { hops: vec![UNREACHED; nodes.len()], queue: VecDeque::new() };
        let mut routes = vec![vec![Vec::new(); nodes.len()]; nodes.len()];
        for destination in 0..nodes.len() {
            tree.grow(destination, &forwards, &neighbours);
            for (node, row) in routes.iter_mut().enumerate() {
                let hops = &mut row[destination];
                tree.next_hops(node, &neighbours[node], &forwards, destination, hops);
            }
        }
        routes
    }

    fn network(hosts: usize, routers: usize, links: &[(usize, usize)]) -> (Vec<Node>, Vec<Link>) {
        let name = |node: usize| match node < hosts {
            true => format!("h{node}"),
            false => format!("r{node}"),
        };
        let mut text = String::from("duration = \"1 s\"\n");
        (0..hosts).for_each(|node| text += &format!("[host.{}]\n", name(node)));
        (hosts..hosts + routers).for_each(|node| text += &format!("[router.{}]\n", name(node)));
        for (number, &(a, b)) in links.iter().enumerate() {
            let ends = format!("[\"{}\", \"{}\"]", name(a), name(b));
            text += &format!("[link.l{number}]\nbetween = {ends}\nrate = \"1 Gbit/s\"\n");
        }
        let plan = Document::parse("test.toml", &text).and_then(|document| document.plan());
        let plan = plan.unwrap_or_else(|errors| panic!("{errors}\n{text}"));
        (plan.nodes, plan.links)
    }

    proptest! {
        #[test]
        fn they_are_those_of_a_search_through_all_nodes(
            hosts in 2..9_usize,
            routers in 0..6_usize,
            links in prop::collection::vec((0..100_usize, 0..100_usize), 1..20),
        ) {
            let ends = links.iter().map(|&(a, b)| (a % (hosts + routers), b % (hosts + routers)));
            let links: Vec<_> = ends.filter(|(a, b)| a != b).collect();
            let (nodes, links) = network(hosts, routers, &links);
            let routes = Routes::resolve(&nodes, &[], &links);
            for (node, row) in searched(&nodes, &links).iter().enumerate() {
                for (destination, hops) in row.iter().enumerate() {
                    let found = routes.next_hops(node, destination);
                    prop_assert_eq!(found, hops, "{} {}", node, destination);
                }
            }
        }
    }

    #[test]
    fn hosts_with_one_link_have_no_place_in_the_table() {
        let star: Vec<_> = (0..300).map(|host| (host, 300)).collect();
        let (nodes, links) = network(300, 1, &star);
        assert_eq!(Routes::resolve(&nodes, &[], &links).table.len(), 1);
        let pairs: Vec<_> = (0..150).map(|pair| (2 * pair, 2 * pair + 1)).collect();
        let (nodes, links) = network(300, 0, &pairs);
        assert_eq!(Routes::resolve(&nodes, &[], &links).table.len(), 0);
    }
}
