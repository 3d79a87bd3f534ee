//! Routes by fewest hops: a router spreads flows over all next hops on shortest paths (ECMP, RFC 2992); a host uses
//! the first one in file order.
//!
//! Hosts do not forward, and most have one link: their packets leave by it, and packets for them follow the routes to
//! their router. So the table has rows only for routers, emulators and hosts with several links. Its columns are the
//! prefixes: those rows that packets can be for, because hosts are attached to them, or because they are hosts. Routes
//! to other rows are searched when they are asked for. An interface of a host with several links is routed as a host
//! with that link alone.
//!
//! A row is a list of pages of 64 prefixes, and equal pages are stored once. Pages have the next-hop sets by their
//! numbers within the node, so that nodes with the same place in a fabric share them: all core switches have the same
//! pages, and an edge switch has one page for all prefixes beyond its own.

mod search;

use std::borrow::Cow;
use std::collections::{BTreeSet, VecDeque};

use self::search::{Columns, Graph, NONE, Tree, UNREACHED};
use crate::diagnostic::Problems;
use crate::file::Scenario;
use crate::plan::{Interface, Link, Node, NodeKind};

/// The maximum number of rows, above that of a fat tree of switches with 96 ports. Each row has an entry of 4 bytes for
/// each prefix if it shares no page with any other, 576 MiB in all; those of the fat tree take 30 MiB.
const ROWS_MAX: usize = 12_288;

/// The next hops from every node, and every interface with its own address, to every other one. Interfaces are
/// numbered after the nodes, as in packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Routes {
    places: Vec<Place>,
    graph: Graph,
    /// The prefix of each row; [`NONE`] if no packets are for it.
    prefixes: Vec<u32>,
    /// The number of prefixes.
    count: usize,
    columns: Columns,
}

/// The routes of one node by prefix.
#[derive(Clone, Copy, Debug)]
pub struct Row<'r> {
    routes: &'r Routes,
    row: usize,
}

impl<'r> Row<'r> {
    /// The next hops for each prefix, none without a path.
    pub fn each(self) -> impl ExactSizeIterator<Item = &'r [u32]> {
        (0..self.routes.count).map(move |prefix| self.routes.columns.next_hops(self.row, prefix))
    }

    /// The node's next-hop sets, by the numbers in pages.
    pub fn sets(self) -> impl Iterator<Item = &'r [u32]> {
        let sets = &self.routes.columns.sets[self.row];
        (0..sets.len() as u32).map(move |set| sets.get(set))
    }

    /// The pages of its prefixes, by their numbers in [`Routes::pages`].
    pub fn pages(self) -> &'r [u32] {
        let Columns { table, width, .. } = &self.routes.columns;
        &table[self.row * width..(self.row + 1) * width]
    }
}

/// The next hop by one link.
fn one(link: &u32) -> Cow<'_, [u32]> {
    Cow::Borrowed(std::slice::from_ref(link))
}

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
    pub fn next_hops(&self, node: usize, destination: usize) -> Cow<'_, [u32]> {
        const NOWHERE: Cow<'_, [u32]> = Cow::Borrowed(&[]);
        let (Some(from), Some(to)) = (self.places.get(node), self.places.get(destination)) else {
            return NOWHERE;
        };
        let (node, destination) = (self.node(node), self.node(destination));
        match (from, to) {
            _ if node == destination => NOWHERE,
            (Place::Leaf { link, at, .. }, to) if *at as usize == destination => match to {
                // The other end delivers it by another of its links.
                Place::Leaf { link: last, .. } if last != link => NOWHERE,
                _ => one(link),
            },
            (Place::Row(_), Place::Leaf { link, at, .. }) if *at as usize == node => one(link),
            (Place::Row(from), Place::Row(to) | Place::Leaf { row: to, .. }) => {
                self.set(*from, *to)
            }
            (Place::Leaf { link, row: from, .. }, Place::Row(to) | Place::Leaf { row: to, .. }) => {
                let joined = *from != NONE && from == to || !self.set(*from, *to).is_empty();
                if joined { one(link) } else { NOWHERE }
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
            for &number in &*self.next_hops(node, to) {
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
        let prefix = |row: u32| {
            let prefix = self.prefixes.get(row as usize).copied();
            prefix.filter(|&prefix| prefix != NONE)
        };
        match self.places.get(node) {
            None => Attachment { gateway: None, prefix: None },
            Some(Place::Row(row)) => Attachment { gateway: None, prefix: prefix(*row) },
            Some(Place::Leaf { link, at, row, .. }) => {
                Attachment { gateway: Some((*at as usize, *link)), prefix: prefix(*row) }
            }
        }
    }

    /// The routes of `node` by prefix; `None` for a host with one link.
    pub fn by_prefix(&self, node: usize) -> Option<Row<'_>> {
        let Place::Row(row) = *self.places.get(node)? else { return None };
        Some(Row { routes: self, row: row as usize })
    }

    /// The pages of [`Row::pages`]: the number of a next-hop set for each of 64 prefixes, `u32::MAX` without a path.
    pub fn pages(&self) -> &[[u32; 64]] {
        &self.columns.pages
    }

    /// Whether there are no nodes, so that no routes are known.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The next hops from one row to another.
    fn set(&self, from: u32, to: u32) -> Cow<'_, [u32]> {
        if from == NONE || to == NONE {
            return Cow::Borrowed(&[]);
        }
        let (from, to) = (from as usize, to as usize);
        match self.prefixes[to] {
            NONE => Cow::Owned(self.search(from, to)),
            prefix => Cow::Borrowed(self.columns.next_hops(from, prefix as usize)),
        }
    }

    /// The next hops from one row to another one without a prefix.
    fn search(&self, from: usize, to: usize) -> Vec<u32> {
        let Graph { forwards, ways } = &self.graph;
        let mut tree = Tree { hops: vec![UNREACHED; ways.len()], queue: VecDeque::new() };
        tree.grow(to, forwards, ways);
        let mut links = Vec::new();
        tree.next_hops(from, &ways[from], forwards, to, &mut links);
        links
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
        let leaf = |node: usize, (link, at): (u32, u32)| {
            let row = if is_host(at as usize) { NONE } else { rows[at as usize] };
            Place::Leaf { node: node as u32, link, at, row }
        };
        let place = |node| match only_link(node) {
            Some(way) => leaf(node, way),
            None => Place::Row(rows[node]),
        };
        let interface = |&Interface { node, link, .. }: &Interface| {
            let [a, b] = &links[link].ends;
            leaf(node, (link as u32, if a.node == node { b.node } else { a.node } as u32))
        };
        let places: Vec<_> =
            (0..nodes.len()).map(place).chain(interfaces.iter().map(interface)).collect();
        // Other nodes do not forward between the table's nodes.
        let ways = core.iter().map(|&node| {
            let ways = neighbours[node].iter().map(|&(link, to)| (link, rows[to as usize]));
            ways.filter(|&(_, row)| row != NONE).collect()
        });
        let ways = ways.collect();
        let forwards: Vec<bool> = core.iter().map(|&node| !is_host(node)).collect();
        let mut ends: Vec<bool> = forwards.iter().map(|forwards| !forwards).collect();
        for place in &places {
            if let &Place::Leaf { row, .. } = place
                && row != NONE
            {
                ends[row as usize] = true;
            }
        }
        let destinations: Vec<u32> =
            (0..).zip(&ends).filter(|&(_, &is_end)| is_end).map(|(row, _)| row).collect();
        let mut prefixes = vec![NONE; core.len()];
        (0..).zip(&destinations).for_each(|(prefix, &row)| prefixes[row as usize] = prefix);
        let graph = Graph { forwards, ways };
        let columns = graph.columns(&destinations);
        Self { places, graph, prefixes, count: destinations.len(), columns }
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

/// The links of each node, in file order, with the node at the other end.
fn neighbours(count: usize, links: &[Link]) -> Vec<Vec<(u32, u32)>> {
    let mut neighbours = vec![Vec::new(); count];
    for (number, link) in links.iter().enumerate() {
        let [a, b] = [link.ends[0].node, link.ends[1].node];
        neighbours[a].push((number as u32, b as u32));
        neighbours[b].push((number as u32, a as u32));
    }
    neighbours
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
            assert_shortest(&nodes, &links);
        }
    }

    /// Returns the routes, which are those of a search through all nodes.
    fn assert_shortest(nodes: &[Node], links: &[Link]) -> Routes {
        let routes = Routes::resolve(nodes, &[], links);
        for (node, row) in searched(nodes, links).iter().enumerate() {
            for (destination, hops) in row.iter().enumerate() {
                let found = routes.next_hops(node, destination);
                assert_eq!(&*found, &**hops, "{node} {destination}");
            }
        }
        routes
    }

    #[test]
    fn nodes_share_pages_where_there_is_more_than_one() {
        let text =
            "duration = \"1 s\"\n[topology.t.leaf_spine]\nleaves = 70\nspines = 3\nhosts = 1\n";
        let plan = Document::parse("test.toml", text).and_then(|document| document.plan());
        let plan = plan.expect("a plan");
        let routes = assert_shortest(&plan.nodes, &plan.links);
        for node in 70..143 {
            let row = routes.by_prefix(node).expect("a leaf or a spine");
            let sets: Vec<_> = row.sets().collect();
            assert_eq!(row.each().len(), 70);
            for (prefix, links) in row.each().enumerate() {
                let page = routes.pages()[row.pages()[prefix / 64] as usize];
                let set = sets.get(page[prefix % 64] as usize).copied().unwrap_or_default();
                assert_eq!(set, links, "{node} {prefix}");
            }
        }
        // Of the leaves, one for each place of their own prefix and one without it, on the first page and on the
        // second; and one on each of the spines.
        assert_eq!(routes.pages().len(), 64 + 1 + 6 + 1 + 2);
    }

    #[test]
    fn hosts_with_one_link_have_no_place_in_the_table() {
        let star: Vec<_> = (0..300).map(|host| (host, 300)).collect();
        let (nodes, links) = network(300, 1, &star);
        assert_eq!(Routes::resolve(&nodes, &[], &links).columns.table.len(), 1);
        let pairs: Vec<_> = (0..150).map(|pair| (2 * pair, 2 * pair + 1)).collect();
        let (nodes, links) = network(300, 0, &pairs);
        assert_eq!(Routes::resolve(&nodes, &[], &links).columns.table.len(), 0);
    }
}
