//! How interfaces are met, as the command line chooses it: those of the lab's hosts, and a router's.

use lab::device::Kind;

/// By what frames pass between an interface and the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
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
