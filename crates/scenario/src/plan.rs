//! The plan: a scenario with all names resolved, all defaults filled in and all quantities checked. Drivers read
//! nothing else.

mod applications;
mod by_hand;
mod change;
mod judgements;
mod kernels;
mod parts;
mod probes;
mod switches;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use ::applications::datagrams;
use ::applications::sink::Reader;
use ::applications::workload::Workload;
use base::header::{Header, Ports};
use base::setting::CodePoint;
use base::setting::{choice, settings};
use base::{Duration, FlowId, HostId, Instant, Random};
use network::application::ActivePeriod;
pub use network::node::NodeKind;
use network::trace::Trace;
use network::{forwarding, impairment, link};
use traffic::{condition, qdisc};
use transport::SocketOption;

pub use self::applications::{FlowEnd, PlannedApplication};
pub use self::change::{Action, Change, Options, Target};
pub use self::judgements::{Comparison, Expectation, Tolerance, Within};
pub use self::probes::{Bandwidth, Capture, Probes, Sequence, Window};
pub(crate) use self::switches::headrooms;
pub use crate::demand::Demand;
use crate::physics::Warning;
pub use crate::resolve::{Attachment, Routes};
use crate::units::Units;

/// The input of a driver.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The title, for people.
    pub title: String,
    /// The units for all output, from the scenario.
    pub units: Units,
    /// The seed of every random stream, together with the entity's name.
    pub seed: u64,
    /// The duration of the run.
    pub duration: Duration,
    /// The measurement interval; `None` for the whole run.
    pub measure: Option<Window>,
    /// Hosts, routers and emulators. A packet's `HostId` is an index into these, or, beyond their number, into
    /// `interfaces`.
    pub nodes: Vec<Node>,
    /// The interfaces of hosts with several links. Each has its own address.
    pub interfaces: Vec<Interface>,
    /// The links between them. The port that transmits from `ends[e]` of link `l` is `PortId(2 * l + e)`.
    pub links: Vec<Link>,
    /// The next links from each node to each destination.
    pub routes: Routes,
    /// The connections and datagram flows, with each `count` expanded.
    pub flows: Vec<Flow>,
    /// The changes during the run, the earliest first.
    pub changes: Vec<Change>,
    /// The recorded data.
    pub probes: Probes,
    /// The expected results.
    pub expectations: Vec<Expectation>,
    /// The tolerances between results of different drivers.
    pub comparison: Comparison,
    /// Warnings about the files that its values came from; none from a lock file, which contains their contents.
    pub file_warnings: Vec<Warning>,
}

/// A program that a scenario starts on this machine.
#[derive(Clone, Copy, Debug)]
pub struct Command<'a> {
    /// The name of its host or flow.
    pub owner: &'a str,
    /// Its host, an index into [`Plan::nodes`].
    pub node: usize,
    /// The program and its arguments.
    pub words: &'a [String],
    /// Its user.
    pub user: User,
}

impl Plan {
    /// The times of snapshots for the measurement interval: the last instants before it starts and before it ends,
    /// except at the start and the end of the run.
    pub fn looks(&self) -> impl DoubleEndedIterator<Item = Instant> + Clone + use<> {
        let end = Instant::ZERO + self.duration;
        let window = self.measure.unwrap_or(Window { from: Instant::ZERO, until: end });
        let (from, until) = (Some(window.from), Some(window.until));
        let edges = [from.filter(|&at| at > Instant::ZERO), until.filter(|&at| at < end)];
        edges.into_iter().flatten().map(|edge| Instant::from_ps(edge.as_ps() - 1))
    }

    /// The times at which a flow's received bytes count for its goodput, unless the flow completes earlier: the
    /// middle and the end of its measured time.
    pub fn goodput_marks(&self, flow: &Flow) -> [Instant; 2] {
        let end = Instant::ZERO + self.duration;
        let stop = flow.span.stop.min(end).max(flow.span.start);
        let (from, until) = match self.measure {
            None => (flow.span.start, stop),
            Some(window) => (flow.span.start.max(window.from), stop.min(window.until)),
        };
        [from + Duration::from_ps(until.since(from).as_ps() / 2), stop]
    }

    /// The link on which `node` sends the packets of the flow with that number, from one host to another; `None`
    /// without a path, or at the destination. The flow hash selects one of several links of equal cost.
    pub fn next_link(&self, node: usize, flow: usize, [from, to]: [HostId; 2]) -> Option<u32> {
        let here = if node == self.node_of(from) { from.0 as usize } else { node };
        match *self.routes.next_hops(here, to.0 as usize) {
            [] => None,
            [link] => Some(link),
            ref links => {
                let flow = FlowId(flow as u32);
                Some(links[forwarding::pick(self.path_seed(node), flow, from, links.len())])
            }
        }
    }

    /// The interface of a packet's `HostId`; `None` if it is a node's.
    pub fn interface(&self, id: HostId) -> Option<&Interface> {
        self.interfaces.get((id.0 as usize).checked_sub(self.nodes.len())?)
    }

    /// The node of a packet's `HostId`, or of its interface.
    pub fn node_of(&self, id: HostId) -> usize {
        self.interface(id).map_or(id.0 as usize, |interface| interface.node)
    }

    /// The address of a host, or of one of its interfaces.
    pub fn address(&self, id: HostId) -> IpAddr {
        let of_node = || self.nodes[id.0 as usize].address;
        self.interface(id).map_or_else(of_node, |interface| interface.address)
    }

    /// The interface of that host at that link, if the host has several links.
    pub fn interface_at(&self, node: usize, link: usize) -> Option<&Interface> {
        self.interfaces.iter().find(|interface| (interface.node, interface.link) == (node, link))
    }

    /// Every `HostId` of the plan.
    pub fn host_ids(&self) -> impl Iterator<Item = HostId> + use<> {
        (0..self.nodes.len() + self.interfaces.len()).map(|number| HostId(number as u32))
    }

    /// Whether a packet may pass filters: of classes, or of a conditioner.
    pub fn has_filters(&self) -> bool {
        let filters = |queue: &qdisc::Parameters| {
            queue.classes().is_some_and(|classes| !classes.filters().is_empty())
        };
        let mut ends = self.links.iter().flat_map(|link| &link.ends);
        // A change may bring some.
        !self.changes.is_empty() || ends.any(|end| end.conditioner.is_some() || filters(&end.queue))
    }

    /// The plan without its flows, which may be many.
    #[must_use]
    pub fn without_flows(&self) -> Self {
        let Self { units, seed, duration, measure, .. } = *self;
        Self {
            title: self.title.clone(),
            units,
            seed,
            duration,
            measure,
            nodes: self.nodes.clone(),
            interfaces: self.interfaces.clone(),
            links: self.links.clone(),
            routes: self.routes.clone(),
            flows: Vec::new(),
            changes: self.changes.clone(),
            probes: self.probes.clone(),
            expectations: self.expectations.clone(),
            comparison: self.comparison.clone(),
            file_warnings: self.file_warnings.clone(),
        }
    }

    /// The seed of the node's flow hash for equal-cost links.
    pub fn path_seed(&self, node: usize) -> u64 {
        Random::new(self.seed, &format!("{}:paths", self.nodes[node].name)).next_u64()
    }

    /// The built-in congestion control algorithms of the flows selected by `of`, from the start or by a change.
    pub fn congestion<'a>(
        &'a self,
        of: impl Fn(&Flow) -> bool + Copy + 'a,
    ) -> impl Iterator<Item = congestion::Config> + 'a {
        let flows = self.flows.iter().filter(move |flow| of(flow));
        let at_first = flows.filter_map(Flow::tcp).flat_map(Tcp::congestion);
        let changed = self.changes.iter().flat_map(move |change| {
            let Target::Sockets(options) = &change.target else { return [].iter() };
            let any = self.flows[options.flows.clone()].iter().any(of);
            if any { options.list.iter() } else { [].iter() }
        });
        at_first.chain(changed.filter_map(|option| match option {
            SocketOption::Congestion(config) => Some(*config),
            _ => None,
        }))
    }

    /// Every program that the plan starts on real hosts: programs of hosts first, then of flows, servers first.
    pub fn commands(&self) -> impl Iterator<Item = Command<'_>> {
        let of_hosts = self.nodes.iter().enumerate().flat_map(|(number, node)| {
            let command = move |words| (node.name.as_str(), number, words, node.user);
            node.programs.iter().map(command)
        });
        let of_flows = self.flows.iter().flat_map(|flow| {
            let Transport::Program(program) = &flow.transport else { return [None, None] };
            let command = |node, words| (flow.name.as_str(), node, words, program.user);
            let server = program.server.as_ref().map(|words| command(flow.to, words));
            [server, Some(command(flow.from, &program.client))]
        });
        let all = of_hosts.chain(of_flows.flatten());
        all.map(|(owner, node, words, user)| Command { owner, node, words, user })
    }
}

/// A node.
#[derive(Clone, Debug)]
pub struct Node {
    /// Its name in the file.
    pub name: String,
    /// Its kind, with settings.
    pub kind: NodeKind,
    /// A host's address on all its links; addresses of other nodes are unused.
    pub address: IpAddr,
    /// The programs of a host during the whole run, each as its words.
    pub programs: Vec<Vec<String>>,
    /// The user of the programs.
    pub user: User,
}

impl Node {
    /// The default address of the node with that number.
    pub fn usual_address(number: usize) -> IpAddr {
        IpAddr::V4(Ipv4Addr::from_bits((10 << 24) + 1 + number as u32))
    }

    /// The Ethernet address of the node with that number, locally administered: `02:00` and its number from 1.
    pub const fn ethernet_address(number: usize) -> [u8; 6] {
        let [a, b, c, d] = (number as u32 + 1).to_be_bytes();
        [0x02, 0x00, a, b, c, d]
    }
}

/// An interface of a host with several links.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interface {
    /// The host.
    pub node: usize,
    /// The link, an index into `Plan::links`.
    pub link: usize,
    /// Its address, in addition to the host's own.
    pub address: IpAddr,
}

impl Interface {
    /// The default address of the interface with that number: 10.64.0.1 and so on, or fd00:0:0:40::1.
    pub fn usual_address(number: usize, is_ipv6: bool) -> IpAddr {
        const V4: u32 = 0x0a40_0001;
        const V6: u128 = 0xfd00_0000_0000_0040 << 64 | 1;
        match is_ipv6 {
            false => IpAddr::V4(Ipv4Addr::from_bits(V4 + number as u32)),
            true => IpAddr::V6(Ipv6Addr::from_bits(V6 + number as u128)),
        }
    }
}

/// A link.
#[derive(Clone, Debug)]
pub struct Link {
    /// Its name in the file.
    pub name: String,
    /// MTU and overhead, and the default rate and delay of its ends.
    pub config: link::Config,
    /// Its settings for the lab.
    pub lab: LabLink,
    /// The two ends.
    pub ends: [End; 2],
}

impl Link {
    /// Its settings in the direction from the end with that number.
    pub const fn from_end(&self, end: usize) -> link::Config {
        let link::Direction { rate, delay, .. } = self.ends[end].direction;
        link::Config { rate, delay, ..self.config }
    }
}

settings! {
    /// Link settings for the lab.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct LabLink {
        /// Gaps of a discipline in the lab: "time" leaves the link idle for their duration, "frames" sends PAUSE
        /// frames; "time" unless given.
        pub wire: Wire,
        /// Whether the lab's hosts may pass several segments as one (GSO); false unless given.
        pub gso: bool,
    }
}

choice! {
    /// The realisation of a discipline's gaps on real packets.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Wire {
        /// The link stays idle for the duration.
        #[default]
        Time = "time",
        /// The link carries PAUSE frames for the duration.
        Frames = "frames",
    }
}

/// One end of a link: a node's port.
#[derive(Clone, Debug)]
pub struct End {
    /// The node, an index into `Plan::nodes`.
    pub node: usize,
    /// The discipline of that port's output (an emulator's port has its buffer instead).
    pub queue: qdisc::Parameters,
    /// Its rate (the mean of a varying one), delay and device buffer.
    pub direction: link::Direction,
    /// The trace of a varying rate.
    pub trace: Option<Trace>,
    /// The conditioner of packets received there.
    pub conditioner: Option<condition::Parameters>,
    /// The impairments of packets sent from there, in order.
    pub impairments: Vec<impairment::Parameters>,
}

/// One TCP connection or flow of datagrams; its `FlowId` is its index in `Plan::flows`.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Its name in the file, with `.1`, `.2`, … where a count was given.
    pub name: String,
    /// The sending host.
    pub from: usize,
    /// The receiving host.
    pub to: usize,
    /// The source of its packets: the sending host, or the interface on which it sends.
    pub source: HostId,
    /// The destination of its packets: the receiving host, or the interface on which they arrive.
    pub destination: HostId,
    /// The header fields of its packets from `from` to `to`.
    pub header: Header,
    /// The time and the amount of sending.
    pub span: ActivePeriod,
    /// The demand in the file, from which `span` is drawn.
    pub demand: Arc<Demand>,
    /// Its transport protocol.
    pub transport: Transport,
}

settings! {
    /// Header fields of a flow's packets.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Marks {
        /// Code point of the packets of both directions; "cs0" unless given.
        #[like(CodePoint)]
        pub dscp: u8,
        /// IPv6 flow label; 0 unless given.
        #[range(..1 << 20)]
        pub flow_label: u32,
    }
}

/// The transport of a flow.
#[derive(Clone, Debug)]
pub enum Transport {
    /// A connection; flows of one table with the same ends of it share them.
    Tcp(Arc<Tcp>),
    /// Datagrams of an unresponsive sender.
    Udp(Udp),
    /// The traffic of a program.
    Program(Program),
}

/// The two ends of datagrams.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Udp {
    /// The workload of the programs.
    pub workload: Workload,
    /// The IP header in bytes: 20 over IPv4, 40 over IPv6.
    pub ip_header: u32,
    /// The code point of every datagram (RFC 2474), 0 to 63.
    pub dscp: u8,
}

impl Udp {
    /// What the sender sends.
    pub fn datagrams(&self) -> datagrams::Config {
        let config = self.workload.datagrams().unwrap_or_default();
        datagrams::Config { ip_header: self.ip_header, dscp: self.dscp, ..config }
    }
}

/// A program on a real kernel, as words with addresses and ports filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The program on the sending host, started with the flow.
    pub client: Vec<String>,
    /// The program on the receiving host, started before.
    pub server: Option<Vec<String>>,
    /// The user of both.
    pub user: User,
}

/// The user of a scenario's program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum User {
    /// A user without privileges; the machine's files are read-only.
    #[default]
    Nobody,
    /// The user that runs the lab, with all privileges.
    Root,
}

impl User {
    /// Its name in a scenario.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Nobody => "nobody",
            Self::Root => "root",
        }
    }
}

/// The two ends of a connection.
#[derive(Clone, Debug)]
pub struct Tcp {
    /// The sender's TCP.
    pub sender: Arc<transport::Config>,
    /// The receiver's TCP.
    pub receiver: Arc<transport::Config>,
    /// The name of the kernel's congestion control algorithm, in place of the sender's.
    pub kernel_congestion: Option<String>,
    /// The workload of the programs.
    pub workload: Workload,
    /// The reading of the receiving program.
    pub reader: Reader,
}

impl Tcp {
    /// Whether the receiver's congestion control needs ECN; of Linux's own only DCTCP does.
    pub fn receiver_needs_ecn(&self) -> bool {
        match &self.kernel_congestion {
            Some(name) => name == "dctcp",
            None => self.receiver.congestion.algorithm().needs_ecn(),
        }
    }

    /// Whether the receiver's congestion control matters: if the receiver writes, or if the algorithm determines the
    /// ECN echoes of ACKs.
    pub fn receiver_controls(&self) -> bool {
        self.workload.both_write() || self.receiver_needs_ecn()
    }

    /// The congestion control of each end where it matters, unless it is the kernel's own.
    fn congestion(&self) -> impl Iterator<Item = congestion::Config> + use<> {
        let ours = self.kernel_congestion.is_none();
        let receiver = (ours && self.receiver_controls()).then_some(self.receiver.congestion);
        ours.then_some(self.sender.congestion).into_iter().chain(receiver)
    }
}

impl Flow {
    /// The default ports of the flow with that number.
    pub const fn usual_ports(number: usize) -> Ports {
        const SENDERS: usize = 40_000;
        let (source, destination) = (20_000 + number % SENDERS, 9_000 + number / SENDERS);
        // At most 1 000 000 flows, so neither port exceeds 60 000.
        Ports { source: source as u16, destination: destination as u16 }
    }

    /// The default port on which the program with that number listens. Each program has its own.
    pub const fn usual_server_port(number: usize) -> u16 {
        10_000 + (number % 10_000) as u16
    }

    /// The connection, if the flow is one.
    pub fn tcp(&self) -> Option<&Tcp> {
        match &self.transport {
            Transport::Tcp(tcp) => Some(tcp),
            Transport::Udp(_) | Transport::Program(_) => None,
        }
    }

    /// What its programs do, unless they are programs of this machine.
    pub fn workload(&self) -> Option<&Workload> {
        match &self.transport {
            Transport::Tcp(tcp) => Some(&tcp.workload),
            Transport::Udp(udp) => Some(&udp.workload),
            Transport::Program(_) => None,
        }
    }

    /// Whether the flow requires a real kernel: for a program, or for the kernel's own congestion control.
    pub fn takes_a_kernel(&self) -> bool {
        match &self.transport {
            Transport::Tcp(tcp) => tcp.kernel_congestion.is_some(),
            Transport::Udp(_) => false,
            Transport::Program(_) => true,
        }
    }

    /// The host with the program that reads the data of interest: the receiving one, or the sending one for
    /// responses.
    pub fn reader(&self) -> usize {
        let asks = self.tcp().is_some_and(|tcp| tcp.workload.asks());
        if asks { self.from } else { self.to }
    }

    /// The host at the other end, which writes the data.
    pub fn writer(&self) -> usize {
        if self.reader() == self.to { self.from } else { self.to }
    }
}
