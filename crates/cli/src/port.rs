//! How the lab and the router access interfaces, as chosen on the command line.

use clap::{Args, ValueEnum};
use lab::device::Kind;

/// How frames pass between an interface and the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Port {
    /// AF_XDP in generic mode, before the kernel's stack; needs root
    Xdp,
    /// AF_XDP in native mode, in the interface's driver; needs root
    XdpNative,
    /// AF_PACKET: works in a user namespace, and with frames of any length
    Packet,
}

impl From<Port> for Kind {
    fn from(port: Port) -> Self {
        match port {
            Port::Xdp => Self::Xdp { native: false },
            Port::XdpNative => Self::Xdp { native: true },
            Port::Packet => Self::Packet { vnet: false },
        }
    }
}

/// Options of the lab's fabric.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Args)]
pub(crate) struct Fabric {
    /// How the lab accesses the hosts' interfaces [default: the best that this machine permits]
    #[arg(long, value_enum, value_name = "KIND")]
    port: Option<Port>,
    /// Let the fabric sleep between packets, to free its CPU; packets are slightly later then
    #[arg(long)]
    sleep: bool,
}

impl From<Fabric> for experiment::Fabric {
    fn from(fabric: Fabric) -> Self {
        Self { port: fabric.port.map(Into::into), sleep: fabric.sleep }
    }
}
