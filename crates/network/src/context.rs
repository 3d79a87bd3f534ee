//! What a driver passes to a node: the time, the packets, and the far side of the node's ports.

use base::{Bytes, DropReason, Instant, PacketId};
use traffic::Packets;

use crate::link::Launched;
use crate::observer::{Event, Observer, Place, PortId};

/// The far side of the output ports, which takes a node's packets: a link and the event queue in the simulator, an
/// interface and a timer on a machine.
pub trait Egress {
    /// Puts a packet onto the wire of `port`; its last bit leaves at `leaves`.
    fn launch(
        &mut self,
        port: PortId,
        packet: PacketId,
        leaves: Instant,
        packets: &mut Packets,
    ) -> Launched;

    /// Schedules [`Behaviour::transmit`](crate::Behaviour::transmit) for `port` at `at`. A later call replaces an
    /// earlier one.
    fn resume(&mut self, port: PortId, at: Instant);

    /// Occupies the wire of `port` with a gap frame of `length` bytes until `leaves`. On an emulated wire only its
    /// time counts.
    fn gap(&mut self, port: PortId, length: Bytes, leaves: Instant, packets: &mut Packets) {
        let _ = (port, length, leaves, packets);
    }

    /// Delivers a packet to host `node`, which has the stack of a machine. Returns false if there is no such
    /// machine; then the packet is still the caller's.
    fn deliver(&mut self, node: u32, packet: PacketId, now: Instant) -> bool {
        let _ = (node, packet, now);
        false
    }

    /// Schedules [`Behaviour::wake`](crate::Behaviour::wake) of node `node` for `at` at the latest.
    fn wake(&mut self, node: u32, at: Instant);
}

/// The context that a driver passes to a node.
#[derive(Debug)]
pub struct Context<'a, E, O> {
    /// The time.
    pub now: Instant,
    /// The packet memory.
    pub packets: &'a mut Packets,
    /// The sink of sent packets.
    pub egress: &'a mut E,
    /// The observer.
    pub observer: &'a mut O,
}

impl<E, O: Observer> Context<'_, E, O> {
    /// Drops a packet at `place`.
    pub fn drop(&mut self, place: Place, packet: PacketId, reason: DropReason) {
        let now = self.now;
        let (id, dropped) = (Some(packet), &self.packets[packet]);
        self.observer.on(Event::Dropped { place, id, packet: dropped, reason, now });
        self.packets.release(packet);
    }
}
