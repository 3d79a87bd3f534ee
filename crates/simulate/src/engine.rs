//! The engine: pops the earliest source, lets its node or wire act, and follows the packets that come
//! out until nothing more can happen at that instant.
//!
//! One pending event per wire, port and node, not per packet. A packet that finds its port idle costs a
//! single event per hop, its arrival; one that waits costs a second, its port becoming free.

use network::observer::Place;
use network::{Node, Observer, PortId, Touched, Transmit};
use traffic::{DropReason, Instant, PacketId, Packets};

use crate::wheel::Wheel;
use crate::world::{Attachment, World};

/// A world in motion.
#[derive(Debug)]
pub struct Engine {
    world: World,
    packets: Packets,
    schedule: Wheel,
    now: Instant,
    events: u64,
}

impl Engine {
    /// Puts a world at rest at time zero.
    pub fn new(world: World) -> Self {
        let wires = world.wires.len();
        let mut schedule = Wheel::new(2 * wires + world.nodes.len());
        for (number, node) in world.nodes.iter().enumerate() {
            schedule.arm((2 * wires + number) as u32, node.next_wakeup());
        }
        Self { world, packets: Packets::new(), schedule, now: Instant::ZERO, events: 0 }
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

    /// The nodes and wires, to change a discipline's parameters on the way.
    pub fn world_mut(&mut self) -> &mut World {
        &mut self.world
    }

    /// Runs every event up to and including `until`.
    pub fn run_until(&mut self, until: Instant, observer: &mut impl Observer) {
        while let Some((now, source)) = self.schedule.due(until) {
            debug_assert!(now >= self.now, "time runs forward");
            self.now = now;
            self.events += 1;
            self.act(source, now, observer);
            #[cfg(debug_assertions)]
            self.assert_conserved();
        }
        self.now = until;
    }

    /// The source whose time has come acts, and is set to its next time.
    #[inline]
    fn act(&mut self, source: u32, now: Instant, observer: &mut impl Observer) {
        let wires = self.world.wires.len() as u32;
        if source < wires {
            self.arrive(source, now, observer);
        } else if source < 2 * wires {
            let port = PortId(source - wires);
            let next = self.transmit(port, now, observer);
            self.schedule.set(source, next);
            // What left may have let a connection go on that its small queue held back.
            let node = self.world.attachments[port.0 as usize].node;
            let wakeup = self.world.nodes[node as usize].next_wakeup();
            self.schedule.arm(2 * wires + node, wakeup);
        } else {
            self.wake(source, now, observer);
        }
    }

    /// The packet at the head of a wire reaches the node at its far end.
    #[inline]
    fn arrive(&mut self, wire: u32, now: Instant, observer: &mut impl Observer) {
        let head = &mut self.world.wires[wire as usize];
        let packet = head.deliver();
        self.schedule.set(wire, head.next_arrival());
        let Some(packet) = packet else { return };
        observer.received(PortId(wire), &self.packets[packet], now);
        let node = self.world.attachments[wire as usize].far as usize;
        match &mut self.world.nodes[node] {
            Node::Router(router) => {
                let touched = router.receive(&mut self.packets, packet, now, observer);
                self.settle(node, touched, now, observer);
            }
            Node::Host(host) => {
                let touched = host.receive(&mut self.packets, packet, now, observer);
                self.settle(node, touched, now, observer);
                let source = (2 * self.world.wires.len() + node) as u32;
                self.schedule.arm(source, self.world.nodes[node].next_wakeup());
            }
        }
    }

    /// A node's own time has come: a timer, a program, the processor.
    fn wake(&mut self, source: u32, now: Instant, observer: &mut impl Observer) {
        let node = source as usize - 2 * self.world.wires.len();
        let touched = self.world.nodes[node].wake(&mut self.packets, now, observer);
        self.settle(node, touched, now, observer);
        self.schedule.set(source, self.world.nodes[node].next_wakeup());
    }

    /// Moves what a node has to send onto its wires.
    #[inline]
    fn settle(
        &mut self,
        node: usize,
        touched: Touched,
        now: Instant,
        observer: &mut impl Observer,
    ) {
        match touched {
            Touched::None => {}
            Touched::Port(port) => self.refresh(port, now, observer),
            Touched::Sent { port, packet, leaves, queued } => {
                self.launch(port, packet, leaves, now, observer);
                if queued {
                    self.refresh(port, now, observer);
                }
            }
            Touched::All => {
                for port in 0..self.world.nodes[node].ports().len() {
                    self.refresh(self.world.nodes[node].ports()[port].id(), now, observer);
                }
            }
        }
    }

    /// Lets a port send that may have something new, and notes when it goes on.
    fn refresh(&mut self, port: PortId, now: Instant, observer: &mut impl Observer) {
        let next = self.transmit(port, now, observer);
        if next != Instant::NEVER {
            self.schedule.set(self.world.wires.len() as u32 + port.0, next);
        }
    }

    /// Empties a port onto its wire as far as time allows, and returns when it goes on: `NEVER` if
    /// nothing is queued.
    #[inline]
    fn transmit(&mut self, id: PortId, now: Instant, observer: &mut impl Observer) -> Instant {
        let Attachment { node, port, .. } = self.world.attachments[id.0 as usize];
        loop {
            let owner = &mut self.world.nodes[node as usize];
            match owner.poll_transmit(port, &mut self.packets, now, observer) {
                Transmit::Packet(packet, leaves) => {
                    let idle = owner.ports()[usize::from(port)].is_empty();
                    self.launch(id, packet, leaves, now, observer);
                    if idle {
                        return Instant::NEVER;
                    }
                    if leaves > now {
                        return leaves;
                    }
                }
                Transmit::Wait(until) => return until,
                Transmit::Idle => return Instant::NEVER,
            }
        }
    }

    /// Puts a packet onto a wire, which may lose it.
    #[inline(always)]
    fn launch(
        &mut self,
        id: PortId,
        packet: PacketId,
        leaves: Instant,
        now: Instant,
        observer: &mut impl Observer,
    ) {
        let wire = &mut self.world.wires[id.0 as usize];
        if wire.send(packet, leaves) {
            self.schedule.arm(id.0, wire.next_arrival());
        } else {
            let place = Place::Port(id);
            observer.dropped(place, &self.packets[packet], DropReason::LinkLoss, now);
            self.packets.release(packet);
        }
    }

    /// Every packet alive is on a wire, in a discipline or in a node: none is lost unseen, none doubled.
    #[cfg(debug_assertions)]
    fn assert_conserved(&self) {
        let on_wires: usize = self.world.wires.iter().map(network::link::Wire::in_flight).sum();
        let mut in_nodes = 0;
        for node in &self.world.nodes {
            in_nodes += node.held();
            for port in node.ports() {
                in_nodes += port.statistics().backlog_packets as usize;
            }
        }
        assert_eq!(self.packets.live(), on_wires + in_nodes, "packets are conserved");
    }
}
