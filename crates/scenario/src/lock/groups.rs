//! Reconstruction of counted entities from a plan: `NAME.1` to `NAME.n` become one table with a `count` if that table
//! makes the same members. Members that differ are written out individually.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::ops::Range;

use base::HostId;
use base::header::Ports;

use super::key;
use crate::address::later;
use crate::command;
use crate::joining::Joining;
use crate::matrix::Matrix;
use crate::plan::{Flow, Interface, Link, Node, NodeKind, Plan, Transport};

/// One table of a lock file.
#[derive(Clone, Debug)]
pub(crate) struct Group<'p> {
    /// The table's name.
    pub(crate) name: &'p str,
    /// The numbers of its members in the plan.
    pub(crate) range: Range<usize>,
    /// Whether the members' names have numbers.
    pub(crate) counted: bool,
}

/// A plan as tables.
#[derive(Clone, Debug)]
pub(crate) struct Groups<'p> {
    pub(crate) plan: &'p Plan,
    pub(crate) nodes: Vec<Group<'p>>,
    pub(crate) links: Vec<Group<'p>>,
    pub(crate) flows: Vec<Group<'p>>,
    /// The addresses of interfaces, by link and host.
    addresses: BTreeMap<(usize, usize), IpAddr>,
}

/// The name of one end of all members in a table.
#[derive(Clone, Debug)]
pub(super) struct End<'p> {
    pub(super) name: &'p str,
    /// The number of nodes that take turns there.
    pub(super) length: usize,
    /// Whether the name is that of a counted node.
    pub(super) counted: bool,
}

/// The names of both ends of all flows in a table.
#[derive(Clone, Debug)]
pub(super) struct FlowEnds<'p> {
    pub(super) from: End<'p>,
    pub(super) to: End<'p>,
    /// The links on which they leave and arrive, if not determined by the routes.
    pub(super) links: [Option<&'p str>; 2],
    /// The traffic matrix, if they are not paired by number.
    pub(super) matrix: Option<Matrix>,
    /// The number of pairs of hosts that take turns.
    pub(super) pairs: usize,
}

impl<'p> Groups<'p> {
    /// The tables of this plan.
    pub(crate) fn of(plan: &'p Plan) -> Self {
        let addresses = plan.interfaces.iter();
        let addresses = addresses.map(|own| ((own.link, own.node), own.address)).collect();
        let (nodes, links, flows) = (Vec::new(), Vec::new(), Vec::new());
        let mut groups = Self { plan, nodes, links, flows, addresses };
        let names: Vec<&str> = plan.nodes.iter().map(|node| node.name.as_str()).collect();
        groups.nodes = tables(&names, |members| groups.are_one_node(members));
        let names: Vec<&str> = plan.links.iter().map(|link| link.name.as_str()).collect();
        groups.links = tables(&names, |members| groups.are_one_link(members));
        let names: Vec<&str> = plan.flows.iter().map(|flow| flow.name.as_str()).collect();
        groups.flows = tables(&names, |members| groups.are_one_flow(members));
        groups
    }

    /// The table of a node as a path: `host.a` for `a.3`.
    pub(crate) fn node_path(&self, node: usize) -> String {
        format!("{}.{}", self.plan.nodes[node].kind.name(), key(holding(&self.nodes, node)))
    }

    /// The table of a link as a path: `link.wan`.
    pub(crate) fn link_path(&self, link: usize) -> String {
        format!("link.{}", key(holding(&self.links, link)))
    }

    /// The table of one end of a link as a path: `link.wan.at.r`.
    pub(crate) fn end_path(&self, link: usize, end: usize) -> String {
        let node = self.plan.links[link].ends[end].node;
        format!("{}.at.{}", self.link_path(link), key(holding(&self.nodes, node)))
    }

    /// The table of a flow as a path: `flow.bulk` for `bulk.7`.
    pub(crate) fn flow_path(&self, flow: usize) -> String {
        format!("flow.{}", key(holding(&self.flows, flow)))
    }

    /// The members of a link's or flow's table at one end: one node, or the members of a counted node in turn.
    fn end(&self, nodes: &[usize], several: bool) -> Option<End<'p>> {
        let &first = nodes.first()?;
        let group = starting(&self.nodes, first).filter(|group| several && group.counted);
        let alone = nodes.iter().all(|&node| node == first);
        match group {
            Some(group) if !alone || (nodes.len() == 1 && group.range.len() == 1) => {
                let length = group.range.len();
                let turn = |(index, &node): (usize, &usize)| node == first + index % length;
                let whole = nodes.len().is_multiple_of(length);
                (whole && nodes.iter().enumerate().all(turn)).then_some(End {
                    name: group.name,
                    length,
                    counted: true,
                })
            }
            _ => {
                alone.then(|| End { name: &self.plan.nodes[first].name, length: 1, counted: false })
            }
        }
    }

    /// The two ends of a link's table, and their joining if not by number.
    pub(super) fn link_ends(
        &self,
        members: &[Link],
        several: bool,
    ) -> Option<([End<'p>; 2], Option<Joining>)> {
        let end = |end: usize| {
            self.end(&members.iter().map(|link| link.ends[end].node).collect::<Vec<_>>(), several)
        };
        let fits = |end: &End<'_>| [1, members.len()].contains(&end.length);
        match (end(0), end(1)) {
            (Some(a), Some(b)) if !several || (fits(&a) && fits(&b)) => Some(([a, b], None)),
            _ if several => self.joined(members),
            _ => None,
        }
    }

    /// The two counted ends of a link's table that joins them in equal parts.
    fn joined(&self, members: &[Link]) -> Option<([End<'p>; 2], Option<Joining>)> {
        let end = |end: usize| starting(&self.nodes, members[0].ends[end].node);
        let ends = [end(0)?, end(1)?];
        let [a, b] = ends.map(|group| group.range.clone());
        let parts = a.len().checked_mul(b.len())?.checked_div(members.len())?;
        let joins = |joining: &Joining| {
            joining.count([a.len(), b.len()]) == Some(members.len())
                && joining
                    .pairs(a.clone(), b.clone())
                    .eq(members.iter().map(|link| (link.ends[0].node, link.ends[1].node)))
        };
        let joining = [Joining::Groups(parts), Joining::Planes(parts)].into_iter().find(joins)?;
        let end = |group: &Group<'p>| End {
            name: group.name,
            length: group.range.len(),
            counted: group.counted,
        };
        Some((ends.map(end), Some(joining)))
    }

    /// The two ends of a flow's table.
    pub(super) fn flow_ends(&self, members: &[Flow], several: bool) -> Option<FlowEnds<'p>> {
        let end =
            |of: fn(&Flow) -> usize| self.end(&members.iter().map(of).collect::<Vec<_>>(), several);
        let out = self.link_of(members, |flow| flow.source)?;
        let links = [out, self.link_of(members, |flow| flow.destination)?];
        match [end(|flow| flow.from), end(|flow| flow.to)] {
            [Some(from), Some(to)] if !(from.counted && to.counted) || from.length == to.length => {
                let pairs = from.length.max(to.length);
                Some(FlowEnds { from, to, links, matrix: None, pairs })
            }
            _ if several => {
                let ends = Matrix::ALL.iter().find_map(|&matrix| self.matrix(members, matrix));
                ends.map(|ends| FlowEnds { links, ..ends })
            }
            _ => None,
        }
    }

    /// The name of the link on which all members leave, or arrive, if the routes do not determine it; the outer
    /// `None` if there is no such name.
    fn link_of(&self, members: &[Flow], of: fn(&Flow) -> HostId) -> Option<Option<&'p str>> {
        let mut interfaces = members.iter().map(|flow| self.plan.interface(of(flow)));
        let Some(found) = interfaces.clone().collect::<Option<Vec<_>>>() else {
            return interfaces.all(|interface| interface.is_none()).then_some(None);
        };
        let first = found.first()?.link;
        if members.len() == 1 {
            return Some(Some(&self.plan.links[first].name));
        }
        let group = &self.links[place(&self.links, first)];
        let is_of_group = |interface: &&Interface| group.range.contains(&interface.link);
        // A host can have several of the table's links.
        let mut counts: BTreeMap<usize, usize> = BTreeMap::new();
        let of_group = self.plan.interfaces.iter().filter(is_of_group);
        of_group.for_each(|interface| *counts.entry(interface.node).or_default() += 1);
        let is_only_end = |own: &&Interface| is_of_group(own) && counts.get(&own.node) == Some(&1);
        found.iter().all(is_only_end).then_some(Some(group.name))
    }

    /// The address of a host's interface at that end of a link, if it has several.
    pub(super) fn address(&self, link: usize, end: usize) -> Option<IpAddr> {
        let node = self.plan.links.get(link)?.ends[end].node;
        self.addresses.get(&(link, node)).copied()
    }

    /// The address in the table for that end of these links; the outer `None` if it cannot represent them all.
    pub(super) fn addresses(&self, links: &Range<usize>, end: usize) -> Option<Option<IpAddr>> {
        let mut addresses = links.clone().map(|link| self.address(link, end));
        let Some(first) = addresses.clone().next()? else {
            return addresses.all(|address| address.is_none()).then_some(None);
        };
        let follows = |(index, address)| address == later(first, index);
        addresses.enumerate().all(follows).then_some(Some(first))
    }

    /// The ends of a flow's table with that traffic matrix, if its members match it.
    fn matrix(&self, members: &[Flow], matrix: Matrix) -> Option<FlowEnds<'p>> {
        let first = &members[0];
        let name = first.name.strip_suffix(".1")?;
        let whole = |node: usize| {
            let group = &self.nodes[place(&self.nodes, node)];
            let end = End { name: group.name, length: group.range.len(), counted: group.counted };
            (end, group.range.clone())
        };
        let (from, senders) = whole(first.from);
        let (to, receivers) = match matrix {
            Matrix::Incast => {
                let name = self.plan.nodes[first.to].name.as_str();
                (End { name, length: 1, counted: false }, first.to..first.to + 1)
            }
            // All hosts are in one of the ends, and the last pair consists of the last two.
            Matrix::Pairs => whole(members.last()?.to),
            _ => whole(first.to),
        };
        let pairs =
            matrix.count(&senders, &receivers, members.len()).ok().filter(|&pairs| pairs > 0)?;
        if !members.len().is_multiple_of(pairs) {
            return None;
        }
        let made = matrix.pairs(senders, receivers, members.len(), (self.plan.seed, name));
        let ends = members.iter().map(|flow| (flow.from, flow.to));
        let same = made.iter().copied().cycle().zip(ends).all(|(made, ends)| made == ends);
        same.then_some(FlowEnds { from, to, links: [None; 2], matrix: Some(matrix), pairs })
    }

    fn are_one_node(&self, range: Range<usize>) -> bool {
        let members = &self.plan.nodes[range];
        let kind = |node: &Node| format!("{:?}", node.kind);
        let (first, same) = (&members[0], kind(&members[0]));
        let like = |(index, node): (usize, &Node)| {
            let address = later(first.address, index);
            node.user == first.user
                && (address == Some(node.address) || !matches!(node.kind, NodeKind::Host(_)))
                && kind(node) == same
        };
        members.iter().enumerate().all(like) && node_programs(members).is_some()
    }

    fn are_one_link(&self, range: Range<usize>) -> bool {
        let said = (0..2).all(|end| self.addresses(&range, end).is_some());
        let members = &self.plan.links[range];
        let Some((ends, _)) = self.link_ends(members, true).filter(|_| said) else { return false };
        let first = &members[0];
        let like = |link: &Link| link.config == first.config && link.lab == first.lab;
        ends.iter().any(|end| end.counted) && members.iter().all(like)
    }

    fn are_one_flow(&self, range: Range<usize>) -> bool {
        let members = &self.plan.flows[range.clone()];
        let first = &members[0];
        let like = |flow: &Flow| {
            flow.demand == first.demand
                && flow.header.tos == first.header.tos
                && flow.header.flow_label == first.header.flow_label
                && same_transport(&flow.transport, &first.transport)
        };
        let names = members.iter().map(|flow| flow.name.as_str());
        let starts = first.demand.starts(self.plan.seed, names);
        self.flow_ends(members, true).is_some()
            && members.iter().all(like)
            && members.iter().zip(starts).all(|(flow, start)| flow.span.start == start)
            && ports(members, range.start).is_some()
            && flow_programs(self.plan, members).is_some()
            && segments_are_said(self.plan, members)
    }
}

/// The counted entities among these names for which `are_one` holds, and the others individually.
fn tables<'p>(names: &[&'p str], are_one: impl Fn(Range<usize>) -> bool) -> Vec<Group<'p>> {
    let all: BTreeSet<&str> = names.iter().copied().collect();
    let mut stems: BTreeMap<&str, usize> = BTreeMap::new();
    for (stem, _) in names.iter().filter_map(|name| name.rsplit_once('.')) {
        *stems.entry(stem).or_default() += 1;
    }
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(name) = names.get(at) {
        let stem = name.strip_suffix(".1").filter(|stem| !all.contains(stem));
        let whole = stem.and_then(|stem| {
            let range = at..at + stems[stem];
            let members = names.get(range.clone())?;
            let numbered = |(index, name): (usize, &&str)| {
                name.rsplit_once('.') == Some((stem, &*(index + 1).to_string()))
            };
            let one = members.iter().enumerate().all(numbered) && are_one(range.clone());
            one.then_some(Group { name: stem, range, counted: true })
        });
        let group = whole.unwrap_or(Group { name, range: at..at + 1, counted: false });
        at = group.range.end;
        found.push(group);
    }
    found
}

/// The name of the table that contains the member with that number.
fn holding<'p>(groups: &[Group<'p>], number: usize) -> &'p str {
    groups[place(groups, number)].name
}

/// The index of that table.
fn place(groups: &[Group<'_>], number: usize) -> usize {
    groups.partition_point(|group| group.range.start <= number).saturating_sub(1)
}

/// The table with that number as its first member.
pub(super) fn starting<'g, 'p>(groups: &'g [Group<'p>], number: usize) -> Option<&'g Group<'p>> {
    let place = groups.binary_search_by_key(&number, |group| group.range.start).ok()?;
    groups.get(place)
}

/// The command lines of a host's table.
pub(crate) fn node_programs(members: &[Node]) -> Option<Vec<String>> {
    let count = members[0].programs.len();
    if members.iter().any(|node| node.programs.len() != count) {
        return None;
    }
    let line = |at: usize| {
        let words = |node: &'_ Node| vec![("address", node.address.to_string())];
        let members = members.iter().map(|node| (node.programs[at].as_slice(), words(node)));
        command::common_line(&members.collect::<Vec<_>>())
    };
    (0..count).map(line).collect()
}

/// The command lines of a flow's table: those of client and server, if any.
pub(super) fn flow_programs(plan: &Plan, members: &[Flow]) -> Option<[Option<String>; 2]> {
    let (mut clients, mut servers) = (Vec::new(), Vec::new());
    for flow in members {
        let Transport::Program(program) = &flow.transport else { continue };
        let [from, to] = [flow.source, flow.destination].map(|end| plan.address(end).to_string());
        let port = flow.header.ports.unwrap_or_default().destination.to_string();
        let known = vec![("from", from), ("to", to), ("port", port)];
        let server = program.server.as_deref();
        servers.extend(server.map(|words| (words, known.clone())));
        clients.push((program.client.as_slice(), known));
    }
    let line = |lines: &[_]| match lines.len() {
        0 => Some(None),
        all if all == members.len() => command::common_line(lines).map(Some),
        _ => None,
    };
    Some([line(&clients)?, line(&servers)?])
}

/// The ports in a flow's table, `None` for default ones; the first flow has that number.
pub(super) fn ports(members: &[Flow], number: usize) -> Option<[Option<u16>; 2]> {
    let program = matches!(members[0].transport, Transport::Program(_));
    let usual = |index: usize| {
        let usual = Flow::usual_ports(number + index);
        let server = Flow::usual_server_port(number + index);
        if program { Ports { destination: server, ..usual } } else { usual }
    };
    let port = |of: fn(Ports) -> u16, step: usize| {
        let all = || members.iter().map(|flow| of(flow.header.ports.unwrap_or_default()));
        let first = all().next()?;
        let given = |index: usize| u16::try_from(usize::from(first) + index * step).ok();
        if all().enumerate().all(|(index, port)| given(index) == Some(port)) {
            return Some(Some(first));
        }
        all().enumerate().all(|(index, port)| of(usual(index)) == port).then_some(None)
    };
    let source = port(|ports| ports.source, 1)?;
    let destination = port(|ports| ports.destination, usize::from(program))?;
    Some([source.filter(|_| !program), destination])
}

/// Whether two flows of one table can have these transports: equal except for the effects of their paths' MTUs.
fn same_transport(one: &Transport, other: &Transport) -> bool {
    match (one, other) {
        (Transport::Tcp(one), Transport::Tcp(other)) => {
            let ends = [(&one.sender, &other.sender), (&one.receiver, &other.receiver)];
            ends.into_iter().all(|(one, other)| same_config(one, other))
                && one.kernel_congestion == other.kernel_congestion
                && one.workload == other.workload
                && one.reader == other.reader
        }
        (Transport::Udp(one), Transport::Udp(other)) => {
            let mut workload = one.workload.clone();
            if let (Some(settings), Some(size)) =
                (workload.settings_mut(), other.workload.get("size"))
            {
                settings.set("size", size);
            }
            workload == other.workload && (one.ip_header, one.dscp) == (other.ip_header, other.dscp)
        }
        (Transport::Program(one), Transport::Program(other)) => one.user == other.user,
        _ => false,
    }
}

/// Whether two ends of connections have the same TCP settings, except for the segment size.
pub(crate) fn same_config(one: &transport::Config, other: &transport::Config) -> bool {
    let transport::Config { congestion, segment, window, recovery, rto, ack, buffers, emission } =
        one;
    *congestion == other.congestion
        && transport::config::SegmentConfig { mtu: other.segment.mtu, ..*segment } == other.segment
        && *window == other.window
        && *recovery == other.recovery
        && *rto == other.rto
        && *ack == other.ack
        && *buffers == other.buffers
        && *emission == other.emission
}

/// Whether the table can represent the sizes of segments and datagrams: all equal, or the maximum of their paths.
fn segments_are_said(plan: &Plan, members: &[Flow]) -> bool {
    let lengths = |of: fn(&Flow) -> Option<u32>| same_length(members, of);
    let tcp = [sender_mtu as fn(&Flow) -> Option<u32>, receiver_mtu];
    (lengths(sender_mtu) || members.iter().all(|flow| is_path_mtu(plan, flow, tcp[0], false)))
        && (lengths(receiver_mtu)
            || members.iter().all(|flow| is_path_mtu(plan, flow, tcp[1], true)))
        && (lengths(datagram_size) || members.iter().all(|flow| fills_path(plan, flow)))
}

/// Whether all members have the same size there.
pub(super) fn same_length(members: &[Flow], of: fn(&Flow) -> Option<u32>) -> bool {
    members.iter().all(|flow| of(flow) == of(&members[0]))
}

pub(super) fn sender_mtu(flow: &Flow) -> Option<u32> {
    flow.tcp().map(|tcp| tcp.sender.segment.mtu)
}

pub(super) fn receiver_mtu(flow: &Flow) -> Option<u32> {
    flow.tcp().map(|tcp| tcp.receiver.segment.mtu)
}

pub(super) fn datagram_size(flow: &Flow) -> Option<u32> {
    match &flow.transport {
        Transport::Udp(udp) => Some(udp.datagrams().size),
        Transport::Tcp(_) | Transport::Program(_) => None,
    }
}

/// Whether an end's segment size is that of its first link.
fn is_path_mtu(plan: &Plan, flow: &Flow, of: fn(&Flow) -> Option<u32>, back: bool) -> bool {
    let ends = [flow.source, flow.destination].map(|end| end.0 as usize);
    let [local, peer] = if back { [ends[1], ends[0]] } else { ends };
    let link = plan.routes.next(local, peer);
    let mtu = link.map(|link| plan.links[link as usize].config.mtu.0 as u32);
    of(flow) == mtu
}

/// Whether a flow's datagrams have the maximum size of its path.
fn fills_path(plan: &Plan, flow: &Flow) -> bool {
    let Transport::Udp(udp) = &flow.transport else { return false };
    let config = udp.datagrams();
    let [from, to] = [flow.source, flow.destination].map(|end| end.0 as usize);
    let path = plan.routes.links_between(&plan.links, from, to);
    let mtus = path.into_iter().map(|link| plan.links[link as usize].config.mtu.0);
    let Some(least) = mtus.min() else { return false };
    let headers = config.ip_header + network::datagram::UDP_HEADER;
    least.checked_sub(headers.into()) == Some(config.size.into())
}
