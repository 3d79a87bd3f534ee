//! What is told of a plan before a run, with the key that changes it.

use std::fmt;

/// Something that will not work out as it seems meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Of what kind it is.
    pub kind: Kind,
    /// The table that it is about, as a path: `flow.bulk`.
    pub about: String,
    /// What is wrong, with the numbers.
    pub message: String,
    /// The keys that change it, and to what.
    pub help: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.message, self.help)
    }
}

/// What a warning is about. One of a kind is given for what is counted together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A buffer far below a path's bandwidth-delay product, which standard TCP needs to keep it full.
    ShallowBuffer,
    /// A socket buffer below the bandwidth-delay product.
    SmallWindow,
    /// A class paced faster than the bottleneck behind it.
    PacedAbove,
    /// A sender's segments are longer than a link on the path takes.
    Mtu,
    /// A train of messages asks for more than the path carries.
    Overload,
    /// Flows that are drawn to start when the run is over, or when they would stop.
    Late,
    /// Datagrams, whose senders do not slow down, that come to more than a port carries.
    Excess,
    /// A probe records very much.
    ManySamples,
    /// A change that no run can make.
    Refused,
    /// A class, an element, a probe or a change that no flow's packets come to.
    Unmet,
    /// A switch has less room than a link needs after "stop".
    Headroom,
    /// A switch stops senders before it marks their packets, or tells them of congestion.
    Masked,
    /// A switch stops another priority than the one that its senders send by.
    Unstopped,
    /// A file says another mean of its points than they have.
    StatedMean,
    /// Switches that may wait for each other in a circle.
    Circle,
}
