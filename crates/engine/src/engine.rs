//! The engine: pops the earliest source, runs its node or wire, and follows the resulting packets until nothing
//! more can happen at that instant.
//!
//! One pending event per wire, port and node, not per packet. A packet costs one event per hop, its arrival. One that
//! waits costs a second one, its port becoming free, unless the port sends ahead of time ([`Port::look_ahead`]). In a
//! large world, the processor is asked early for the memory that the next events need.

use base::prefetch::prefetch;
use base::{Bytes, DropReason, Duration, FlowId, HostId, Instant, Packet, PacketId};
#[cfg(debug_assertions)]
use network::audit;
use network::link::{Launched, Wire};
use network::observer::Place;
use network::port::Offered;
use network::{Behaviour, MACHINE};
use network::{Context, Egress, Event, Node, Observer, Port, PortId};
use record::totals::{EngineTotals, Notifications};
use scenario::Plan;
use scenario::plan::{Action, Target};
use traffic::{Discipline, Packets};
use transport::{OptionError, SocketOption};

use crate::crossing::{Crossing, Outbox};
use crate::wheel::Wheel;
use crate::world::{Channel, World};

/// A packet that reached a host with the stack of a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The arrival time of its last bit.
    pub at: Instant,
    /// The port that feeds the wire through which it arrived.
    pub by: PortId,
    /// The packet, which the engine no longer owns.
    pub packet: PacketId,
}

/// The event loop of a world.
#[derive(Debug)]
pub struct Engine {
    world: World,
    schedule: Wheel,
    delivered: Vec<Delivery>,
    /// The packets for each other part of the world.
    outboxes: Vec<Outbox>,
    now: Instant,
    events: u64,
    /// The number of packets that the driver holds: allocated and not yet offered, or delivered and not yet
    /// released.
    lent: usize,
}

/// The sink of the nodes' packets: it puts them onto the links. The first arrival on each link direction is an event.
///
/// Sources of events are numbered: the link directions first, then the ports, then the nodes.
struct EventSink<'a> {
    channels: &'a mut [Channel],
    schedule: &'a mut Wheel,
    delivered: &'a mut Vec<Delivery>,
    outboxes: &'a mut [Outbox],
    /// The link direction that delivers a packet now.
    arriving: u32,
}

impl EventSink<'_> {
    // Inlined by force here, and in the tally, the recorder, the ports, the host and the sender: so a packet's path
    // is one loop. With the compiler's own inlining, a packet-hop costs 26 to 36 % more instructions in the
    // scenarios of `benches/cost`.
    /// The packet that arrives from `channel` now, the node it reaches, and the port there.
    #[inline(always)]
    fn arrival(&mut self, channel: u32) -> Option<(PacketId, u32, u32)> {
        self.arriving = channel;
        let Channel { wire, far, far_port, .. } = &mut self.channels[channel as usize];
        let packet = wire.deliver();
        match wire.next_arrival() {
            Some(next) => self.schedule.postpone_first(next),
            None => self.schedule.take_first(),
        }
        Some((packet?, *far, *far_port))
    }

    /// Like [`Egress::launch`], onto a link that may change which packet arrives first, or that ends in another
    /// part of the world.
    #[inline(never)]
    fn launch_impaired(
        &mut self,
        port: PortId,
        packet: PacketId,
        leaves: Instant,
        packets: &mut Packets,
    ) -> Launched {
        let wire = &mut self.channels[port.0 as usize].wire;
        if let Some(part) = wire.far_part() {
            return self.outboxes[part as usize].send(port, packet, leaves, wire, packets);
        }
        let first = wire.next_arrival();
        let launched = wire.send_impaired(packet, leaves, packets);
        match wire.next_arrival() {
            Some(next) if first != Some(next) => self.schedule.set(port.0, next),
            _ => {}
        }
        launched
    }
}

impl Egress for EventSink<'_> {
    #[inline(always)]
    fn launch(
        &mut self,
        port: PortId,
        packet: PacketId,
        leaves: Instant,
        packets: &mut Packets,
    ) -> Launched {
        let wire = &mut self.channels[port.0 as usize].wire;
        if !wire.is_plain() {
            return self.launch_impaired(port, packet, leaves, packets);
        }
        let idle = wire.is_empty();
        let arrives = wire.send(packet, leaves);
        if idle {
            self.schedule.insert(port.0, arrives);
        }
        Launched::default()
    }

    #[inline]
    fn resume(&mut self, port: PortId, at: Instant) {
        self.schedule.set(self.channels.len() as u32 + port.0, at);
    }

    fn gap(&mut self, port: PortId, length: Bytes, leaves: Instant, packets: &mut Packets) {
        let Channel { gap_frames, far, .. } = self.channels[port.0 as usize];
        if !gap_frames {
            return;
        }
        // Without a free packet the wire is occupied anyway, as an emulated one is.
        let Some(frame) = packets.try_alloc() else { return };
        packets[frame] = Packet {
            length: u32::try_from(length.0).unwrap_or(u32::MAX),
            flow: FlowId::GAP,
            destination: HostId(far),
            ..Packet::default()
        };
        if self.launch(port, frame, leaves, packets).lost.is_some() {
            packets.release(frame);
        }
    }

    #[inline]
    fn deliver(&mut self, _: u32, packet: PacketId, at: Instant) -> bool {
        self.delivered.push(Delivery { at, by: PortId(self.arriving), packet });
        true
    }

    #[inline]
    fn wake(&mut self, node: u32, at: Instant) {
        self.schedule.arm(2 * self.channels.len() as u32 + node, at);
    }
}

impl Engine {
    /// An engine for `world` at time zero.
    pub fn new(world: World) -> Self {
        let channels = world.channels.len();
        let mut schedule = Wheel::new(2 * channels + world.nodes.len());
        for (number, node) in world.nodes.iter().enumerate() {
            schedule.arm((2 * channels + number) as u32, node.next_wakeup());
        }
        let (delivered, outboxes) = (Vec::new(), Vec::new());
        Self { world, schedule, delivered, outboxes, now: Instant::ZERO, events: 0, lent: 0 }
    }

    /// An engine for a part of a world in `parts` parts.
    pub(crate) fn of_part(world: World, parts: usize) -> Self {
        let outboxes = (0..parts).map(|_| Outbox::default()).collect();
        Self { outboxes, ..Self::new(world) }
    }

    /// The packets for another part of the world.
    pub fn outbox(&mut self, part: usize) -> &mut Outbox {
        &mut self.outboxes[part]
    }

    /// Takes packets from another part of the world, and leaves none. Each arrives later than all events so far.
    pub fn accept(&mut self, crossings: &mut Vec<Crossing>) {
        let World { channels, packets, .. } = &mut self.world;
        for Crossing { channel, arrives, moved } in crossings.drain(..) {
            debug_assert!(arrives > self.now, "a packet crosses in a link's delay");
            let wire = &mut channels[channel as usize].wire;
            wire.put(packets.put(moved), arrives);
            if let Some(next) = wire.next_arrival() {
                self.schedule.set(channel, next);
            }
        }
    }

    /// Wakes a node when it is next due, now that it has more to do.
    pub(crate) fn arm(&mut self, node: usize) {
        let at = self.world.nodes[node].next_wakeup();
        self.schedule.arm((2 * self.world.channels.len() + node) as u32, at);
    }

    /// Lets the ports of routers and hosts send packets ahead of time ([`Port::look_ahead`]), where nothing in `plan`
    /// changes them and `observer` does not watch them. [`Engine::settle`] is due before counters are read.
    pub fn look_ahead(&mut self, plan: &Plan, observer: &impl Observer) {
        let World { nodes, channels, .. } = &mut self.world;
        let targets = || plan.changes.iter().map(|change| &change.target);
        let changes =
            |id| targets().any(|target| matches!(target, Target::Port(at, _) if *at == id));
        let may = |port: &Port| {
            let id = port.id();
            !channels[id.0 as usize].wire.is_impaired() && !observer.watches(id) && !changes(id)
        };
        nodes.iter_mut().for_each(|node| node.look_ahead(may));
    }

    /// Brings all counters to the present.
    pub fn settle(&mut self, observer: &mut impl Observer) {
        self.world.nodes.iter_mut().for_each(|node| node.settle(self.now, observer));
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

    /// The nodes and links.
    pub fn world(&self) -> &World {
        &self.world
    }

    pub(crate) fn world_mut(&mut self) -> &mut World {
        &mut self.world
    }

    /// Applies a change to a port now; `None` if there is no such port, else the result.
    pub fn change(
        &mut self,
        port: PortId,
        action: &Action,
        observer: &mut impl Observer,
    ) -> Option<Result<(), String>> {
        let World { nodes, channels, packets, .. } = &mut self.world;
        let &Channel { node, port, .. } = channels.get(port.0 as usize)?;
        let Self { schedule, delivered, outboxes, .. } = self;
        let egress = &mut EventSink { channels, schedule, delivered, outboxes, arriving: 0 };
        let cx = &mut Context { now: self.now, packets, egress, observer };
        let node = nodes.get_mut(node as usize)?;
        Some(node.with_port(port, cx, |port, owner, cx| match action {
            Action::Switch(parameters) => {
                port.switch(parameters, owner, cx).map_err(|e| e.to_string())
            }
            Action::Disable => port.disable(owner, cx).map_err(|e| e.to_string()),
            Action::Enable => port.enable(owner, cx).map_err(|e| e.to_string()),
            Action::Reserve(request) => port.reserve(request, cx).map_err(|e| e.to_string()),
            Action::Release(class) => port.release(class, cx).map_err(|e| e.to_string()),
            Action::Rate(rate) => {
                port.set_rate(*rate);
                Ok(())
            }
        }))
    }

    /// Sets an option of the connection of `flow` at the host `node`, now.
    ///
    /// # Errors
    /// The reason why it was not set.
    pub fn set_option(
        &mut self,
        node: u32,
        flow: FlowId,
        option: &SocketOption,
        observer: &mut impl Observer,
    ) -> Result<(), OptionError> {
        let World { nodes, channels, packets, .. } = &mut self.world;
        let Self { schedule, delivered, outboxes, .. } = self;
        let egress = &mut EventSink { channels, schedule, delivered, outboxes, arriving: 0 };
        let cx = &mut Context { now: self.now, packets, egress, observer };
        let host = nodes.get_mut(node as usize).and_then(Node::as_host_mut);
        host.ok_or(OptionError::NotOpen)?.set_option(flow, option, cx)
    }

    /// Reports the present state of every queue, of each of its classes, and of its port's pauses and congestion
    /// notifications.
    pub fn sample_queues(&self, now: Instant, observer: &mut impl Observer) {
        self.world.nodes.iter().for_each(|node| sample_queues(node, now, observer));
    }

    /// Runs every event up to and including `until`.
    pub fn run_until(&mut self, until: Instant, observer: &mut impl Observer) {
        self.run_some(until, u64::MAX, observer);
    }

    /// Runs events up to and including `until`, but at most `most`; returns whether it has reached `until`. A
    /// further call continues exactly where this one stopped.
    pub fn run_some(&mut self, until: Instant, most: u64, observer: &mut impl Observer) -> bool {
        let last = self.events.saturating_add(most);
        let World { nodes, channels, packets, .. } = &mut self.world;
        let Self { schedule, delivered, outboxes, .. } = self;
        let egress = &mut EventSink { channels, schedule, delivered, outboxes, arriving: 0 };
        let mut cx = Context { now: self.now, packets, egress, observer };
        let is_large = cx.egress.channels.len() >= LARGE;
        while self.events < last {
            let Some((now, source)) = cx.egress.schedule.first(until) else {
                self.now = until;
                return true;
            };
            debug_assert!(now >= cx.now, "time runs forward");
            cx.now = now;
            self.events += 1;
            if is_large {
                expect(nodes, &cx);
            }
            handle_source(source, nodes, &mut cx);
            #[cfg(debug_assertions)]
            {
                let events = 1 + cx.egress.channels.len() as u64 / 4;
                if self.events.is_multiple_of(events) && audit::is_due(self.events / events) {
                    assert_conserved(nodes, &cx, self.lent);
                }
            }
        }
        self.now = cx.now;
        false
    }

    /// Takes a packet that the machine behind `node` sent, now.
    pub fn offer(&mut self, node: u32, packet: PacketId, observer: &mut impl Observer) {
        let World { nodes, channels, packets, priorities, .. } = &mut self.world;
        if let Some(Some(map)) = priorities.get(node as usize) {
            packets[packet].priority = map.priority(packets[packet].tos >> 2);
        }
        let Self { schedule, delivered, outboxes, .. } = self;
        let egress = &mut EventSink { channels, schedule, delivered, outboxes, arriving: 0 };
        let cx = &mut Context { now: self.now, packets, egress, observer };
        match nodes.get_mut(node as usize) {
            Some(node) => node.receive(MACHINE, packet, cx),
            None => cx.drop(Place::Node(node), packet, DropReason::NoRoute),
        }
    }

    /// Takes a packet from a machine for the far end of the link that its own `port` feeds.
    pub fn offer_at(&mut self, port: PortId, packet: PacketId, observer: &mut impl Observer) {
        let World { nodes, channels, packets, .. } = &mut self.world;
        let ends = [port.0 ^ 1, port.0].map(|end| channels.get(end as usize));
        let [Some(&Channel { far, far_port, .. }), Some(own)] = ends else {
            return packets.release(packet);
        };
        packets[packet].destination = HostId(own.far);
        let Self { schedule, delivered, outboxes, .. } = self;
        let egress = &mut EventSink { channels, schedule, delivered, outboxes, arriving: 0 };
        let cx = &mut Context { now: self.now, packets, egress, observer };
        let port = &mut nodes[far as usize].ports_mut()[far_port as usize];
        if port.offer(packet, &mut (), cx) == Offered::Ready {
            port.transmit_and_resume(cx);
        }
    }

    /// Takes a packet that arrives now, as if over the link that `by` feeds: for a driver with real links.
    pub fn arrive(&mut self, by: PortId, packet: PacketId, observer: &mut impl Observer) {
        let World { nodes, channels, packets, .. } = &mut self.world;
        let Some(&Channel { far, far_port, .. }) = channels.get(by.0 as usize) else {
            return packets.release(packet);
        };
        let Self { schedule, delivered, outboxes, .. } = self;
        let egress = &mut EventSink { channels, schedule, delivered, outboxes, arriving: by.0 };
        let cx = &mut Context { now: self.now, packets, egress, observer };
        reach(&mut nodes[far as usize], far_port, by, packet, cx);
    }

    /// Whether there are packets for machines.
    #[inline]
    pub fn has_delivered(&self) -> bool {
        !self.delivered.is_empty()
    }

    /// The packets for machines since the last call, the earliest first, with the packet memory.
    pub fn take_delivered(&mut self) -> (std::vec::Drain<'_, Delivery>, &mut Packets) {
        (self.delivered.drain(..), &mut self.world.packets)
    }

    /// Makes all ports accept packets that are `bytes` longer than a frame of their link's MTU.
    pub fn take_longer_frames(&mut self, bytes: u32) {
        self.world.take_longer_frames(bytes);
    }

    /// The packets, for a driver with machines that allocate and release them.
    pub fn packets(&mut self) -> &mut Packets {
        &mut self.world.packets
    }

    /// Sets the number of packets that the driver holds, so that conservation can be asserted.
    pub fn set_lent(&mut self, packets: usize) {
        self.lent = packets;
    }

    /// The time before which no event is due, here or of a packet for another part of the world.
    pub fn quiet_until(&self) -> Instant {
        let crossing = self.outboxes.iter().map(Outbox::earliest).min();
        self.schedule.quiet_until().min(crossing.unwrap_or(Instant::NEVER))
    }

    /// The earliest time at which something can follow from the events that are due, if what follows from an event is
    /// at least its duration of `delays` later. Those of the link directions are first, then those of the ports, then
    /// those of the nodes.
    pub fn earliest_after(&self, delays: &[Duration]) -> Instant {
        self.schedule.earliest_after(delays)
    }

    /// The direction of a link that `port` feeds.
    pub fn wire(&self, port: PortId) -> &Wire {
        &self.world.channels[port.0 as usize].wire
    }

    /// The totals of the engine so far.
    pub fn totals(&self) -> EngineTotals {
        EngineTotals { events: self.events, packet_hops: self.packet_hops() }
    }
}

/// Reports the present state of a node's queues: see [`Engine::sample_queues`].
pub(crate) fn sample_queues(node: &Node, now: Instant, observer: &mut impl Observer) {
    for (number, port) in (0..).zip(node.ports()) {
        if let Some(Notifications { sent, received, .. }) = notifications(node, number) {
            let port = port.id();
            observer.on(Event::NotificationSample { port, now, sent, received });
        }
        let flow_control = port.flow_control(now);
        let (port, qdisc, statistics) = (port.id(), port.qdisc(), &port.statistics());
        observer.on(Event::QueueSample { port, now, statistics });
        if let Some(counted) = &flow_control {
            observer.on(Event::PauseSample { port, now, counted });
        }
        qdisc.classes(&mut |_, class, counted| {
            let statistics = &counted;
            observer.on(Event::ClassSample { port, class, now, statistics });
        });
    }
}

/// The congestion notifications of port `number`; `None` if it neither sends nor receives any.
pub(crate) fn notifications(node: &Node, number: usize) -> Option<Notifications> {
    let sent = node.as_switch().and_then(|switch| switch.notifications(number as u32));
    let received = node.ports()[number].reaction_points();
    if sent.is_none() && received.is_none() {
        return None;
    }
    let (sent, counted) = (sent.unwrap_or(0), received.unwrap_or_default());
    Some(Notifications { sent, received: counted.received, limited: counted.created })
}

/// The number of link directions from which on the processor's caches do not hold what the next events need. In debug
/// builds, few are many, so that every test also asks for it.
const LARGE: usize = if cfg!(debug_assertions) { 1 } else { 1 << 10 };

/// Asks the processor for the memory of the next events, each step when that of the step before is there: the link
/// direction; the place of the packet on it, and the node; the packet; what the node needs for it.
#[inline]
fn expect<O>(nodes: &[Node], cx: &Context<'_, EventSink<'_>, O>) {
    let EventSink { channels, schedule, .. } = &*cx.egress;
    let channel = |others| {
        let source = schedule.upcoming(others)? as usize;
        channels.get(if source < channels.len() { source } else { source - channels.len() })
    };
    let link = |others| channels.get(schedule.upcoming(others)? as usize);
    if let Some(channel) = channel(7) {
        prefetch(channel, 2);
    }
    if let Some(channel) = channel(5) {
        channel.wire.expect();
        prefetch(&nodes[channel.far as usize], 2);
    }
    if let Some(packet) = link(3).and_then(|channel| channel.wire.first()) {
        prefetch(&cx.packets[packet], 2);
    }
    if let Some(channel) = link(1)
        && let Some(packet) = channel.wire.first()
    {
        nodes[channel.far as usize].expect(&cx.packets[packet]);
    }
}

/// Runs the source that is due, and sets its next time.
#[inline]
fn handle_source<O: Observer>(
    source: u32,
    nodes: &mut [Node],
    cx: &mut Context<'_, EventSink<'_>, O>,
) {
    let channels = cx.egress.channels.len() as u32;
    if source < channels {
        // The first packet on a link reaches the node at its far end.
        let Some((packet, far, far_port)) = cx.egress.arrival(source) else { return };
        return reach(&mut nodes[far as usize], far_port, PortId(source), packet, cx);
    }
    cx.egress.schedule.take_first();
    if source < 2 * channels {
        // A port's wire is free again, or its discipline has waited long enough.
        let Channel { node, port, .. } = cx.egress.channels[(source - channels) as usize];
        let next = nodes[node as usize].transmit(port, cx);
        cx.egress.schedule.set(source, next);
    } else {
        // A timer, a program or the processor of a node.
        let node = &mut nodes[(source - 2 * channels) as usize];
        node.wake(cx);
        cx.egress.schedule.set(source, node.next_wakeup());
    }
}

/// Passes a packet to a node's port `ingress`, from the wire that `by` feeds.
#[inline]
fn reach<O: Observer>(
    node: &mut Node,
    ingress: u32,
    by: PortId,
    packet: PacketId,
    cx: &mut Context<'_, EventSink<'_>, O>,
) {
    let arrived = &cx.packets[packet];
    cx.observer.on(Event::Received { port: by, packet: arrived, now: cx.now });
    node.receive(ingress, packet, cx);
}

/// Asserts that every packet alive is on a link, in a discipline or in a node: none is lost unnoticed, none
/// duplicated. The check runs rarely enough that it costs four ports per event: a lost packet stays lost.
#[cfg(debug_assertions)]
fn assert_conserved<O>(nodes: &[Node], cx: &Context<'_, EventSink<'_>, O>, lent: usize) {
    let on_wires: usize = cx.egress.channels.iter().map(|channel| channel.wire.in_flight()).sum();
    let mut in_nodes = 0;
    for node in nodes {
        in_nodes += node.held();
        for port in node.ports() {
            let queued = if port.is_ahead() { 0 } else { port.statistics().backlog_packets };
            in_nodes += queued as usize;
            in_nodes += port.waiting_control_frames();
        }
    }
    let outside = lent + cx.egress.delivered.len();
    assert_eq!(cx.packets.live(), on_wires + in_nodes + outside, "packets are conserved");
}
