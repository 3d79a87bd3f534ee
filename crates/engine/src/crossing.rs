//! Packets on their way from one part of a world to another.

use base::{Instant, PacketId};
use network::PortId;
use network::link::{Launched, Wire};
use traffic::{Moved, Packets};

/// A packet that crosses into another part of the world.
#[derive(Clone, Copy, Debug)]
pub struct Crossing {
    /// The link direction that it is on.
    pub(crate) channel: u32,
    /// The arrival time of its last bit.
    pub(crate) arrives: Instant,
    /// The packet.
    pub(crate) moved: Moved,
}

/// The packets for another part of the world, in the order in which they were sent.
#[derive(Debug)]
pub struct Outbox {
    crossings: Vec<Crossing>,
    earliest: Instant,
}

impl Default for Outbox {
    fn default() -> Self {
        Self { crossings: Vec::new(), earliest: Instant::NEVER }
    }
}

impl Outbox {
    /// Sends a packet from `port` over the cut link `wire`; its last bit leaves at `leaves`.
    pub(crate) fn send(
        &mut self,
        port: PortId,
        packet: PacketId,
        leaves: Instant,
        wire: &mut Wire,
        packets: &mut Packets,
    ) -> Launched {
        let Launched { lost, .. } = wire.send_impaired(packet, leaves, packets);
        while let Some((arrives, packet)) = wire.take() {
            let moved = packets.take(packet);
            self.crossings.push(Crossing { channel: port.0, arrives, moved });
            self.earliest = self.earliest.min(arrives);
        }
        Launched { lost, copy: None }
    }

    /// The time of the first arrival; `NEVER` if it is empty.
    pub(crate) fn earliest(&self) -> Instant {
        self.earliest
    }

    /// Exchanges its packets for the memory of an empty list; does nothing if there are none.
    pub fn post(&mut self, into: &mut Vec<Crossing>) {
        debug_assert!(into.is_empty(), "packets of one window at a time");
        if !self.crossings.is_empty() {
            core::mem::swap(&mut self.crossings, into);
            self.earliest = Instant::NEVER;
        }
    }
}
