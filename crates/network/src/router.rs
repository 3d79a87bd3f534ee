//! A router: forwards by destination to one of its output ports.
//!
//! So does a host whose stack is a machine's: what that sends is forwarded, what is for itself goes out
//! to the machine.

use traffic::{DropReason, PacketId};

use crate::node::{Context, Egress};
use crate::observer::{Observer, Place};
use crate::port::{Offered, Port};

/// A router, or a WAN emulator: they differ in their ports only. Or the interfaces of a machine.
#[derive(Debug)]
pub struct Router {
    pub(crate) number: u32,
    pub(crate) ports: Vec<Port>,
    /// The output port for each destination, `NO_ROUTE` where there is none.
    routes: Vec<u16>,
}

const NO_ROUTE: u16 = u16::MAX;
/// It is for the machine whose interfaces this is.
const LOCAL: u16 = u16::MAX - 1;

impl Router {
    /// The node of that number, with its ports, and for each destination the port that leads there.
    pub fn new(number: u32, ports: Vec<Port>, routes: &[Option<u16>]) -> Self {
        let routes = routes.iter().map(|r| r.unwrap_or(NO_ROUTE)).collect();
        Self { number, ports, routes }
    }

    /// The interfaces of a host whose stack is a machine's: as a router, with the host's own number as a
    /// destination.
    pub fn interfaces(number: u32, ports: Vec<Port>, routes: &[Option<u16>]) -> Self {
        let mut router = Self::new(number, ports, routes);
        if let Some(own) = router.routes.get_mut(number as usize) {
            *own = LOCAL;
        }
        router
    }

    /// Forwards a packet that arrived.
    #[inline(always)]
    pub fn receive<E: Egress, O: Observer>(
        &mut self,
        packet: PacketId,
        cx: &mut Context<'_, E, O>,
    ) {
        let to = usize::from(cx.packets[packet].destination.0);
        let out = self.routes.get(to).copied().unwrap_or(NO_ROUTE);
        let Some(port) = self.ports.get_mut(usize::from(out)) else {
            return self.leave(packet, out, cx);
        };
        if port.offer(packet, &mut (), cx) == Offered::Ready {
            port.transmit_and_resume(cx);
        }
    }

    /// What no port leads to is for the machine behind the node, or for nobody.
    #[inline(never)]
    fn leave<E: Egress, O: Observer>(
        &self,
        packet: PacketId,
        out: u16,
        cx: &mut Context<'_, E, O>,
    ) {
        if out != LOCAL || !cx.egress.deliver(self.number, packet, cx.now) {
            cx.drop(Place::Node(self.number), packet, DropReason::NoRoute);
        }
    }
}
