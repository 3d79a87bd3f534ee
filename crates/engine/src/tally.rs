//! Counts every drop and, if it is to, every delay, and notes every fault, whoever else watches.

use network::Fault;
use network::observer::{Observer, Place, PortId};
use results::AllDelays;
use results::totals::Drops;
use scenario::Plan;
use traffic::{Bytes, DropReason, Instant, Packet};

/// Drops by place and reason, and by flow; passes every event on.
#[derive(Debug)]
pub struct Tally<O> {
    /// One for each port.
    pub ports: Vec<Drops>,
    /// One for each node.
    pub nodes: Vec<Drops>,
    /// One for each flow.
    pub flows: Vec<u64>,
    /// Ports whose discipline failed, and how.
    pub faults: Vec<(PortId, String)>,
    /// How long packets waited at each port, if the plan wants it.
    pub delays: AllDelays,
    /// The next observer.
    pub inner: O,
}

impl<O> Tally<O> {
    /// Nothing counted yet in a run of `plan`.
    pub fn new(plan: &Plan, inner: O) -> Self {
        Self {
            ports: vec![Drops::default(); 2 * plan.links.len()],
            nodes: vec![Drops::default(); plan.nodes.len()],
            flows: vec![0; plan.flows.len()],
            faults: Vec::new(),
            delays: AllDelays::new(if plan.probes.delays { 2 * plan.links.len() } else { 0 }),
            inner,
        }
    }
}

impl<O: Observer> Observer for Tally<O> {
    #[inline]
    fn transmitted(&mut self, port: PortId, packet: &Packet, start: Instant, end: Instant) {
        self.delays.note(port, packet, start);
        self.inner.transmitted(port, packet, start, end);
    }

    #[inline]
    fn gap(&mut self, port: PortId, length: Bytes, start: Instant, end: Instant) {
        self.inner.gap(port, length, start, end);
    }

    fn dropped(&mut self, place: Place, packet: &Packet, reason: DropReason, now: Instant) {
        // Packets of no flow of the plan are told by their place only.
        if let Some(flow) = self.flows.get_mut(packet.flow.0 as usize) {
            *flow += 1;
        }
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
