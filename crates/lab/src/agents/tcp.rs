//! A connection of the plan: a program that writes at one end and one that reads at the other, on the
//! kernel's own sockets.

use std::io;
use std::net::{SocketAddr, TcpListener};
use std::os::fd::{AsRawFd, OwnedFd};

use network::application::{Act, READ_MAX, Reader, Then, Writer, Writing};
use nix::errno::Errno;
use nix::sys::socket::{Shutdown, SockType, getsockopt, shutdown, sockopt};
use scenario::plan::{Flow, Tcp};
use traffic::units::Serializer;
use traffic::{Bytes, Instant};
use transport::{Config, Info, Phase};

use super::info;
use super::socket::{self, Route};
use crate::Error;

/// Both ends.
#[derive(Debug)]
pub(super) struct Connection {
    start: Instant,
    destination: SocketAddr,
    flow_label: u32,
    /// What the accepted end is dressed as.
    header: traffic::header::Header,
    receiver_config: Config,
    sender: OwnedFd,
    /// Since it was accepted.
    receiver: Option<OwnedFd>,
    progress: Progress,
    writing: Writing,
    /// Bytes begun that the send buffer has not taken yet.
    pending: u64,
    written: u64,
    /// It closes once nothing is pending.
    closing: bool,
    reading: Reading,
}

/// How far the sending end has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Progress {
    Waiting,
    Connected,
    Closed,
    Failed,
}

/// The reading program.
#[derive(Debug)]
struct Reading {
    /// `None` reads at once whatever comes.
    rate: Option<Serializer>,
    /// There may be something to read.
    ready: bool,
    /// Before this it is busy with what it read.
    busy_until: Instant,
    read: u64,
    read_at: Instant,
    ended: bool,
}

impl Connection {
    /// Makes the sending end's socket, in the namespace of this thread.
    pub(super) fn open(flow: &Flow, tcp: &Tcp, congestion: &str) -> Result<Self, Error> {
        let route = Route::of(flow)?;
        let sender = sender(flow, tcp, route, congestion)
            .map_err(Error::system(format!("open a socket for flow `{}`", flow.name)))?;
        Ok(Self {
            start: flow.span.start,
            destination: route.destination,
            flow_label: flow.header.flow_label,
            header: flow.header,
            receiver_config: tcp.receiver,
            sender,
            receiver: None,
            progress: Progress::Waiting,
            writing: Writing::new(Writer { span: flow.span, train: tcp.train }),
            pending: 0,
            written: 0,
            closing: false,
            reading: Reading::new(tcp.reader),
        })
    }

    pub(super) fn sender(&self) -> &OwnedFd {
        &self.sender
    }

    /// The connection came to its receiving host.
    pub(super) fn accept(&mut self, receiver: OwnedFd, peer: SocketAddr) -> nix::Result<&OwnedFd> {
        // The label towards the peer is the one that it called with.
        let header = traffic::header::Header { flow_label: 0, ..self.header };
        socket::mark(&receiver, &header, 0, peer)?;
        socket::size(&receiver, &self.receiver_config.buffers)?;
        Ok(self.receiver.insert(receiver))
    }

    /// Does what is due.
    pub(super) fn wake(&mut self, now: Instant) {
        if self.progress == Progress::Waiting && now >= self.start {
            let begun = socket::start_connecting(&self.sender, self.destination, self.flow_label);
            self.progress = if begun.is_ok() { Progress::Connected } else { Progress::Failed };
        }
        let Act { bytes, then } = self.writing.act(now);
        self.pending = self.pending.saturating_add(bytes);
        match then {
            Then::Waits => {}
            Then::Closes => self.closing = true,
            Then::GivesUp => (self.pending, self.closing) = (0, true),
        }
        self.write();
        self.read(now);
    }

    /// There is room in the send buffer, or something is wrong with the socket.
    pub(super) fn writable(&mut self, failed: bool) {
        if failed && !matches!(getsockopt(&self.sender, sockopt::SocketError), Ok(0)) {
            self.progress = Progress::Failed;
        }
        self.write();
    }

    fn write(&mut self) {
        if self.progress != Progress::Connected {
            return;
        }
        while self.pending > 0 {
            match socket::fill(&self.sender, self.pending) {
                Ok(taken) => {
                    self.pending -= taken;
                    self.written += taken;
                }
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => return,
                Err(_) => {
                    self.progress = Progress::Failed;
                    return;
                }
            }
        }
        if self.closing {
            let closed = shutdown(self.sender.as_raw_fd(), Shutdown::Write);
            self.progress = if closed.is_ok() { Progress::Closed } else { Progress::Failed };
        }
    }

    /// Something came; `last` if nothing follows it.
    pub(super) fn readable(&mut self, last: bool, now: Instant) {
        let reading = &mut self.reading;
        if !reading.ready {
            reading.ready = true;
            reading.busy_until = reading.busy_until.max(now);
        }
        self.read(now);
        // The end is no event of its own if it came before what was read.
        while last && self.reading.rate.is_none() && self.reading.ready {
            self.read(now);
        }
    }

    fn read(&mut self, now: Instant) {
        let Some(receiver) = &self.receiver else { return };
        self.reading.run(receiver, now);
    }

    /// When it wants to be woken.
    pub(super) fn next_wakeup(&self) -> Instant {
        self.writing.next_wakeup().min(self.reading.next_wakeup())
    }

    /// The bytes that the receiving program read, and when it read the last of them.
    pub(super) fn progress(&self) -> (u64, Instant) {
        (self.reading.read, self.reading.read_at)
    }

    /// The state of both ends; zero of what is not there yet.
    pub(super) fn infos(&self) -> [Info; 2] {
        let known = |socket: &OwnedFd| info::read(socket).unwrap_or_default();
        let mut sender = match self.progress {
            Progress::Waiting => Info { phase: Phase::SynSent, ..Info::default() },
            _ => Info { bytes_written: self.written, ..known(&self.sender) },
        };
        if self.progress == Progress::Failed {
            sender.phase = Phase::Failed;
        }
        let Some(receiver) = &self.receiver else { return [sender, Info::default()] };
        let mut receiver = Info { bytes_read: self.reading.read, ..known(receiver) };
        if self.reading.ended {
            // The kernel counts the FIN as well.
            receiver.bytes_received = self.reading.read;
        }
        [sender, receiver]
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

impl Reading {
    fn new(reader: Reader) -> Self {
        Self {
            rate: reader.rate.map(Serializer::new),
            ready: false,
            busy_until: Instant::ZERO,
            read: 0,
            read_at: Instant::ZERO,
            ended: false,
        }
    }

    /// Reads what its rate allows until now.
    fn run(&mut self, socket: &OwnedFd, now: Instant) {
        /// More than any receive buffer holds: one call takes all there is.
        const EVERYTHING: usize = 1 << 30;
        while self.ready && now >= self.busy_until {
            let most = if self.rate.is_some() { READ_MAX as usize } else { EVERYTHING };
            match socket::discard(socket, most) {
                Ok(0) => {
                    (self.ready, self.ended) = (false, true);
                    // Nothing is to be written here: the connection is over in both directions.
                    let _ = shutdown(socket.as_raw_fd(), Shutdown::Write);
                }
                Ok(got) => {
                    self.read += got as u64;
                    self.read_at = now;
                    match &mut self.rate {
                        Some(rate) => self.busy_until += rate.advance(Bytes(got as u64)),
                        None => return,
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(_) => self.ready = false,
            }
        }
    }

    fn next_wakeup(&self) -> Instant {
        if self.ready && self.rate.is_some() { self.busy_until } else { Instant::NEVER }
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
    let header = traffic::header::Header { flow_label: 0, ..flow.header };
    socket::mark(listener, &header, 0, route.source)?;
    if route.source.is_ipv6() && flow.header.flow_label != 0 {
        socket::reflect_label(listener)?;
    }
    if getsockopt(listener, sockopt::RcvBuf)? as u64 / 2 < tcp.receiver.buffers.receive.max() {
        socket::size(listener, &tcp.receiver.buffers)?;
    }
    Ok(())
}
