//! Custody: who owns a packet, and how its owner learns what became of it.
//!
//! A port has custody of a packet from the moment that it is offered. When the packet leaves, sent, refused
//! or dropped, at once or later, and whoever discards it (the discipline, a flush, a change of
//! discipline, a fault), the port tells the owner once, by a [`Left`]. Credits (TCP small queues, shared
//! buffers) are kept from that alone, and equal the sum of their packets after every event.

use traffic::{DropReason, Packet, PacketId};

/// What became of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is on the wire.
    Sent,
    /// The port refused it, and its owner takes it back ([`Owner::takes_back`]): no loss in the network.
    Returned(DropReason),
    /// It is lost, and its sender has to find that out itself.
    Dropped(DropReason),
}

/// A packet that leaves a port's custody.
#[derive(Clone, Copy, Debug)]
pub struct Left<'a> {
    /// Its handle.
    pub id: PacketId,
    /// What it says.
    pub packet: &'a Packet,
    /// What became of it.
    pub fate: Fate,
}

/// Whoever offers packets to a port.
pub trait Owner {
    /// A packet that was offered left the port. Called once for each.
    fn left(&mut self, left: Left<'_>);

    /// Whether a packet that the port refuses is the owner's again, who then releases it, as Linux' TCP
    /// keeps a segment that `dev_queue_xmit` refuses. Otherwise the port drops it.
    fn takes_back(&self, _packet: &Packet) -> bool {
        false
    }
}

/// Keeps no credits.
impl Owner for () {
    #[inline]
    fn left(&mut self, _: Left<'_>) {}
}
