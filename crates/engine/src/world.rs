//! The world: a plan's nodes and links, connected.

use std::cmp::Reverse;
use std::ops::Range;
use std::sync::Arc;

use base::{Bytes, DscpMap, Fault, FlowId, HostId, Instant, Random};
use network::forwarding::{Destination, ForwardingTable, NO_ROUTE, Pages};
use network::headroom::headroom;
use network::host::{self, Host, SocketConfig, SocketKind};
use network::impairment::{Impairment, Parameters};
use network::ingress::{Notifications, Side, Trust};
use network::link::Wire;
use network::node::NodeKind;
use network::router::Router;
use network::{Behaviour, Parts};
use network::{Node, Port, PortId};
use scenario::Plan;
use scenario::plan::{Attachment, Change, FlowEnd, PlannedApplication, Target, Transport};
use traffic::condition::Conditioner;
use traffic::qdisc::fifo;
use traffic::{Packets, Pause, qdisc};

/// One direction of a link, with the port that feeds it and the node at its far end.
#[derive(Debug)]
pub struct Channel {
    /// The packets on it.
    pub wire: Wire,
    /// The receiving node.
    pub far: u32,
    /// The index of the port through which packets enter that node.
    pub far_port: u32,
    /// Whether gap frames are sent as packets of [`base::FlowId::GAP`], to a machine at the far end.
    pub gap_frames: bool,
    /// The transmitting node.
    pub node: u32,
    /// The port's index within that node.
    pub port: u32,
}

impl Channel {
    /// The direction as another part of the world has it, with no packet on it.
    pub(crate) fn without_packets(&self) -> Self {
        let Self { far, far_port, gap_frames, node, port, .. } = *self;
        let wire = Wire::new(self.wire.delay(), Vec::new());
        Self { wire, far, far_port, gap_frames, node, port }
    }
}

/// The number of prefixes up to which each node has a table of its own, which takes one look; the tables of more share
/// pages.
const OWN_PREFIXES_MAX: usize = 512;

/// Nodes, and the channels that connect them. Channels are numbered as the ports that feed them (`PortId`).
#[derive(Debug)]
pub struct World {
    /// The nodes, as in the plan.
    pub nodes: Vec<Node>,
    /// The channels, two for each link of the plan.
    pub channels: Vec<Channel>,
    /// The packets in it, and the known parts of their headers.
    pub packets: Packets,
    /// The priority of each code point, by node, where it is not the class selector.
    pub priorities: Vec<Option<DscpMap>>,
    /// The flows that are added when they begin: [`World::begin_next`]; the earliest last.
    pub(crate) waiting: Vec<u32>,
}

impl World {
    /// Builds the world of `plan`, with modelled hosts and all flows between them.
    ///
    /// # Errors
    /// A discipline or conditioner that refuses its parameters; a plan from `scenario` was already checked for that.
    pub fn new(plan: &Plan) -> Result<Self, Fault> {
        let mut world = Self::joined(plan, NodeKind::build)?;
        world.connect(plan, |_| false);
        Ok(world)
    }

    /// Builds the world of `plan`, with modelled hosts, and with those flows between them that need be there before
    /// they begin: [`World::begin_next`] adds the others.
    ///
    /// # Errors
    /// A discipline or conditioner that refuses its parameters; a plan from `scenario` was already checked for that.
    pub fn at_start(plan: &Plan) -> Result<Self, Fault> {
        let mut world = Self::joined(plan, NodeKind::build)?;
        world.connect(plan, |flow| begins_unnoticed(plan, flow));
        Ok(world)
    }

    /// Builds the world of `plan` without the hosts' stacks: only their interfaces, for machines behind them, with
    /// `packets` as its packet memory.
    ///
    /// # Errors
    /// A discipline or conditioner that refuses its parameters; a plan from `scenario` was already checked for that.
    pub fn of_machines(plan: &Plan, packets: Packets) -> Result<Self, Fault> {
        Self::with_machines(plan, packets, |_| true)
    }

    /// Builds the world of `plan` with machines behind the hosts that have kernels, and modelled hosts otherwise.
    ///
    /// # Errors
    /// A discipline or conditioner that refuses its parameters; a plan from `scenario` was already checked for that.
    pub fn of_kernels(plan: &Plan, packets: Packets) -> Result<Self, Fault> {
        let mut world = Self::with_machines(plan, packets, |host| host.kernel.is_some())?;
        world.connect(plan, |_| false);
        Ok(world)
    }

    fn with_machines(
        plan: &Plan,
        packets: Packets,
        is_machine: impl Fn(&host::Config) -> bool,
    ) -> Result<Self, Fault> {
        let is_machine = |kind: &NodeKind| matches!(kind, NodeKind::Host(host) if is_machine(host));
        let interfaces = |kind: &NodeKind, parts: Parts| match kind {
            _ if is_machine(kind) => {
                // The machine itself verifies checksums.
                let verified = parts.sides.into_iter().map(|side| Side { verifies: false, ..side });
                let (table, sides) = (parts.table.local(), verified.collect());
                Node::Router(Router::new(Parts { table, sides, ..parts }))
            }
            _ => {
                let sides = parts.sides.into_iter().map(|side| Side { strays: true, ..side });
                kind.build(Parts { sides: sides.collect(), ..parts })
            }
        };
        let mut world = Self { packets, ..Self::joined(plan, interfaces)? };
        world.describe(plan);
        for channel in 0..world.channels.len() {
            let frames = plan.links[channel / 2].lab.wire == scenario::plan::Wire::Frames;
            let far = world.channels[channel].far as usize;
            let machine = is_machine(&plan.nodes[far].kind);
            world.channels[channel].gap_frames = frames && machine;
        }
        if plan.links.iter().any(|link| link.lab.gso) {
            // Super-frames are several frames on the wire. They pass every port on their path, on any link.
            world.take_longer_frames(u32::MAX);
        }
        Ok(world)
    }

    /// Makes all ports accept packets that are `bytes` longer than a frame of their link's MTU.
    pub(crate) fn take_longer_frames(&mut self, bytes: u32) {
        let ports = self.nodes.iter_mut().flat_map(Node::ports_mut);
        ports.for_each(|port| port.take_longer_frames(bytes));
    }

    /// The nodes and channels; `build` makes the nodes.
    fn joined(plan: &Plan, build: impl Fn(&NodeKind, Parts) -> Node) -> Result<Self, Fault> {
        let mut ports: Vec<(Vec<Port>, Vec<Side>)> =
            plan.nodes.iter().map(|_| Default::default()).collect();
        let ends = plan.links.iter().flat_map(|link| &link.ends);
        let damaged = ends.flat_map(|end| &end.impairments).any(|one| one.damages());
        let notifies = plan.has_notifications();
        let mut channels = Vec::new();
        for (number, link) in plan.links.iter().enumerate() {
            for (end, here) in link.ends.iter().enumerate() {
                let id = PortId((2 * number + end) as u32);
                let (own, sides) = &mut ports[here.node];
                let (port, delay) = output(plan, here, link, id, notifies)?;
                let host = matches!(plan.nodes[here.node].kind, NodeKind::Host(_));
                sides.push(Side { verifies: damaged && host, ..side(plan, here, link, notifies)? });
                channels.push(Channel {
                    wire: Wire::new(delay, impairments(plan, here, link)),
                    far: link.ends[1 - end].node as u32,
                    far_port: 0,
                    gap_frames: false,
                    node: here.node as u32,
                    port: own.len() as u32,
                });
                own.push(port);
            }
        }
        for channel in 0..channels.len() {
            channels[channel].far_port = channels[channel ^ 1].port;
        }
        let priorities = plan.priorities();
        let (nodes, packets, waiting) = (Vec::new(), Packets::new(), Vec::new());
        let mut world = Self { nodes, channels, packets, priorities, waiting };
        let (destinations, pages) = (world.destinations(plan), plan.routes.pages().into());
        let mut own = vec![Vec::new(); plan.nodes.len()];
        for (number, interface) in (plan.nodes.len()..).zip(&plan.interfaces) {
            let port = world.port(plan, interface.node, interface.link as u32);
            own[interface.node].push((HostId(number as u32), port));
        }
        for (number, (ports, sides)) in ports.into_iter().enumerate() {
            let node = &plan.nodes[number];
            let table = world.forwarding(plan, number, &destinations, &pages);
            let table = table.of_interfaces(core::mem::take(&mut own[number]));
            let seed = Random::new(plan.seed, &format!("{}:node", node.name)).next_u64();
            let parts = Parts { number: number as u32, ports, sides, table, seed };
            let mut node = build(&node.kind, parts);
            (0..node.ports().len()).for_each(|port| node.listen(port));
            world.nodes.push(node);
        }
        Ok(world)
    }

    /// The attachment points of all nodes, and of all interfaces with an address of their own.
    fn destinations(&self, plan: &Plan) -> Arc<[Destination]> {
        let destination = |HostId(number)| {
            let Attachment { gateway, prefix } = plan.routes.attachment(number as usize);
            let (gateway, port) = match gateway {
                Some((at, link)) => (at as u32, self.port(plan, at, link)),
                None => (NO_ROUTE, NO_ROUTE),
            };
            Destination { gateway, port, prefix: prefix.unwrap_or(NO_ROUTE) }
        };
        plan.host_ids().map(destination).collect()
    }

    /// The forwarding table of `node`.
    fn forwarding(
        &self,
        plan: &Plan,
        node: usize,
        destinations: &Arc<[Destination]>,
        pages: &Pages,
    ) -> ForwardingTable {
        let Some(routes) = plan.routes.by_prefix(node) else {
            return ForwardingTable::default_route(node as u32);
        };
        let ports = |links: &[u32]| {
            links.iter().map(|&link| self.port(plan, node, link)).collect::<Vec<_>>()
        };
        let (number, seed) = (node as u32, plan.path_seed(node));
        let (each, destinations) = (routes.each(), destinations.clone());
        if each.len() <= OWN_PREFIXES_MAX {
            return ForwardingTable::new(number, destinations, each.map(ports), seed);
        }
        let sets = ForwardingTable::new(number, destinations, routes.sets().map(ports), seed);
        sets.paged(pages.clone(), routes.pages())
    }

    /// The port of `node`, numbered within it, that sends on `link`.
    fn port(&self, plan: &Plan, node: usize, link: u32) -> u32 {
        let link = link as usize;
        let end = usize::from(plan.links[link].ends[0].node != node);
        self.channels[2 * link + end].port
    }

    /// The port of a flow's end, numbered within its host, that leads to the other end.
    fn port_towards(&self, plan: &Plan, end: HostId, other: HostId) -> u32 {
        let link = plan.routes.next(end.0 as usize, other.0 as usize);
        self.port(plan, plan.node_of(end), link.expect("a planned flow has a path"))
    }

    /// Records the headers of every flow's packets, if a filter may look at them.
    fn describe(&mut self, plan: &Plan) {
        if !plan.has_filters() {
            return;
        }
        for (number, flow) in plan.flows.iter().enumerate() {
            self.packets.describe(FlowId(number as u32), flow.source, flow.header);
        }
    }

    /// Adds both ends of every modelled flow, and the modelled ends of others, except flows that wait for their start.
    fn connect(&mut self, plan: &Plan, waits: impl Fn(usize) -> bool) {
        self.describe(plan);
        for flows in plan.sharing() {
            let flow = &plan.flows[flows.start];
            if !plan.is_simulated(flow) {
                continue;
            }
            if waits(flows.start) {
                self.waiting.push(flows.start as u32);
            } else {
                self.add_all(plan, flows);
            }
        }
        self.waiting
            .sort_unstable_by_key(|&flow| Reverse((plan.flows[flow as usize].span.start, flow)));
    }

    /// Adds the next flow that begins at `until` at the latest; returns the nodes at its ends.
    pub(crate) fn begin_next(&mut self, plan: &Plan, until: Instant) -> Option<[usize; 2]> {
        let number = *self.waiting.last()? as usize;
        let flow = &plan.flows[number];
        if flow.span.start > until {
            return None;
        }
        self.waiting.pop();
        self.add_all(plan, number..number + 1);
        Some([flow.from, flow.to])
    }

    /// Adds the applications of flows that share them, or of one flow. If several have timers due at a host at the same
    /// time, those of connections run before those of datagrams, and both in the order of the plan.
    fn add_all(&mut self, plan: &Plan, flows: Range<usize>) {
        let is_udp = matches!(plan.flows[flows.start].transport, Transport::Udp(_));
        // Flows have at most two applications each.
        let first = 2 * (flows.start + if is_udp { plan.flows.len() } else { 0 });
        for (rank, planned) in (first as u32..).zip(plan.applications(flows)) {
            self.add(plan, rank, planned);
        }
    }

    /// Adds an application with its sockets, if it is modelled.
    fn add(
        &mut self,
        plan: &Plan,
        rank: u32,
        PlannedApplication { application, sockets }: PlannedApplication,
    ) {
        let FlowEnd { flow, end } = sockets[0];
        let node = [plan.flows[flow].from, plan.flows[flow].to][end];
        if plan.has_kernel(node) {
            return;
        }
        let sockets: Vec<_> = sockets.into_iter().filter_map(|at| self.socket(plan, at)).collect();
        self.host(node).add(rank, application, sockets);
    }

    /// The socket at that end of a flow.
    pub(crate) fn socket(
        &self,
        plan: &Plan,
        FlowEnd { flow: number, end }: FlowEnd,
    ) -> Option<SocketConfig> {
        let flow = &plan.flows[number];
        let kind = match &flow.transport {
            Transport::Tcp(tcp) => {
                let isn = Random::new(plan.seed, &flow.name).next_u32();
                let (isn, tcp) = [(isn, &tcp.sender), (!isn, &tcp.receiver)][end];
                SocketKind::Connection { isn, connects: end == 0, tcp: tcp.clone() }
            }
            Transport::Udp(udp) => {
                let config = udp.datagrams();
                let (tos, ip_header) = (config.tos(), config.ip_header);
                SocketKind::Datagrams { tos, ip_header }
            }
            Transport::Program(_) => return None,
        };
        let [local, peer] = match end {
            0 => [flow.source, flow.destination],
            _ => [flow.destination, flow.source],
        };
        let port = self.port_towards(plan, local, peer);
        let dscp = match &kind {
            SocketKind::Connection { tcp, .. } => tcp.segment.dscp,
            SocketKind::Datagrams { tos, .. } => *tos >> 2,
        };
        let map = self.priorities[plan.node_of(local)];
        let priority = map.map(|map| map.priority(dscp));
        Some(SocketConfig { flow: FlowId(number as u32), port, local, peer, priority, kind })
    }

    fn host(&mut self, node: usize) -> &mut Host {
        self.nodes[node].as_host_mut().expect("a planned flow's ends are hosts")
    }
}

/// Whether the flow of that number may be added when it begins, because nothing is known of it and nothing changes of it
/// before: its programs count nothing of their own, and it has no programs in common with another.
fn begins_unnoticed(plan: &Plan, number: usize) -> bool {
    let counts_nothing =
        plan.flows[number].tcp().is_some_and(|tcp| tcp.workload.results().is_none());
    let changes = |change: &Change| match &change.target {
        Target::Sockets(options) => options.flows.contains(&number),
        Target::Port(..) => false,
    };
    counts_nothing && !plan.changes.iter().any(changes)
}

/// The impairments of the wire from `end`; each has its own stream of random numbers.
fn impairments(
    plan: &Plan,
    end: &scenario::plan::End,
    link: &scenario::plan::Link,
) -> Vec<Impairment> {
    let name = format!("{}:{}", plan.nodes[end.node].name, link.name);
    let each = end.impairments.iter().map(|parameters| {
        // Random loss has the stream named after the port.
        let stream = match parameters {
            Parameters::Loss(_) => name.clone(),
            _ => format!("{name}:{}", parameters.name()),
        };
        Impairment::new(parameters.clone(), Random::new(plan.seed, &stream))
    });
    each.collect()
}

/// The output port of one end of a link, and the link's delay; `notifies` says whether a switch may send congestion
/// notifications.
fn output(
    plan: &Plan,
    end: &scenario::plan::End,
    link: &scenario::plan::Link,
    id: PortId,
    notifies: bool,
) -> Result<(Port, base::Duration), Fault> {
    let config = &network::link::Config {
        rate: end.direction.rate,
        delay: end.direction.delay,
        ..link.config
    };
    let name = format!("{}:{}:queue", plan.nodes[end.node].name, link.name);
    let seed = Random::new(plan.seed, &name).next_u64();
    Ok(match &plan.nodes[end.node].kind {
        NodeKind::Emulator(emulator) => {
            let port = traffic::Port { seed, ..emulator.port(config) };
            (Port::new(id, &emulator.queue(), port)?, emulator.delay(config))
        }
        _ => {
            let (rate, mtu, overhead) = (config.rate, config.mtu, config.overhead);
            let card = qdisc::Parameters::Fifo(fifo::Parameters::default());
            let queue = if plan.has_qdiscs(end.node) { &card } else { &end.queue };
            let port = Port::new(id, queue, traffic::Port { rate, mtu, overhead, seed })?
                .with_timer(plan.nodes[end.node].kind.timer())
                .with_device_buffer(end.direction.device_buffer);
            let port = match &end.trace {
                Some(trace) => port.with_trace(trace.clone()),
                None => port,
            };
            let port = match link.ends.iter().any(|end| pauses(plan, end)) {
                true => port.with_flow_control(Pause::response(rate), watchdog(plan, end)),
                false => port,
            };
            let port = match notifies {
                true => reacting(port, plan, end, config.overhead, seed),
                false => port,
            };
            (port, config.delay)
        }
    })
}

/// Whether the node at that end pauses the far end of the link.
fn pauses(plan: &Plan, end: &scenario::plan::End) -> bool {
    matches!(&plan.nodes[end.node].kind, NodeKind::Switch(switch) if switch.pauses())
}

/// The port, with reaction points if it is a host's: a switch may send congestion notifications.
fn reacting(
    port: Port,
    plan: &Plan,
    end: &scenario::plan::End,
    overhead: Bytes,
    seed: u64,
) -> Port {
    match &plan.nodes[end.node].kind {
        NodeKind::Host(host) => {
            port.with_reaction_points(host.qcn.unwrap_or_default(), overhead, seed.rotate_left(32))
        }
        _ => port,
    }
}

/// The time for which a port there may be paused.
fn watchdog(plan: &Plan, end: &scenario::plan::End) -> base::Duration {
    match &plan.nodes[end.node].kind {
        NodeKind::Switch(switch) => switch.watchdog.unwrap_or(base::Duration::MAX),
        _ => base::Duration::MAX,
    }
}

/// The ingress side of one end of a link; `notifies` says whether a switch may send congestion notifications.
fn side(
    plan: &Plan,
    end: &scenario::plan::End,
    link: &scenario::plan::Link,
    notifies: bool,
) -> Result<Side, Fault> {
    let mut ends = link.ends.iter();
    let far = ends.find(|far| far.node != end.node).unwrap_or(end);
    let headroom = match pauses(plan, end) {
        true => headroom(&far.direction, &end.direction, &link.config),
        false => Bytes(0),
    };
    let notifications = match notifies {
        true => plan.nodes[end.node].kind.notifications(),
        false => Notifications::Forward,
    };
    let trust = match &plan.nodes[end.node].kind {
        NodeKind::Switch(switch) => switch.trust(),
        _ => Trust::default(),
    };
    let control = pauses(plan, far);
    // Several opportunities of a trace may come at one instant.
    let bunched = far.trace.is_some() || far.impairments.iter().any(|one| one.bunches());
    let plain = Side { trust, control, notifications, headroom, bunched, ..Side::default() };
    let Some(parameters) = &end.conditioner else { return Ok(plain) };
    let name = format!("{}:{}:queue:input", plan.nodes[end.node].name, link.name);
    let seed = Random::new(plan.seed, &name).next_u64();
    let conditioner = Some(Conditioner::attach(parameters, seed, Instant::ZERO)?);
    Ok(Side { conditioner, ..plain })
}
