//! The settings of a host.

use base::setting::Frequency;
use base::setting::{choice, settings};
use base::{Bytes, DscpMap, Duration};

use super::{Coalescing, Processor};
use crate::behaviour::NodeConfig;
use crate::ingress::Notifications;
use crate::reaction_point;

/// The maximum memory: no machine that runs the simulator has more.
const MEMORY_MAX: Bytes = Bytes(1 << 40);

settings! {
    /// An end system.
    #[derive(Clone, Debug, Default, PartialEq, Eq)]
    pub struct Config {
        /// Frequency of the timer that its interfaces' disciplines use; exact timers unless given.
        #[like(Frequency)]
        pub timer: Duration,
        /// TCP/IP stack of the host in the simulator: "linux-6.12", a real kernel on the simulator's clock, built
        /// once by `suimon linux build`; the model unless given. In the lab every host uses this machine's kernel.
        pub kernel: Option<Kernel>,
        /// Where a host with a guest kernel has the disciplines of its ports: "card", in the network card that the
        /// simulator provides, or "kernel", on that kernel's output path, by the module `sch_suimon` of `make module`;
        /// in the card unless given.
        pub qdisc: Option<QdiscPlace>,
        /// Memory limit of all its programs together, in a host with a guest kernel; 128 MiB per program unless
        /// given. Unused memory costs this machine nothing.
        #[range(..=MEMORY_MAX)]
        pub memory: Option<Bytes>,
        /// Map from the DSCP of its packets to their priority: "ef:5 24-31:3" as `dcb app` takes it, or a table, { ef
        /// = 5, "24-31" = 3 }. A code point without an entry has its class selector; the map of the attached switch
        /// unless given.
        pub dscp: Option<DscpMap>,
        /// The processor model; `None` takes no time.
        pub processor: Option<Processor>,
        /// Interrupt coalescing of its interfaces; `None` interrupts for each frame.
        pub coalesce: Option<Coalescing>,
        /// Reaction of its interfaces to congestion notifications; the standard's defaults unless given.
        pub qcn: Option<reaction_point::Config>,
    }
}

choice! {
    /// A kernel for a host on the simulator's clock.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum Kernel {
        /// Linux of the series 6.12.
        Linux6_12 = "linux-6.12",
    }
}

choice! {
    /// A place of the disciplines of a host with a guest kernel.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub enum QdiscPlace {
        /// The network card, which the simulator provides.
        Card = "card",
        /// The kernel's output path: a qdisc of the module `sch_suimon`.
        Kernel = "kernel",
    }
}

impl Kernel {
    /// The name in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Linux6_12 => "linux-6.12",
        }
    }
}

impl QdiscPlace {
    /// The name in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Card => "card",
            Self::Kernel => "kernel",
        }
    }
}

impl Config {
    /// Whether the disciplines of its ports are qdiscs of its kernel.
    pub fn has_qdiscs(&self) -> bool {
        self.kernel.is_some() && self.qdisc == Some(QdiscPlace::Kernel)
    }
}

impl NodeConfig for Config {
    fn timer(&self) -> Duration {
        self.timer
    }

    fn notifications(&self) -> Notifications {
        Notifications::Take
    }
}
