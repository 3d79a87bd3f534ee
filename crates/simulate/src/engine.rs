//! The engine: pops the earliest source, lets its node or wire act, and follows the packets that come
//! out until nothing more can happen at that instant.
//!
//! One pending event per wire, port and node, not per packet. A packet that finds its port idle costs a
//! single event per hop, its arrival; one that waits costs a second, its port becoming free.

use network::{Context, Egress, Node, Observer, PortId};
use scenario::plan::Action;
use traffic::{Instant, PacketId};

use crate::wheel::Wheel;
use crate::world::{Line, World};

/// A world in motion.
#[derive(Debug)]
pub struct Engine {
    world: World,
    schedule: Wheel,
    now: Instant,
    events: u64,
}

/// Where the nodes' packets go: onto the wires, whose first arrivals are events.
///
/// Sources of events are numbered: the wires first, then the ports, then the nodes.
struct Departures<'a> {
    lines: &'a mut [Line],
    schedule: &'a mut Wheel,
}

impl Departures<'_> {
    /// The packet that arrives from `line` now, the node it reaches, and the port there if that
    /// conditions what comes in.
    #[inline(always)]
    fn arrival(&mut self, line: u32) -> Option<(PacketId, u32, Option<u16>)> {
        let Line { wire, far, conditioned, .. } = &mut self.lines[line as usize];
        let packet = wire.deliver();
        match wire.next_arrival() {
            Some(next) => self.schedule.put_off_first(next),
            None => self.schedule.take_first(),
        }
        Some((packet?, *far, *conditioned))
    }
}

impl Egress for Departures<'_> {
    #[inline(always)]
    fn launch(&mut self, port: PortId, packet: PacketId, leaves: Instant) -> bool {
        let wire = &mut self.lines[port.0 as usize].wire;
        let idle = wire.is_empty();
        let Some(arrives) = wire.send(packet, leaves) else { return false };
        if idle {
            self.schedule.insert(port.0, arrives);
        }
        true
    }

    #[inline]
    fn resume(&mut self, port: PortId, at: Instant) {
        self.schedule.set(self.lines.len() as u32 + port.0, at);
    }

    #[inline]
    fn wake(&mut self, node: u32, at: Instant) {
        self.schedule.arm(2 * self.lines.len() as u32 + node, at);
    }
}

impl Engine {
    /// Puts a world at rest at time zero.
    pub fn new(world: World) -> Self {
        let lines = world.lines.len();
        let mut schedule = Wheel::new(2 * lines + world.nodes.len());
        for (number, node) in world.nodes.iter().enumerate() {
            schedule.arm((2 * lines + number) as u32, node.next_wakeup());
        }
        Self { world, schedule, now: Instant::ZERO, events: 0 }
    }

    /// The time up to which it has run.
    pub fn now(&self) -> Instant {
        self.now
    }

    /// Events so far: pops of the event queue.
    pub fn events(&self) -> u64 {
        self.events
    }

    /// Packet-hops so far: packets accepted by a link's transmit queue.
    pub fn packet_hops(&self) -> u64 {
        let ports = self.world.nodes.iter().flat_map(Node::ports);
        ports.map(|p| p.statistics().enqueued_packets).sum()
    }

    /// The nodes and wires.
    pub fn world(&self) -> &World {
        &self.world
    }

    /// Does something to a port's queue now; `None` if there is no such port, else what was refused.
    pub fn change(
        &mut self,
        port: PortId,
        action: &Action,
        observer: &mut impl Observer,
    ) -> Option<Result<(), String>> {
        let World { nodes, lines, packets } = &mut self.world;
        let line = lines.get(port.0 as usize)?;
        let port =
            nodes.get_mut(line.node as usize)?.ports_mut().get_mut(usize::from(line.port))?;
        let egress = &mut Departures { lines, schedule: &mut self.schedule };
        let cx = &mut Context { now: self.now, packets, egress, observer };
        Some(match action {
            Action::Switch(parameters) => port.switch(parameters, cx).map_err(|e| e.to_string()),
            Action::Disable => port.disable(cx).map_err(|e| e.to_string()),
            Action::Enable => port.enable(cx).map_err(|e| e.to_string()),
            Action::Reserve(request) => port.reserve(request, cx).map_err(|e| e.to_string()),
            Action::Release(class) => port.release(class, cx).map_err(|e| e.to_string()),
        })
    }

    /// Runs every event up to and including `until`.
    pub fn run_until(&mut self, until: Instant, observer: &mut impl Observer) {
        let World { nodes, lines, packets } = &mut self.world;
        let egress = &mut Departures { lines, schedule: &mut self.schedule };
        let mut cx = Context { now: self.now, packets, egress, observer };
        while let Some((now, source)) = cx.egress.schedule.first(until) {
            debug_assert!(now >= cx.now, "time runs forward");
            cx.now = now;
            self.events += 1;
            act(source, nodes, &mut cx);
            #[cfg(debug_assertions)]
            assert_conserved(nodes, &cx);
        }
        self.now = until;
    }
}

/// The source whose time has come acts, and is set to its next time.
#[inline(always)]
fn act<O: Observer>(source: u32, nodes: &mut [Node], cx: &mut Context<'_, Departures<'_>, O>) {
    let lines = cx.egress.lines.len() as u32;
    if source < lines {
        // The packet at the head of a wire reaches the node at its far end.
        let Some((packet, far, conditioned)) = cx.egress.arrival(source) else { return };
        cx.observer.received(PortId(source), &cx.packets[packet], cx.now);
        let node = &mut nodes[far as usize];
        if conditioned.is_some_and(|port| !node.admit(port, packet, cx)) {
            return;
        }
        return node.receive(packet, cx);
    }
    cx.egress.schedule.take_first();
    if source < 2 * lines {
        // A port's wire is free again, or its discipline has waited long enough.
        let Line { node, port, .. } = cx.egress.lines[(source - lines) as usize];
        let next = nodes[node as usize].transmit(port, cx);
        cx.egress.schedule.set(source, next);
    } else {
        // A timer, a program or the processor of a node.
        let node = &mut nodes[(source - 2 * lines) as usize];
        node.wake(cx);
        cx.egress.schedule.set(source, node.next_wakeup());
    }
}

/// Every packet alive is on a wire, in a discipline or in a node: none is lost unseen, none doubled.
#[cfg(debug_assertions)]
fn assert_conserved<O>(nodes: &[Node], cx: &Context<'_, Departures<'_>, O>) {
    let on_wires: usize = cx.egress.lines.iter().map(|line| line.wire.in_flight()).sum();
    let mut in_nodes = 0;
    for node in nodes {
        in_nodes += node.held();
        for port in node.ports() {
            in_nodes += port.statistics().backlog_packets as usize;
        }
    }
    assert_eq!(cx.packets.live(), on_wires + in_nodes, "packets are conserved");
}
