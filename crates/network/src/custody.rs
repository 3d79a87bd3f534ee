//! Custody: the ownership of packets, and how an owner learns the fate of a packet.
//!
//! A port has custody of a packet from the moment that it is offered. When the packet leaves (sent, refused or
//! dropped, at once or later, by the discipline, a flush, a change of discipline or a fault), the port notifies the
//! owner once with a [`Left`]. Credits (TCP small queues, shared buffers) are kept from that alone, and equal the
//! sum of their packets after every event.

use base::{DropReason, Packet, PacketId};

/// The fate of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// It is on the wire.
    Sent,
    /// The port refused it, and its owner takes it back ([`Owner::takes_back`]): no loss in the network.
    Returned(DropReason),
    /// It is lost; its sender has to detect the loss itself.
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

/// The owner of packets that are offered to a port.
pub trait Owner {
    /// Handles the departure of an offered packet from the port. Called once for each packet.
    fn left(&mut self, left: Left<'_>);

    /// Its number for the sender of the packet that it offers, if it distinguishes senders.
    fn sender(&self) -> u32 {
        0
    }

    /// Handles the departure of a packet of `length` bytes from `sender` that the port sent ahead of time: see
    /// [`Port::look_ahead`](crate::Port::look_ahead). In place of [`Owner::left`].
    fn departed(&mut self, sender: u32, length: u32) {
        let _ = (sender, length);
    }

    /// Whether a packet that the port refuses returns to the owner, which then releases it, as Linux' TCP keeps a
    /// segment that `dev_queue_xmit` refuses. Otherwise the port drops it.
    fn takes_back(&self, _packet: &Packet) -> bool {
        false
    }
}

/// Keeps no credits.
impl Owner for () {
    #[inline]
    fn left(&mut self, _: Left<'_>) {}
}
