//! The scenario file as it is written, before any name is looked up: one struct per table.
//!
//! The doc comments here are what an editor shows, by way of the JSON Schema.

mod outcome;

use network::bulk::Train;
use network::datagram;
use network::event_builder::Readout;
use network::exchange::{Exchange, Ping};
use network::mpi::Library;
use network::sink::Reader;
use network::{balancer, emulator, link, router, switch};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::condition::Conditioner;
use crate::congestion::Congestion;
use crate::diagnostic::Span;
use crate::filter::Match;
use crate::impairment::Impairments;
use crate::matrix::Matrix;
use crate::node::{Host, Plain};
use crate::plan::{Demand, LabLink, Marks};
use crate::queue::Queue;
use crate::setting::{Declared, Named, With};
use crate::tcp::{IdleRestart, Tcp};
use crate::topology::Topology;
use crate::value::{
    AddressUnit, Count, Grid, Name, OneOrMany, PortUnit, Quantity, RateUnit, ShareUnit, SizeUnit,
    StepsUnit, Table, TimeUnit, TraceUnit, UnitOfRate, UnitOfSize, UnitOfTime,
};

pub(crate) use outcome::{Compare, Expect, Given, Measured, Tables, quantities};

/// A Suimon scenario: topology, policies, flows, probes and expectations.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Scenario {
    /// What it is, for people.
    pub(crate) title: Option<String>,
    /// How long it runs: "300 s".
    pub(crate) duration: Quantity<TimeUnit>,
    /// Every random stream derives from it; 1 unless given.
    pub(crate) seed: Option<Count>,
    /// The units that results and warnings are printed in; those that the file writes unless given.
    #[serde(default)]
    pub(crate) units: Units,
    /// The part of the run that results are of; all of it unless given.
    #[serde(default)]
    pub(crate) measure: Measure,
    /// Hosts, routers and links in shapes that are known by name.
    #[serde(default)]
    pub(crate) topology: Table<Topology>,
    /// End systems, by name.
    #[serde(default)]
    pub(crate) host: Table<Host>,
    /// Forwarders, by name.
    #[serde(default)]
    pub(crate) router: Table<Plain<router::Config>>,
    /// WAN emulators, by name.
    #[serde(default)]
    pub(crate) emulator: Table<Plain<emulator::Config>>,
    /// Load balancers, by name.
    #[serde(default)]
    pub(crate) balancer: Table<Plain<balancer::Config>>,
    /// Switches of lossless Ethernet, by name.
    #[serde(default)]
    pub(crate) switch: Table<Plain<switch::Config>>,
    /// Links, by name.
    #[serde(default)]
    pub(crate) link: Table<Link>,
    /// TCP connections, and unresponsive datagrams, by name.
    #[serde(default)]
    pub(crate) flow: Table<Flow>,
    /// Changes of ports and flows while the run goes on, by name.
    #[serde(default)]
    pub(crate) change: Table<Change>,
    /// What to record.
    #[serde(default)]
    pub(crate) probe: Probes,
    /// A grid of runs: each path with the values that it takes in turn, or with a range of them.
    #[serde(default)]
    #[allow(dead_code, reason = "the document reads it, with the places of paths and values")]
    pub(crate) sweep: Grid,
    /// What must come out.
    #[serde(default)]
    pub(crate) expect: Expect,
    /// How far a simulated run and one in the lab may lie apart (`suimon compare`).
    #[serde(default)]
    pub(crate) compare: Compare,
}

/// The part of the run that results are of: what happens before and after it is neither counted nor judged.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Measure {
    /// From then on; 0 s unless given.
    pub(crate) from: Option<Quantity<TimeUnit>>,
    /// Until then; the run's end unless given.
    pub(crate) until: Option<Quantity<TimeUnit>>,
}

/// The units that results and warnings are printed in. What is not readable in one has another prefix.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Units {
    /// Rates: "Mbit/s", "MB/s"; bits or bytes as most of the file's rates, the prefix as most links, unless given.
    pub(crate) rate: Option<Quantity<UnitOfRate>>,
    /// Sizes: "kB" for thousands, "KiB" for 1024s; that of most of the file's sizes unless given.
    pub(crate) size: Option<Quantity<UnitOfSize>>,
    /// Delays and round trips: "ms"; that of most links' delays unless given.
    pub(crate) time: Option<Quantity<UnitOfTime>>,
    /// The run's own time: "s"; that of `duration` unless given.
    pub(crate) duration: Option<Quantity<UnitOfTime>>,
}

/// The table of a link.
pub(crate) type Link =
    With<(Declared<link::Config>, (Declared<LabLink>, Impairments<false>)), LinkKeys>;

/// A link, full duplex. Where an end is a counted node, one link for each.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LinkKeys {
    /// The two nodes. Two counted nodes are paired by number, unless `groups` or `planes` says otherwise; a counted and
    /// a single one form a star.
    pub(crate) between: [Name; 2],
    /// Cuts both counted ends into so many equal parts and joins all nodes within each part: 1 joins all with all.
    pub(crate) groups: Option<Count>,
    /// Joins the nodes of two counted ends whose numbers leave the same remainder when divided by this.
    pub(crate) planes: Option<Count>,
    /// What the line rate follows, in place of `rate`, from the run's start and over again; each direction by itself.
    pub(crate) trace: Option<Quantity<TraceUnit>>,
    /// The queueing discipline at both ends; a fifo of 1000 packets unless given, and where a switch stops priorities one
    /// by one a queue for each, the highest first (at the switch limited by its memory alone).
    pub(crate) queue: Option<Queue>,
    /// What is different at one end, by node.
    #[serde(default)]
    pub(crate) at: Table<LinkEnd>,
}

/// The table of one end of a link.
pub(crate) type LinkEnd = With<(Declared<link::Direction>, Impairments<true>), LinkEndKeys>;

/// One end of a link.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LinkEndKeys {
    /// The queueing discipline there; the link's unless given.
    pub(crate) queue: Option<Queue>,
    /// What the line rate of what is sent there follows; the link's unless given.
    pub(crate) trace: Option<Quantity<TraceUnit>>,
    /// The address of a host there that has several links, and with a count those that follow; 10.64.0.1 and so on
    /// unless given. Flows name it as "host:link".
    pub(crate) address: Option<Quantity<AddressUnit>>,
    /// What is done to the packets that come in there; they pass unless given.
    pub(crate) conditioner: Option<Conditioner>,
}

impl Named for link::Config {
    const NAME: &'static str = "Link";
}

impl Named for LabLink {
    const NAME: &'static str = "LabLink";
}

impl Named for link::Direction {
    const NAME: &'static str = "LinkEnd";
}

/// The table of a flow.
pub(crate) type Flow = With<(Declared<Marks>, Declared<Demand>), FlowKeys>;

/// TCP connections from one host to another, or datagrams. Where an end is a counted host, one for each.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FlowKeys {
    /// The sending host. Two counted hosts are paired by number; a counted and a single one form a
    /// star. "NAME.3..7" is those of a counted host from one to the other. "NAME:LINK" sends by that link of a host
    /// with several, from the address that it has there.
    pub(crate) from: Name,
    /// The receiving host. Packets for "NAME:LINK" arrive by that link.
    pub(crate) to: Name,
    /// Who of two counted ends sends to whom, rather than by number.
    pub(crate) matrix: Option<Matrix>,
    /// How many flows between each pair, named NAME.1, NAME.2, …; one unless given.
    pub(crate) count: Option<Count>,
    /// The sender's port, and with a count those that follow; 20000 and so on, by flow, unless given.
    pub(crate) source_port: Option<Quantity<PortUnit>>,
    /// The receiver's port; 9000 and so on unless given.
    pub(crate) destination_port: Option<Quantity<PortUnit>>,
    /// The congestion control algorithm; the profile's own unless given. "kernel:bbr" is the kernel's, in the
    /// lab; { vegas = { alpha = 3 } } sets what can be set in it.
    pub(crate) congestion: Option<Congestion>,
    /// The share of the busiest link on their ways that the flows of `bytes` bytes each take, headers included:
    /// it makes Poisson arrivals in place of `stagger`, and Poisson triggers of `events`.
    pub(crate) load: Option<Quantity<ShareUnit>>,
    /// UDP datagrams at a rate, whatever the network makes of them, in place of TCP.
    pub(crate) datagrams: Option<Declared<datagram::Config>>,
    /// Messages with silence between, rather than writing all the time.
    pub(crate) train: Option<Declared<Train>>,
    /// Requests and responses in turn on one connection, rather than writing all the time.
    pub(crate) exchange: Option<Declared<Exchange>>,
    /// Small requests by the clock, for the latency that they meet: `ping = {}`.
    pub(crate) ping: Option<Declared<Ping>>,
    /// Data acquisition: at each trigger every flow of the table has a fragment of an event for one event builder on the
    /// receiving host.
    pub(crate) events: Option<Declared<Readout>>,
    /// An MPI job: the hosts of both ends are its ranks, in the order of the file, and every two share a connection.
    pub(crate) mpi: Option<Mpi>,
    /// A program that sends in place of ours, in the lab or where its hosts have a `kernel`: "iperf3 -c {to} -p {port} -t 10". `{from}` and
    /// `{to}` are the hosts' addresses, `{port}` is the receiver's port.
    pub(crate) program: Option<Name>,
    /// What is started on the receiving host before: "iperf3 -s -1 -p {port}".
    pub(crate) server: Option<Name>,
    /// As whom program and server run: "nobody" has no rights and writes to its own folder only, "root" may do
    /// everything on this machine; "nobody" unless given.
    #[serde(rename = "as")]
    pub(crate) user: Option<User>,
    /// How the receiving program reads.
    pub(crate) read: Option<Declared<Reader>>,
    /// The sender's TCP where it differs from its host's profile.
    pub(crate) tcp: Option<Tcp>,
    /// The receiver's TCP where it differs from its host's profile.
    pub(crate) receiver_tcp: Option<Tcp>,
}

/// An MPI job: its library's settings, and what its ranks do.
pub(crate) type Mpi = With<Declared<Library>, MpiKeys>;

/// What is of an MPI job beside the settings of its library.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MpiKeys {
    /// What all ranks do, one after the other.
    pub(crate) steps: Option<Quantity<StepsUnit>>,
    /// How often; once unless given.
    pub(crate) iterations: Option<Count>,
    /// What each rank does is what `suimon mpi record` recorded: "mpi file:NAME". There are as many hosts as ranks.
    pub(crate) trace: Option<Name>,
}

impl Mpi {
    /// Where it says what ranks do.
    pub(crate) fn span(&self) -> &Span {
        let steps = self.steps.as_ref().map(|steps| &steps.span);
        steps.or(self.trace.as_ref().map(|trace| &trace.span)).unwrap_or(&self.settings.span)
    }
}

impl Named for Marks {
    const NAME: &'static str = "Flow";
}

impl Named for Demand {
    const NAME: &'static str = "Demand";
}

/// As whom a program runs.
#[derive(Clone, Copy, Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum User {
    /// A user without rights.
    Nobody,
    /// Who runs the lab.
    Root,
}

impl From<User> for crate::plan::User {
    fn from(user: User) -> Self {
        match user {
            User::Nobody => Self::Nobody,
            User::Root => Self::Root,
        }
    }
}

/// One change while the run goes on: of a port (a queue, `enabled`, a reservation, a release, or the wire's rate), or of
/// a flow's connections, which may be given several options at once.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Change {
    /// When.
    pub(crate) when: Quantity<TimeUnit>,
    /// The port, as "node:link"; or else give `flow`.
    pub(crate) at: Option<Name>,
    /// The flow whose connections are changed, at each end that writes; or else give `at`.
    pub(crate) flow: Option<Name>,
    /// The discipline from then on: new settings of the one that is there, or another one. No queued packet
    /// is lost.
    pub(crate) queue: Option<Queue>,
    /// False puts a plain FIFO in the discipline's place, true puts the discipline back.
    pub(crate) enabled: Option<bool>,
    /// A class to be admitted, or refused, by a discipline that takes reservations (cbq, hfsc).
    pub(crate) reserve: Option<Reserve>,
    /// The class whose reservation is given back.
    pub(crate) release: Option<Name>,
    /// The line rate in that direction from the next frame on. What a discipline was told of it stays: `queue` tells
    /// anew.
    pub(crate) rate: Option<Quantity<RateUnit>>,
    /// The congestion control algorithm of the flow from then on. It begins at the window that there is.
    pub(crate) congestion: Option<Congestion>,
    /// The flow is paced from then on, at this rate at most.
    pub(crate) pacing_rate: Option<Quantity<RateUnit>>,
    /// The floor of the flow's retransmission timeout.
    pub(crate) rto_min: Option<Quantity<TimeUnit>>,
    /// What happens to the flow's window when it was idle; in the simulator only, for Linux has one setting for
    /// all connections of a host.
    pub(crate) idle_restart: Option<IdleRestart>,
    /// Whether the flow's small segments are sent at once.
    pub(crate) nodelay: Option<bool>,
    /// Keeps a copy of each connection's window under this name; in the simulator only, as `restore_window`.
    pub(crate) save_window: Option<Name>,
    /// Each connection's window is again as it was when it was saved under this name.
    pub(crate) restore_window: Option<Name>,
    /// Each connection's program enters the phase of this name: the threshold that there is is kept for the phase that
    /// ends, and the one that this phase ended with within the last five minutes is taken up; in the lab only while
    /// `suimon mpi enable` has phases in this machine's kernel.
    pub(crate) phase: Option<Name>,
}

/// A class with a promise, as RSVP asks for.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Reserve {
    /// Its name, unlike any other class's.
    pub(crate) class: Name,
    /// The class to be within; at the top unless given.
    pub(crate) parent: Option<Name>,
    /// What is guaranteed in the long run.
    pub(crate) rate: Quantity<RateUnit>,
    /// What may come at once beyond that and still keep the delay bound.
    pub(crate) burst: Quantity<SizeUnit>,
    /// The most time from a packet's arrival to its last bit's sending, if no more comes than that.
    pub(crate) delay: Quantity<TimeUnit>,
    /// Which packets: a table, or an array of tables of which any may match.
    #[serde(rename = "match")]
    pub(crate) matches: OneOrMany<Match>,
}

/// What to record beside the totals, which are always there.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Probes {
    /// Whether flows and queues are sampled without being asked for, about 500 times in the run, and sojourn
    /// times and spacings counted at every port: what reports draw; true unless given.
    pub(crate) automatic: Option<bool>,
    /// Samples of every flow: cwnd, RTT and so on.
    pub(crate) flows: Option<Sampling>,
    /// Samples of every queue and its classes.
    pub(crate) queues: Option<Sampling>,
    /// Bandwidth of a port in bins, by name.
    #[serde(default)]
    pub(crate) bandwidth: Table<Bandwidth>,
    /// Every transmission of a flow with its sequence number, by name.
    #[serde(default)]
    pub(crate) sequence: Table<Sequence>,
    /// Packet captures, by name.
    #[serde(default)]
    pub(crate) capture: Table<Capture>,
}

/// How often to sample.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sampling {
    /// The interval.
    pub(crate) every: Quantity<TimeUnit>,
}

/// Bandwidth of one port's output in bins.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bandwidth {
    /// The port, as "node:link".
    pub(crate) at: Name,
    /// A bin's width, at least 1 us.
    pub(crate) bin: Quantity<TimeUnit>,
    /// Only the packets of these flows; everything unless given.
    pub(crate) flows: Option<Vec<Name>>,
    /// From then on; from the start unless given.
    pub(crate) from: Option<Quantity<TimeUnit>>,
    /// Until then; to the end unless given.
    pub(crate) until: Option<Quantity<TimeUnit>>,
}

/// The sequence numbers of one flow as they leave a port.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sequence {
    /// The flow.
    pub(crate) flow: Name,
    /// The port, as "node:link".
    pub(crate) at: Name,
    /// From then on; from the start unless given.
    pub(crate) from: Option<Quantity<TimeUnit>>,
    /// Until then; to the end unless given.
    pub(crate) until: Option<Quantity<TimeUnit>>,
}

/// A packet capture at one port: what leaves by it, and what is dropped there or lost on its wire, with a comment that says so.
/// What comes in is in a capture at the link's other end.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Capture {
    /// The port, as "node:link".
    pub(crate) at: Name,
    /// From then on; from the start unless given.
    pub(crate) from: Option<Quantity<TimeUnit>>,
    /// Until then; to the end unless given.
    pub(crate) until: Option<Quantity<TimeUnit>>,
}
