//! Routes by fewest hops: a router spreads flows over all next hops that lie on a shortest path (ECMP, RFC
//! 2992); a host takes the first of them in the order of the file.
//!
//! Hosts do not forward, and most have one link: whatever they send leaves by it, and whatever is for
//! them goes the way of their router. So the table has rows and columns for routers, emulators and hosts
//! with several links only: its size does not follow the number of hosts. An interface of a host with several
//! links is routed as if it were a host with that link alone.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use crate::diagnostic::Problems;
use crate::file::Scenario;
use crate::plan::{Interface, Link, Node, NodeKind};

/// Every pair of these has a route entry of 4 bytes: 64 MiB at this many.
const ROWS_MAX: usize = 4_096;

/// The next hops from every node, and every interface with an address of its own, to every other one. Interfaces
/// are numbered behind the nodes, as in packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Routes {
    places: Vec<Place>,
    /// The next-hop set from one of the table's nodes to another, row by row; [`NONE`] where there is no way.
    table: Vec<u32>,
    /// The links of each next-hop set, in the order of the file.
    sets: Vec<Box<[u32]>>,
    /// The table's rows.
    width: usize,
}

const NONE: u32 = u32::MAX;

/// Where a node stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// In the table, in that row.
    Row(u32),
    /// A host with one link, or one interface of the host `node`, to the node `at`; `row` is that one's, [`NONE`] if
    /// it does not forward.
    Leaf { node: u32, link: u32, at: u32, row: u32 },
}

/// Where a destination is attached: what a forwarding table by prefix is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// The node at the other end of a host's only link, and that link.
    pub gateway: Option<(usize, u32)>,
    /// The prefix that leads there: a row of [`Routes::by_prefix`].
    pub prefix: Option<u32>,
}

impl Routes {
    /// The link that `node` sends by what is for `destination`, the first of several; `None` if there is no
    /// way, or they are one.
    pub fn next(&self, node: usize, destination: usize) -> Option<u32> {
        self.next_hops(node, destination).first().copied()
    }

    /// The links on shortest paths from `node` to `destination`, in the order of the file; none if there is no
    /// way, or they are one host's. A host has at most one, an interface its own.
    pub fn next_hops(&self, node: usize, destination: usize) -> &[u32] {
        use std::slice::from_ref;
        let (Some(from), Some(to)) = (self.places.get(node), self.places.get(destination)) else {
            return &[];
        };
        let (node, destination) = (self.node(node), self.node(destination));
        match (from, to) {
            _ if node == destination => &[],
            (Place::Leaf { link, at, .. }, to) if *at as usize == destination => match to {
                // The other end takes it there, by another of its links.
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

    /// The node of that number, or whose interface has it.
    pub fn node(&self, number: usize) -> usize {
        match self.places.get(number) {
            Some(Place::Leaf { node, .. }) => *node as usize,
            Some(Place::Row(_)) | None => number,
        }
    }

    /// Every link on the shortest paths from `from` to `to`, once each.
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

    /// Where `node`, or the interface of that number, is attached.
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

    /// The next hops from `node` by prefix, none where no path leads; `None` for a host with one link.
    pub fn by_prefix(&self, node: usize) -> Option<impl Iterator<Item = &[u32]>> {
        let Place::Row(row) = *self.places.get(node)? else { return None };
        Some((0..self.width as u32).map(move |to| self.set(row, to)))
    }

    /// Whether no node has a place: nothing is known of any way.
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
        // Between the table's nodes nothing passes the others.
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

/// Complains of more routers, emulators and hosts with several links than the table has rows for.
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

/// For each node the links at it, in the order of the file, and the node at the other end.
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

    /// Adds the links to nodes that are one hop nearer and forward; of a host's only the first.
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
