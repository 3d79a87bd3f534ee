//! Counts every drop and, if configured, every delay; records every fault; and passes all events to the next
//! observer.

use base::{DropReason, FlowId, Instant};
use network::Breach;
use network::observer::{Event, Observer, Place, PortId};
use record::AllDelays;
use record::totals::Drops;
use scenario::Plan;

/// Counts of drops by place and reason, and by flow; passes every event on.
#[derive(Debug)]
pub struct Tally<O> {
    /// One for each port.
    pub ports: Vec<Drops>,
    /// One for each node.
    pub nodes: Vec<Drops>,
    /// One for each flow.
    pub flows: Vec<u64>,
    /// The ports with a failed discipline, each with the fault.
    pub faults: Vec<(PortId, String)>,
    /// The queueing delays at each port, if the plan asks for them.
    pub delays: AllDelays,
    /// The next observer.
    pub inner: O,
}

impl<O> Tally<O> {
    /// A tally for a run of `plan`, with nothing counted yet.
    pub fn new(plan: &Plan, inner: O) -> Self {
        Self {
            ports: vec![Drops::default(); 2 * plan.links.len()],
            nodes: vec![Drops::default(); plan.nodes.len()],
            flows: vec![0; plan.flows.len()],
            faults: Vec::new(),
            delays: AllDelays::new(plan),
            inner,
        }
    }
}

impl<O> Tally<O> {
    #[inline(never)]
    fn count_drop(&mut self, place: Place, flow: FlowId, reason: DropReason) {
        // Packets outside the plan's flows are counted by place only.
        if let Some(flow) = self.flows.get_mut(flow.0 as usize) {
            *flow += 1;
        }
        match place {
            Place::Port(port) => self.ports[port.0 as usize].count(reason),
            Place::Node(node) => self.nodes[node as usize].count(reason),
        }
    }

    #[cold]
    fn note_fault(&mut self, port: PortId, name: &str, fault: &Breach, lost: u64, now: Instant) {
        let seconds = now.since(Instant::ZERO).as_secs_f64();
        let packets = if lost == 1 { "packet" } else { "packets" };
        self.faults.push((port, format!("{name} at {seconds} s: {fault}; {lost} {packets} lost")));
    }
}

impl<O: Observer> Observer for Tally<O> {
    // Forced, like all of a packet's path: see `engine/src/engine.rs`.
    #[inline(always)]
    fn on(&mut self, event: Event<'_>) {
        match event {
            Event::Transmitted { port, packet, start, .. } => {
                self.delays.note(port, packet.class, packet.queued, start);
            }
            Event::Departed { port, queued, start } => self.delays.note(port, 0, queued, start),
            Event::Dropped { place, packet, reason, .. } => {
                self.count_drop(place, packet.flow, reason);
            }
            Event::Renumbered { port, class, name } => self.delays.renumbered(port, class, name),
            Event::Failed { port, name, fault, lost, now } => {
                self.note_fault(port, name, fault, lost, now);
            }
            _ => {}
        }
        self.inner.on(event);
    }

    fn watches(&self, port: PortId) -> bool {
        self.inner.watches(port)
    }
}
