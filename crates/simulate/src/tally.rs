//! Counts every drop, whoever else watches.

use network::observer::{Observer, Place, PortId};
use results::totals::Drops;
use traffic::{Bytes, DropReason, Instant, Packet};

/// Drops by place and reason, and by flow; passes every event on.
#[derive(Debug)]
pub(crate) struct Tally<'a, O> {
    /// One for each port.
    pub(crate) ports: Vec<Drops>,
    /// One for each node.
    pub(crate) nodes: Vec<Drops>,
    /// One for each flow.
    pub(crate) flows: Vec<u64>,
    /// The next observer.
    pub(crate) inner: &'a mut O,
}

impl<O: Observer> Observer for Tally<'_, O> {
    #[inline]
    fn transmitted(&mut self, port: PortId, packet: &Packet, start: Instant, end: Instant) {
        self.inner.transmitted(port, packet, start, end);
    }

    #[inline]
    fn gap(&mut self, port: PortId, length: Bytes, start: Instant, end: Instant) {
        self.inner.gap(port, length, start, end);
    }

    fn dropped(&mut self, place: Place, packet: &Packet, reason: DropReason, now: Instant) {
        self.flows[packet.flow.0 as usize] += 1;
        match place {
            Place::Port(port) => self.ports[port.0 as usize].count(reason),
            Place::Node(node) => self.nodes[node as usize].count(reason),
        }
        self.inner.dropped(place, packet, reason, now);
    }

    #[inline]
    fn received(&mut self, port: PortId, packet: &Packet, now: Instant) {
        self.inner.received(port, packet, now);
    }
}
