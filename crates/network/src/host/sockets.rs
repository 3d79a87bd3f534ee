//! A host's sockets: the socket interface of its applications, over modelled TCP, and for datagrams.
//!
//! A connection exists from its opening, by its application or by the peer's SYN, until both ends have closed it.
//! After that only its counters remain, and the ACK that answers a retransmitted FIN.

use base::packet::flags;
use base::{Instant, Packet};
use transport::{Info, OptionError, Phase, SocketOption};

use super::closed::{Closed, PackedClosed};
use super::ended::{Ended, Over};
use super::socket::{Socket, State};
use super::socket_config::SocketConfig;
use super::{Endpoint, SOCKETS};
use crate::application::{Application, ConnectionLimits, SocketEvent, SocketId, Sockets};
use crate::datagram::Delay;
use crate::flow_table::FlowTable;
use crate::schedule::Schedule;

/// An application, and the first of its sockets; the others follow.
#[derive(Debug)]
struct Running {
    application: Box<dyn Application>,
    first: u32,
    /// Its place among applications with a timer due at the same time.
    rank: u32,
}

/// The applications of a host with their sockets.
#[derive(Debug, Default)]
pub(super) struct Applications {
    list: Vec<Running>,
    sockets: Vec<Socket>,
    ended: Ended,
    timers: Schedule,
    /// Connections that the application used.
    touched: Vec<u32>,
    /// Datagrams that the application sends: the socket, numbered within the host, and the payload.
    outgoing: Vec<(u32, u32)>,
}

/// The connections of open sockets.
pub(super) struct Open<'h> {
    pub(super) endpoints: &'h mut Vec<Endpoint>,
    /// Endpoints of connections that are closed.
    pub(super) free: &'h mut Vec<u32>,
    pub(super) by_flow: &'h mut FlowTable,
    pub(super) timers: &'h mut Schedule,
    /// Whether the writes and reads of programs take processor time.
    pub(super) charges: bool,
}

impl Open<'_> {
    /// A reborrow of the same.
    fn reborrow(&mut self) -> Open<'_> {
        let Self { endpoints, free, by_flow, timers, charges } = self;
        Open { endpoints, free, by_flow, timers, charges: *charges }
    }

    /// Opens the connection of a connection socket, and returns its endpoint's number.
    fn open(&mut self, number: u32, config: &SocketConfig) -> Option<u32> {
        let mut connection = config.open()?;
        connection.watch(true);
        let endpoint = Endpoint {
            port: config.port,
            throttled: false,
            notified: Notified { written: true, ..Notified::default() },
            socket: number,
            wakeup: Instant::NEVER,
            queued: 0,
            connection,
            pending: self.charges.then(Box::default),
        };
        let index = match self.free.pop() {
            Some(index) => {
                self.endpoints[index as usize] = endpoint;
                index
            }
            None => {
                self.endpoints.push(endpoint);
                self.timers.add()
            }
        };
        self.by_flow.set(config.flow, index);
        Some(index)
    }
}

/// The events of a connection that its application has received; each is delivered once.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Notified {
    /// The connection began with what the host remembers of the path; its application does not see this.
    pub(super) began: bool,
    opened: bool,
    written: bool,
    peer_closed: bool,
    failed: bool,
}

impl Endpoint {
    /// Whether all that its program wrote is copied to the send buffer.
    fn is_copied(&self) -> bool {
        self.pending.as_ref().is_none_or(|pending| pending.to_write == 0)
    }

    /// Whether the send buffer holds all that the application wrote, and [`SocketEvent::Writable`] is still due.
    pub(super) fn is_writable_due(&self) -> bool {
        let Self { connection, notified, .. } = self;
        !notified.written && connection.is_watched() && connection.is_written() && self.is_copied()
    }

    /// The next event of the connection for its application, if any; `came` if a segment has arrived since the last
    /// [`SocketEvent::Readable`].
    fn next_event(
        &mut self,
        socket: SocketId,
        connects: bool,
        came: &mut bool,
    ) -> Option<SocketEvent> {
        let reads = self.pending.as_ref().is_some_and(|pending| pending.reads());
        let Self { connection, notified, .. } = self;
        if !notified.opened && (!connects || connection.is_established()) {
            notified.opened = true;
            let event = if connects { SocketEvent::Connected } else { SocketEvent::Accepted };
            return Some(event(socket));
        }
        if core::mem::take(came) && connection.readable() > 0 && !reads {
            return Some(SocketEvent::Readable(socket));
        }
        if self.is_writable_due() {
            self.notified.written = true;
            return Some(SocketEvent::Writable(socket));
        }
        let Self { connection, notified, .. } = self;
        let peer_closed = connection.is_receive_finished() && connection.readable() == 0;
        if !notified.peer_closed && peer_closed {
            notified.peer_closed = true;
            return Some(SocketEvent::PeerClosed(socket));
        }
        if !notified.failed && connection.has_failed() {
            notified.failed = true;
            return Some(SocketEvent::Failed(socket));
        }
        None
    }
}

/// A host's sockets as seen by one of its applications.
struct HostSockets<'h> {
    now: Instant,
    first: u32,
    sockets: &'h mut [Socket],
    open: Open<'h>,
    touched: &'h mut Vec<u32>,
    outgoing: &'h mut Vec<(u32, u32)>,
}

impl HostSockets<'_> {
    fn endpoint(&mut self, socket: SocketId) -> Option<&mut Endpoint> {
        let index = self.place(socket)?;
        if !self.touched.contains(&index) {
            self.touched.push(index);
        }
        self.open.endpoints.get_mut(index as usize)
    }

    /// The place of an open connection's endpoint.
    fn place(&self, SocketId(number): SocketId) -> Option<u32> {
        let number = self.first.checked_add(number)?;
        let State::Open(index) = self.sockets.get(number as usize)?.state else { return None };
        Some(index)
    }
}

impl Sockets for HostSockets<'_> {
    fn now(&self) -> Instant {
        self.now
    }

    fn connect(&mut self, socket: SocketId) {
        let number = self.first + socket.0;
        let Some(Socket { config, state, .. }) = self.sockets.get_mut(number as usize) else {
            return;
        };
        if !matches!(state, State::Planned) || !config.connects() {
            return;
        }
        if let Some(index) = self.open.open(number, config) {
            *state = State::Open(index);
            self.endpoint(socket);
        }
    }

    fn write(&mut self, socket: SocketId, bytes: u64) {
        let now = self.now;
        if let Some(endpoint) = self.endpoint(socket).filter(|_| bytes > 0) {
            endpoint.notified.written = false;
            match &mut endpoint.pending {
                Some(pending) => pending.to_write = pending.to_write.saturating_add(bytes),
                None => endpoint.connection.supply(bytes, now),
            }
        }
    }

    fn send(&mut self, SocketId(number): SocketId, bytes: u32) {
        let number = self.first + number;
        if let Some(State::Datagrams(_)) = self.sockets.get(number as usize).map(|s| &s.state) {
            self.outgoing.push((number, bytes));
        }
    }

    fn datagram_number(&self, SocketId(number): SocketId) -> u64 {
        match self.sockets.get((self.first + number) as usize).map(|socket| &socket.state) {
            Some(State::Datagrams(datagrams)) => datagrams.number.into(),
            _ => 0,
        }
    }

    fn abandon(&mut self, socket: SocketId) {
        if let Some(endpoint) = self.endpoint(socket) {
            if let Some(pending) = &mut endpoint.pending {
                (pending.to_write, pending.closes) = (0, false);
            }
            endpoint.connection.abandon_write();
        }
    }

    fn close(&mut self, socket: SocketId) {
        let now = self.now;
        let Some(endpoint) = self.endpoint(socket) else { return };
        match &mut endpoint.pending {
            Some(pending) if pending.to_write > 0 => pending.closes = true,
            _ => endpoint.connection.close(now),
        }
    }

    fn read(&mut self, socket: SocketId, most: u64) -> u64 {
        let now = self.now;
        let Some(endpoint) = self.endpoint(socket) else { return 0 };
        match most.min(endpoint.connection.readable()) {
            0 => 0,
            bytes => {
                if let Some(pending) = &mut endpoint.pending {
                    pending.unpaid += bytes;
                }
                endpoint.connection.read(bytes, now)
            }
        }
    }

    fn is_readable(&self, socket: SocketId) -> bool {
        let place = self.place(socket);
        place.is_some_and(|place| self.open.endpoints[place as usize].connection.readable() > 0)
    }

    fn read_always(&mut self, socket: SocketId) {
        let now = self.now;
        if let Some(endpoint) = self.endpoint(socket) {
            endpoint.connection.watch(false);
            if let Some(pending) = &mut endpoint.pending {
                pending.read_always();
                return;
            }
            return endpoint.connection.read_always(now);
        }
        let own = self.sockets.get_mut((self.first + socket.0) as usize);
        if let Some(State::Datagrams(datagrams)) = own.map(|socket| &mut socket.state) {
            datagrams.reads_always = true;
        }
    }

    fn count_limits(&mut self, socket: SocketId) {
        if let Some(place) = self.place(socket) {
            self.open.endpoints[place as usize].connection.count_limits();
        }
    }

    fn limits(&self, socket: SocketId) -> ConnectionLimits {
        let Some(place) = self.place(socket) else { return ConnectionLimits::default() };
        ConnectionLimits::of(&self.open.endpoints[place as usize].connection, self.now)
    }

    fn set_option(&mut self, socket: SocketId, option: &SocketOption) -> Result<(), OptionError> {
        let now = self.now;
        if let Some(endpoint) = self.endpoint(socket) {
            return endpoint.connection.set_option(option, now);
        }
        let planned = self.sockets.get_mut((self.first + socket.0) as usize);
        planned.ok_or(OptionError::NotOpen)?.configure(option)
    }
}

impl Applications {
    /// Adds an application with its sockets, in the place of one that is over if there is such.
    pub(super) fn add(
        &mut self,
        rank: u32,
        application: Box<dyn Application>,
        sockets: impl IntoIterator<Item = SocketConfig>,
        by_flow: &mut FlowTable,
    ) {
        let sockets: Vec<_> = sockets.into_iter().collect();
        let vacant = if sockets.len() == 1 { self.ended.take_vacant() } else { None };
        let number = vacant.unwrap_or_else(|| self.timers.add());
        let own = self.list.get(number as usize).map(|running| running.first);
        let first = own.unwrap_or(self.sockets.len() as u32);
        self.timers.set_ranked(number, rank, application.next_wakeup());
        put(&mut self.list, number, Running { application, first, rank });
        for (socket, config) in (first..).zip(sockets) {
            by_flow.set(config.flow, SOCKETS + socket);
            let state = State::new(&config);
            put(&mut self.sockets, socket, Socket { config, application: number, state });
        }
    }

    /// Opens socket `number` for the peer's SYN, if it listens.
    pub(super) fn accept(&mut self, number: u32, mut open: Open<'_>) -> bool {
        let Some(Socket { config, state, .. }) = self.sockets.get_mut(number as usize) else {
            return false;
        };
        if !matches!(state, State::Planned) || config.connects() {
            return false;
        }
        let Some(index) = open.open(number, config) else { return false };
        *state = State::Open(index);
        true
    }

    /// Counts a datagram received for socket `number`; returns whether the application needs an event, and `None`
    /// if it is not a datagram socket.
    pub(super) fn receive(&mut self, number: u32, packet: &Packet, now: Instant) -> Option<bool> {
        let State::Datagrams(datagrams) = &mut self.sockets.get_mut(number as usize)?.state else {
            return None;
        };
        datagrams.receive(packet, now);
        if !datagrams.reads_always {
            datagrams.number = packet.tcp.seq / packet.tcp.payload.max(1);
        }
        Some(!datagrams.reads_always)
    }

    /// Delivers the event for a datagram of `bytes` bytes that arrived for socket `number`.
    pub(super) fn deliver_datagram(
        &mut self,
        number: u32,
        bytes: u32,
        open: Open<'_>,
        now: Instant,
    ) {
        let application = self.sockets[number as usize].application;
        let socket = SocketId(number - self.list[application as usize].first);
        self.notify(application, SocketEvent::Datagram(socket, bytes), open, now);
    }

    /// Writes a datagram of that socket into `packet`; returns the port through which it leaves.
    pub(super) fn emit(
        &mut self,
        (number, bytes): (u32, u32),
        packet: &mut Packet,
        now: Instant,
    ) -> Option<u32> {
        let Socket { config, state: State::Datagrams(datagrams), .. } =
            self.sockets.get_mut(number as usize)?
        else {
            return None;
        };
        datagrams.emit(bytes, packet, now);
        Some(config.port)
    }

    /// Sets an option of socket `number`, which is not open.
    pub(super) fn set_option(
        &mut self,
        number: u32,
        option: &SocketOption,
    ) -> Result<(), OptionError> {
        self.sockets.get_mut(number as usize).ok_or(OptionError::NotOpen)?.configure(option)
    }

    /// Delivers the timer event of an application.
    pub(super) fn wake(&mut self, application: u32, mut open: Open<'_>, now: Instant) {
        self.notify(application, SocketEvent::Timer, open.reborrow(), now);
        self.end(application, open.by_flow);
    }

    /// Delivers all pending events of an endpoint's connection to its application; `came` if a segment arrived.
    pub(super) fn deliver_events(
        &mut self,
        index: u32,
        mut came: bool,
        mut open: Open<'_>,
        now: Instant,
    ) {
        loop {
            let Some(endpoint) = open.endpoints.get_mut(index as usize) else { return };
            endpoint.connection.clear_event();
            let Socket { application, ref config, .. } = self.sockets[endpoint.socket as usize];
            let connects = config.connects();
            let socket = SocketId(endpoint.socket - self.list[application as usize].first);
            let Some(event) = endpoint.next_event(socket, connects, &mut came) else { return };
            self.notify(application, event, open.reborrow(), now);
        }
    }

    fn notify(&mut self, number: u32, event: SocketEvent, open: Open<'_>, now: Instant) {
        let Self { list, sockets, timers, touched, outgoing, .. } = self;
        let Running { application, first, rank } = &mut list[number as usize];
        let sockets = &mut HostSockets { now, first: *first, sockets, open, touched, outgoing };
        application.handle(event, sockets);
        let at = application.next_wakeup();
        debug_assert!(at > now, "{application:?} asks for its past");
        timers.set_ranked(number, *rank, at);
    }

    /// Whether applications used any endpoint.
    pub(super) fn has_touched(&self) -> bool {
        !self.touched.is_empty()
    }

    /// Takes the endpoints that applications used since the last call. The caller returns the list to
    /// [`Self::give_back`], for reuse of its memory.
    pub(super) fn take_touched(&mut self) -> Vec<u32> {
        core::mem::take(&mut self.touched)
    }

    /// See [`Self::take_touched`].
    pub(super) fn give_back(&mut self, mut touched: Vec<u32>) {
        touched.clear();
        touched.append(&mut self.touched);
        self.touched = touched;
    }

    /// Whether applications have sent datagrams.
    #[inline]
    pub(super) fn has_outgoing(&self) -> bool {
        !self.outgoing.is_empty()
    }

    /// Takes the datagrams that applications have sent since the last call; see [`Self::take_touched`].
    pub(super) fn take_outgoing(&mut self) -> Vec<(u32, u32)> {
        core::mem::take(&mut self.outgoing)
    }

    /// See [`Self::take_outgoing`].
    pub(super) fn give_back_outgoing(&mut self, mut outgoing: Vec<(u32, u32)>) {
        outgoing.clear();
        self.outgoing = outgoing;
    }

    /// Keeps the remains of a connection that both ends have closed, or that failed; its endpoint becomes free.
    pub(super) fn close(&mut self, index: u32, open: Open<'_>, now: Instant) {
        let Endpoint { socket, port, connection, .. } = &mut open.endpoints[index as usize];
        let (info, progress) = (connection.info(), connection.read_progress());
        let last_ack = connection.last_ack(now);
        let closed = PackedClosed::new(&Closed { progress, info, port: *port, last_ack });
        let Socket { config, application, state } = &mut self.sockets[*socket as usize];
        *state = State::Closed(closed);
        let application = *application;
        open.by_flow.set(config.flow, SOCKETS + *socket);
        open.timers.set(index, Instant::NEVER);
        open.free.push(index);
        self.end(application, open.by_flow);
    }

    /// Keeps only the closed connection of an application, if that is over.
    fn end(&mut self, number: u32, by_flow: &mut FlowTable) {
        let next = self.list.get(number as usize + 1).map(|next| next.first as usize);
        let next = next.unwrap_or(self.sockets.len());
        let running = &mut self.list[number as usize];
        let sockets = &mut self.sockets[running.first as usize..next];
        let [Socket { config, state, .. }] = sockets else { return };
        let idle = running.application.next_wakeup() == Instant::NEVER;
        let is_over = matches!(state, State::Closed(_)) && idle;
        if !is_over || running.application.results(SocketId::ONLY).is_some() {
            return;
        }
        let State::Closed(closed) = core::mem::replace(state, State::Planned) else { return };
        running.application = Box::new(Over);
        by_flow.set(config.flow, SOCKETS + self.ended.add(number, closed));
    }

    /// The remains of a connection: of a socket, or of an application that is over.
    fn closed(&self, number: u32) -> Option<&PackedClosed> {
        let socket = self.sockets.get(number as usize);
        socket.map_or_else(|| self.ended.get(number), |socket| socket.closed())
    }

    /// Handles a segment for a closed connection. Returns the ACK that answers a retransmitted FIN (RFC 9293,
    /// section 3.10.7.8, TIME-WAIT), and the port through which it leaves.
    pub(super) fn answer(
        &mut self,
        number: u32,
        segment: &Packet,
        now: Instant,
    ) -> Option<(u32, Packet)> {
        let packed = match self.sockets.get_mut(number as usize) {
            Some(socket) => socket.closed_mut()?,
            None => self.ended.get_mut(number)?,
        };
        let mut closed = packed.unpack(segment.flow);
        let again = segment.tcp.flags & flags::FIN != 0 || segment.tcp.payload != 0;
        let answers = again && closed.info.phase != Phase::Failed;
        closed.info.segments_received += 1;
        closed.info.segments_sent += u64::from(answers);
        *packed = PackedClosed::new(&closed);
        answers.then_some((closed.port, Packet { created: now, ..closed.last_ack }))
    }

    /// The maximum number of applications that were here at once.
    pub(super) fn places(&self) -> usize {
        self.list.len()
    }

    /// The state of a socket without an open connection.
    pub(super) fn info(&self, number: u32) -> Option<Info> {
        if let Some(closed) = self.closed(number) {
            return Some(closed.info());
        }
        let Socket { config, state, .. } = self.sockets.get(number as usize)?;
        match state {
            State::Datagrams(datagrams) => Some(datagrams.counters.info()),
            State::Planned | State::Open(_) | State::Closed(_) => config.info(),
        }
    }

    /// The delays of the datagrams received on socket `number`.
    pub(super) fn delay(&self, number: u32) -> Option<Delay> {
        match &self.sockets.get(number as usize)?.state {
            State::Datagrams(datagrams) => Some(datagrams.counters.delay()),
            State::Planned | State::Open(_) | State::Closed(_) => None,
        }
    }

    /// The bytes read from a socket without an open connection, and the time of the last read.
    pub(super) fn progress(&self, number: u32) -> Option<(u64, Instant)> {
        if let Some(closed) = self.closed(number) {
            return Some(closed.progress());
        }
        match &self.sockets.get(number as usize)?.state {
            State::Datagrams(datagrams) => Some(datagrams.counters.progress()),
            State::Planned | State::Open(_) | State::Closed(_) => Some((0, Instant::ZERO)),
        }
    }

    /// The application with the socket, and the socket's index in it.
    pub(super) fn application(&self, number: u32) -> Option<(&dyn Application, SocketId)> {
        let Socket { application, .. } = self.sockets.get(number as usize)?;
        let Running { application, first, .. } = &self.list[*application as usize];
        Some((application.as_ref(), SocketId(number - first)))
    }

    /// The earliest wake-up time of any application.
    #[inline]
    pub(super) fn next_wakeup(&self) -> Instant {
        self.timers.earliest()
    }

    /// The application with a timer due at `now`.
    #[inline]
    pub(super) fn due(&self, now: Instant) -> Option<u32> {
        self.timers.due(now).map(|(_, number)| number)
    }
}

/// Sets the entry of that number, which is at most the next one.
fn put<T>(list: &mut Vec<T>, number: u32, entry: T) {
    match list.get_mut(number as usize) {
        Some(place) => *place = entry,
        None => list.push(entry),
    }
}
