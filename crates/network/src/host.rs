//! A host: programs, their TCP connections and datagrams, and the interfaces they send through.
//!
//! The receive path of a packet: the interface's interrupt and the processor's backlog (where modelled),
//! connection, reading program. The send path: writing program, connection, the interface's discipline, the wire. A
//! segment that the interface's queue refuses returns to its connection, as in Linux; it is not lost in the
//! network. A refused datagram is lost there.

mod closed;
mod coalescing;
mod config;
mod datagrams;
mod ended;
mod paths;
mod processor;
mod queries;
mod sending;
mod socket;
mod socket_config;
mod sockets;

use base::packet::flags;
use base::{DropReason, Duration, FlowId, Instant, Packet, PacketId};
use traffic::Packets;
use transport::{Connection, OptionError, ProcessingCost, SocketOption};

pub use self::coalescing::Coalescing;
use self::coalescing::Interrupts;
pub use self::config::{Config, Kernel, QdiscPlace};
use self::paths::Paths;
pub use self::processor::{DataPath, Operation, Processor, Times};
use self::processor::{Pending, Processing};
pub use self::socket_config::{SocketConfig, SocketKind};
use self::sockets::{Applications, Notified, Open};
use crate::application::Application;
#[cfg(debug_assertions)]
use crate::audit;
use crate::behaviour::{Behaviour, Parts};
use crate::context::{Context, Egress};
use crate::credits::Credits;
use crate::custody::Owner;
use crate::flow_table::{FlowTable, NO_ENDPOINT};
use crate::ingress::Ingress;
use crate::observer::{Observer, Place};
use crate::port::{Offered, Port};
use crate::schedule::Schedule;
use base::prefetch::prefetch;

/// One end of a connection. The fields that every segment touches come first, here and in the connection.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct Endpoint {
    pub(crate) port: u32,
    /// Whether it has more to send, but enough in the interface's queue (TCP small queues).
    pub(crate) throttled: bool,
    /// The events that its application has received.
    notified: Notified,
    /// Its socket, numbered within the host.
    socket: u32,
    /// The latest time at which it is woken, as in the schedule.
    wakeup: Instant,
    /// Bytes of this connection in the interface's queue.
    pub(crate) queued: u64,
    connection: Connection,
    /// The remaining work of its program, where that takes processor time.
    pending: Option<Box<Pending>>,
}

/// A host.
#[derive(Debug)]
pub struct Host {
    pub(crate) number: u32,
    pub(crate) ports: Vec<Port>,
    ingress: Ingress,
    endpoints: Vec<Endpoint>,
    /// Endpoints with a closed connection, free for reuse.
    free: Vec<u32>,
    applications: Applications,
    paths: Paths,
    /// The endpoint of each flow. For a flow without an open connection: its socket, plus `SOCKETS`.
    by_flow: FlowTable,
    /// Connections that have space in the queues again.
    released: Vec<u32>,
    /// Bytes of datagrams in each interface's queue.
    datagrams_queued: Vec<u64>,
    timers: Schedule,
    processing: Option<Processing>,
    interrupts: Option<Interrupts>,
    /// Whether neither of these is modelled, so that arriving packets are handled at once.
    at_once: bool,
    /// Whether sending, and the writes and reads of programs, take processor time.
    charges_sending: bool,
    /// Its events, and those since the last check of each packet; see [`Host::assert_credits`].
    #[cfg(debug_assertions)]
    audited: (u64, usize),
}

/// The first of the numbers that no open connection has.
const SOCKETS: u32 = 1 << 31;

/// The interval between checks of a closed connection that still has packets queued.
const CLOSING: Duration = Duration::from_ms(1);

impl Host {
    /// The node with its interfaces and no connection yet.
    pub fn new(config: &Config, parts: Parts) -> Self {
        let Parts { number, ports, sides, .. } = parts;
        let processing = config.processor.map(Processing::new);
        let bunched = processing.is_none() && sides.iter().any(|side| side.bunched);
        let interrupts = config.coalesce.or(bunched.then(Coalescing::default)).map(Interrupts::new);
        let at_once = processing.is_none() && interrupts.is_none();
        let charges_sending = processing.as_ref().is_some_and(Processing::charges_sending);
        Self {
            number,
            datagrams_queued: vec![0; ports.len()],
            ingress: Ingress::new(number, sides),
            ports,
            endpoints: Vec::new(),
            free: Vec::new(),
            applications: Applications::default(),
            paths: Paths::default(),
            by_flow: FlowTable::default(),
            released: Vec::new(),
            timers: Schedule::default(),
            processing,
            interrupts,
            at_once,
            charges_sending,
            #[cfg(debug_assertions)]
            audited: (0, 0),
        }
    }

    /// Adds an application with its sockets. Of applications whose timers are due at the same time, the one of the
    /// lowest rank runs first.
    pub fn add(
        &mut self,
        rank: u32,
        application: Box<dyn Application>,
        sockets: impl IntoIterator<Item = SocketConfig>,
    ) {
        self.applications.add(rank, application, sockets, &mut self.by_flow);
    }

    /// Queues an arrived packet for the interrupt, or for the processor.
    #[inline(never)]
    fn wait<E: Egress, O: Observer>(&mut self, packet: PacketId, cx: &mut Context<'_, E, O>) {
        if self.interrupts.is_some() {
            self.wait_for_interrupt(packet, cx);
        } else {
            self.queue_for_processor(packet, cx);
        }
        self.assert_credits(cx.packets);
    }

    /// Passes a segment to its connection; returns the endpoint's index, and the work done.
    #[inline(always)]
    fn deliver<E: Egress, O: Observer>(
        &mut self,
        packet: PacketId,
        cx: &mut Context<'_, E, O>,
    ) -> Option<(u32, ProcessingCost)> {
        let index = self.by_flow.get(cx.packets[packet].flow);
        let Some(endpoint) = self.endpoints.get_mut(index as usize) else {
            return self.deliver_unopened(index, packet, cx);
        };
        let work = endpoint.connection.receive(&cx.packets[packet], cx.now);
        cx.packets.release(packet);
        if endpoint.connection.has_event() {
            self.on_segment_event(index, cx);
        }
        Some((index, work))
    }

    /// Handles a packet without an open connection: opens a connection for a SYN, answers a FIN on a closed
    /// connection, and counts a datagram.
    #[inline(never)]
    fn deliver_unopened<E: Egress, O: Observer>(
        &mut self,
        index: u32,
        packet: PacketId,
        cx: &mut Context<'_, E, O>,
    ) -> Option<(u32, ProcessingCost)> {
        if index == NO_ENDPOINT {
            cx.drop(Place::Node(self.number), packet, DropReason::NoRoute);
            return None;
        }
        let number = index - SOCKETS;
        if let Some(notifies) = self.applications.receive(number, &cx.packets[packet], cx.now) {
            let bytes = cx.packets[packet].tcp.payload;
            cx.packets.release(packet);
            if notifies {
                self.deliver_datagram(number, bytes, cx);
            }
            return None;
        }
        if cx.packets[packet].tcp.flags & flags::SYN != 0 {
            let (applications, open) = self.sockets();
            if applications.accept(number, open) {
                return self.deliver(packet, cx);
            }
        }
        let answer = self.applications.answer(number, &cx.packets[packet], cx.now);
        cx.packets.release(packet);
        if let Some((port, ack)) = answer {
            let packet = cx.packets.alloc();
            cx.packets[packet] = ack;
            self.offer(port, packet, cx);
        }
        None
    }

    /// Handles an event that a segment caused for the program.
    #[inline(never)]
    fn on_segment_event<E: Egress, O: Observer>(&mut self, index: u32, cx: &mut Context<'_, E, O>) {
        let Endpoint { notified, connection, .. } = &mut self.endpoints[index as usize];
        if !notified.began && connection.is_established() {
            notified.began = true;
            self.paths.begin(connection, cx.now);
        }
        self.read_before_event(index, cx.now);
        // The stack answers before the program runs, as a kernel does.
        self.send_pending(index, cx);
        self.deliver_events(index, true, cx);
        if self.endpoints[index as usize].connection.is_closed() {
            self.arm(index, cx.now, cx);
        }
    }

    /// Delivers a datagram event to the application of a socket, then sends what the application wrote.
    #[inline(never)]
    fn deliver_datagram<E: Egress, O: Observer>(
        &mut self,
        number: u32,
        bytes: u32,
        cx: &mut Context<'_, E, O>,
    ) {
        let (applications, open) = self.sockets();
        applications.deliver_datagram(number, bytes, open, cx.now);
        self.send_touched(cx);
    }

    /// Passes the datagrams that applications send to their interfaces.
    #[inline(never)]
    fn send_datagrams<E: Egress, O: Observer>(&mut self, cx: &mut Context<'_, E, O>) {
        let outgoing = self.applications.take_outgoing();
        for &datagram in &outgoing {
            let packet = cx.packets.alloc();
            match self.applications.emit(datagram, &mut cx.packets[packet], cx.now) {
                Some(port) => self.offer(port, packet, cx),
                None => cx.packets.release(packet),
            }
        }
        self.applications.give_back_outgoing(outgoing);
    }

    /// Offers a packet without an open connection to an interface.
    fn offer<E: Egress, O: Observer>(
        &mut self,
        port: u32,
        packet: PacketId,
        cx: &mut Context<'_, E, O>,
    ) {
        if self.charges_sending {
            let (payload, length) = (cx.packets[packet].tcp.payload, cx.packets[packet].length);
            self.pay_for_packet(payload, length, cx.now);
        }
        let (out, credits) = self.custody(port);
        let id = out.id();
        let mut credits = credits.offering(NO_ENDPOINT, packet, &cx.packets[packet]);
        if out.offer(packet, &mut credits, cx) == Offered::Ready {
            let next = self.transmit(port, cx);
            cx.egress.resume(id, next);
        }
        self.send_released(cx);
    }

    /// A port, and the owner of its packets.
    #[inline]
    fn custody(&mut self, port: u32) -> (&mut Port, Credits<'_>) {
        let number = port as usize;
        let datagrams = &mut self.datagrams_queued[number];
        let Self { ports, endpoints, by_flow, released, .. } = self;
        (&mut ports[number], Credits::new(datagrams, endpoints, by_flow, released))
    }

    /// Asserts the rules of custody: each connection's credit is the sum of its packets, the same holds for
    /// datagrams, and a port holds what its discipline counts. With many packets, each of them is checked only rarely
    /// enough that a check costs 64 packets per event.
    #[inline]
    #[cfg_attr(not(debug_assertions), expect(unused_variables, reason = "checked in debug builds"))]
    fn assert_credits(&mut self, packets: &Packets) {
        #[cfg(debug_assertions)]
        {
            let (events, unchecked) = &mut self.audited;
            *events += 1;
            *unchecked += 1;
            if !audit::is_due(*events) {
                return;
            }
            let each = *unchecked > packets.places() / 64;
            *unchecked = if each { 0 } else { *unchecked };
            for (number, port) in self.ports.iter().enumerate() {
                let own = self.endpoints.iter().filter(|e| e.port as usize == number);
                let queued = own.map(|e| e.queued).sum::<u64>() + self.datagrams_queued[number];
                let backlog = port.statistics().backlog_bytes;
                assert_eq!(queued, backlog, "the credits of {:?}", port.id());
                if each && !port.is_ahead() {
                    self.assert_each_credit(port, packets);
                }
            }
        }
    }

    #[cfg(debug_assertions)]
    fn assert_each_credit(&self, port: &Port, packets: &Packets) {
        port.assert_custody(packets);
        let mut credits: Vec<u64> = self.endpoints.iter().map(|e| e.queued).collect();
        for (_, packet) in packets.held_by(port.holder()) {
            let index = self.by_flow.get(packet.flow) as usize;
            if let Some(credit) = credits.get_mut(index) {
                assert!(*credit >= u64::from(packet.length), "{:?} has too little", packet.flow);
                *credit -= u64::from(packet.length);
            }
        }
    }

    /// Wakes an endpoint at `at` at the latest.
    fn arm<E: Egress, O>(&mut self, index: u32, at: Instant, cx: &mut Context<'_, E, O>) {
        let endpoint = &mut self.endpoints[index as usize];
        if at < endpoint.wakeup {
            endpoint.wakeup = at;
            self.timers.set(index, at);
            cx.egress.wake(self.number, at);
        }
    }

    /// The applications, and the places of their open connections.
    fn sockets(&mut self) -> (&mut Applications, Open<'_>) {
        let Self { applications, endpoints, free, by_flow, timers, .. } = self;
        let charges = self.charges_sending;
        (applications, Open { endpoints, free, by_flow, timers, charges })
    }

    /// Delivers pending events to the application of an endpoint, then sends what it wrote; `came` if a segment
    /// arrived.
    #[inline(never)]
    fn deliver_events<E: Egress, O: Observer>(
        &mut self,
        index: u32,
        came: bool,
        cx: &mut Context<'_, E, O>,
    ) {
        let (applications, open) = self.sockets();
        applications.deliver_events(index, came, open, cx.now);
        self.send_touched(cx);
    }

    /// Sends for the sockets that an application used, and reports `Writable` for those with all written data in
    /// the send buffer.
    fn send_touched<E: Egress, O: Observer>(&mut self, cx: &mut Context<'_, E, O>) {
        while self.applications.has_touched() {
            let touched = self.applications.take_touched();
            for &index in &touched {
                self.send_pending(index, cx);
            }
            for &index in &touched {
                if self.endpoints[index as usize].is_writable_due() {
                    let (applications, open) = self.sockets();
                    applications.deliver_events(index, false, open, cx.now);
                }
            }
            self.applications.give_back(touched);
        }
        if self.applications.has_outgoing() {
            self.send_datagrams(cx);
        }
        cx.egress.wake(self.number, self.applications.next_wakeup());
    }

    /// Frees the endpoint of a connection that is closed, if none of its packets are queued.
    fn close<E: Egress, O>(&mut self, index: u32, cx: &mut Context<'_, E, O>) {
        let endpoint = &self.endpoints[index as usize];
        if !endpoint.connection.is_closed() {
            return;
        }
        let works = |processing: &Processing| processing.works_for(index);
        let listed = endpoint.pending.as_ref().is_some_and(|pending| pending.is_listed());
        if endpoint.queued > 0 || listed || self.processing.as_ref().is_some_and(works) {
            return self.arm(index, cx.now + CLOSING, cx);
        }
        self.paths.end(&endpoint.connection, cx.now);
        let (applications, open) = self.sockets();
        applications.close(index, open, cx.now);
    }

    /// Sets an option of the connection of `flow` here, and sends what the connection may send then.
    ///
    /// # Errors
    /// See [`Connection::set_option`].
    pub fn set_option<E: Egress, O: Observer>(
        &mut self,
        flow: FlowId,
        option: &SocketOption,
        cx: &mut Context<'_, E, O>,
    ) -> Result<(), OptionError> {
        let index = self.by_flow.get(flow);
        let Some(endpoint) = self.endpoints.get_mut(index as usize) else {
            return self.applications.set_option(index.wrapping_sub(SOCKETS), option);
        };
        endpoint.connection.set_option(option, cx.now)?;
        self.settle(cx.now, cx.observer);
        self.send_pending(index, cx);
        self.assert_credits(cx.packets);
        Ok(())
    }
}

impl Behaviour for Host {
    #[inline]
    fn receive<E: Egress, O: Observer>(
        &mut self,
        ingress: u32,
        packet: PacketId,
        cx: &mut Context<'_, E, O>,
    ) {
        if !self.ingress.admit(&mut self.ports, ingress, packet, cx) {
            return;
        }
        if !self.at_once {
            return self.wait(packet, cx);
        }
        if let Some((index, _)) = self.deliver(packet, cx) {
            self.fill_queue(index, cx);
            self.send_released(cx);
        }
        self.assert_credits(cx.packets);
    }

    #[inline]
    fn expect(&self, packet: &Packet) {
        if let Some(endpoint) = self.endpoints.get(self.by_flow.get(packet.flow) as usize) {
            prefetch(endpoint, 8);
        }
    }

    fn transmit<E: Egress, O: Observer>(
        &mut self,
        port: u32,
        cx: &mut Context<'_, E, O>,
    ) -> Instant {
        let (out, mut credits) = self.custody(port);
        let next = out.transmit(&mut credits, cx);
        self.assert_credits(cx.packets);
        if self.released.is_empty() {
            return next;
        }
        // The small queue has space again: the connection is no longer held back.
        self.send_released(cx);
        self.ports[port as usize].after_sending(cx.now)
    }

    /// Calls `act`, then sends for the connections that got queue space by it.
    fn with_port<E: Egress, O: Observer, R>(
        &mut self,
        port: u32,
        cx: &mut Context<'_, E, O>,
        act: impl FnOnce(&mut Port, &mut dyn Owner, &mut Context<'_, E, O>) -> R,
    ) -> R {
        let (port, mut credits) = self.custody(port);
        let answer = act(port, &mut credits, cx);
        self.send_released(cx);
        self.assert_credits(cx.packets);
        answer
    }

    #[inline]
    fn next_wakeup(&self) -> Instant {
        let timer = self.timers.earliest().min(self.applications.next_wakeup());
        if self.at_once {
            return timer;
        }
        let processing = self
            .processing
            .as_ref()
            .map_or(timer, |processing| timer.min(processing.next_wakeup()));
        self.interrupts
            .as_ref()
            .map_or(processing, |interrupts| processing.min(interrupts.next_wakeup()))
    }

    fn wake<E: Egress, O: Observer>(&mut self, cx: &mut Context<'_, E, O>) {
        self.settle(cx.now, cx.observer);
        self.interrupt_if_due(cx);
        self.serve(cx);
        while let Some((_, index)) = self.timers.due(cx.now) {
            self.timers.set(index, Instant::NEVER);
            let endpoint = &mut self.endpoints[index as usize];
            endpoint.wakeup = Instant::NEVER;
            if endpoint.connection.next_wakeup() <= cx.now {
                endpoint.connection.wake(cx.now);
            }
            if endpoint.connection.has_event() {
                self.deliver_events(index, false, cx);
            }
            self.send_pending(index, cx);
            self.close(index, cx);
        }
        while let Some(number) = self.applications.due(cx.now) {
            let (applications, open) = self.sockets();
            applications.wake(number, open, cx.now);
            self.send_touched(cx);
        }
        if self.charges_sending {
            self.serve(cx);
        }
        self.assert_credits(cx.packets);
    }

    fn look_ahead(&mut self, may: impl Fn(&Port) -> bool) {
        if self.at_once {
            self.ports.iter_mut().filter(|port| may(port)).for_each(Port::look_ahead);
        }
    }

    fn settle(&mut self, now: Instant, observer: &mut impl Observer) {
        for port in 0..self.ports.len() as u32 {
            if self.ports[port as usize].is_ahead() {
                let (out, mut credits) = self.custody(port);
                out.settle(now, &mut credits, observer);
            }
        }
    }

    fn ports(&self) -> &[Port] {
        &self.ports
    }

    fn ingress(&self) -> &Ingress {
        &self.ingress
    }

    fn ingress_mut(&mut self) -> &mut Ingress {
        &mut self.ingress
    }

    fn ports_mut(&mut self) -> &mut [Port] {
        &mut self.ports
    }

    fn held(&self) -> usize {
        self.processing.as_ref().map_or(0, Processing::held)
            + self.interrupts.as_ref().map_or(0, Interrupts::waiting)
    }
}
