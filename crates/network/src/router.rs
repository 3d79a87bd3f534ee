//! A router: forwards by destination to one of its output ports.

use traffic::{DropReason, PacketId};

use crate::node::{Context, Egress};
use crate::observer::{Observer, Place};
use crate::port::{Offered, Port};

/// A router, or a WAN emulator: they differ in their ports only.
#[derive(Debug)]
pub struct Router {
    pub(crate) number: u32,
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
    #[inline(always)]
    pub fn receive<E: Egress, O: Observer>(
        &mut self,
        packet: PacketId,
        cx: &mut Context<'_, E, O>,
    ) {
        let out = self.routes[usize::from(cx.packets[packet].destination.0)];
        let Some(port) = self.ports.get_mut(usize::from(out)) else {
            return cx.drop(Place::Node(self.number), packet, DropReason::NoRoute);
        };
        match port.offer(packet, cx) {
            Offered::Sent | Offered::Queued => {}
            Offered::Ready => port.transmit_and_resume(cx),
            Offered::Dropped(reason) => cx.drop(Place::Port(port.id()), packet, reason),
        }
    }
}
