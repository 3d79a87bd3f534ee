//! The settings of `wfq`, and the reasons to refuse them.

use alloc::string::String;
use alloc::vec::Vec;

use crate::classify::{Classifier, Rule};
use crate::discipline::Port;
use crate::qdisc::hash::HashBy;
use crate::tree::{self, Branch, Tree};
use base::packet::ETHERNET_HEADER_AND_FCS;
use base::setting::{choice, errors, in_range, settings};
use base::subject::Subject;
use base::units::Bytes;

/// The most queues of the stochastic mode: ALTQ's.
pub const QUEUES_MAX: u32 = 2_048;
/// The range of weights. The least is a tenth of ALTQ's usual weight, so that a queue sends a packet within
/// few rounds.
pub const WEIGHTS: core::ops::RangeInclusive<u32> = 10..=65_535;
/// The least quota, an Ethernet frame.
pub const QUOTA_MIN: Bytes = Bytes(64);
/// The longest buffer: 256 GiB, see the virtual time's scale.
pub const BYTES_MAX: Bytes = Bytes(1 << 38);

choice! {
    /// How near to the ideal.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Mode {
        /// A fixed number of queues, served in turns; flows that fall into the same one share its rate
        /// (ALTQ's WFQ, paper 1, section 4.1.3).
        #[default]
        Stochastic = "stochastic",
        /// A queue for each flow, served within one packet of the fluid ideal.
        Exact = "exact",
    }
}

settings! {
    /// The flows of one weight.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Class {
        /// Its name, unique within the discipline.
        pub name: String,
        /// Always `None`: these classes are not nested.
        pub parent: Option<String>,
        /// Weight of each flow of the class; 100 unless given, as in ALTQ.
        #[range(WEIGHTS)]
        pub weight: u32,
    }
}

impl Default for Class {
    /// Weight 100.
    fn default() -> Self {
        Self { name: String::new(), parent: None, weight: 100 }
    }
}

settings! {
    classes: Class;
    /// The definition of a flow, the weights, and the limits.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Parameters {
        /// Queueing mode: `stochastic`, hashed queues in turns as in ALTQ, unless given; or `exact`.
        pub mode: Mode,
        /// Packet fields that define a flow: `destination`, `source_port`, `full` or `source`. Unless given,
        /// `destination` in stochastic mode, as in ALTQ, and `full` in exact mode.
        pub hash: Option<HashBy>,
        /// Number of queues in stochastic mode; 256 unless given, as in ALTQ.
        #[range(1..=QUEUES_MAX)]
        pub queues: u32,
        /// Bytes that a queue of weight 100 may send in its turn in stochastic mode; 512 B unless given, as in ALTQ.
        #[range(QUOTA_MIN..)]
        pub quota: Bytes,
        /// Maximum bytes queued, in frame lengths; beyond it, the longest queue relative to its weight loses a packet
        /// (to within an eighth of its length): the first one in stochastic mode, the last one in exact mode. At
        /// least one full frame; 64 KiB unless given, as in ALTQ.
        #[range(..=BYTES_MAX)]
        pub bytes: Bytes,
        /// Weight of a flow that no filter matches; 100 unless given, as in ALTQ.
        #[range(WEIGHTS)]
        pub weight: u32,
        /// Flows with other weights. A queue keeps the weight of the first flow after it was empty.
        pub classes: Vec<Class>,
        /// The filters in matching order.
        pub filters: Vec<Rule>,
    }
}

impl Default for Parameters {
    /// ALTQ's defaults.
    fn default() -> Self {
        Self {
            mode: Mode::Stochastic,
            hash: None,
            queues: 256,
            quota: Bytes(512),
            bytes: Bytes(64 << 10),
            weight: 100,
            classes: Vec::new(),
            filters: Vec::new(),
        }
    }
}

impl Parameters {
    /// The fields that identify a flow in this mode.
    pub(super) fn hash_by(&self) -> HashBy {
        self.hash.unwrap_or(match self.mode {
            Mode::Stochastic => HashBy::Destination,
            Mode::Exact => HashBy::Full,
        })
    }
}

errors! {
    /// Why parameters are refused.
    pub enum Error from {
        /// The names of classes and filters do not fit together.
        Tree(tree::Error),
    } or {
        /// A class has a parent, but these classes have no hierarchy.
        #[error("class `{0}` has a parent, but these classes are not nested: remove its parent")]
        Parent(String),
        /// A buffer that drops every packet of full length.
        #[error("a buffer of {bytes}: give it at least one full frame, {frame}")]
        Buffer {
            /// The given buffer.
            bytes: Bytes,
            /// The port's longest frame.
            frame: Bytes,
        },
    } at {
        Self::Parent(class) => Subject::class(class).at(&["parent"]),
        Self::Buffer { .. } => Subject::settings(&["bytes"]),
    }
}

/// Checks the numbers, and resolves the filters.
pub(super) fn check(parameters: &Parameters, port: Port) -> Result<Classifier, Error> {
    in_range(parameters)?;
    let Parameters { bytes, classes, filters, .. } = parameters;
    let frame = port.mtu + Bytes(ETHERNET_HEADER_AND_FCS.into());
    if *bytes < frame {
        return Err(Error::Buffer { bytes: *bytes, frame });
    }
    if let Some(class) = classes.iter().find(|class| class.parent.is_some()) {
        return Err(Error::Parent(class.name.clone()));
    }
    if classes.is_empty() && filters.is_empty() {
        return Ok(Classifier::default());
    }
    let branch = |class| {
        let Class { name, .. }: &Class = class;
        Branch { name, parent: None }
    };
    let branches: Vec<_> = classes.iter().map(branch).collect();
    Ok(Tree::new(&branches, filters)?.classifier)
}
