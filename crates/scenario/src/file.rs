//! The scenario file as written, before names are resolved: one struct per table.
//!
//! The JSON Schema contains these doc comments, and editors show them.

mod link;
mod outcome;
mod user;

use applications::mpi::Library;
use applications::sink::Reader;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::congestion::Congestion;
use crate::diagnostic::Span;
use crate::filter::Match;
use crate::matrix::Matrix;
use crate::node::Nodes;
use crate::plan::{Demand, Marks};
use crate::queue::Queue;
use crate::setting::{Declared, Named, With, parts};
use crate::tcp::{IdleRestart, Tcp};
use crate::topology::Topology;
use crate::value::{
    Count, Grid, Name, OneOrMany, PortUnit, Quantity, RateUnit, ShareUnit, SizeUnit, StepsUnit,
    Table, TimeUnit, UnitOfRate, UnitOfSize, UnitOfTime,
};
use crate::workload::Workloads;

pub(crate) use link::{Link, LinkEnd, LinkKeys};
pub(crate) use outcome::{Compare, Expect, Given, Measured, Tables, quantities};
pub(crate) use user::User;

/// A scenario: the tables of its nodes, and the rest.
pub(crate) type Scenario = With<Nodes, ScenarioKeys>;

impl Scenario {
    /// The tables of nodes.
    pub(crate) fn nodes(&self) -> &Nodes {
        &self.settings
    }

    /// Seed of every random stream.
    pub(crate) fn seed(&self) -> u64 {
        self.seed.as_ref().map_or(1, |seed| seed.value)
    }
}

/// A Suimon scenario: topology, policies, flows, probes and expectations.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ScenarioKeys {
    /// Title of the scenario.
    pub(crate) title: Option<String>,
    /// Duration of the run: "300 s".
    pub(crate) duration: Quantity<TimeUnit>,
    /// Seed of every random stream; 1 unless given.
    pub(crate) seed: Option<Count>,
    /// Units of results and warnings; those of the file unless given.
    #[serde(default)]
    pub(crate) units: Units,
    /// Measurement interval of the results; the whole run unless given.
    #[serde(default)]
    pub(crate) measure: Measure,
    /// Predefined topologies of hosts, routers and links, by name.
    #[serde(default)]
    pub(crate) topology: Table<Topology>,
    /// Links, by name.
    #[serde(default)]
    pub(crate) link: Table<Link>,
    /// TCP connections and unresponsive UDP flows, by name.
    #[serde(default)]
    pub(crate) flow: Table<Flow>,
    /// Changes of ports and flows during the run, by name.
    #[serde(default)]
    pub(crate) change: Table<Change>,
    /// Recorded data.
    #[serde(default)]
    pub(crate) probe: Probes,
    /// Parameter sweep: each key path with a list or a range of values. Every combination is a run.
    #[serde(default)]
    #[allow(dead_code, reason = "the document reads it, with the places of paths and values")]
    pub(crate) sweep: Grid,
    /// Expected results.
    #[serde(default)]
    pub(crate) expect: Expect,
    /// Tolerances between a simulated run and a lab run (`suimon compare`).
    #[serde(default)]
    pub(crate) compare: Compare,
}

/// Measurement interval of the results. Events outside it are neither counted nor judged.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Measure {
    /// Start of the interval; 0 s unless given.
    pub(crate) from: Option<Quantity<TimeUnit>>,
    /// End of the interval; the end of the run unless given.
    pub(crate) until: Option<Quantity<TimeUnit>>,
}

/// Units of results and warnings. A value that is not readable in its unit gets another prefix.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Units {
    /// Unit of rates: "Mbit/s", "MB/s"; bits or bytes as in most of the file's rates, the prefix as in most links,
    /// unless given.
    pub(crate) rate: Option<Quantity<UnitOfRate>>,
    /// Unit of sizes: "kB" for thousands, "KiB" for 1024s; that of most sizes in the file unless given.
    pub(crate) size: Option<Quantity<UnitOfSize>>,
    /// Unit of delays and round-trip times: "ms"; that of most link delays unless given.
    pub(crate) time: Option<Quantity<UnitOfTime>>,
    /// Unit of times in the run: "s"; that of `duration` unless given.
    pub(crate) duration: Option<Quantity<UnitOfTime>>,
}

/// The table of a flow.
pub(crate) type Flow = With<FlowSettings, FlowKeys>;

parts! {
    /// The settings of a flow.
    pub(crate) struct FlowSettings {
        /// The marks of its packets.
        pub(crate) marks: Declared<Marks>,
        /// Its starts and sizes.
        pub(crate) demand: Declared<Demand>,
        /// Its programs.
        pub(crate) workloads: Workloads,
    }
}

impl Flow {
    /// The marks of its packets.
    pub(crate) fn marks(&self) -> &Declared<Marks> {
        &self.settings.marks
    }

    /// Its starts and sizes.
    pub(crate) fn demand(&self) -> &Declared<Demand> {
        &self.settings.demand
    }

    /// Its workloads.
    pub(crate) fn workloads(&self) -> &Workloads {
        &self.settings.workloads
    }
}

/// TCP connections or UDP flows from one host to another. If an end is a counted host, one per member.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct FlowKeys {
    /// Sending host. Two counted hosts are paired by number; a counted and a single host form a star. "NAME.3..7"
    /// selects members 3 to 7 of a counted host. "NAME:LINK" sends by that link of a host with several links, from
    /// its address there.
    pub(crate) from: Name,
    /// Receiving host. Packets for "NAME:LINK" arrive by that link.
    pub(crate) to: Name,
    /// Traffic matrix of two counted ends, instead of pairing by number.
    pub(crate) matrix: Option<Matrix>,
    /// Number of flows between each pair, named NAME.1, NAME.2, …; 1 unless given.
    pub(crate) count: Option<Count>,
    /// Sender's port; further flows of the table get the following ones; 20000 and so on, by flow, unless given.
    pub(crate) source_port: Option<Quantity<PortUnit>>,
    /// Receiver's port; 9000 and so on unless given.
    pub(crate) destination_port: Option<Quantity<PortUnit>>,
    /// Congestion control algorithm; that of the profile unless given. "kernel:bbr" is the kernel's, in the lab; {
    /// vegas = { alpha = 3 } } sets a parameter.
    pub(crate) congestion: Option<Congestion>,
    /// Load on the busiest link of the paths, from flows of `bytes` bytes each, headers included. It sets Poisson
    /// arrivals in place of `stagger`, and Poisson triggers of `events`.
    pub(crate) load: Option<Quantity<ShareUnit>>,
    /// Sending program in place of the built-in one, in the lab or where the hosts have a `kernel`: "iperf3 -c {to}
    /// -p {port} -t 10". `{from}` and `{to}` are the hosts' addresses, `{port}` is the receiver's port.
    pub(crate) program: Option<Name>,
    /// Program on the receiving host, started first: "iperf3 -s -1 -p {port}".
    pub(crate) server: Option<Name>,
    /// User of program and server: "nobody" has no privileges and writes only to its own folder, "root" has all
    /// privileges on this machine; "nobody" unless given.
    #[serde(rename = "as")]
    pub(crate) user: Option<User>,
    /// Reading rate of the receiving program.
    pub(crate) read: Option<Declared<Reader>>,
    /// Differences of the sender's TCP from its host's profile.
    pub(crate) tcp: Option<Tcp>,
    /// Differences of the receiver's TCP from its host's profile.
    pub(crate) receiver_tcp: Option<Tcp>,
}

/// An MPI job: the library's settings and the ranks' actions.
pub(crate) type Mpi = With<Declared<Library>, MpiKeys>;

/// An MPI job: the settings of its library and the actions of its ranks.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct MpiKeys {
    /// Steps that all ranks perform in order.
    pub(crate) steps: Option<Quantity<StepsUnit>>,
    /// Number of iterations of the steps; 1 unless given.
    pub(crate) iterations: Option<Count>,
    /// Trace of the ranks, recorded by `suimon mpi record`: "mpi file:NAME". There must be as many hosts as ranks.
    pub(crate) trace: Option<Name>,
}

impl Mpi {
    /// The place of `steps` or `trace`.
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

/// One change during the run: of a port (a queue, `enabled`, a reservation, a release, or the line rate), or of a
/// flow's connections, which can take several options at once.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Change {
    /// Time of the change.
    pub(crate) when: Quantity<TimeUnit>,
    /// Port, as "node:link"; give either this or `flow`.
    pub(crate) at: Option<Name>,
    /// Flow; the change applies to its connections at each sending end. Give either this or `at`.
    pub(crate) flow: Option<Name>,
    /// New queueing discipline: other settings of the current one, or another one. No queued packet is lost.
    pub(crate) queue: Option<Queue>,
    /// False replaces the discipline with a plain FIFO, true restores the discipline.
    pub(crate) enabled: Option<bool>,
    /// Reservation of a class, which the discipline admits or refuses (cbq, hfsc).
    pub(crate) reserve: Option<Reserve>,
    /// Class with the reservation to release.
    pub(crate) release: Option<Name>,
    /// Line rate of this direction from the next frame on. The settings of the discipline do not change; use `queue`
    /// to change them.
    pub(crate) rate: Option<Quantity<RateUnit>>,
    /// Congestion control algorithm of the flow from then on. It starts from the current window.
    pub(crate) congestion: Option<Congestion>,
    /// Maximum pacing rate of the flow from then on.
    pub(crate) pacing_rate: Option<Quantity<RateUnit>>,
    /// Minimum of the flow's retransmission timeout.
    pub(crate) rto_min: Option<Quantity<TimeUnit>>,
    /// Effect of idle time on the flow's window; in the simulator only, because Linux has one setting for all
    /// connections of a host.
    pub(crate) idle_restart: Option<IdleRestart>,
    /// Whether the flow's small segments are sent at once (`TCP_NODELAY`).
    pub(crate) nodelay: Option<bool>,
    /// Name under which each connection's window is saved; in the simulator only, as `restore_window`.
    pub(crate) save_window: Option<Name>,
    /// Name of the saved window that each connection restores.
    pub(crate) restore_window: Option<Name>,
    /// Name of the phase that each connection's program enters. The current slow start threshold is saved for the
    /// phase that ends, and the one saved for the new phase within the last five minutes is restored; in the lab only
    /// while `suimon mpi enable` has phases in this machine's kernel.
    pub(crate) phase: Option<Name>,
}

/// A class with a guarantee, as RSVP requests it.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Reserve {
    /// Name of the class, different from those of other classes.
    pub(crate) class: Name,
    /// Parent class; at the top unless given.
    pub(crate) parent: Option<Name>,
    /// Guaranteed long-term rate.
    pub(crate) rate: Quantity<RateUnit>,
    /// Burst beyond that rate for which the delay bound still holds.
    pub(crate) burst: Quantity<SizeUnit>,
    /// Maximum delay, from a packet's arrival to the transmission of its last bit, for traffic within rate and burst.
    pub(crate) delay: Quantity<TimeUnit>,
    /// Packets of the class: a table, or an array of tables, one of which must match.
    #[serde(rename = "match")]
    pub(crate) matches: OneOrMany<Match>,
}

/// Recorded data, besides the totals, which are always recorded.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Probes {
    /// Automatic recording for reports: samples of flows and queues, about 500 times in the run, and histograms of
    /// sojourn times and packet spacings at every port; true unless given.
    pub(crate) automatic: Option<bool>,
    /// Entries in the results also for links and nodes of a topology or a `count` through which nothing went, in place of
    /// their number; false unless given.
    pub(crate) idle: Option<bool>,
    /// Samples of every flow: cwnd, RTT and so on.
    pub(crate) flows: Option<Sampling>,
    /// Samples of every queue and its classes.
    pub(crate) queues: Option<Sampling>,
    /// Bandwidth of a port in time bins, by name.
    #[serde(default)]
    pub(crate) bandwidth: Table<Bandwidth>,
    /// Every transmission of a flow with its sequence number, by name.
    #[serde(default)]
    pub(crate) sequence: Table<Sequence>,
    /// Packet captures, by name.
    #[serde(default)]
    pub(crate) capture: Table<Capture>,
}

/// Sampling interval.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sampling {
    /// Time between two samples.
    pub(crate) every: Quantity<TimeUnit>,
}

/// Output bandwidth of one port in time bins.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Bandwidth {
    /// Port, as "node:link".
    pub(crate) at: Name,
    /// Width of a bin, at least 1 us.
    pub(crate) bin: Quantity<TimeUnit>,
    /// Flows whose packets count; all packets unless given.
    pub(crate) flows: Option<Vec<Name>>,
    /// Start time; the start of the run unless given.
    pub(crate) from: Option<Quantity<TimeUnit>>,
    /// End time; the end of the run unless given.
    pub(crate) until: Option<Quantity<TimeUnit>>,
}

/// Sequence numbers of one flow as they leave a port.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sequence {
    /// Name of the flow.
    pub(crate) flow: Name,
    /// Port, as "node:link".
    pub(crate) at: Name,
    /// Start time; the start of the run unless given.
    pub(crate) from: Option<Quantity<TimeUnit>>,
    /// End time; the end of the run unless given.
    pub(crate) until: Option<Quantity<TimeUnit>>,
}

/// Packet capture at one port: transmitted packets, and packets dropped there or lost on its link, with a comment
/// that says so. Capture received packets at the other end of the link.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Capture {
    /// Port, as "node:link".
    pub(crate) at: Name,
    /// Start time; the start of the run unless given.
    pub(crate) from: Option<Quantity<TimeUnit>>,
    /// End time; the end of the run unless given.
    pub(crate) until: Option<Quantity<TimeUnit>>,
}
