//! Routes by fewest hops, then by order in the file.
//!
//! Hosts do not forward, and most have one link: whatever they send leaves by it, and whatever is for
//! them goes the way of their router. So the table has rows and columns for routers, emulators and hosts
//! with several links only: its size does not follow the number of hosts.

use std::collections::VecDeque;

use crate::plan::{Link, Node, NodeKind};

/// The next link from every node to every other one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Routes {
    places: Vec<Place>,
    /// The first link on the way from one of the table's nodes to another, row by row; [`NONE`] where
    /// there is no way.
    table: Vec<u32>,
    /// The table's rows.
    width: usize,
}

const NONE: u32 = u32::MAX;

/// Where a node stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    /// In the table, in that row.
    Row(u32),
    /// A host with one link, to the node `at`; `row` is that one's, [`NONE`] if it does not forward.
    Leaf { link: u32, at: u32, row: u32 },
}

impl Routes {
    /// The link that `node` sends by what is for `destination`; `None` if there is no way, or they are one.
    pub fn next(&self, node: usize, destination: usize) -> Option<u32> {
        let (from, to) = (*self.places.get(node)?, *self.places.get(destination)?);
        match (from, to) {
            _ if node == destination => None,
            (Place::Leaf { link, at, .. }, _) if at as usize == destination => Some(link),
            (_, Place::Leaf { link, at, .. }) if at as usize == node => Some(link),
            (Place::Row(from), Place::Row(to) | Place::Leaf { row: to, .. }) => self.link(from, to),
            (Place::Leaf { link, row: from, .. }, Place::Row(to) | Place::Leaf { row: to, .. }) => {
                (from != NONE && from == to || self.link(from, to).is_some()).then_some(link)
            }
        }
    }

    /// Whether no node has a place: nothing is known of any way.
    pub fn is_empty(&self) -> bool {
        self.places.is_empty()
    }

    /// The table's link between two rows.
    fn link(&self, from: u32, to: u32) -> Option<u32> {
        if from == NONE || to == NONE {
            return None;
        }
        let link = self.table[from as usize * self.width + to as usize];
        (link != NONE).then_some(link)
    }

    pub(super) fn resolve(nodes: &[Node], links: &[Link]) -> Self {
        let neighbours = neighbours(nodes.len(), links);
        let is_host = |node: usize| matches!(nodes[node].kind, NodeKind::Host(_));
        let only_link = |node: usize| match neighbours[node][..] {
            [link] if is_host(node) => Some(link),
            _ => None,
        };
        let core: Vec<usize> = (0..nodes.len()).filter(|&node| only_link(node).is_none()).collect();
        let mut rows = vec![NONE; nodes.len()];
        core.iter().zip(0..).for_each(|(&node, row)| rows[node] = row);
        let place = |node| match only_link(node) {
            Some((link, at)) => {
                Place::Leaf { link, at: at as u32, row: if is_host(at) { NONE } else { rows[at] } }
            }
            None => Place::Row(rows[node]),
        };
        let places = (0..nodes.len()).map(place).collect();
        // Between the table's nodes nothing passes the others.
        let ways: Vec<Vec<(u32, usize)>> = core
            .iter()
            .map(|&node| {
                let ways = neighbours[node].iter().filter(|&&(_, to)| rows[to] != NONE);
                ways.map(|&(link, to)| (link, rows[to] as usize)).collect()
            })
            .collect();
        let forwards: Vec<bool> = core.iter().map(|&node| !is_host(node)).collect();
        let mut table = vec![NONE; core.len() * core.len()];
        let mut tree = Tree { hops: vec![UNREACHED; core.len()], queue: VecDeque::new() };
        for destination in 0..core.len() {
            tree.grow(destination, &forwards, &ways);
            for node in 0..core.len() {
                table[node * core.len() + destination] =
                    tree.next(node, &ways[node], &forwards, destination).unwrap_or(NONE);
            }
        }
        Self { places, table, width: core.len() }
    }
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

    /// The first link to a node that is one hop nearer and forwards.
    fn next(
        &self,
        node: usize,
        ways: &[(u32, usize)],
        forwards: &[bool],
        destination: usize,
    ) -> Option<u32> {
        let hops = self.hops[node];
        if hops == 0 || hops == UNREACHED {
            return None;
        }
        let nearer = |n: usize| self.hops[n] == hops - 1 && (n == destination || forwards[n]);
        ways.iter().find(|&&(_, n)| nearer(n)).map(|&(link, _)| link)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Document;

    /// The next link by a search from the destination through all nodes.
    fn searched(nodes: &[Node], links: &[Link]) -> Vec<Vec<Option<u32>>> {
        let neighbours = neighbours(nodes.len(), links);
        let forwards: Vec<bool> =
            nodes.iter().map(|node| !matches!(node.kind, NodeKind::Host(_))).collect();
        let mut tree = Tree { hops: vec![UNREACHED; nodes.len()], queue: VecDeque::new() };
        let mut routes = vec![vec![None; nodes.len()]; nodes.len()];
        for destination in 0..nodes.len() {
            tree.grow(destination, &forwards, &neighbours);
            for (node, row) in routes.iter_mut().enumerate() {
                row[destination] = tree.next(node, &neighbours[node], &forwards, destination);
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
            let routes = Routes::resolve(&nodes, &links);
            for (node, row) in searched(&nodes, &links).iter().enumerate() {
                for (destination, &link) in row.iter().enumerate() {
                    prop_assert_eq!(routes.next(node, destination), link, "{} {}", node, destination);
                }
            }
        }
    }

    #[test]
    fn hosts_with_one_link_have_no_place_in_the_table() {
        let star: Vec<_> = (0..300).map(|host| (host, 300)).collect();
        let (nodes, links) = network(300, 1, &star);
        assert_eq!(Routes::resolve(&nodes, &links).table.len(), 1);
        let pairs: Vec<_> = (0..150).map(|pair| (2 * pair, 2 * pair + 1)).collect();
        let (nodes, links) = network(300, 0, &pairs);
        assert_eq!(Routes::resolve(&nodes, &links).table.len(), 0);
    }
}
