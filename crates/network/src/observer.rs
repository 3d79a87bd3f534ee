//! What nodes tell of themselves: typed events, given to an argument. They never log.

use traffic::{Bytes, DropReason, Instant, Packet};

use crate::guard::Fault;

/// One direction of a link, and the output port that feeds it: `2 * link + end`, where `end` is the
/// index of the transmitting end in the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PortId(pub u32);

/// Where a packet was dropped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// At an output port or on the wire behind it.
    Port(PortId),
    /// Within the node of that number (no route, receive ring).
    Node(u32),
}

/// Takes note of what happens. Every method does nothing by default, so that an observer pays only for
/// what it watches.
pub trait Observer {
    /// A packet's first bit left `port` at `start`, its last bit leaves at `end`.
    #[inline]
    fn transmitted(&mut self, _port: PortId, _packet: &Packet, _start: Instant, _end: Instant) {}

    /// A gap frame of `length` bytes took the wire of `port` from `start` to `end`.
    #[inline]
    fn gap(&mut self, _port: PortId, _length: Bytes, _start: Instant, _end: Instant) {}

    /// A packet was dropped.
    #[inline]
    fn dropped(&mut self, _place: Place, _packet: &Packet, _reason: DropReason, _now: Instant) {}

    /// A port's discipline of that name broke its contract, and a plain FIFO took its place; it did not
    /// give back `lost` packets.
    fn failed(&mut self, _port: PortId, _name: &str, _fault: &Fault, _lost: u64, _now: Instant) {}

    /// A packet's last bit arrived at the far end of `port`'s wire.
    #[inline]
    fn received(&mut self, _port: PortId, _packet: &Packet, _now: Instant) {}
}

/// Watches nothing.
impl Observer for () {}

/// Whoever watches may be lent.
impl<O: Observer> Observer for &mut O {
    #[inline]
    fn transmitted(&mut self, port: PortId, packet: &Packet, start: Instant, end: Instant) {
        (**self).transmitted(port, packet, start, end);
    }

    #[inline]
    fn gap(&mut self, port: PortId, length: Bytes, start: Instant, end: Instant) {
        (**self).gap(port, length, start, end);
    }

    #[inline]
    fn dropped(&mut self, place: Place, packet: &Packet, reason: DropReason, now: Instant) {
        (**self).dropped(place, packet, reason, now);
    }

    fn failed(&mut self, port: PortId, name: &str, fault: &Fault, lost: u64, now: Instant) {
        (**self).failed(port, name, fault, lost, now);
    }

    #[inline]
    fn received(&mut self, port: PortId, packet: &Packet, now: Instant) {
        (**self).received(port, packet, now);
    }
}
