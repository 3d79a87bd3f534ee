//! A router: forwards by destination to one of its output ports.

use traffic::{DropReason, Instant, PacketId, Packets};

use crate::node::Touched;
use crate::observer::{Observer, Place};
use crate::port::{Offered, Port};

/// A router, or a WAN emulator: they differ in their ports only.
#[derive(Debug)]
pub struct Router {
    number: u32,
    pub(crate) ports: Vec<Port>,
    /// The output port for each destination, `NO_ROUTE` where there is none.
    routes: Vec<u16>,
}

const NO_ROUTE: u16 = u16::MAX;

impl Router {
    /// The node of that number, with its ports, and for each destination the port that leads there.
    pub fn new(number: u32, ports: Vec<Port>, routes: &[Option<u16>]) -> Self {
        let routes = routes.iter().map(|r| r.unwrap_or(NO_ROUTE)).collect();
        Self { number, ports, routes }
    }

    /// Forwards a packet that arrived.
    #[inline]
    pub fn receive(
        &mut self,
        packets: &mut Packets,
        packet: PacketId,
        now: Instant,
        observer: &mut impl Observer,
    ) -> Touched {
        let out = self.routes[usize::from(packets[packet].destination.0)];
        if out == NO_ROUTE {
            observer.dropped(Place::Node(self.number), &packets[packet], DropReason::NoRoute, now);
            packets.release(packet);
            return Touched::None;
        }
        let port = &mut self.ports[usize::from(out)];
        match port.offer(packets, packet, now, observer) {
            Offered::Sent(leaves) => {
                Touched::Sent { port: port.id(), packet, leaves, queued: false }
            }
            Offered::Queued => Touched::Port(port.id()),
            Offered::Behind => Touched::None,
            Offered::Dropped(reason) => {
                observer.dropped(Place::Port(port.id()), &packets[packet], reason, now);
                packets.release(packet);
                Touched::None
            }
        }
    }
}
