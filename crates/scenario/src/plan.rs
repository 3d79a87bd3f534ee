//! The plan: a scenario with every name resolved, every default filled in and every quantity checked.
//! Drivers read it and nothing else.

mod applications;
mod by_hand;
mod change;
mod switches;

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::sync::Arc;

use network::application::ActivePeriod;
pub use network::node::Kind as NodeKind;
use network::sink::Reader;
use network::trace::Trace;
use network::workload::Workload;
use network::{datagram, forwarding, impairment, link};
use traffic::header::{Header, Ports};
use traffic::setting::CodePoint;
use traffic::{Duration, FlowId, HostId, Instant, Random, choice, condition, qdisc, settings};
use transport::SocketOption;

pub use self::applications::{FlowEnd, PlannedApplication};
pub use self::change::{Action, Change, Options, Target};
pub(crate) use self::switches::headrooms;
pub use crate::demand::Demand;
use crate::physics::Warning;
pub use crate::resolve::{Attachment, Routes};
use crate::units::Units;

/// What a driver runs.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What it is, for people.
    pub title: String,
    /// The units that its author thinks in, for whatever is printed.
    pub units: Units,
    /// The seed that every random stream derives from, with the entity's name.
    pub seed: u64,
    /// How long it runs.
    pub duration: Duration,
    /// The part of it that results are of; all unless given.
    pub measure: Option<Window>,
    /// Hosts, routers and emulators; a packet's `HostId` is an index into these, and from their number on into
    /// `interfaces`.
    pub nodes: Vec<Node>,
    /// The interfaces of hosts with several links, each of which has an address of its own.
    pub interfaces: Vec<Interface>,
    /// Links between them; the port that transmits from `ends[e]` of link `l` is `PortId(2 * l + e)`.
    pub links: Vec<Link>,
    /// The links to take from each node to each destination.
    pub routes: Routes,
    /// Connections and flows of datagrams, one each (a `count` in the file is already multiplied out).
    pub flows: Vec<Flow>,
    /// What is changed while the run goes on, the earliest first.
    pub changes: Vec<Change>,
    /// What to record.
    pub probes: Probes,
    /// What must come out.
    pub expectations: Vec<Expectation>,
    /// How far the results of different drivers may lie apart.
    pub comparison: Comparison,
    /// What is odd about the files that its values were read from; none where a lock file has what was in them.
    pub file_warnings: Vec<Warning>,
}

/// A program that a scenario starts on this machine.
#[derive(Clone, Copy, Debug)]
pub struct Command<'a> {
    /// The name of the host or the flow that it belongs to.
    pub owner: &'a str,
    /// The host where it runs, an index into [`Plan::nodes`].
    pub node: usize,
    /// The program and its arguments.
    pub words: &'a [String],
    /// As whom.
    pub user: User,
}

impl Plan {
    /// When all that was counted so far is to be known, for what is measured: at the last instant before the measured part
    /// begins, unless the run does then, and at its last one, unless the run ends then.
    pub fn looks(&self) -> impl DoubleEndedIterator<Item = Instant> + Clone + use<> {
        let end = Instant::ZERO + self.duration;
        let window = self.measure.unwrap_or(Window { from: Instant::ZERO, until: end });
        let (from, until) = (Some(window.from), Some(window.until));
        let edges = [from.filter(|&at| at > Instant::ZERO), until.filter(|&at| at < end)];
        edges.into_iter().flatten().map(|edge| Instant::from_ps(edge.as_ps() - 1))
    }

    /// When what a flow's receiver has read matters for its goodput, unless the flow completes earlier: halfway, and
    /// at the end, of the part of its time that is measured.
    pub fn goodput_marks(&self, flow: &Flow) -> [Instant; 2] {
        let end = Instant::ZERO + self.duration;
        let stop = flow.span.stop.min(end).max(flow.span.start);
        let (from, until) = match self.measure {
            None => (flow.span.start, stop),
            Some(window) => (flow.span.start.max(window.from), stop.min(window.until)),
        };
        [from + Duration::from_ps(until.since(from).as_ps() / 2), stop]
    }

    /// The link by which `node` sends the packets of the flow of that number, from one host to another; `None`
    /// if there is no way, or it is there. Of several of equal cost the flow hash takes one.
    pub fn next_link(&self, node: usize, flow: usize, [from, to]: [HostId; 2]) -> Option<u32> {
        let here = if node == self.node_of(from) { usize::from(from.0) } else { node };
        match self.routes.next_hops(here, to.0.into()) {
            [] => None,
            &[link] => Some(link),
            links => {
                let flow = FlowId(flow as u32);
                Some(links[forwarding::pick(self.path_seed(node), flow, from, links.len())])
            }
        }
    }

    /// The interface that a packet's `HostId` names, if it does not name a node.
    pub fn interface(&self, id: HostId) -> Option<&Interface> {
        self.interfaces.get(usize::from(id.0).checked_sub(self.nodes.len())?)
    }

    /// The node that a packet's `HostId` names, or whose interface that is.
    pub fn node_of(&self, id: HostId) -> usize {
        self.interface(id).map_or(usize::from(id.0), |interface| interface.node)
    }

    /// The address of a host, or of one of its interfaces.
    pub fn address(&self, id: HostId) -> IpAddr {
        let of_node = || self.nodes[usize::from(id.0)].address;
        self.interface(id).map_or_else(of_node, |interface| interface.address)
    }

    /// The interface of that host at that link, if it has several.
    pub fn interface_at(&self, node: usize, link: usize) -> Option<&Interface> {
        self.interfaces.iter().find(|interface| (interface.node, interface.link) == (node, link))
    }

    /// Every `HostId` of the plan.
    pub fn host_ids(&self) -> impl Iterator<Item = HostId> + use<> {
        (0..self.nodes.len() + self.interfaces.len()).map(|number| HostId(number as u16))
    }

    /// What the node hashes flows with, where several links lead on.
    pub fn path_seed(&self, node: usize) -> u64 {
        Random::new(self.seed, &format!("{}:paths", self.nodes[node].name)).next_u64()
    }

    /// Whether the node of that number is a host whose stack is a kernel's in the simulator too.
    pub fn has_kernel(&self, node: usize) -> bool {
        matches!(&self.nodes[node].kind, NodeKind::Host(host) if host.kernel.is_some())
    }

    /// Whether any host is that.
    pub fn has_kernels(&self) -> bool {
        (0..self.nodes.len()).any(|node| self.has_kernel(node))
    }

    /// Whether the simulator's own stack runs the flow, at both ends.
    pub fn is_modelled(&self, flow: &Flow) -> bool {
        !flow.takes_a_kernel() && ![flow.from, flow.to].iter().any(|&end| self.has_kernel(end))
    }

    /// Whether the simulator can run the flow: its own stack does, kernels at both ends, or a connection between the
    /// two.
    pub fn is_simulated(&self, flow: &Flow) -> bool {
        let joins = !flow.takes_a_kernel() && flow.tcp().is_some();
        joins || self.is_modelled(flow) || self.has_kernel(flow.from) && self.has_kernel(flow.to)
    }

    /// The congestion control, of ours, that the flows which `of` picks send with, from the start or by a change.
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

    /// Every program that the plan starts on real hosts: those of hosts first, then of flows, servers first.
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
    /// What it is.
    pub kind: NodeKind,
    /// A host's address, whatever links it has; no other node's is seen.
    pub address: IpAddr,
    /// What runs on a host during the whole run, each as its words.
    pub programs: Vec<Vec<String>>,
    /// As whom they run.
    pub user: User,
}

impl Node {
    /// The address of the node of that number, where the file gives none.
    pub fn usual_address(number: usize) -> IpAddr {
        IpAddr::V4(Ipv4Addr::from_bits((10 << 24) + 1 + number as u32))
    }

    /// The Ethernet address of the node of that number, locally administered: `02:00` and its number from 1.
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
    /// Its address, beside the host's own.
    pub address: IpAddr,
}

impl Interface {
    /// The address of the interface of that number, where the file gives none: 10.64.0.1 and so on, or
    /// fd00:0:0:40::1.
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
    /// MTU and overhead; rate and delay where an end has none of its own.
    pub config: link::Config,
    /// What it is in the lab.
    pub lab: LabLink,
    /// The two ends.
    pub ends: [End; 2],
}

impl Link {
    /// What it is in the direction that leads from the end of that number.
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
    /// How the gaps of a discipline pass a link on real packets.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Wire {
        /// The wire is taken for as long, and nothing is sent.
        #[default]
        Time = "time",
        /// As PAUSE frames.
        Frames = "frames",
    }
}

/// One end of a link: a node's port.
#[derive(Clone, Debug)]
pub struct End {
    /// The node, an index into `Plan::nodes`.
    pub node: usize,
    /// The discipline on that port's output (an emulator's port has its buffer instead).
    pub queue: qdisc::Parameters,
    /// Its rate, the mean of one that varies, delay and device.
    pub direction: link::Direction,
    /// What that rate follows, if it varies.
    pub trace: Option<Trace>,
    /// What is done to the packets that come in there.
    pub conditioner: Option<condition::Parameters>,
    /// What happens to packets on the wire that leads from there, in the order in which they meet it.
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
    /// What its packets come from: the sending host, or the interface by which it sends.
    pub source: HostId,
    /// What they are for: the receiving host, or the interface by which they arrive.
    pub destination: HostId,
    /// What the headers of its packets say from `from` to `to`.
    pub header: Header,
    /// When the program sends, and how much.
    pub span: ActivePeriod,
    /// What the file says of that, which the one above was drawn from.
    pub demand: Demand,
    /// By which protocol.
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

/// How a flow's bytes travel.
#[derive(Clone, Debug)]
pub enum Transport {
    /// A connection.
    Tcp(Box<Tcp>),
    /// Datagrams of an unresponsive sender.
    Udp(datagram::Config),
    /// Whatever a program sends.
    Program(Program),
}

/// A program at work on a real kernel, as words, addresses and ports filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// What runs on the sending host from the flow's start on.
    pub client: Vec<String>,
    /// What runs on the receiving host before.
    pub server: Option<Vec<String>>,
    /// As whom both run.
    pub user: User,
}

/// As whom a scenario's program runs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum User {
    /// A user without rights, to whom the machine's files are read-only.
    #[default]
    Nobody,
    /// Who runs the lab, with all rights.
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
    /// The kernel's own congestion control of that name, in place of the sender's algorithm.
    pub kernel_congestion: Option<String>,
    /// What the programs do.
    pub workload: Workload,
    /// How the receiving program reads.
    pub reader: Reader,
}

impl Tcp {
    /// Whether the receiver's congestion control needs ECN; of Linux' own only DCTCP does.
    pub fn receiver_needs_ecn(&self) -> bool {
        match &self.kernel_congestion {
            Some(name) => name == "dctcp",
            None => self.receiver.congestion.algorithm().needs_ecn(),
        }
    }

    /// Whether the receiver's congestion control matters: where the receiver writes, and where it decides what ACKs echo.
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
    /// The ports of the flow of that number, where the file gives none.
    pub const fn usual_ports(number: usize) -> Ports {
        const SENDERS: usize = 40_000;
        let (source, destination) = (20_000 + number % SENDERS, 9_000 + number / SENDERS);
        // At most 100 000 flows: neither passes 60 000.
        Ports { source: source as u16, destination: destination as u16 }
    }

    /// The port that the program of that number listens on, where the file gives none: each has its own.
    pub const fn usual_server_port(number: usize) -> u16 {
        10_000 + (number % 10_000) as u16
    }

    /// The connection it is, if it is one.
    pub fn tcp(&self) -> Option<&Tcp> {
        match &self.transport {
            Transport::Tcp(tcp) => Some(tcp),
            Transport::Udp(_) | Transport::Program(_) => None,
        }
    }

    /// Whether only a real kernel runs it: it is a program's, or has the kernel's own congestion control.
    pub fn takes_a_kernel(&self) -> bool {
        match &self.transport {
            Transport::Tcp(tcp) => tcp.kernel_congestion.is_some(),
            Transport::Udp(_) => false,
            Transport::Program(_) => true,
        }
    }

    /// The host whose program reads what counts: the receiving one, but the sending one's responses.
    pub fn reader(&self) -> usize {
        let asks = self.tcp().is_some_and(|tcp| tcp.workload.asks());
        if asks { self.from } else { self.to }
    }

    /// The host at the other end, whose program writes it.
    pub fn writer(&self) -> usize {
        if self.reader() == self.to { self.from } else { self.to }
    }
}

/// A stretch of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// From then on.
    pub from: Instant,
    /// Until then, not included.
    pub until: Instant,
}

/// What to record beside the totals, which are always there.
#[derive(Clone, Debug, Default)]
pub struct Probes {
    /// How often each flow is sampled (cwnd, RTT, …); `None`: not.
    pub flows: Option<Duration>,
    /// How often each queue is sampled, and each of its classes; `None`: not.
    pub queues: Option<Duration>,
    /// Whether sojourn times and spacings are counted at every port.
    pub delays: bool,
    /// Bandwidth of ports in bins.
    pub bandwidth: Vec<Bandwidth>,
    /// Every transmission of a flow with its sequence number.
    pub sequences: Vec<Sequence>,
    /// Packet captures.
    pub captures: Vec<Capture>,
}

/// Bandwidth of one port's output in bins, frame bytes with header and FCS; a frame across a bin's edge
/// is divided.
#[derive(Clone, Debug)]
pub struct Bandwidth {
    /// Its name in the file.
    pub name: String,
    /// The port.
    pub port: network::PortId,
    /// A bin's width, at least 1 us.
    pub bin: Duration,
    /// When.
    pub window: Window,
    /// Only the packets of these flows; `None` for everything.
    pub flows: Option<Vec<usize>>,
}

/// The sequence numbers of one flow's segments as they leave a port.
#[derive(Clone, Debug)]
pub struct Sequence {
    /// Its name in the file.
    pub name: String,
    /// The flow, an index into `Plan::flows`.
    pub flow: usize,
    /// The port where they are seen.
    pub port: network::PortId,
    /// When.
    pub window: Window,
}

/// A packet capture at one port: what it transmits, and what it drops as commented packets.
#[derive(Clone, Debug)]
pub struct Capture {
    /// Its name in the file.
    pub name: String,
    /// The port.
    pub port: network::PortId,
    /// When.
    pub window: Window,
}

/// One assertion on the results: `low <= quantity <= high`, in base units (bytes, seconds, bytes per
/// second, counts).
#[derive(Clone, Debug)]
pub struct Expectation {
    /// What is asserted, as a path into the summary: `flow.bulk.goodput`, `link.wan.drops`.
    pub path: String,
    /// At least this.
    pub low: Option<f64>,
    /// At most this.
    pub high: Option<f64>,
}

/// How far runs of the same scenario may lie apart, whatever driver made them.
#[derive(Clone, Debug, PartialEq)]
pub struct Comparison {
    /// In percent, for every quantity that has none of its own.
    pub percent: f64,
    /// What is judged.
    pub tolerances: Vec<Tolerance>,
}

impl Default for Comparison {
    fn default() -> Self {
        Self { percent: 5.0, tolerances: Vec::new() }
    }
}

/// How far one quantity may lie apart.
#[derive(Clone, Debug, PartialEq)]
pub struct Tolerance {
    /// The quantity, as in an [`Expectation`].
    pub path: String,
    /// How far.
    pub within: Within,
}

/// A distance from what the first run has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Within {
    /// In percent of it.
    Percent(f64),
    /// In base units, as in an [`Expectation`].
    Amount(f64),
}

impl Within {
    /// Whether `value` lies no farther from `reference` than that.
    pub fn holds(self, reference: f64, value: f64) -> bool {
        let most = match self {
            Self::Percent(percent) => reference.abs() * percent / 100.0,
            Self::Amount(amount) => amount,
        };
        (value - reference).abs() <= most
    }
}
