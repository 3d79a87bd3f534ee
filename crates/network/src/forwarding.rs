//! A forwarding table: routes by prefix, each with a set of next hops, and the flow hash that picks one.
//!
//! Hosts with one link, and the interfaces of those with several, are covered by the prefix of the router they are
//! attached to, so that a router has an entry for each router and none for each host. All routers share one list of
//! the attachment points of destinations. A machine with several interfaces routes by the source address of a
//! packet (source-based routing).

use std::sync::Arc;

use base::{FlowId, HostId, Instant, Packet, Random};

use crate::balancer::Balancer;

/// Where a destination is attached: a node, or one interface of a host with several.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Destination {
    /// The node at the other end of a host's only link, or of the interface's; [`NO_ROUTE`] for anything else.
    pub gateway: u32,
    /// The port of that node.
    pub port: u32,
    /// The prefix that covers it; [`NO_ROUTE`] if none does.
    pub prefix: u32,
}

/// The value for "no route".
pub const NO_ROUTE: u32 = u32::MAX;
/// The value for "local delivery": the packet is for the machine behind the node's interfaces.
pub(crate) const LOCAL: u32 = u32::MAX - 1;
/// The first number of a next-hop set; lower ones are ports.
const SETS: u32 = 1 << 31;

/// Pages of prefixes that nodes share: for each prefix, the number of a next-hop set of the node.
pub type Pages = Arc<[[u32; 64]]>;

/// The routes of a node with many prefixes.
#[derive(Debug)]
struct Paged {
    pages: Pages,
    /// The node's own pages, by their numbers in `pages`.
    own: Box<[u32]>,
    /// A port, a next-hop set (from [`SETS`] on) or [`NO_ROUTE`], by the number that pages have.
    entries: Vec<u32>,
}

impl Paged {
    fn entry(&self, prefix: u32) -> u32 {
        let page =
            self.own.get(prefix as usize / 64).and_then(|&page| self.pages.get(page as usize));
        let entry = page.and_then(|page| self.entries.get(page[prefix as usize % 64] as usize));
        entry.copied().unwrap_or(NO_ROUTE)
    }
}

/// The routes of one node.
#[derive(Debug)]
pub struct ForwardingTable {
    number: u32,
    /// Whether the node is the machine's own interfaces: packets for `number` are delivered locally.
    local: bool,
    /// A port, a next-hop set (from [`SETS`] on) or [`NO_ROUTE`], by prefix.
    by_prefix: Vec<u32>,
    /// The routes by shared pages, in place of `by_prefix`.
    paged: Option<Box<Paged>>,
    destinations: Arc<[Destination]>,
    /// The ports of each next-hop set.
    sets: Vec<Box<[u32]>>,
    /// The default route; [`NO_ROUTE`] if there is none.
    default: u32,
    seed: u64,
    /// The chooser among next hops of equal cost, if not the flow hash.
    balancer: Option<Box<Balancer>>,
    /// The routes of a host with several interfaces that depend on its own addresses rather than on prefixes.
    interfaces: Option<Box<Interfaces>>,
}

/// The interfaces of a host, each with an address of its own, and the table for all other packets.
#[derive(Debug)]
struct Interfaces {
    own: Vec<(HostId, u32)>,
    others: ForwardingTable,
}

impl Interfaces {
    /// Delivers packets for an own address to the machine; packets from an own address leave through its interface.
    fn port(&mut self, packet: &Packet, now: Instant) -> u32 {
        if self.own.iter().any(|&(address, _)| address == packet.destination) {
            return LOCAL;
        }
        let from = self.own.iter().find(|&&(address, _)| address == packet.source);
        from.map_or_else(|| self.others.port(packet, now), |&(_, port)| port)
    }
}

impl ForwardingTable {
    /// The table of node `number`: for each prefix the ports that lead there, none or several of equal cost. The
    /// flow hash picks among these with `seed`.
    pub fn new(
        number: u32,
        destinations: Arc<[Destination]>,
        by_prefix: impl Iterator<Item = Vec<u32>>,
        seed: u64,
    ) -> Self {
        let mut sets: Vec<Box<[u32]>> = Vec::new();
        let entry = |ports: Vec<u32>| match ports[..] {
            [] => NO_ROUTE,
            [port] => port,
            _ => {
                // Neighbouring prefixes mostly have the same next hops.
                let last = sets.len().checked_sub(1).filter(|&last| *sets[last] == ports);
                SETS + last.unwrap_or_else(|| {
                    sets.push(ports.into());
                    sets.len() - 1
                }) as u32
            }
        };
        let by_prefix = by_prefix.map(entry).collect();
        Self {
            number,
            local: false,
            by_prefix,
            paged: None,
            destinations,
            sets,
            default: NO_ROUTE,
            seed,
            balancer: None,
            interfaces: None,
        }
    }

    /// Returns the table with routes by page: what it has for a prefix, it has from now on for the number that a page
    /// has for a prefix. `own` are the numbers of its pages.
    #[must_use]
    pub fn paged(self, pages: Pages, own: &[u32]) -> Self {
        let paged = Box::new(Paged { pages, own: own.into(), entries: self.by_prefix });
        Self { paged: Some(paged), by_prefix: Vec::new(), ..self }
    }

    /// The table of a host with one link: all packets for others leave through its only port.
    pub fn default_route(number: u32) -> Self {
        let none = std::iter::empty();
        Self { default: 0, ..Self::new(number, Arc::new([]), none, 0) }
    }

    /// Returns the table with `balancer` as the chooser among next hops of equal cost.
    #[must_use]
    pub fn balanced(self, balancer: Balancer) -> Self {
        Self { balancer: Some(Box::new(balancer)), ..self }
    }

    /// Returns the table for a node with per-port addresses, if `own` has any.
    #[must_use]
    pub fn of_interfaces(self, own: Vec<(HostId, u32)>) -> Self {
        if own.is_empty() {
            return self;
        }
        let number = self.number;
        // It knows nothing itself, so that everything comes to them.
        let table = Self::new(number, Arc::new([]), std::iter::empty(), self.seed);
        Self { interfaces: Some(Box::new(Interfaces { own, others: self })), ..table }
    }

    /// Returns the table for the interfaces of a machine, which receives the packets for that node.
    #[must_use]
    pub fn local(self) -> Self {
        Self { local: true, ..self }
    }

    /// The port through which a packet leaves at `now`; [`LOCAL`] or [`NO_ROUTE`] if it is not a port of the node.
    #[inline]
    pub(crate) fn port(&mut self, packet: &Packet, now: Instant) -> u32 {
        match self.entry(packet) {
            port if port < SETS => port,
            entry => self.other(packet, entry, now),
        }
    }

    /// The port through which a packet probably leaves, without choosing it; the default route if that is not simple.
    #[inline]
    pub(crate) fn likely(&self, packet: &Packet) -> u32 {
        let set = match self.entry(packet) {
            port if port < SETS => return port,
            set => self.sets.get((set - SETS) as usize).filter(|_| self.balancer.is_none()),
        };
        set.map_or(self.default, |ports| {
            ports[pick(self.seed, packet.flow, packet.source, ports.len())]
        })
    }

    /// The routes to a packet's destination: a port, a next-hop set (from [`SETS`] on) or [`NO_ROUTE`].
    #[inline]
    fn entry(&self, packet: &Packet) -> u32 {
        let Some(to) = self.destinations.get(packet.destination.0 as usize) else {
            return NO_ROUTE;
        };
        if to.gateway == self.number {
            return to.port;
        }
        self.by_prefix.get(to.prefix as usize).copied().unwrap_or_else(|| self.by_page(to.prefix))
    }

    /// The routes to a prefix by its page.
    #[inline(never)]
    fn by_page(&self, prefix: u32) -> u32 {
        self.paged.as_ref().map_or(NO_ROUTE, |paged| paged.entry(prefix))
    }

    /// The port for packets without a single route.
    #[inline(never)]
    fn other(&mut self, packet: &Packet, entry: u32, now: Instant) -> u32 {
        if self.local && packet.destination.0 == self.number {
            return LOCAL;
        }
        if let Some(interfaces) = &mut self.interfaces {
            return interfaces.port(packet, now);
        }
        let Some(ports) = self.sets.get(entry.wrapping_sub(SETS) as usize) else {
            return self.default;
        };
        ports[match &mut self.balancer {
            Some(balancer) => balancer.choose(packet, ports.len(), now),
            None => pick(self.seed, packet.flow, packet.source, ports.len()),
        }]
    }
}

/// The index of the next hop, out of `count`, for the packets of a flow from `source` at the node with seed `seed`.
///
/// The flow is hashed in place of the five-tuple that routers hash (RFC 2992; Linux' `fib_multipath_hash_policy`
/// 1): one connection keeps to one path, and its two directions are hashed apart, as most switches do. A seed for
/// each node keeps the choices of successive routers independent.
#[inline]
pub fn pick(seed: u64, flow: FlowId, source: HostId, count: usize) -> usize {
    // The flow in the middle, with the lower and the upper half of the source around it.
    let source = u64::from(source.0);
    let key = source >> 16 << 48 | u64::from(flow.0) << 16 | source & 0xffff;
    let hash = Random::from_seed(seed ^ key.rotate_left(8)).next_u64();
    // Lemire's reduction to a range.
    (((hash >> 32) * count as u64) >> 32) as usize
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    fn packet(flow: u32, source: u32, destination: u32) -> Packet {
        let (source, destination) = (HostId(source), HostId(destination));
        Packet { flow: FlowId(flow), source, destination, ..Packet::default() }
    }

    /// Node 0 with a host at port 3, two next hops to prefix 1 and nothing to prefix 2.
    fn table() -> ForwardingTable {
        let at = |gateway, port, prefix| Destination { gateway, port, prefix };
        let destinations =
            [at(NO_ROUTE, 0, 0), at(0, 3, 0), at(9, 5, 1), at(9, 5, 2), at(8, 0, NO_ROUTE)];
        let hops = [vec![], vec![1, 2], vec![]];
        ForwardingTable::new(0, destinations.into(), hops.into_iter(), 7)
    }

    #[test]
    fn what_is_attached_leaves_by_its_own_port_and_the_rest_by_prefix() {
        let mut table = table();
        assert_eq!(table.port(&packet(1, 2, 1), Instant::ZERO), 3);
        assert!([1, 2].contains(&table.port(&packet(1, 1, 2), Instant::ZERO)));
        for nowhere in [0, 3, 4, 5] {
            assert_eq!(table.port(&packet(1, 1, nowhere), Instant::ZERO), NO_ROUTE, "to {nowhere}");
        }
        let mut machine = self::table().local();
        assert_eq!(machine.port(&packet(1, 1, 0), Instant::ZERO), LOCAL);
        let mut host = ForwardingTable::default_route(4).local();
        assert_eq!(
            (
                host.port(&packet(1, 1, 4), Instant::ZERO),
                host.port(&packet(1, 4, 1), Instant::ZERO)
            ),
            (LOCAL, 0)
        );
    }

    #[test]
    fn a_machine_sends_by_the_interface_that_a_packet_comes_from() {
        let mut machine = table().of_interfaces(vec![(HostId(7), 4), (HostId(8), 5)]).local();
        let mut port =
            |source, destination| machine.port(&packet(1, source, destination), Instant::ZERO);
        assert_eq!((port(8, 1), port(7, 1)), (5, 4), "wherever it goes");
        assert_eq!(port(0, 1), 3, "by the routes where it comes from the host's own address");
        assert_eq!((port(1, 7), port(1, 8), port(1, 0)), (LOCAL, LOCAL, LOCAL));
    }

    #[test]
    fn routes_by_page_are_those_by_prefix() {
        // Prefixes 0 to 2 by the second page, in which 1 and 2 have what the table has for 1 and 0.
        let mut page = [u32::MAX; 64];
        page[..3].copy_from_slice(&[2, 1, 0]);
        let mut paged = table().paged([[7; 64], page].into(), &[1]);
        let mut port = |destination| paged.port(&packet(1, 1, destination), Instant::ZERO);
        assert_eq!(port(1), 3, "attached");
        assert!([1, 2].contains(&port(2)));
        for nowhere in [0, 3, 4, 5] {
            assert_eq!(port(nowhere), NO_ROUTE, "to {nowhere}");
        }
    }

    #[test]
    fn every_bit_of_a_flow_and_its_source_counts() {
        let path = |flow, source| pick(5, FlowId(flow), HostId(source), 1 << 31);
        // The choices that 16-bit numbers of sources had.
        assert_eq!((path(3, 7), path(99_999, 16_383)), (530_445_370, 1_121_357_387));
        let flows = (0..32).map(|bit| (1 << bit, 0));
        let sources = (0..32).map(|bit| (0, 1 << bit));
        let paths: Vec<_> = flows.chain(sources).map(|(flow, source)| path(flow, source)).collect();
        assert_eq!(BTreeSet::from_iter(paths).len(), 64);
    }

    #[test]
    fn flows_spread_evenly_and_each_node_by_itself() {
        const FLOWS: usize = 4_000;
        let picks = |seed, source| {
            (0..FLOWS as u32).map(move |flow| pick(seed, FlowId(flow), HostId(source), 4))
        };
        let mut counts = [0_usize; 4];
        picks(1, 1).for_each(|next| counts[next] += 1);
        // 1 000 expected; four standard deviations are 110.
        assert!(counts.iter().all(|count| (890..=1_110).contains(count)), "{counts:?}");
        for other in [picks(2, 1), picks(1, 2)] {
            let same = picks(1, 1).zip(other).filter(|(one, other)| one == other).count();
            assert!((890..=1_110).contains(&same), "{same} of {FLOWS} alike");
        }
    }
}
