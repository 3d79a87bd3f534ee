//! Counts every drop, and notes every fault, whoever else watches.

use network::Fault;
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
    /// Ports whose discipline failed, and how.
    pub(crate) faults: Vec<(PortId, String)>,
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

    fn failed(&mut self, port: PortId, name: &str, fault: &Fault, lost: u64, now: Instant) {
        let seconds = now.since(Instant::ZERO).as_secs_f64();
        self.faults.push((port, format!("{name} at {seconds} s: {fault}; {lost} packets lost")));
        self.inner.failed(port, name, fault, lost, now);
    }

    #[inline]
    fn received(&mut self, port: PortId, packet: &Packet, now: Instant) {
        self.inner.received(port, packet, now);
    }
}
