//! How interfaces are met, as the command line chooses it: those of the lab's hosts, and a router's.

use clap::{Args, ValueEnum};
use lab::device::Kind;

/// By what frames pass between an interface and the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Port {
    /// AF_XDP, in the kernel's own hook before its stack; needs root's rights
    Xdp,
    /// AF_XDP, in the interface's driver; needs root's rights
    XdpNative,
    /// AF_PACKET, which works in a user namespace, and with frames of any length
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

/// How the lab's fabric does its work.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Args)]
pub(crate) struct Fabric {
    /// How the lab meets the hosts' interfaces; the best that this machine grants unless given
    #[arg(long, value_enum, value_name = "KIND")]
    port: Option<Port>,
    /// Let the fabric sleep between packets, and its processor do other work; packets are a little later then
    #[arg(long)]
    sleep: bool,
}

impl From<Fabric> for experiment::Fabric {
    fn from(fabric: Fabric) -> Self {
        Self { port: fabric.port.map(Into::into), sleep: fabric.sleep }
    }
}
