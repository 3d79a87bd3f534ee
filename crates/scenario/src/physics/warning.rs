//! Warnings about a plan before a run, with the keys to change.

use std::fmt;

/// A warning about a setting that probably does not have the intended effect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Warning {
    /// Its kind.
    pub kind: Kind,
    /// Its subject as a path: `flow.bulk`.
    pub about: String,
    /// The problem, with numbers.
    pub message: String,
    /// The keys to change, with their new values.
    pub help: String,
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.message, self.help)
    }
}

/// The kind of a warning. Each kind appears once per counted group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A buffer far below a path's bandwidth-delay product, so that standard TCP cannot fill the path.
    ShallowBuffer,
    /// A socket buffer below the bandwidth-delay product.
    SmallWindow,
    /// A class paced faster than the bottleneck after it.
    PacedAbove,
    /// A sender's segments exceed the MTU of a link on the path.
    Mtu,
    /// A train of messages exceeds the rate of the path.
    Overload,
    /// Flows with random starts after the end of the run, or after their stop.
    Late,
    /// Unresponsive datagrams that exceed the rate of a port.
    Excess,
    /// A probe with very many samples.
    ManySamples,
    /// A change that is impossible in any run.
    Refused,
    /// A class, an element, a probe or a change without packets of any flow.
    Unmet,
    /// A switch with too little headroom for a link.
    Headroom,
    /// A switch that pauses senders before it marks their packets or sends congestion notifications.
    Masked,
    /// A switch that pauses another priority than the one of its senders.
    Unstopped,
    /// A file that states another mean than that of its points.
    StatedMean,
    /// Flows that ask for marks where no queue makes any, or a queue that marks for flows that do not ask.
    Unmarked,
    /// Several seeds of runs in which nothing is drawn at random.
    IdleSeeds,
    /// Switches that can wait for each other in a circle.
    Circle,
}
