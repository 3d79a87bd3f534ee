//! How the lab's fabric meets the hosts' interfaces, as the command line chooses it.

use lab::device::Kind;

/// By what frames pass between a host's interface and the fabric.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Port {
    /// AF_XDP, in the kernel's own hook before its stack; needs root
    Xdp,
    /// AF_XDP, in the interface's driver; needs root
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
