//! The hosts of a plan: a network namespace each, and a cable from each of its interfaces to the fabric; in a guest
//! kernel its network cards.

use std::net::IpAddr;

use base::{Bytes, Duration, HostId, Rate};
use network::PortId;
use record::guest::Card;
use scenario::Plan;
use scenario::plan::{End, Flow, Link, Node, NodeKind, Transport};
use traffic::qdisc::Parameters;
use traffic::qdisc::psp::PacingRate;
use traffic_kernel::table;

use crate::default_congestion::DefaultCongestion;
use crate::error::Error;
use crate::namespace::Namespace;
use crate::sysctl;
use crate::veth::{self, Cable, Line, ModuleQdisc, Routes, Segmentation};

/// Bytes of the Ethernet header, and of the FCS, which the kernel does not count.
const HEADER: u64 = 14;
const FCS: u64 = 4;

/// A host's interface and its other end.
#[derive(Debug)]
pub(crate) struct Interface {
    /// The host.
    pub(crate) node: u32,
    /// The port that feeds the wire towards it.
    pub(crate) fed_by: PortId,
    pub(crate) cable: Cable,
}

/// The hosts, and the namespace that holds the fabric's ends of their cables.
#[derive(Debug)]
pub(crate) struct Hosts {
    /// The hosts' namespaces by node; `None` for other nodes.
    pub(crate) namespaces: Vec<Option<Namespace>>,
    pub(crate) fabric: Namespace,
    pub(crate) interfaces: Vec<Interface>,
    /// The congestion control of connections whose program chooses none.
    pub(crate) congestion: DefaultCongestion,
}

impl Hosts {
    /// Creates the hosts of `plan`. Their kernels receive on `cpus`, unless it is empty.
    pub(crate) fn new(plan: &Plan, cpus: &[usize]) -> Result<Self, Error> {
        let is_host = |node: usize| matches!(plan.nodes[node].kind, NodeKind::Host(_));
        let mut hosts = Self::bare(plan, Namespace::new()?, is_host)?;
        let links = links(plan);
        let mut laid = vec![0; plan.nodes.len()];
        for number in 0..plan.links.len() {
            for end in 0..2 {
                let node = plan.links[number].ends[end].node;
                hosts.join(plan, (number, end), (laid[node], links[node]), cpus)?;
                laid[node] += 1;
            }
        }
        Ok(hosts)
    }

    /// Creates the hosts that own these network cards, in a guest kernel; the first card is `eth0`. The fabric's
    /// namespace is this thread's.
    pub(crate) fn of_cards(plan: &Plan, cards: &[Card]) -> Result<Self, Error> {
        let is_here = |node: usize| cards.iter().any(|card| card.node == node);
        let hosts = Self::bare(plan, Namespace::current()?, is_here)?;
        let links = links(plan);
        let mut given = vec![0; plan.nodes.len()];
        for (number, card) in cards.iter().enumerate() {
            let link = &plan.links[card.link];
            let end = usize::from(link.ends[0].node != card.node);
            let Some(host) = &hosts.namespaces[card.node] else { continue };
            let targets = targets_of(plan, (card.node, card.link), links[card.node]);
            let usual = settings(plan, (card.link, end));
            let qdisc = plan.has_qdiscs(card.node).then(|| qdisc(plan, link, &link.ends[end]));
            let settings = veth::Settings {
                interface: given[card.node],
                segmentation: match qdisc {
                    Some(_) if offloads(plan, card.node) => Segmentation::InQueue,
                    Some(_) => Segmentation::Tcp,
                    None => usual.segmentation,
                },
                qdisc: qdisc.transpose()?,
                line: usual.line.map(|line| Line { punctual: true, ..line }),
                routes: targets.as_deref().map_or(Routes::Everything, Routes::Only),
                own_ports: &server_ports(plan, card.node, card.link),
                ..usual
            };
            veth::adopt(host, &format!("eth{number}"), &settings)?;
            given[card.node] += 1;
        }
        Ok(hosts)
    }

    /// Creates a namespace without interfaces for each node for which `is_host` is true.
    fn bare(
        plan: &Plan,
        fabric: Namespace,
        is_host: impl Fn(usize) -> bool,
    ) -> Result<Self, Error> {
        let mut namespaces = Vec::new();
        for (number, buffers) in buffers(plan).iter().enumerate() {
            let host = is_host(number).then(Namespace::new).transpose()?;
            if let Some(host) = &host {
                sysctl::prepare_host(host, buffers)?;
            }
            namespaces.push(host);
        }
        let congestion = DefaultCongestion::set(&namespaces.iter().flatten().collect::<Vec<_>>())?;
        Ok(Self { namespaces, fabric, interfaces: Vec::new(), congestion })
    }

    /// Installs the cable at one end of a link, if that end is a host's: interface `interface` of its `interfaces`.
    fn join(
        &mut self,
        plan: &Plan,
        (number, end): (usize, usize),
        (interface, interfaces): (u16, u16),
        cpus: &[usize],
    ) -> Result<(), Error> {
        let link = &plan.links[number];
        let here = &link.ends[end];
        let Some(host) = &self.namespaces[here.node] else { return Ok(()) };
        let targets = targets_of(plan, (here.node, number), interfaces);
        let settings = veth::Settings {
            interface,
            fabric_interface: &format!("p{}", 2 * number + end),
            own_ports: &server_ports(plan, here.node, number),
            routes: targets.as_deref().map_or(Routes::Everything, Routes::Only),
            receive_cpus: cpus,
            ..settings(plan, (number, end))
        };
        let cable = veth::lay(host, &self.fabric, &settings)?;
        let fed_by = PortId((2 * number + 1 - end) as u32);
        self.interfaces.push(Interface { node: here.node as u32, fed_by, cable });
        Ok(())
    }

    /// Whether every host's kernel limits the host to the rate of its line.
    pub(crate) fn shaped(&self) -> bool {
        self.interfaces.iter().all(|interface| interface.cable.shaped)
    }
}

/// The cable settings for end `end` of link `number`, as for the first and only interface of a host.
fn settings(plan: &Plan, (number, end): (usize, usize)) -> veth::Settings<'static> {
    let link = &plan.links[number];
    let here = &link.ends[end];
    let segmentation = segmentation(plan, link, here);
    veth::Settings {
        interface: 0,
        fabric_interface: "",
        mac: Node::ethernet_address(here.node),
        mtu: link.config.mtu.0 as u32,
        address: plan.nodes[here.node].address,
        own_address: plan.interface_at(here.node, number).map(|interface| interface.address),
        own_ports: &[],
        routes: Routes::Everything,
        line: Some(line(link, here)),
        qdisc: None,
        segmentation,
        receive_cpus: &[],
    }
}

/// The discipline of an end of a link, as a qdisc of the host's kernel.
fn qdisc(plan: &Plan, link: &Link, end: &End) -> Result<ModuleQdisc, Error> {
    let table = frames::rules::by_headers(plan, &end.queue)
        .and_then(|queue| table::write(&queue).map_err(|error| error.to_string()));
    let unfit = |why| {
        let help = "give the host qdisc = \"card\", or change that";
        Error::unfit(format!("link `{}`: {why}", link.name), help)
    };
    Ok(ModuleQdisc {
        table: table.map_err(unfit)?,
        rate: end.direction.rate,
        overhead: link.config.overhead,
    })
}

/// The addresses that a host with `interfaces` interfaces reaches by `link`; `None` for all, with a single interface.
fn targets_of(plan: &Plan, (node, link): (usize, usize), interfaces: u16) -> Option<Vec<IpAddr>> {
    (interfaces > 1).then(|| targets(plan, node, link as u32))
}

/// The maximum sizes of TCP's buffers on each node: those that its flows ask for, and at least the defaults of Linux
/// (`tcp_init`). They also determine the window scale.
fn buffers(plan: &Plan) -> Vec<sysctl::Buffers> {
    const UNTOUCHED: sysctl::Buffers =
        sysctl::Buffers { receive: Bytes(6 << 20), send: Bytes(4 << 20) };
    let mut sizes = vec![UNTOUCHED; plan.nodes.len()];
    for flow in &plan.flows {
        let Some(tcp) = flow.tcp() else { continue };
        let send = &mut sizes[flow.from].send;
        *send = (*send).max(Bytes(tcp.sender.buffers.send.max()));
        let receive = &mut sizes[flow.to].receive;
        *receive = (*receive).max(Bytes(tcp.receiver.buffers.receive.max()));
    }
    sizes
}

/// The number of links of each node.
fn links(plan: &Plan) -> Vec<u16> {
    let mut counts = vec![0; plan.nodes.len()];
    plan.links.iter().flat_map(|link| &link.ends).for_each(|end| counts[end.node] += 1);
    counts
}

/// The server ports that programs on `node` reach by `link`, from flows with that interface as their source. A program
/// that binds to no address would otherwise use the host's first link.
fn server_ports(plan: &Plan, node: usize, link: usize) -> Vec<u16> {
    let leaves = |id| plan.interface(id).map(|interface| (interface.node, interface.link));
    let by_it = |flow: &&Flow| leaves(flow.source) == Some((node, link));
    let programs = plan.flows.iter().filter(|flow| matches!(flow.transport, Transport::Program(_)));
    let ports = programs.filter(by_it).filter_map(|flow| flow.header.ports);
    ports.map(|ports| ports.destination).collect()
}

/// The addresses of the hosts, and of their interfaces, that `node` reaches by `link`.
fn targets(plan: &Plan, node: usize, link: u32) -> Vec<IpAddr> {
    let is_host = |id| matches!(plan.nodes[plan.node_of(id)].kind, NodeKind::Host(_));
    let by_it = |id: HostId| plan.routes.next(node, id.0 as usize) == Some(link) && is_host(id);
    let family = |other: &IpAddr| other.is_ipv4() == plan.nodes[node].address.is_ipv4();
    plan.host_ids().filter(|&id| by_it(id)).map(|id| plan.address(id)).filter(family).collect()
}

/// The place where a host's frames are cut. If the host's discipline regulates all its traffic, that discipline spaces
/// the frames, and the kernel's queue runs at its rate and needs a timer for each packet that it holds back. TCP then
/// passes super-frames of up to 1 ms at that rate, as to a card of that rate. Otherwise the queue cuts super-frames
/// of the same size as the modelled host's, unless that host has no segmentation offload.
fn segmentation(plan: &Plan, link: &Link, end: &End) -> Segmentation {
    /// The largest super-frame of the kernel, an IP datagram, in bytes.
    const LONGEST: u64 = 65_535;
    const PERIOD: Duration = Duration::from_ms(1);
    match regulated(end) {
        _ if link.lab.gso => Segmentation::Reader,
        Some(rate) => {
            let frame = rate.time_for(Bytes(link.config.mtu.0 + HEADER + FCS));
            let frames = (PERIOD.as_ps() / frame.as_ps().max(1)).min(LONGEST / link.config.mtu.0);
            Segmentation::BehindQueue(frames.max(1) as u32)
        }
        None if offloads(plan, end.node) => Segmentation::InQueue,
        None => Segmentation::Tcp,
    }
}

/// Whether every connection of the host has segmentation offload (`tcp.emission.tso`), as in Linux by default.
fn offloads(plan: &Plan, node: usize) -> bool {
    plan.flows.iter().all(|flow| {
        let Some(tcp) = flow.tcp() else { return true };
        let ends = [(flow.from, &tcp.sender), (flow.to, &tcp.receiver)];
        ends.iter().all(|(at, config)| *at != node || config.emission.tso)
    })
}

/// The line of a host's kernel: the link's, or one at the rate of a discipline that regulates all traffic. Packets
/// thus wait in the kernel, as before a card of that rate, and TCP accounts for them.
fn line(link: &Link, end: &End) -> Line {
    let (rate, overhead) = match regulated(end) {
        // Disciplines count frames.
        Some(rate) => (rate, FCS),
        None => (end.direction.rate, FCS + link.config.overhead.0),
    };
    let limit = Bytes(QUEUE * (link.config.mtu.0 + HEADER + FCS));
    Line { rate, overhead: overhead as u16, limit, punctual: false, burst: None }
}

/// Packets that a host's kernel queues: Linux's usual `txqueuelen`.
const QUEUE: u64 = 1_000;

/// The rate to which a host's discipline limits all its traffic, if that is less than the link's rate.
pub(crate) fn regulated(end: &End) -> Option<Rate> {
    let rate = match &end.queue {
        Parameters::Psp(psp) => psp.rate.and_then(PacingRate::given),
        Parameters::Tbr(tbr) => tbr.rate,
        _ => None,
    };
    rate.filter(|&rate| rate < end.direction.rate)
}
