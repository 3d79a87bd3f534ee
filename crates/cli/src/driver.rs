//! Who moves the packets, as the command line chooses it.

use clap::ValueEnum;
use network::host::Kernel;

use crate::port::Fabric;

/// Who moves the packets.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Driver {
    /// The simulator: virtual time, modelled TCP
    #[default]
    Simulator,
    /// The simulator with a real kernel at every host, which `suimon linux build` makes: virtual time, the kernel's TCP
    #[value(name = "linux-6.12")]
    Linux6_12,
    /// The lab: real packets and the kernel's TCP, in real time on this machine
    Lab,
}

impl Driver {
    /// The same, for a run; the fabric is the lab's.
    pub(crate) fn with(self, fabric: Fabric) -> experiment::Driver {
        match self {
            Self::Simulator => experiment::Driver::Simulator,
            Self::Linux6_12 => experiment::Driver::Kernel(Kernel::Linux6_12),
            Self::Lab => experiment::Driver::Lab(fabric.into()),
        }
    }
}
