//! A node of any kind, moved by a driver through four verbs.

use traffic::{Instant, PacketId, Packets};

use crate::host::Host;
use crate::observer::{Observer, PortId};
use crate::port::{Port, Transmit};
use crate::router::Router;

/// Which output ports may have something new to transmit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Touched {
    /// None.
    None,
    /// This one.
    Port(PortId),
    /// This one, and a packet has left it already.
    Sent {
        /// The port.
        port: PortId,
        /// The packet on its wire.
        packet: PacketId,
        /// When the packet's last bit leaves.
        leaves: Instant,
        /// Whether more was queued behind it.
        queued: bool,
    },
    /// Any.
    All,
}

impl Touched {
    /// Both.
    #[inline]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::None, t) | (t, Self::None) => t,
            (Self::Port(a), Self::Port(b)) if a == b => self,
            // Whoever sends at once has that port only.
            (Self::Sent { port, packet, leaves, .. }, _) => {
                Self::Sent { port, packet, leaves, queued: true }
            }
            _ => Self::All,
        }
    }
}

/// A node.
#[derive(Debug)]
pub enum Node {
    /// An end system.
    Host(Box<Host>),
    /// A router or a WAN emulator.
    Router(Router),
}

impl Node {
    /// A packet's last bit arrived.
    #[inline]
    pub fn receive(
        &mut self,
        packets: &mut Packets,
        packet: PacketId,
        now: Instant,
        observer: &mut impl Observer,
    ) -> Touched {
        match self {
            Self::Host(host) => host.receive(packets, packet, now, observer),
            Self::Router(router) => router.receive(packets, packet, now, observer),
        }
    }

    /// What the port sends at `now`. The caller asks until the answer is not a packet.
    #[inline]
    pub fn poll_transmit(
        &mut self,
        port: u16,
        packets: &mut Packets,
        now: Instant,
        observer: &mut impl Observer,
    ) -> Transmit {
        match self {
            Self::Host(host) => host.poll_transmit(port, packets, now, observer),
            Self::Router(r) => r.ports[usize::from(port)].poll_transmit(packets, now, observer),
        }
    }

    /// When [`Node::wake`] wants to be called, at the latest.
    #[inline]
    pub fn next_wakeup(&self) -> Instant {
        match self {
            Self::Host(host) => host.next_wakeup(),
            Self::Router(_) => Instant::NEVER,
        }
    }

    /// Its time has come.
    pub fn wake(
        &mut self,
        packets: &mut Packets,
        now: Instant,
        observer: &mut impl Observer,
    ) -> Touched {
        match self {
            Self::Host(host) => host.wake(packets, now, observer),
            Self::Router(_) => Touched::None,
        }
    }

    /// Its output ports.
    pub fn ports(&self) -> &[Port] {
        match self {
            Self::Host(host) => &host.ports,
            Self::Router(router) => &router.ports,
        }
    }

    /// Its output ports, to change their disciplines.
    pub fn ports_mut(&mut self) -> &mut [Port] {
        match self {
            Self::Host(host) => &mut host.ports,
            Self::Router(router) => &mut router.ports,
        }
    }

    /// The host it is, if it is one.
    pub fn as_host(&self) -> Option<&Host> {
        match self {
            Self::Host(host) => Some(host),
            Self::Router(_) => None,
        }
    }

    /// Packets it holds, outside its ports' disciplines.
    pub fn held(&self) -> usize {
        match self {
            Self::Host(host) => host.held(),
            Self::Router(_) => 0,
        }
    }
}
