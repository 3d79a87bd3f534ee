//! Ingress: what a node does to a packet between its arrival at a port and its way through the node.

use traffic::PacketId;

use crate::node::Context;
use crate::observer::{Observer, Place};
use crate::port::Port;

/// The ingress side of a node's ports.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Ingress {
    /// The node's number.
    node: u32,
    /// Whether any of the ports has a conditioner; the ports are not looked at otherwise.
    conditions: bool,
}

impl Ingress {
    /// Of the node of that number, with those ports.
    pub(crate) fn new(node: u32, ports: &[Port]) -> Self {
        Self { node, conditions: ports.iter().any(|port| port.conditioner().is_some()) }
    }

    /// Whether a packet that arrived at the port of that number is let in; if not, it is dropped.
    #[inline(always)]
    pub(crate) fn admit<E, O: Observer>(
        self,
        ports: &mut [Port],
        number: u16,
        packet: PacketId,
        cx: &mut Context<'_, E, O>,
    ) -> bool {
        !self.conditions || self.condition(ports, number, packet, cx)
    }

    /// Conditions a packet: marks it, or drops it. False if it is dropped.
    #[inline(never)]
    fn condition<E, O: Observer>(
        self,
        ports: &mut [Port],
        number: u16,
        packet: PacketId,
        cx: &mut Context<'_, E, O>,
    ) -> bool {
        let port = ports.get_mut(usize::from(number));
        let Some(conditioner) = port.and_then(|port| port.conditioner.as_mut()) else {
            return true;
        };
        let verdict = conditioner.condition(cx.packets, packet, cx.now);
        if let Err(reason) = verdict {
            cx.drop(Place::Node(self.node), packet, reason);
        }
        verdict.is_ok()
    }
}
