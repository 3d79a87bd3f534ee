//! A node of any kind, moved by a driver through four verbs, and what the driver gives it to act with.

use traffic::{Bytes, DropReason, Instant, PacketId, Packets};

use crate::custody::Owner;
use crate::host::Host;
use crate::observer::{Event, Observer, Place, PortId};
use crate::port::Port;
use crate::router::Router;

/// The far side of the output ports: where a node's packets go. In the simulator a wire and the event
/// queue, on a machine an interface and a timer.
pub trait Egress {
    /// A packet is on the wire of `port`, and its last bit leaves at `leaves`. False if the wire loses
    /// it; then the packet is still the caller's.
    fn launch(&mut self, port: PortId, packet: PacketId, leaves: Instant) -> bool;

    /// `port` goes on at `at`: [`Node::transmit`] is to be called then. A later call takes the place of
    /// an earlier one.
    fn resume(&mut self, port: PortId, at: Instant);

    /// A gap frame of `length` bytes takes the wire of `port`, to `leaves`. Where wires are emulated its
    /// time is all that there is of it.
    fn gap(&mut self, port: PortId, length: Bytes, leaves: Instant, packets: &mut Packets) {
        let _ = (port, length, leaves, packets);
    }

    /// A packet reached the host of that number, whose stack is not the node's but a machine's. False if
    /// there is no such machine; then the packet is still the caller's.
    fn deliver(&mut self, node: u32, packet: PacketId, now: Instant) -> bool {
        let _ = (node, packet, now);
        false
    }

    /// The node of that number wants [`Node::wake`] at `at`, if not before.
    fn wake(&mut self, node: u32, at: Instant);
}

/// What a node acts with.
#[derive(Debug)]
pub struct Context<'a, E, O> {
    /// The time.
    pub now: Instant,
    /// Where packets live.
    pub packets: &'a mut Packets,
    /// Where they go.
    pub egress: &'a mut E,
    /// Who watches.
    pub observer: &'a mut O,
}

impl<E, O: Observer> Context<'_, E, O> {
    /// A packet is dropped at `place`.
    pub fn drop(&mut self, place: Place, packet: PacketId, reason: DropReason) {
        let now = self.now;
        let (id, dropped) = (Some(packet), &self.packets[packet]);
        self.observer.on(Event::Dropped { place, id, packet: dropped, reason, now });
        self.packets.release(packet);
    }
}

/// The ingress of a packet that the machine behind a node sends: none of the node's ports.
pub const MACHINE: u16 = u16::MAX;

/// A node.
#[derive(Debug)]
pub enum Node {
    /// An end system.
    Host(Box<Host>),
    /// A router or a WAN emulator.
    Router(Router),
}

impl Node {
    /// A packet's last bit arrived at the port `ingress`, counted within the node, or came from the
    /// machine behind the node ([`MACHINE`]). The port's conditioner, if it has one, marks or drops it.
    #[inline]
    pub fn receive<E: Egress, O: Observer>(
        &mut self,
        ingress: u16,
        packet: PacketId,
        cx: &mut Context<'_, E, O>,
    ) {
        match self {
            Self::Host(host) => host.receive(ingress, packet, cx),
            Self::Router(router) => router.receive(ingress, packet, cx),
        }
    }

    /// The time has come at which the port, counted within the node, goes on. Returns when it does so
    /// again: `NEVER` if nothing is queued.
    #[inline]
    pub fn transmit<E: Egress, O: Observer>(
        &mut self,
        port: u16,
        cx: &mut Context<'_, E, O>,
    ) -> Instant {
        match self {
            Self::Host(host) => host.transmit(port, cx),
            Self::Router(router) => router.ports[usize::from(port)].transmit(&mut (), cx),
        }
    }

    /// Does something to the queue of the port, counted within the node; `None` if there is no such port.
    /// The port's packets are the node's, which is told what became of them.
    pub fn with_port<E: Egress, O: Observer, R>(
        &mut self,
        port: u16,
        cx: &mut Context<'_, E, O>,
        act: impl FnOnce(&mut Port, &mut dyn Owner, &mut Context<'_, E, O>) -> R,
    ) -> Option<R> {
        self.ports().get(usize::from(port))?;
        Some(match self {
            Self::Host(host) => host.with_port(port, cx, act),
            Self::Router(router) => act(&mut router.ports[usize::from(port)], &mut (), cx),
        })
    }

    /// When [`Node::wake`] wants to be called, at the latest. A driver asks at the start and after each
    /// wake; in between the node tells it, see [`Egress::wake`].
    pub fn next_wakeup(&self) -> Instant {
        match self {
            Self::Host(host) => host.next_wakeup(),
            Self::Router(_) => Instant::NEVER,
        }
    }

    /// Its time has come.
    pub fn wake<E: Egress, O: Observer>(&mut self, cx: &mut Context<'_, E, O>) {
        match self {
            Self::Host(host) => host.wake(cx),
            Self::Router(_) => {}
        }
    }

    /// Its output ports.
    pub fn ports(&self) -> &[Port] {
        match self {
            Self::Host(host) => &host.ports,
            Self::Router(router) => &router.ports,
        }
    }

    /// Its output ports, to set up before anything is queued: see [`Node::with_port`].
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

    /// The same, to add flows to.
    pub fn as_host_mut(&mut self) -> Option<&mut Host> {
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
