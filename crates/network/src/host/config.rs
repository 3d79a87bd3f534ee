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
        /// How often the timer ticks that its interfaces' disciplines wait by; as often as is needed unless given.
        #[like(Frequency)]
        pub timer: Duration,
        /// Whose TCP/IP stack it has in the simulator: "linux-6.12", a real kernel on the simulator's clock, built once by
        /// `suimon linux build`; modelled unless given. In the lab every host has this machine's.
        pub kernel: Option<Kernel>,
        /// What its programs may take of the memory of a guest kernel, where it has one, all together; 128 MiB for each unless
        /// given. What they do not use is not taken of this machine.
        #[range(..=MEMORY_MAX)]
        pub memory: Option<Bytes>,
        /// Which priority its packets have, by their DSCP: "ef:5 24-31:3" as `dcb app` takes it, or as a table,
        /// { ef = 5, "24-31" = 3 }; the class selector where none is given for a code point. That of the switch that it
        /// hangs on unless given.
        pub dscp: Option<DscpMap>,
        /// The processor model; `None` takes no time.
        pub processor: Option<Processor>,
        /// How its interfaces tell it of frames; `None` of each at once.
        pub coalesce: Option<Coalescing>,
        /// How its interfaces slow flows down where switches tell of congestion; by the standard's defaults unless given.
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
