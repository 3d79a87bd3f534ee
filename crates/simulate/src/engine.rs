//! The engine: pops the earliest source, lets its node or wire act, and follows the packets that come
//! out until nothing more can happen at that instant.
//!
//! One pending event per wire, port and node, not per packet. A packet that finds its port idle costs a
//! single event per hop, its arrival; one that waits costs a second, its port becoming free.

use network::observer::Place;
use network::{Node, Observer, PortId, Schedule, Touched, Transmit};
use traffic::{DropReason, Instant, PacketId, Packets};

use crate::world::{Attachment, World};

/// A world in motion.
#[derive(Debug)]
pub struct Engine {
    world: World,
    packets: Packets,
    schedule: Schedule,
    now: Instant,
    events: u64,
}

impl Engine {
    /// Puts a world at rest at time zero.
    pub fn new(world: World) -> Self {
        let wires = world.wires.len();
        let mut schedule = Schedule::new(2 * wires + world.nodes.len());
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
        let wires = self.world.wires.len();
        let index = source as usize;
        if index < wires {
            self.arrive(source, now, observer);
        } else if index < 2 * wires {
            let Attachment { node, port, .. } = self.world.attachments[index - wires];
            self.schedule.set(source, Instant::NEVER);
            self.transmit(node as usize, port, now, observer);
        } else {
            let node = index - 2 * wires;
            self.schedule.set(source, Instant::NEVER);
            let touched = self.world.nodes[node].wake(&mut self.packets, now, observer);
            self.settle(node, touched, now, observer);
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
        let touched = self.world.nodes[node].receive(&mut self.packets, packet, now, observer);
        self.settle(node, touched, now, observer);
    }

    /// Moves what a node has to send onto its wires, and notes when it wants to be woken.
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
            Touched::Port(port) => self.transmit(node, port, now, observer),
            Touched::Sent(port, packet, leaves) => {
                let wire = self.world.nodes[node].ports()[usize::from(port)].id();
                self.launch(wire, packet, leaves, now, observer);
                self.transmit(node, port, now, observer);
            }
            Touched::All => {
                for port in 0..self.world.nodes[node].ports().len() {
                    self.transmit(node, port as u16, now, observer);
                }
            }
        }
        if let Node::Host(host) = &self.world.nodes[node] {
            let source = (2 * self.world.wires.len() + node) as u32;
            self.schedule.arm(source, host.next_wakeup());
        }
    }

    /// Empties a port onto its wire as far as time allows.
    #[inline]
    fn transmit(&mut self, node: usize, port: u16, now: Instant, observer: &mut impl Observer) {
        loop {
            let owner = &mut self.world.nodes[node];
            let wire = owner.ports()[usize::from(port)].id();
            match owner.poll_transmit(port, &mut self.packets, now, observer) {
                Transmit::Packet(packet, leaves) => {
                    self.launch(wire, packet, leaves, now, observer);
                }
                Transmit::Wait(until) => {
                    self.schedule.set(self.world.wires.len() as u32 + wire.0, until);
                    return;
                }
                Transmit::Idle => return,
            }
        }
    }

    /// Puts a packet onto a wire, which may lose it.
    #[inline]
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
