//! A connection of the plan: a program at each end, on the kernel's own sockets.

use std::net::{SocketAddr, TcpListener};
use std::os::fd::OwnedFd;

use network::application::{BulkSender, READ_MAX, Reader, Writer};
use network::exchange::{Exchanges, RequestClient, RequestServer};
use nix::sys::socket::{SockType, getsockopt, sockopt};
use scenario::plan::{Flow, Tcp};
use traffic::header::Header;
use traffic::units::Serializer;
use traffic::{Bytes, Instant};
use transport::{Config, Info, Phase};

use super::end::End;
use super::socket::{self, Route};
use crate::Error;
use crate::congestion::Congestion;

/// Both ends.
#[derive(Debug)]
pub(super) struct Connection {
    start: Instant,
    stop: Instant,
    destination: SocketAddr,
    /// What the accepted end is dressed as.
    header: Header,
    receiver_config: Config,
    /// The congestion control of an accepted end that sends, too.
    answers_by: Option<String>,
    called: bool,
    connected: bool,
    sender: End,
    /// Since it was accepted.
    receiver: Option<End>,
    programs: Programs,
}

/// What runs at the two ends.
#[derive(Debug)]
enum Programs {
    /// One writes, the other reads.
    Stream(BulkSender, Reading),
    /// One asks, the other answers.
    Exchange(RequestClient, RequestServer),
}

/// A program that reads and drops what comes.
#[derive(Debug)]
struct Reading {
    /// `None` reads at once whatever comes.
    rate: Option<Serializer>,
    /// There may be something to read.
    ready: bool,
    /// The peer sends no more: the end of the stream is behind what there is to read.
    hung_up: bool,
    /// Before this it is busy with what it read.
    busy_until: Instant,
}

impl Connection {
    /// Makes the sending end's socket, in the namespace of this thread.
    pub(super) fn open(flow: &Flow, tcp: &Tcp, modules: &Congestion) -> Result<Self, Error> {
        let route = Route::of(flow)?;
        let sender = sender(flow, tcp, route, modules.name_for(tcp, &tcp.sender))
            .map_err(Error::system(format!("open a socket for flow `{}`", flow.name)))?;
        let programs = match tcp.exchange {
            Some(exchange) => Programs::Exchange(
                RequestClient::new(flow.span, exchange),
                RequestServer::new(exchange),
            ),
            None => {
                let writer = Writer { span: flow.span, train: tcp.train };
                Programs::Stream(BulkSender::new(writer), Reading::new(tcp.reader))
            }
        };
        Ok(Self {
            start: flow.span.start,
            stop: flow.span.stop,
            destination: route.destination,
            header: flow.header,
            receiver_config: tcp.receiver,
            answers_by: tcp.exchange.map(|_| modules.name_for(tcp, &tcp.receiver).to_owned()),
            called: false,
            connected: false,
            sender: End::new(sender),
            receiver: None,
            programs,
        })
    }

    pub(super) fn sender(&self) -> &OwnedFd {
        self.sender.socket()
    }

    /// The connection came to its receiving host.
    pub(super) fn accept(&mut self, receiver: OwnedFd, peer: SocketAddr) -> nix::Result<&OwnedFd> {
        // The label towards the peer is the one that it called with.
        let header = Header { flow_label: 0, ..self.header };
        socket::mark(&receiver, &header, 0, peer)?;
        socket::size(&receiver, &self.receiver_config.buffers)?;
        socket::send_at_once(&receiver, !self.receiver_config.emission.nagle)?;
        if let Some(name) = &self.answers_by {
            socket::control(&receiver, name)?;
        }
        Ok(self.receiver.insert(End::new(receiver)).socket())
    }

    /// Does what is due.
    pub(super) fn wake(&mut self, now: Instant) {
        if !self.called && now >= self.start {
            self.called = true;
            let label = self.header.flow_label;
            if socket::start_connecting(self.sender.socket(), self.destination, label).is_err() {
                self.sender.fail();
            }
        }
        match &mut self.programs {
            Programs::Stream(writing, reading) => {
                self.sender.begin(writing.act(now));
                self.sender.write(now);
                if let Some(receiver) = &mut self.receiver {
                    reading.run(receiver, now);
                }
            }
            Programs::Exchange(..) => self.exchange(now),
        }
    }

    /// Something came to the sender, there is room in its send buffer, or something is wrong with it.
    pub(super) fn sender_stirs(&mut self, failed: bool, now: Instant) {
        if failed && getsockopt(self.sender.socket(), sockopt::SocketError) != Ok(0) {
            self.sender.fail();
        }
        self.connected = self.called;
        match self.programs {
            Programs::Stream(..) => self.sender.write(now),
            Programs::Exchange(..) => self.exchange(now),
        }
    }

    /// Something came to the receiver, or there is room in its send buffer; `hung_up` if nothing more
    /// will come after it.
    pub(super) fn receiver_stirs(&mut self, hung_up: bool, now: Instant) {
        let Some(receiver) = &mut self.receiver else { return };
        match &mut self.programs {
            Programs::Stream(_, reading) => {
                reading.on_readable(hung_up, now);
                reading.run(receiver, now);
            }
            Programs::Exchange(..) => self.exchange(now),
        }
    }

    /// Both programs of an exchange do what they can.
    fn exchange(&mut self, now: Instant) {
        let Programs::Exchange(asking, answering) = &mut self.programs else { return };
        while let Some(bytes) = self.sender.take(READ, now) {
            asking.on_read(bytes, now);
        }
        if self.connected || now >= self.stop {
            self.sender.begin(asking.act(now));
        }
        self.sender.write(now);
        let Some(receiver) = &mut self.receiver else { return };
        while let Some(bytes) = receiver.take(READ, now) {
            receiver.supply(answering.on_read(bytes));
        }
        receiver.write(now);
    }

    /// When it wants to be woken.
    pub(super) fn next_wakeup(&self) -> Instant {
        let ends = self.receiver.iter().chain([&self.sender]);
        let writes = ends.map(End::next_wakeup).fold(Instant::NEVER, Instant::min);
        writes.min(match &self.programs {
            Programs::Stream(writing, reading) => writing.next_wakeup().min(reading.next_wakeup()),
            Programs::Exchange(..) if !self.called => self.start,
            Programs::Exchange(asking, _) if self.connected => asking.next_wakeup(),
            // What is due waits for the connection, but not longer than it may.
            Programs::Exchange(asking, _) => asking.next_wakeup().max(self.stop),
        })
    }

    /// The bytes that the program which counts has read, and when it read the last of them.
    pub(super) fn progress(&self) -> (u64, Instant) {
        match &self.programs {
            Programs::Stream(..) => {
                self.receiver.as_ref().map_or_else(Default::default, End::progress)
            }
            Programs::Exchange(..) => self.sender.progress(),
        }
    }

    /// What became of its requests, if it asks.
    pub(super) fn exchanges(&self) -> Option<Exchanges> {
        match &self.programs {
            Programs::Stream(..) => None,
            Programs::Exchange(asking, _) => Some(asking.exchanges()),
        }
    }

    /// The state of both ends; zero of what is not there yet.
    pub(super) fn infos(&self) -> [Info; 2] {
        let sender = match self.called {
            true => self.sender.info(),
            false => Info { phase: Phase::SynSent, ..Info::default() },
        };
        [sender, self.receiver.as_ref().map(End::info).unwrap_or_default()]
    }
}

fn sender(flow: &Flow, tcp: &Tcp, route: Route, congestion: &str) -> nix::Result<OwnedFd> {
    let config = &tcp.sender;
    let sender = socket::open(SockType::Stream, route.source)?;
    socket::mark(&sender, &flow.header, 0, route.destination)?;
    socket::size(&sender, &config.buffers)?;
    socket::control(&sender, congestion)?;
    socket::send_at_once(&sender, !config.emission.nagle)?;
    if config.emission.pacing {
        socket::pace(&sender, config.emission.pacing_rate_max)?;
    }
    Ok(sender)
}

/// What a program asks for in one call, bytes: as `iperf3` does.
const READ: usize = 128 << 10;

impl Reading {
    fn new(reader: Reader) -> Self {
        let rate = reader.rate.map(Serializer::new);
        Self { rate, ready: false, hung_up: false, busy_until: Instant::ZERO }
    }

    /// Something came.
    fn on_readable(&mut self, hung_up: bool, now: Instant) {
        self.hung_up |= hung_up;
        if !self.ready {
            self.ready = true;
            self.busy_until = self.busy_until.max(now);
        }
    }

    /// Reads what its rate allows until now.
    fn run(&mut self, end: &mut End, now: Instant) {
        let most = if self.rate.is_some() { READ_MAX as usize } else { READ };
        while self.ready && now >= self.busy_until {
            let Some(bytes) = end.take(most, now) else {
                self.ready = false;
                return;
            };
            match &mut self.rate {
                Some(rate) => self.busy_until += rate.advance(Bytes(bytes)),
                None => {
                    // A short read takes all there was: the kernel tells of more. Of the end of the stream it
                    // has told already.
                    self.ready = self.hung_up || bytes == READ as u64;
                    // If there is more, others have their turn first.
                    self.busy_until = now;
                    return;
                }
            }
        }
    }

    fn next_wakeup(&self) -> Instant {
        if self.ready { self.busy_until } else { Instant::NEVER }
    }
}

/// Where a host's connections to one port come in.
#[derive(Debug)]
pub(super) struct Listener {
    socket: TcpListener,
    /// The flows that come in there by their source, sorted.
    flows: Vec<(SocketAddr, u32)>,
}

impl Listener {
    /// Listens for `flows`, given with their numbers, in the namespace of this thread. All go to the same
    /// address and port.
    pub(super) fn open(flows: &[(u32, &Flow, &Tcp)]) -> Result<Self, Error> {
        let mut sources = Vec::new();
        let mut socket = None;
        for &(number, flow, tcp) in flows {
            let route = Route::of(flow)?;
            sources.push((route.source, number));
            let opened = match socket.take() {
                Some(socket) => Ok(socket),
                None => socket::open(SockType::Stream, route.destination),
            };
            let dressed =
                opened.and_then(|listener| dress(&listener, flow, tcp, route).map(|()| listener));
            let what = format!("listen for flow `{}`", flow.name);
            socket = Some(dressed.map_err(Error::system(what))?);
        }
        sources.sort_unstable();
        let socket = socket.ok_or_else(|| Error::unfit("nothing to listen for", "name a flow"))?;
        socket::accept_many(&socket).map_err(Error::system("listen"))?;
        Ok(Self { socket: TcpListener::from(socket), flows: sources })
    }

    /// The next connection that came, and which flow's it is; `None` if none has.
    pub(super) fn accept(&self) -> Option<(OwnedFd, SocketAddr, u32)> {
        loop {
            let (stream, peer) = self.socket.accept().ok()?;
            // A connection that the plan does not know is closed.
            let place = self.flows.binary_search_by_key(&peer_key(peer), |&(source, _)| source);
            if let Some(&(_, number)) = place.ok().and_then(|place| self.flows.get(place)) {
                return Some((stream.into(), peer, number));
            }
        }
    }

    pub(super) fn socket(&self) -> &TcpListener {
        &self.socket
    }
}

/// A peer without what only its packets say: flow label and scope.
fn peer_key(peer: SocketAddr) -> SocketAddr {
    SocketAddr::new(peer.ip(), peer.port())
}

/// What a connection takes over from its listener: the window scale is agreed on before it is accepted, so
/// the largest buffer counts.
fn dress(listener: &OwnedFd, flow: &Flow, tcp: &Tcp, route: Route) -> nix::Result<()> {
    let header = Header { flow_label: 0, ..flow.header };
    socket::mark(listener, &header, 0, route.source)?;
    if route.source.is_ipv6() && flow.header.flow_label != 0 {
        socket::reflect_label(listener)?;
    }
    if getsockopt(listener, sockopt::RcvBuf)? as u64 / 2 < tcp.receiver.buffers.receive.max() {
        socket::size(listener, &tcp.receiver.buffers)?;
    }
    Ok(())
}
