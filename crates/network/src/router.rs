//! A router: forwards by destination to one of its output ports.
//!
//! A host with the stack of a machine works the same way: it forwards what the machine sends, and delivers to the
//! machine what is addressed to it.

use base::setting::Frequency;
use base::setting::settings;
use base::{DropReason, Duration, Instant, Packet, PacketId};

use crate::behaviour::{Behaviour, NodeConfig, Parts};
use crate::context::{Context, Egress};
use crate::forwarding::{ForwardingTable, LOCAL};
use crate::ingress::Ingress;
use crate::observer::{Observer, Place};
use crate::port::{Offered, Port};

settings! {
    /// A router. Flows spread over all shortest paths by a hash (ECMP).
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Config {
        /// Frequency of the timer that its ports' disciplines use, as a kernel's tick; exact timers unless given.
        #[like(Frequency)]
        pub timer: Duration,
    }
}

impl NodeConfig for Config {
    fn timer(&self) -> Duration {
        self.timer
    }
}

/// A router, a load balancer, a policer or a WAN emulator, which differ only in their tables and ports; or the
/// interfaces of a machine.
#[derive(Debug)]
pub struct Router {
    number: u32,
    ports: Vec<Port>,
    ingress: Ingress,
    table: ForwardingTable,
}

impl Router {
    /// The node with its ports.
    pub fn new(parts: Parts) -> Self {
        let Parts { number, ports, sides, table, .. } = parts;
        Self { number, ingress: Ingress::new(number, sides), ports, table }
    }

    /// Handles a packet that no port leads to: delivers it to the machine behind the node, or drops it.
    #[inline(never)]
    fn leave<E: Egress, O: Observer>(
        &self,
        packet: PacketId,
        out: u32,
        cx: &mut Context<'_, E, O>,
    ) {
        if out != LOCAL || !cx.egress.deliver(self.number, packet, cx.now) {
            cx.drop(Place::Node(self.number), packet, DropReason::NoRoute);
        }
    }
}

impl Behaviour for Router {
    #[inline]
    fn receive<E: Egress, O: Observer>(
        &mut self,
        ingress: u32,
        packet: PacketId,
        cx: &mut Context<'_, E, O>,
    ) {
        if !self.ingress.admit(&mut self.ports, ingress, packet, cx) {
            return;
        }
        let out = self.table.port(&cx.packets[packet], cx.now);
        let Some(port) = self.ports.get_mut(out as usize) else {
            return self.leave(packet, out, cx);
        };
        if port.offer(packet, &mut (), cx) == Offered::Ready {
            port.transmit_and_resume(cx);
        }
    }

    #[inline]
    fn expect(&self, packet: &Packet) {
        if let Some(port) = self.ports.get(self.table.likely(packet) as usize) {
            port.expect();
        }
    }

    fn look_ahead(&mut self, may: impl Fn(&Port) -> bool) {
        self.ports.iter_mut().filter(|port| may(port)).for_each(Port::look_ahead);
    }

    fn settle(&mut self, now: Instant, observer: &mut impl Observer) {
        self.ports.iter_mut().for_each(|port| port.settle(now, &mut (), observer));
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    fn ingress(&self) -> &Ingress {
        &self.ingress
    }

    fn ingress_mut(&mut self) -> &mut Ingress {
        &mut self.ingress
    }

    fn ports_mut(&mut self) -> &mut [Port] {
        &mut self.ports
    }
}
