//! A router: forwards by destination to one of its output ports.
//!
//! So does a host whose stack is a machine's: what that sends is forwarded, what is for itself goes out
//! to the machine.

use traffic::{DropReason, PacketId};

use crate::forwarding::{ForwardingTable, LOCAL};
use crate::ingress::Ingress;
use crate::node::{Context, Egress};
use crate::observer::{Observer, Place};
use crate::port::{Offered, Port};

/// A router, or a WAN emulator: they differ in their ports only. Or the interfaces of a machine.
#[derive(Debug)]
pub struct Router {
    pub(crate) number: u32,
    pub(crate) ports: Vec<Port>,
    ingress: Ingress,
    table: ForwardingTable,
}

impl Router {
    /// The node of that number, with its ports, and what leads where.
    pub fn new(number: u32, ports: Vec<Port>, table: ForwardingTable) -> Self {
        Self { number, ingress: Ingress::new(number, &ports), ports, table }
    }

    /// Forwards a packet that arrived.
    #[inline(always)]
    pub fn receive<E: Egress, O: Observer>(
        &mut self,
        ingress: u16,
        packet: PacketId,
        cx: &mut Context<'_, E, O>,
    ) {
        if !self.ingress.admit(&mut self.ports, ingress, packet, cx) {
            return;
        }
        let out = self.table.port(&cx.packets[packet]);
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
