//! The division of a world into parts that run side by side.
//!
//! A packet takes at least a link's delay from one node to the next. So two parts that only links with a delay connect
//! can run for as long as the shortest of these delays without a packet from each other: the lookahead of conservative
//! parallel simulation (R. Fujimoto, Parallel Discrete Event Simulation, CACM 33(10), 1990). No result depends on the
//! division. It balances the work, and prefers to cut links with long delays, then those with little traffic.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};
use std::num::NonZeroUsize;

use base::Duration;
use network::{Node, PortId};
use scenario::Plan;

use crate::engine::Engine;
use crate::world::World;

/// The shortest delay of a link that is cut. A frame of 1500 bytes takes longer at 100 Gbit/s: in a shorter time, a port
/// sends no packet or one.
const DELAY_MIN: Duration = Duration::from_ns(100);

/// The number of delays that are tried, the longest first.
const DELAYS: usize = 16;

/// The work of the largest part over the mean, in percent, up to which a longer lookahead is worth more than balance.
const LARGEST: u64 = 125;

/// The number of flows that are followed to estimate the work.
const FLOWS: usize = 1 << 16;

/// The part of each node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Partition {
    of: Vec<u32>,
    parts: usize,
    lookahead: Duration,
}

impl Partition {
    /// A division of `world` into at most that many parts; into fewer if it has too few links with a delay. The nodes
    /// with the ports that an observer `watches` are all in part 0.
    pub fn new(
        plan: &Plan,
        world: &World,
        parts: NonZeroUsize,
        watches: impl Fn(PortId) -> bool,
    ) -> Self {
        let graph = Graph::new(plan, world, watches);
        let mut best = Self::whole(plan);
        let mut least = u64::MAX;
        for &delay in graph.delays().iter().rev().take(DELAYS) {
            let division = graph.divide(delay, parts.get());
            let largest = graph.largest(&division);
            if largest < least {
                (best, least) = (division, largest);
            }
            if largest.saturating_mul(100 * parts.get() as u64) <= graph.work() * LARGEST {
                break;
            }
        }
        best
    }

    /// One part with everything.
    pub fn whole(plan: &Plan) -> Self {
        Self { of: vec![0; plan.nodes.len()], parts: 1, lookahead: Duration::MAX }
    }

    /// The part of that node.
    pub fn part_of(&self, node: usize) -> usize {
        self.of[node] as usize
    }

    /// The number of parts.
    pub const fn parts(&self) -> usize {
        self.parts
    }

    /// The shortest delay of a link between two parts.
    pub const fn lookahead(&self) -> Duration {
        self.lookahead
    }

    /// The engines of the parts of `world`, which has all flows of its plan.
    pub fn engines(&self, world: World) -> Vec<Engine> {
        let worlds = self.worlds(world).into_iter();
        worlds.map(|world| Engine::of_part(world, self.parts)).collect()
    }

    /// The parts of `world`. Each has all numbers, but only its own nodes, the links that start there, and the far
    /// halves of those that end there.
    fn worlds(&self, world: World) -> Vec<World> {
        let World { nodes, channels, packets, priorities, .. } = world;
        let empty = |_| World {
            nodes: (0..nodes.len() as u32).map(Node::absent).collect(),
            channels: channels.iter().map(|channel| channel.without_packets()).collect(),
            packets: packets.beside(),
            priorities: priorities.clone(),
            waiting: Vec::new(),
        };
        let mut worlds: Vec<World> = (0..self.parts).map(empty).collect();
        for (number, node) in nodes.into_iter().enumerate() {
            worlds[self.part_of(number)].nodes[number] = node;
        }
        for (number, channel) in channels.into_iter().enumerate() {
            let [near, far] = [channel.node, channel.far].map(|node| self.part_of(node as usize));
            let own = &mut worlds[near].channels[number];
            *own = channel;
            if near != far {
                let half = own.wire.cut(far as u32);
                worlds[far].channels[number].wire = half;
            }
        }
        worlds
    }
}

/// The nodes with their estimated work, and the links between them.
struct Graph {
    /// The work of each node.
    work: Vec<u64>,
    /// The links of each node.
    links: Vec<Vec<Edge>>,
    /// The nodes that belong to part 0.
    watched: Vec<usize>,
}

/// A link of a node.
#[derive(Clone, Copy)]
struct Edge {
    to: usize,
    /// The shorter delay of the two directions.
    delay: Duration,
    /// The number of flows over it.
    flows: u64,
}

impl Graph {
    fn new(plan: &Plan, world: &World, watches: impl Fn(PortId) -> bool) -> Self {
        let (mut work, flows) = estimate(plan);
        work.iter_mut().for_each(|work| *work += 1);
        let mut links = vec![Vec::new(); work.len()];
        let mut watched = Vec::new();
        for (number, ends) in world.channels.chunks_exact(2).enumerate() {
            let [there, back] = ends else { continue };
            let delay = there.wire.delay().min(back.wire.delay());
            for (number, end) in (2 * number as u32..).zip([there, back]) {
                let (node, to) = (end.node as usize, end.far as usize);
                links[node].push(Edge { to, delay, flows: flows[number as usize / 2] });
                if watches(PortId(number)) {
                    watched.push(node);
                }
            }
        }
        Self { work, links, watched }
    }

    /// The work of all nodes.
    fn work(&self) -> u64 {
        self.work.iter().sum()
    }

    /// The delays of links that may be cut.
    fn delays(&self) -> BTreeSet<Duration> {
        let delays = self.links.iter().flatten().map(|link| link.delay);
        delays.filter(|&delay| delay >= DELAY_MIN).collect()
    }

    /// The work of the part that has most of it.
    fn largest(&self, division: &Partition) -> u64 {
        let mut work = vec![0; division.parts];
        self.work.iter().enumerate().for_each(|(node, own)| work[division.part_of(node)] += own);
        work.into_iter().max().unwrap_or(0)
    }

    /// A division that cuts no link with a delay below `delay`.
    fn divide(&self, delay: Duration, parts: usize) -> Partition {
        let groups = self.groups(delay);
        let mut growth = Growth::new(self, &groups);
        let (mut rest, mut made) = (self.work(), 0);
        for part in 0..parts {
            let goal = rest / (parts - part) as u64;
            let seed =
                if part == 0 { self.watched.first().map(|&node| groups[node]) } else { None };
            let grown = growth.grow(made, if part + 1 == parts { u64::MAX } else { goal }, seed);
            rest -= grown;
            made += u32::from(grown > 0);
        }
        let of: Vec<u32> = groups.iter().map(|&group| growth.part[group].unwrap_or(0)).collect();
        let cut = |(node, links): (usize, &Vec<Edge>)| {
            let ends = links.iter().filter(|link| of[link.to] != of[node]);
            ends.map(|link| link.delay).min()
        };
        let lookahead = self.links.iter().enumerate().filter_map(cut).min();
        Partition { lookahead: lookahead.unwrap_or(Duration::MAX), of, parts: made.max(1) as usize }
    }

    /// The group of each node, as the number of a node in it: nodes that links with delays below `delay` connect are in
    /// one group, and so are the watched ones.
    fn groups(&self, delay: Duration) -> Vec<usize> {
        let mut groups = vec![usize::MAX; self.work.len()];
        let watched = self.watched.clone();
        let starts = [watched].into_iter().chain((0..groups.len()).map(|node| vec![node]));
        for mut reached in starts {
            let group = reached.first().copied().unwrap_or(0);
            while let Some(node) = reached.pop() {
                if groups[node] != usize::MAX {
                    continue;
                }
                groups[node] = group;
                let near = self.links[node].iter().filter(|link| link.delay < delay);
                reached.extend(near.map(|link| link.to));
            }
        }
        groups
    }
}

/// Parts that grow from group to group, each by the one that has most of its traffic with the part.
struct Growth {
    /// The part of each group.
    part: Vec<Option<u32>>,
    /// The work of each group.
    work: Vec<u64>,
    /// The links of each group to others.
    links: Vec<Vec<(usize, u64)>>,
    /// The first group that may be free.
    free: usize,
}

impl Growth {
    fn new(graph: &Graph, groups: &[usize]) -> Self {
        let mut work = vec![0; groups.len()];
        let mut links = vec![Vec::new(); groups.len()];
        for (node, &group) in groups.iter().enumerate() {
            work[group] += graph.work[node];
            let others = graph.links[node].iter().filter(|link| groups[link.to] != group);
            links[group].extend(others.map(|link| (groups[link.to], link.flows + 1)));
        }
        Self { part: vec![None; groups.len()], work, links, free: 0 }
    }

    /// Gives free groups to `part`, from `seed` on, until its work is about `goal`; returns the work.
    fn grow(&mut self, part: u32, goal: u64, seed: Option<usize>) -> u64 {
        let (mut grown, mut queue) = (0, BinaryHeap::new());
        let mut inside = vec![0_u64; self.part.len()];
        queue.extend(seed.map(|group| (u64::MAX, Reverse(group))));
        while grown < goal {
            let next = queue.pop().map(|(_, Reverse(group))| group);
            let is_near = next.is_some();
            let Some(group) = next.or_else(|| self.first_free()) else { break };
            let work = self.work[group];
            // The last one is taken if that comes closer to the goal.
            let is_small = grown == 0 || work / 2 <= goal - grown;
            match (self.part[group].is_none() && is_small, is_near) {
                (true, _) => {}
                (false, true) => continue,
                (false, false) => break,
            }
            self.part[group] = Some(part);
            grown += work;
            for &(other, flows) in &self.links[group] {
                inside[other] += flows;
                let all: u64 = self.links[other].iter().map(|(_, flows)| flows).sum();
                let share = u128::from(inside[other]) << 32;
                queue.push(((share / u128::from(all.max(1))) as u64, Reverse(other)));
            }
        }
        grown
    }

    /// The free group with the lowest number.
    fn first_free(&mut self) -> Option<usize> {
        let is_free = |&group: &usize| self.part[group].is_none() && self.work[group] > 0;
        self.free = (self.free..self.part.len()).find(is_free)?;
        Some(self.free)
    }
}

/// The work of each node, in events of the packets of one round, and the number of flows on each link: those of some flows
/// of the plan, each on its path.
fn estimate(plan: &Plan) -> (Vec<u64>, Vec<u64>) {
    let (mut work, mut links) = (vec![0; plan.nodes.len()], vec![0; plan.links.len()]);
    let stride = plan.flows.len().div_ceil(FLOWS).max(1);
    for (number, flow) in plan.flows.iter().enumerate().step_by(stride) {
        // An end of a connection costs about as much as two hops.
        work[flow.from] += 2;
        work[flow.to] += 2;
        let mut node = flow.from;
        for _ in 0..plan.nodes.len() {
            work[node] += 2;
            let ends = [flow.source, flow.destination];
            let Some(link) = plan.next_link(node, number, ends) else { break };
            links[link as usize] += 1;
            let [one, other] = &plan.links[link as usize].ends;
            node = if one.node == node { other.node } else { one.node };
            if node == flow.to {
                work[node] += 2;
                break;
            }
        }
    }
    (work, links)
}

#[cfg(test)]
mod tests {
    use scenario::Document;

    use super::*;
    use crate::world::Channel;

    /// The division of a scenario into at most that many parts, with the delays of the links between parts.
    fn divided(text: &str, parts: usize, watched: &[u32]) -> (Partition, Vec<Duration>) {
        let plan = Document::parse("test.toml", text).and_then(|document| document.plan());
        let plan = plan.unwrap_or_else(|errors| panic!("{errors}\n{text}"));
        let world = World::new(&plan).expect("a plan from text was checked");
        let parts = NonZeroUsize::new(parts).expect("some");
        let watches = |PortId(port)| watched.contains(&port);
        let partition = Partition::new(&plan, &world, parts, watches);
        let [near, far] = [|c: &Channel| c.node, |c: &Channel| c.far];
        let part = |node| partition.part_of(node as usize);
        let cut = world.channels.iter().filter(|c| part(near(c)) != part(far(c)));
        let cut = cut.map(|channel| channel.wire.delay()).collect();
        for &port in watched {
            assert_eq!(part(world.channels[port as usize].node), 0, "port {port}");
        }
        (partition, cut)
    }

    fn fat_tree(delay: &str) -> String {
        format!(
            "duration = '1 ms'
            [topology.dc.fat_tree]\nk = 4
            [topology.dc]\nrate = '1 Gbit/s'\ndelay = '{delay}'
            [flow.all]\nfrom = 'dc-host'\nto = 'dc-host'\nmatrix = 'permutation'"
        )
    }

    #[test]
    fn a_fabric_has_parts_of_about_the_same_size() {
        for parts in [2, 3, 4, 8] {
            let (partition, cut) = divided(&fat_tree("1 us"), parts, &[5, 40, 77]);
            assert_eq!(partition.parts(), parts);
            assert_eq!(partition.lookahead(), Duration::from_us(1));
            let nodes = (0..partition.of.len()).map(|node| partition.part_of(node));
            let sizes = nodes.fold(vec![0; parts], |mut sizes, part| {
                sizes[part] += 1;
                sizes
            });
            let mean = partition.of.len() / parts;
            assert!(sizes.iter().all(|size| (1..=2 * mean).contains(size)), "{sizes:?}");
            assert!(cut.len() < 96, "{} of 96 link directions are cut", cut.len());
        }
    }

    #[test]
    fn links_with_long_delays_are_cut_first_and_those_without_never() {
        let text = "duration = '1 ms'
            [host.s]\ncount = 4\n[host.d]\ncount = 4\n[router.r1]\n[router.r2]
            [link.in]\nbetween = ['s', 'r1']\nrate = '1 Gbit/s'\ndelay = '1 us'
            [link.core]\nbetween = ['r1', 'r2']\nrate = '1 Gbit/s'\ndelay = '5 ms'
            [link.out]\nbetween = ['r2', 'd']\nrate = '1 Gbit/s'\ndelay = '1 us'
            [flow.all]\nfrom = 's'\nto = 'd'";
        let (partition, cut) = divided(text, 2, &[]);
        assert_eq!((partition.parts(), partition.lookahead()), (2, Duration::from_ms(5)));
        assert_eq!(cut, [Duration::from_ms(5); 2]);
        let (partition, cut) = divided(&fat_tree("99 ns"), 8, &[]);
        assert_eq!((partition.parts(), cut), (1, Vec::new()));
    }
}
