//! Who owns the packets that a port holds, and how their owner learns what became of each.
//!
//! A port that takes a packet owns it until it says what became of it, once: sent, or dropped with the
//! reason. Credits (TCP small queues) are kept from that alone, whoever discards the packet: the
//! discipline, a flush, a change of discipline or the fault of one.

use traffic::{DropReason, Packet};

/// What became of a packet that a port had taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It is on the wire.
    Sent,
    /// It is lost, and its sender has to find that out itself.
    Dropped(DropReason),
}

/// Whoever gives packets to a port. A packet that leaves as soon as it is offered, or is refused, the
/// port never took.
pub trait Owner {
    /// The port took this packet.
    fn taken(&mut self, packet: &Packet);

    /// What became of a packet that the port had taken.
    fn finished(&mut self, packet: &Packet, outcome: Outcome);

    /// A discipline failed and lost packets, nobody knows which: these are all that the port holds.
    fn recount(&mut self, held: &mut dyn Iterator<Item = &Packet>);
}

/// Keeps no credits.
impl Owner for () {
    #[inline(always)]
    fn taken(&mut self, _: &Packet) {}

    #[inline(always)]
    fn finished(&mut self, _: &Packet, _: Outcome) {}

    fn recount(&mut self, _: &mut dyn Iterator<Item = &Packet>) {}
}
