//! Routes by fewest hops, then by order in the file.

use std::collections::VecDeque;

use crate::plan::{Link, Node, NodeKind};

/// `routes[node][destination]`: the link to take. Hosts do not forward.
pub(super) fn resolve(nodes: &[Node], links: &[Link]) -> Vec<Vec<Option<u32>>> {
    let neighbours = neighbours(nodes.len(), links);
    let mut routes = vec![vec![None; nodes.len()]; nodes.len()];
    let mut tree = Tree::new(nodes.len());
    for destination in 0..nodes.len() {
        tree.grow(destination, nodes, &neighbours);
        for (node, row) in routes.iter_mut().enumerate() {
            row[destination] = tree.next(node, &neighbours[node], nodes, destination);
        }
    }
    routes
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
    fn new(count: usize) -> Self {
        Self { hops: vec![UNREACHED; count], queue: VecDeque::new() }
    }

    fn grow(&mut self, destination: usize, nodes: &[Node], neighbours: &[Vec<(u32, usize)>]) {
        self.hops.fill(UNREACHED);
        self.hops[destination] = 0;
        self.queue.push_back(destination);
        while let Some(node) = self.queue.pop_front() {
            if node != destination && matches!(nodes[node].kind, NodeKind::Host(_)) {
                continue;
            }
            for &(_, next) in &neighbours[node] {
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
        links: &[(u32, usize)],
        nodes: &[Node],
        destination: usize,
    ) -> Option<u32> {
        let hops = self.hops[node];
        if hops == 0 || hops == UNREACHED {
            return None;
        }
        let forwards = |n: usize| n == destination || !matches!(nodes[n].kind, NodeKind::Host(_));
        links.iter().find(|&&(_, n)| self.hops[n] == hops - 1 && forwards(n)).map(|&(link, _)| link)
    }
}
