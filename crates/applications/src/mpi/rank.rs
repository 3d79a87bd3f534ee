//! A rank of an MPI job.

use std::any::Any;
use std::collections::{BTreeSet, VecDeque};
use std::sync::Arc;

use base::{Duration, Instant};
use network::application::{
    ActivePeriod, Application, ConnectionLimits, SocketEvent, SocketId, Sockets,
};
use transport::{ProgramPhase, SocketOption};

use super::collective::{Collective, Kind, Round};
use super::envelope::{Content, Envelope, Header, Headers};
use super::matching::{Matching, Unexpected};
use super::program::{Call, Calls, Message, Program, Request};
use super::wait::Transfer;
use super::{Library, Phases, Progress};

pub use super::results::RankTotals;

/// An MPI job.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Job {
    /// Its MPI library.
    pub library: Library,
    /// The program of its ranks.
    pub program: Program,
}

impl Job {
    /// The programs of `count` ranks, in order. Rank i has a socket for each other rank, in order, and connects to
    /// those above it.
    pub fn ranks(&self, span: ActivePeriod, count: usize) -> Vec<Rank> {
        let headers: Vec<Vec<Headers>> =
            (0..count).map(|_| (0..count).map(|_| Headers::default()).collect()).collect();
        let members: Arc<[u32]> = (0..count as u32).collect();
        let rank = |own: usize| {
            let peer =
                |other: usize| Peer::new(headers[own][other].clone(), headers[other][own].clone());
            Rank {
                library: self.library,
                span,
                calls: Calls::new(&self.program, own, members.clone()),
                peers: (0..count).map(peer).collect(),
                connects: own + 1,
                opened: 0,
                ready: VecDeque::new(),
                state: State::Idle,
                outstanding: BTreeSet::new(),
                numbered: 0,
                last: Transfer::default(),
                totals: RankTotals { rank: own as u32, ..RankTotals::default() },
            }
        };
        (0..count).map(rank).collect()
    }
}

/// A rank's state for a peer; for itself, the state of messages to itself.
#[derive(Clone, Debug)]
struct Peer {
    outgoing: Headers,
    incoming: Headers,
    matching: Matching,
    /// The header being read with its data, and the outstanding bytes.
    reading: Option<(Header, u64)>,
    /// Whether there is unread data, and when the last of it arrived.
    ready: bool,
    came: Instant,
    /// Sends that are written but not entirely in the send buffer, with their headers.
    writing: Vec<(Request, Header)>,
    /// Messages that wait for a clear-to-send: their number, request and payload.
    offered: Vec<(u64, Request, u64)>,
    /// Messages that were requested: their sender's number, and the receive.
    awaited: Vec<(u64, Request)>,
}

impl Peer {
    fn new(outgoing: Headers, incoming: Headers) -> Self {
        Self {
            outgoing,
            incoming,
            matching: Matching::default(),
            reading: None,
            ready: false,
            came: Instant::ZERO,
            writing: Vec::new(),
            offered: Vec::new(),
            awaited: Vec::new(),
        }
    }
}

/// The program of a rank.
#[derive(Clone, Debug)]
pub struct Rank {
    library: Library,
    span: ActivePeriod,
    calls: Calls,
    /// All ranks, including itself.
    peers: Vec<Peer>,
    /// The rank that it connects to next.
    connects: usize,
    /// The number of established connections.
    opened: usize,
    /// Peers with unread data.
    ready: VecDeque<u32>,
    state: State,
    /// Requests that are not complete.
    outstanding: BTreeSet<Request>,
    /// The number of messages numbered so far.
    numbered: u64,
    /// The transfer that completed a request last.
    last: Transfer,
    totals: RankTotals,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Idle,
    Connecting,
    /// Between two calls.
    Running,
    Computing {
        until: Instant,
    },
    Waiting {
        requests: Box<[Request]>,
        since: Instant,
    },
    /// In a round of a collective operation: all of its requests have numbers from `OWN_REQUESTS` on.
    Collective {
        collective: Box<Collective>,
        round: usize,
        since: Instant,
    },
    Done,
}

/// The maximum number of connections that a rank opens at once. With hundreds, the SYNs would overflow any queue
/// and be retransmitted seconds later.
const CONNECTING_MAX: usize = 16;
/// Request numbers of collective operations start here, above those of a program's own requests.
const OWN_REQUESTS: Request = 1 << 31;
/// The communicator of collective operations: their messages match no others.
const COLLECTIVE: u32 = u32::MAX;

/// The phase of messages that belong to no collective operation.
const POINT_TO_POINT: &str = "point-to-point";

/// The phase of an operation; `None` unless it is a collective operation with messages that share bandwidth.
fn phase(phases: Phases, kind: Kind) -> Option<&'static str> {
    let name = match kind {
        Kind::Reduce(_) => "reduce",
        Kind::Allreduce => "allreduce",
        Kind::Alltoall => "alltoall",
        Kind::Allgather => "allgather",
        Kind::Gather(_) => "gather",
        Kind::Scatter(_) => "scatter",
        Kind::ReduceScatter => "reduce_scatter",
        Kind::Scan => "scan",
        Kind::Across => "across",
        Kind::Barrier
        | Kind::Bcast(_)
        | Kind::Halo
        | Kind::Burst
        | Kind::Transfer
        | Kind::FromNorthwest
        | Kind::ToSoutheast => return None,
    };
    match phases {
        Phases::Off => None,
        Phases::Collective => Some("collective"),
        Phases::Each => Some(name),
    }
}

impl Rank {
    fn number(&self) -> usize {
        self.totals.rank as usize
    }

    /// The socket of the connection to that rank; a rank has none to itself.
    fn socket(&self, peer: usize) -> SocketId {
        SocketId((peer - usize::from(peer > self.number())) as u32)
    }

    fn peer_of(&self, SocketId(socket): SocketId) -> usize {
        let socket = socket as usize;
        socket + usize::from(socket >= self.number())
    }

    fn connect(&mut self, sockets: &mut dyn Sockets) {
        self.state = State::Connecting;
        for _ in 0..CONNECTING_MAX {
            self.connect_next(sockets);
        }
    }

    /// Connects to the next rank above it, if there is one.
    fn connect_next(&mut self, sockets: &mut dyn Sockets) {
        if self.connects < self.peers.len() {
            sockets.connect(self.socket(self.connects));
            self.connects += 1;
        }
    }

    /// Writes a header with its data; `transfer` holds the transfers before it.
    fn write(
        &mut self,
        peer: usize,
        content: Content,
        payload: u64,
        transfer: Transfer,
        sockets: &mut dyn Sockets,
    ) -> Header {
        let bytes = self.library.header.0.saturating_add(payload);
        let limited = sockets.limits(self.socket(peer)).own;
        let header = Header { content, bytes, written: sockets.now(), limited, transfer };
        self.peers[peer].outgoing.push(header);
        sockets.write(self.socket(peer), bytes);
        header
    }

    fn send(&mut self, message: Message, request: Request, sockets: &mut dyn Sockets) {
        let Message { peer, bytes, communicator, tag } = message;
        let peer = peer as usize;
        let envelope = Envelope { communicator, tag, number: self.numbered };
        self.numbered += 1;
        let transfer = Transfer::new(sockets.now());
        if peer == self.number() {
            let receive = self.peers[peer].matching.arrive(envelope, Unexpected::Eager, transfer);
            return receive.into_iter().for_each(|receive| self.complete(receive, transfer));
        }
        self.totals.messages += 1;
        self.totals.bytes += bytes;
        self.outstanding.insert(request);
        if bytes <= self.library.eager_max.0 {
            let header = self.write(peer, Content::Eager(envelope), bytes, transfer, sockets);
            self.peers[peer].writing.push((request, header));
        } else {
            self.peers[peer].offered.push((envelope.number, request, bytes));
            self.write(peer, Content::RequestToSend(envelope), 0, transfer, sockets);
        }
    }

    fn receive(&mut self, message: Message, request: Request, sockets: &mut dyn Sockets) {
        let Message { peer, communicator, tag, .. } = message;
        let peer = peer as usize;
        self.outstanding.insert(request);
        match self.peers[peer].matching.post((communicator, tag), request) {
            Some((_, Unexpected::Eager, transfer)) => self.complete(request, transfer),
            Some((envelope, Unexpected::RequestToSend, _)) => {
                let transfer = Transfer::new(sockets.now());
                self.ask(peer, envelope, request, transfer, sockets);
            }
            None => {}
        }
    }

    /// Requests a message.
    fn ask(
        &mut self,
        peer: usize,
        envelope: Envelope,
        request: Request,
        transfer: Transfer,
        sockets: &mut dyn Sockets,
    ) {
        self.peers[peer].awaited.push((envelope.number, request));
        self.write(peer, Content::ClearToSend(envelope.number), 0, transfer, sockets);
    }

    fn complete(&mut self, request: Request, transfer: Transfer) {
        self.outstanding.remove(&request);
        self.last = transfer;
    }

    /// Handles that all data written to that peer is in the send buffer.
    fn written(&mut self, peer: usize, sockets: &dyn Sockets) {
        let (now, limited) = (sockets.now(), sockets.limits(self.socket(peer)).own);
        for (request, header) in core::mem::take(&mut self.peers[peer].writing) {
            let carried = header.carried(now, &limited, Duration::ZERO);
            self.complete(request, carried);
        }
    }

    /// Reads the data from that peer.
    fn read(&mut self, peer: usize, sockets: &mut dyn Sockets) {
        let socket = self.socket(peer);
        loop {
            let mut bytes = sockets.read(socket, u64::MAX);
            if bytes == 0 {
                return;
            }
            while bytes > 0 {
                let connection = &mut self.peers[peer];
                let next = || connection.incoming.pop().map(|header| (header, header.bytes));
                let Some((header, left)) = connection.reading.take().or_else(next) else { return };
                let taken = left.min(bytes);
                bytes -= taken;
                if taken < left {
                    connection.reading = Some((header, left - taken));
                } else {
                    self.arrived(peer, header, sockets);
                }
            }
        }
    }

    /// Handles a header from that peer, with all its data.
    fn arrived(&mut self, peer: usize, header: Header, sockets: &mut dyn Sockets) {
        let ConnectionLimits { peer: limited, min_rtt, .. } = sockets.limits(self.socket(peer));
        let connection = &mut self.peers[peer];
        let transfer =
            header.carried(connection.came, &limited, Duration::from_ps(min_rtt.as_ps() / 2));
        match header.content {
            Content::Eager(envelope) => {
                let receive = connection.matching.arrive(envelope, Unexpected::Eager, transfer);
                receive.into_iter().for_each(|request| self.complete(request, transfer));
            }
            Content::RequestToSend(envelope) => {
                let what = Unexpected::RequestToSend;
                if let Some(request) = connection.matching.arrive(envelope, what, transfer) {
                    self.ask(peer, envelope, request, transfer, sockets);
                }
            }
            Content::ClearToSend(number) => {
                let offered =
                    connection.offered.iter().position(|(offered, ..)| *offered == number);
                if let Some(place) = offered {
                    let (_, request, bytes) = connection.offered.remove(place);
                    let data = Content::Data(number);
                    let header = self.write(peer, data, bytes, transfer, sockets);
                    self.peers[peer].writing.push((request, header));
                }
            }
            Content::Data(number) => {
                let awaited = connection.awaited.iter().position(|(awaited, _)| *awaited == number);
                if let Some(place) = awaited {
                    let (_, request) = connection.awaited.remove(place);
                    self.complete(request, transfer);
                }
            }
        }
    }

    /// Reads all connections with unread data.
    fn progress(&mut self, sockets: &mut dyn Sockets) {
        while let Some(peer) = self.ready.pop_front() {
            self.peers[peer as usize].ready = false;
            self.read(peer as usize, sockets);
        }
    }

    /// Posts the receives of a round and begins to send.
    fn begin(&mut self, collective: &Collective, round: &Round, sockets: &mut dyn Sockets) {
        // Two ranks take part in their common operations in the same order, and each goes through its rounds in
        // order.
        let message = |member: usize, bytes| {
            let peer = collective.members[member];
            Message { peer, bytes, communicator: COLLECTIVE, tag: 0 }
        };
        let requests = (OWN_REQUESTS..).zip(&round.receives);
        for (request, &member) in requests {
            self.receive(message(member, 0), request, sockets);
        }
        let requests = (OWN_REQUESTS + round.receives.len() as Request..).zip(&round.sends);
        for (request, &(member, bytes)) in requests {
            self.send(message(member, bytes), request, sockets);
        }
    }

    /// Counts a wait from `since` to `now`.
    fn waited(&mut self, since: Instant, now: Instant) {
        let waits = self.last.causes([since, now]);
        self.totals.waiting.add(&waits);
        Arc::make_mut(&mut self.totals.timeline).wait(since, &waits);
    }

    /// Runs calls as far as possible without waiting.
    fn run(&mut self, sockets: &mut dyn Sockets) {
        let now = sockets.now();
        loop {
            self.state = match core::mem::replace(&mut self.state, State::Running) {
                State::Computing { until } if now >= until => State::Running,
                State::Waiting { requests, since } => {
                    self.progress(sockets);
                    if requests.iter().any(|request| self.outstanding.contains(request)) {
                        self.state = State::Waiting { requests, since };
                        return;
                    }
                    self.waited(since, now);
                    State::Running
                }
                State::Collective { collective, round, since } => {
                    self.progress(sockets);
                    if self.outstanding.range(OWN_REQUESTS..).next().is_some() {
                        self.state = State::Collective { collective, round, since };
                        return;
                    }
                    self.waited(since, now);
                    self.next_round(collective, round + 1, sockets)
                }
                State::Running => {
                    let Some(call) = self.calls.next() else { return self.finish(sockets) };
                    self.progress(sockets);
                    self.call(call, sockets)
                }
                other => {
                    self.state = other;
                    return;
                }
            };
        }
    }

    /// Makes a call.
    fn call(&mut self, call: Call, sockets: &mut dyn Sockets) -> State {
        let now = sockets.now();
        match call {
            Call::Compute(time) => {
                let time = self.library.scaled(time);
                self.totals.computing += time;
                Arc::make_mut(&mut self.totals.timeline).compute(now, now + time);
                return State::Computing { until: now + time };
            }
            Call::Send(message, request) => self.send(message, request, sockets),
            Call::Receive(message, request) => self.receive(message, request, sockets),
            Call::Wait(requests) => return State::Waiting { requests, since: now },
            Call::Collective(collective) => {
                if let Some(phase) = phase(self.library.phases, collective.kind) {
                    self.enter(phase, &collective.members, sockets);
                }
                return self.next_round(Box::new(collective), 0, sockets);
            }
        }
        State::Running
    }

    /// Begins round `number`, if it exists.
    fn next_round(
        &mut self,
        collective: Box<Collective>,
        number: usize,
        sockets: &mut dyn Sockets,
    ) -> State {
        let own = self.totals.rank;
        let place = collective.members.iter().position(|&member| member == own);
        let round = place.and_then(|place| collective.round(&self.library, place, number));
        let Some(round) = round else {
            if phase(self.library.phases, collective.kind).is_some() {
                self.enter(POINT_TO_POINT, &collective.members, sockets);
            }
            return State::Running;
        };
        self.begin(&collective, &round, sockets);
        State::Collective { collective, round: number, since: sockets.now() }
    }

    /// The connections to these members enter a phase.
    fn enter(&mut self, name: &str, members: &[u32], sockets: &mut dyn Sockets) {
        let phase = ProgramPhase { name: name.into(), age_max: self.library.phase_age_max };
        let option = SocketOption::Phase(phase);
        for &member in members.iter().filter(|&&member| member != self.totals.rank) {
            // A connection that is over has no phases; a stack without phases is refused before the run.
            let _ = sockets.set_option(self.socket(member as usize), &option);
        }
    }

    fn finish(&mut self, sockets: &mut dyn Sockets) {
        self.state = State::Done;
        self.totals.finished = Some(sockets.now());
        (0..self.peers.len() as u32 - 1).for_each(|socket| sockets.close(SocketId(socket)));
    }

    /// Whether it reads arriving data now.
    fn reads(&self) -> bool {
        match self.state {
            State::Computing { .. } => self.library.progress == Progress::Always,
            _ => true,
        }
    }
}

impl Application for Rank {
    fn handle(&mut self, event: SocketEvent, sockets: &mut dyn Sockets) {
        let now = sockets.now();
        match event {
            SocketEvent::Timer if self.state == State::Idle && now >= self.span.start => {
                self.connect(sockets);
            }
            SocketEvent::Connected(socket) => {
                sockets.count_limits(socket);
                self.opened += 1;
                self.connect_next(sockets);
            }
            SocketEvent::Accepted(socket) => {
                sockets.count_limits(socket);
                self.opened += 1;
            }
            SocketEvent::Readable(socket) => {
                let peer = self.peer_of(socket);
                self.peers[peer].came = now;
                if !core::mem::replace(&mut self.peers[peer].ready, true) {
                    self.ready.push_back(peer as u32);
                }
            }
            SocketEvent::Writable(socket) => self.written(self.peer_of(socket), sockets),
            _ => {}
        }
        if self.state == State::Connecting && self.opened + 1 == self.peers.len() {
            self.state = State::Running;
            self.totals.started = Some(now);
            if self.library.phases != Phases::Off {
                let all: Vec<u32> = (0..self.peers.len() as u32).collect();
                self.enter(POINT_TO_POINT, &all, sockets);
            }
        }
        if self.reads() && self.totals.started.is_some() {
            self.progress(sockets);
        }
        self.run(sockets);
    }

    fn next_wakeup(&self) -> Instant {
        match self.state {
            State::Idle => self.span.start,
            State::Computing { until } => until,
            _ => Instant::NEVER,
        }
    }

    fn results(&self, _: SocketId) -> Option<Box<dyn Any>> {
        Some(Box::new(self.totals.clone()))
    }
}
