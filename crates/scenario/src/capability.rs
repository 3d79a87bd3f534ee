//! Features of scenarios that not every driver has, and what a driver says about each.
//!
//! A driver's table has one row for each feature, in the order of [`FEATURES`]. The driver refuses plans by that table;
//! `suimon check`, `suimon drivers` and `suimon host plan` print it.

use base::setting::Entry;
use network::impairment::Parameters;
use network::node::NodeKind;

use crate::document::{Document, Place};
use crate::plan::Plan;
use base::Fault;

/// A feature of scenarios that not every driver has.
#[derive(Debug)]
pub struct Feature {
    /// Its name.
    pub name: &'static str,
    /// The keys that ask for it, as patterns of [`Document::places`].
    keys: &'static [&'static str],
    /// A registry whose kinds ask for it too, and the pattern for the name of each.
    kinds: Kinds,
}

/// A registry and the pattern of keys for the name of each of its kinds, if that asks for the feature.
type Kinds = Option<(&'static [Entry], fn(&str) -> Option<String>)>;

impl Feature {
    /// The keys that ask for it, as patterns of [`Document::places`].
    pub fn keys(&self) -> Vec<String> {
        let kinds = self.kinds.iter().flat_map(|(registry, pattern)| {
            registry.iter().filter_map(|entry| pattern(entry.name))
        });
        kinds.chain(self.keys.iter().map(|key| (*key).to_owned())).collect()
    }
}

/// Declares features, and the list of all of them.
macro_rules! features {
    (@kinds) => { None };
    (@kinds $kinds:expr) => { Some($kinds) };
    ($($(#[$doc:meta])* $feature:ident = $name:literal, [$($key:literal),*] $(, $kinds:expr)?;)*) => {
        $(
            $(#[$doc])*
            pub const $feature: Feature =
                Feature { name: $name, keys: &[$($key),*], kinds: features!(@kinds $($kinds)?) };
        )*

        /// Every feature, in the order in which drivers refuse a plan for it.
        pub const FEATURES: &[Feature] = &[$($feature),*];
    };
}

features! {
    /// Disciplines as qdiscs of a host's kernel.
    QDISCS = "qdiscs of hosts' kernels", ["host.*.qdisc"];
    /// MPI jobs that a driver runs itself; a program that uses MPI is a program.
    MPI = "MPI jobs", ["flow.*.mpi"];
    /// Hosts with a kernel of their own.
    KERNELS = "guest kernels", ["host.*.kernel"];
    /// Congestion control that only Linux has.
    KERNEL_CONGESTION = "congestion control of the kernel", ["flow.*.congestion=kernel:"];
    /// Programs of hosts and flows.
    PROGRAMS = "programs", ["host.*.program", "flow.*.program", "flow.*.server"];
    /// MTUs that Linux does not accept.
    MTU = "any MTU", ["link.*.mtu"];
    /// Flows with the same addresses and ports.
    PORTS = "equal ports of flows", ["flow.*.source_port", "flow.*.destination_port"];
    /// Different TCP settings of flows at one host.
    TCP = "TCP settings by flow", ["flow.*.tcp", "flow.*.receiver_tcp"];
    /// TCP of other systems and times.
    PROFILES = "TCP profiles", ["host.*.profile"];
    /// Costs of processor, memory and interrupts.
    PROCESSOR = "processor models", ["host.*.processor", "host.*.coalesce"];
    /// Changes of connections that no socket option of Linux makes.
    WINDOWS = "changes of windows",
        ["change.*.idle_restart", "change.*.save_window", "change.*.restore_window"];
    /// Phases of programs.
    PHASES = "phases of programs", ["change.*.phase"];
    /// PAUSE frames, priority flow control and congestion notifications.
    LOSSLESS = "lossless Ethernet", ["switch.*.lossless", "switch.*.pause", "switch.*.qcn"];
    /// Nodes that forward packets.
    NODES = "routers, switches, emulators", ["topology.*"],
        (NodeKind::REGISTRY, |kind| (kind != "host").then(|| format!("{kind}.*")));
    /// Impairments of links, and rates that vary.
    IMPAIRMENTS = "impairments of links", ["link.*.trace"],
        (Parameters::REGISTRY, |impairment| Some(format!("link.*.{impairment}")));
    /// Changes of ports during the run.
    CHANGES = "changes of ports", ["change.*.at"];
    /// Recorded data.
    PROBES = "probes, captures", ["probe"];
    /// Assertions on results.
    EXPECTATIONS = "expectations", ["expect"];
}

/// Whether a driver has a feature.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// It has.
    Full,
    /// It has, within a limit.
    Limited(&'static str),
    /// It has not; the text says what happens instead.
    Lacking(&'static str),
}

/// A row of a driver's table.
#[derive(Clone, Copy, Debug)]
pub struct Capability {
    /// The feature.
    pub feature: &'static Feature,
    /// Whether the driver has it.
    pub support: Support,
    /// Refuses a plan that the driver cannot run because it lacks the feature.
    pub check: fn(&Plan) -> Result<(), Fault>,
}

impl Capability {
    /// The driver has the feature.
    pub const fn full(feature: &'static Feature) -> Self {
        Self { feature, support: Support::Full, check: |_| Ok(()) }
    }

    /// The driver has the feature, within a limit.
    pub const fn limited(feature: &'static Feature, limit: &'static str) -> Self {
        Self { feature, support: Support::Limited(limit), check: |_| Ok(()) }
    }

    /// The driver lacks the feature, and runs plans without it: `instead` says what happens.
    pub const fn lacking(feature: &'static Feature, instead: &'static str) -> Self {
        Self { feature, support: Support::Lacking(instead), check: |_| Ok(()) }
    }

    /// With a check that refuses plans.
    #[must_use]
    pub const fn refusing(self, check: fn(&Plan) -> Result<(), Fault>) -> Self {
        Self { check, ..self }
    }

    /// The places in `document` that ask for the feature, if the driver has it with limits or not at all.
    pub fn places(&self, document: &Document) -> Vec<Place> {
        match self.support {
            Support::Full => Vec::new(),
            _ => document.places(&self.feature.keys()),
        }
    }
}

/// A table that says the same of every feature, and refuses no plan.
pub const fn of_every(support: Support) -> [Capability; FEATURES.len()] {
    let mut table =
        [Capability { feature: &FEATURES[0], support, check: |_| Ok(()) }; FEATURES.len()];
    let mut row = 1;
    while row < table.len() {
        table[row].feature = &FEATURES[row];
        row += 1;
    }
    table
}

/// Refuses a plan that a driver with this table cannot run.
///
/// # Errors
/// The first obstacle.
pub fn check(capabilities: &[Capability], plan: &Plan) -> Result<(), Fault> {
    capabilities.iter().try_for_each(|capability| (capability.check)(plan))
}
