//! `[link.NAME]`: a link, and the settings of its single ends.

use network::link;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::condition::Conditioner;
use crate::impairment::Impairments;
use crate::plan::LabLink;
use crate::queue::Queue;
use crate::setting::{Declared, Named, With, parts};
use crate::value::{AddressUnit, Count, Name, Quantity, Table, TraceUnit};

/// The table of a link.
pub(crate) type Link = With<LinkSettings, LinkKeys>;

parts! {
    /// The settings of a link.
    pub(crate) struct LinkSettings {
        pub(crate) link: Declared<link::Config>,
        /// Those of links in the lab.
        pub(crate) lab: Declared<LabLink>,
        pub(crate) impairments: Impairments,
    }
}

/// A full-duplex link. If an end is a counted node, one link per member.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LinkKeys {
    /// Names of the two nodes. Two counted nodes are paired by number, unless `groups` or `planes` is given; a
    /// counted and a single node form a star.
    pub(crate) between: [Name; 2],
    /// Number of equal parts of both counted ends; links join all pairs within each part. 1 joins all pairs.
    pub(crate) groups: Option<Count>,
    /// Divisor of node numbers: links join nodes of two counted ends that leave the same remainder.
    pub(crate) planes: Option<Count>,
    /// Trace of the line rate, in place of `rate`. It starts with the run and repeats, in each direction separately.
    pub(crate) trace: Option<Quantity<TraceUnit>>,
    /// Queueing discipline at both ends; a fifo of 1000 packets unless given. Where a switch pauses single
    /// priorities, the default is one queue per priority, the highest first (at the switch limited only by its
    /// memory).
    pub(crate) queue: Option<Queue>,
    /// Settings of a single end, by node.
    #[serde(default)]
    pub(crate) at: Table<LinkEnd>,
}

/// The table of one end of a link.
pub(crate) type LinkEnd = With<LinkEndSettings, LinkEndKeys>;

parts! {
    /// The settings of one end of a link.
    pub(crate) struct LinkEndSettings usual "the link's" {
        pub(crate) direction: Declared<link::Direction>,
        pub(crate) impairments: Impairments,
    }
}

/// One end of a link.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct LinkEndKeys {
    /// Queueing discipline at this end; the link's unless given.
    pub(crate) queue: Option<Queue>,
    /// Trace of the line rate of this direction; the link's unless given.
    pub(crate) trace: Option<Quantity<TraceUnit>>,
    /// Address of a host with several links on this one; members of a counted host get the following ones; 10.64.0.1
    /// and so on unless given. Flows refer to it as "host:link".
    pub(crate) address: Option<Quantity<AddressUnit>>,
    /// Conditioner of the packets received here; packets pass unless given.
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
