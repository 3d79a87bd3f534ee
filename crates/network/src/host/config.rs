//! The settings of a host.

use traffic::setting::Frequency;
use traffic::{Bytes, DscpMap, Duration, choice, settings};

use super::{Coalescing, Processor};
use crate::node;
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

impl Kernel {
    /// The name in scenarios.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Linux6_12 => "linux-6.12",
        }
    }
}

impl node::Config for Config {
    fn timer(&self) -> Duration {
        self.timer
    }
}
