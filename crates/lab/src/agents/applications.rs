//! Applications on the kernel's sockets: what epoll and the clock say becomes their events, and what they do
//! becomes system calls.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use network::application::{Application, SocketEvent, SocketId, Sockets};
use network::exchange::Exchanges;
use nix::sys::epoll::EpollFlags;
use nix::sys::socket::{getsockopt, sockopt};
use traffic::Instant;
use traffic::header::Header;
use transport::{Config, Info, OptionError, Phase, SocketOption};

use super::end::End;
use super::socket;
use crate::congestion::Names;

/// How a connection comes about.
#[derive(Debug)]
pub(super) enum Opening {
    /// It connects.
    Connect {
        /// To there.
        destination: SocketAddr,
        /// The IPv6 flow label, 0 for none.
        flow_label: u32,
    },
    /// A peer connects.
    Accept {
        /// What its packets say.
        header: Header,
        /// Its TCP.
        config: Arc<Config>,
        /// Its congestion control, where it sends more than ACKs.
        congestion: Option<String>,
    },
}

/// A socket of an application.
#[derive(Debug)]
pub(super) struct Socket {
    application: u32,
    number: SocketId,
    opening: Opening,
    /// The kernel's; of one that accepts, since a peer has connected.
    end: Option<End>,
    /// It began to connect, or was accepted.
    opened: bool,
    established: bool,
    reads_always: bool,
    told_writable: bool,
    told_closed: bool,
    told_failed: bool,
}

impl Socket {
    fn new(opening: Opening, end: Option<End>) -> Self {
        Self {
            application: 0,
            number: SocketId::ONLY,
            opening,
            end,
            opened: false,
            established: false,
            reads_always: false,
            told_writable: true,
            told_closed: false,
            told_failed: false,
        }
    }

    /// One that connects, with the kernel's socket for it.
    pub(super) fn connecting(socket: OwnedFd, destination: SocketAddr, flow_label: u32) -> Self {
        Self::new(Opening::Connect { destination, flow_label }, Some(End::new(socket)))
    }

    /// One that a peer connects to.
    pub(super) fn accepting(
        header: Header,
        config: Arc<Config>,
        congestion: Option<String>,
    ) -> Self {
        Self::new(Opening::Accept { header, config, congestion }, None)
    }

    /// The kernel's socket, if there is one.
    pub(super) fn kernel(&self) -> Option<&OwnedFd> {
        self.end.as_ref().map(End::socket)
    }

    /// The bytes read, and when the last of them were.
    pub(super) fn progress(&self) -> (u64, Instant) {
        self.end.as_ref().map_or_else(Default::default, End::progress)
    }

    /// Its state; zero of what is not there yet.
    pub(super) fn info(&self) -> Info {
        match (&self.end, &self.opening) {
            (Some(end), _) if self.opened => end.info(),
            (_, Opening::Connect { .. }) => Info { phase: Phase::SynSent, ..Info::default() },
            (_, Opening::Accept { .. }) => Info::default(),
        }
    }

    /// Sets an option. One that is still to connect has its kernel's socket already.
    fn set_option(&self, option: &SocketOption, names: &Names) -> Result<(), OptionError> {
        match &self.end {
            Some(end) if !end.is_over() => socket::set_option(end.socket(), option, names),
            _ => Err(OptionError::NotOpen),
        }
    }

    /// What the application is to be told of next, if anything.
    fn next_event(&mut self, readable: &mut bool) -> Option<SocketEvent> {
        let end = self.end.as_mut()?;
        if std::mem::take(readable) && !self.reads_always {
            return Some(SocketEvent::Readable(self.number));
        }
        if !self.told_writable && !self.reads_always && end.is_written() {
            self.told_writable = true;
            return Some(SocketEvent::Writable(self.number));
        }
        if !self.told_closed && end.has_ended() {
            self.told_closed = true;
            return Some(SocketEvent::PeerClosed(self.number));
        }
        if !self.told_failed && end.has_failed() {
            self.told_failed = true;
            return Some(SocketEvent::Failed(self.number));
        }
        None
    }

    fn next_wakeup(&self) -> Instant {
        self.end.as_ref().filter(|_| self.opened).map_or(Instant::NEVER, End::next_wakeup)
    }
}

/// An application, with where its sockets begin and end.
#[derive(Debug)]
struct Running {
    application: Box<dyn Application>,
    first: u32,
    end: u32,
}

/// All applications and their sockets.
#[derive(Debug)]
pub(super) struct Applications {
    list: Vec<Running>,
    sockets: Vec<Socket>,
    /// What the kernel knows algorithms by.
    names: Names,
}

/// An application's sockets as it has them.
struct KernelSockets<'a> {
    now: Instant,
    sockets: &'a mut [Socket],
    names: &'a Names,
}

impl KernelSockets<'_> {
    fn end(&mut self, SocketId(number): SocketId) -> Option<&mut End> {
        let socket = self.sockets.get_mut(number as usize)?;
        socket.end.as_mut().filter(|_| socket.opened)
    }
}

impl Sockets for KernelSockets<'_> {
    fn now(&self) -> Instant {
        self.now
    }

    fn connect(&mut self, SocketId(number): SocketId) {
        let Some(socket) = self.sockets.get_mut(number as usize) else { return };
        let (Opening::Connect { destination, flow_label }, Some(end), false) =
            (&socket.opening, &mut socket.end, socket.opened)
        else {
            return;
        };
        socket.opened = true;
        if socket::start_connecting(end.socket(), *destination, *flow_label).is_err() {
            end.fail();
        }
    }

    fn write(&mut self, id: SocketId, bytes: u64) {
        let now = self.now;
        let Some(end) = self.end(id) else { return };
        end.supply(bytes);
        end.write(now);
        if let Some(socket) = self.sockets.get_mut(id.0 as usize) {
            socket.told_writable = false;
        }
    }

    fn abandon(&mut self, socket: SocketId) {
        let now = self.now;
        if let Some(end) = self.end(socket) {
            end.abandon();
            end.write(now);
        }
    }

    fn close(&mut self, socket: SocketId) {
        let now = self.now;
        if let Some(end) = self.end(socket) {
            end.close();
            end.write(now);
        }
    }

    fn read(&mut self, socket: SocketId, most: u64) -> u64 {
        let now = self.now;
        self.end(socket).map_or(0, |end| end.read(most, now))
    }

    fn is_readable(&self, SocketId(number): SocketId) -> bool {
        let socket = self.sockets.get(number as usize);
        socket.and_then(|socket| socket.end.as_ref()).is_some_and(End::is_readable)
    }

    fn read_always(&mut self, SocketId(number): SocketId) {
        let now = self.now;
        let Some(socket) = self.sockets.get_mut(number as usize) else { return };
        socket.reads_always = true;
        if let Some(end) = &mut socket.end {
            end.drain(now);
        }
    }

    fn set_option(
        &mut self,
        SocketId(number): SocketId,
        option: &SocketOption,
    ) -> Result<(), OptionError> {
        let socket = self.sockets.get(number as usize).ok_or(OptionError::NotOpen)?;
        socket.set_option(option, self.names)
    }
}

impl Applications {
    /// None yet; algorithms have those names in the kernel.
    pub(super) fn new(names: Names) -> Self {
        Self { list: Vec::new(), sockets: Vec::new(), names }
    }

    /// Sets an option of the socket of that number.
    ///
    /// # Errors
    /// If the kernel has none such, or the socket is not open.
    pub(super) fn set_option(&self, number: u32, option: &SocketOption) -> Result<(), OptionError> {
        let socket = self.sockets.get(number as usize).ok_or(OptionError::NotOpen)?;
        socket.set_option(option, &self.names)
    }

    /// Adds an application with its sockets; returns the first one's number.
    pub(super) fn add(
        &mut self,
        application: Box<dyn Application>,
        sockets: impl IntoIterator<Item = Socket>,
    ) -> u32 {
        let (running, first) = (self.list.len() as u32, self.sockets.len() as u32);
        for (number, socket) in (0..).zip(sockets) {
            let number = SocketId(number);
            self.sockets.push(Socket { application: running, number, ..socket });
        }
        let end = self.sockets.len() as u32;
        self.list.push(Running { application, first, end });
        first
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// All sockets, by number.
    pub(super) fn sockets(&self) -> &[Socket] {
        &self.sockets
    }

    /// What became of the requests of the application that has the socket.
    pub(super) fn exchanges(&self, socket: u32) -> Option<Exchanges> {
        let socket = self.sockets.get(socket as usize)?;
        self.list[socket.application as usize].application.exchanges()
    }

    /// The application that has the socket.
    pub(super) fn of(&self, socket: u32) -> Option<u32> {
        Some(self.sockets.get(socket as usize)?.application)
    }

    /// When the application wants to be woken.
    pub(super) fn next_wakeup(&self, number: u32) -> Instant {
        let Some(running) = self.list.get(number as usize) else { return Instant::NEVER };
        let own = self.sockets[running.first as usize..running.end as usize].iter();
        let own = own.map(Socket::next_wakeup).fold(Instant::NEVER, Instant::min);
        own.min(running.application.next_wakeup())
    }

    /// Does what is due for the application of that number.
    pub(super) fn wake(&mut self, number: u32, now: Instant) {
        let Some(&Running { first, end, ref application }) = self.list.get(number as usize) else {
            return;
        };
        if application.next_wakeup() <= now {
            self.tell(number, SocketEvent::Timer, now);
        }
        for socket in first..end {
            if self.sockets[socket as usize].next_wakeup() <= now {
                self.go_on(socket, now);
            }
        }
    }

    /// The socket goes on with what it left off for others to have their turn.
    fn go_on(&mut self, number: u32, now: Instant) {
        let socket = &mut self.sockets[number as usize];
        if let Some(end) = &mut socket.end {
            end.write(now);
            if socket.reads_always {
                end.drain(now);
            }
        }
        self.tell_all(number, false, now);
    }

    /// A connection came for that socket; returns the kernel's socket. `None` if it is open already.
    ///
    /// # Errors
    /// If the kernel refuses an option.
    pub(super) fn accept(
        &mut self,
        number: u32,
        accepted: OwnedFd,
        peer: SocketAddr,
        now: Instant,
    ) -> nix::Result<Option<&OwnedFd>> {
        let Some(socket) = self.sockets.get_mut(number as usize) else { return Ok(None) };
        let (Opening::Accept { header, config, congestion }, false) =
            (&socket.opening, socket.opened)
        else {
            return Ok(None);
        };
        // The label towards the peer is the one that it called with.
        socket::mark(&accepted, &Header { flow_label: 0, ..*header }, 0, peer)?;
        socket::size(&accepted, &config.buffers)?;
        socket::send_at_once(&accepted, !config.emission.nagle)?;
        if let Some(name) = congestion {
            socket::control(&accepted, name)?;
        }
        socket.end = Some(End::new(accepted));
        (socket.opened, socket.established) = (true, true);
        let (application, event) = (socket.application, SocketEvent::Accepted(socket.number));
        self.tell(application, event, now);
        Ok(self.sockets[number as usize].kernel())
    }

    /// Epoll tells of a socket.
    pub(super) fn on_ready(&mut self, number: u32, flags: EpollFlags, now: Instant) {
        let Some(socket) = self.sockets.get_mut(number as usize).filter(|s| s.opened) else {
            return;
        };
        let Some(end) = &mut socket.end else { return };
        let error = flags.contains(EpollFlags::EPOLLERR);
        if error && getsockopt(end.socket(), sockopt::SocketError) != Ok(0) {
            end.fail();
        }
        let hung_up = flags.contains(EpollFlags::EPOLLRDHUP);
        let came = hung_up || flags.contains(EpollFlags::EPOLLIN);
        if came {
            end.on_readable(hung_up);
        }
        if !socket.established && !end.has_failed() && flags.contains(EpollFlags::EPOLLOUT) {
            socket.established = true;
            let (application, event) = (socket.application, SocketEvent::Connected(socket.number));
            self.tell(application, event, now);
        }
        let socket = &mut self.sockets[number as usize];
        if let Some(end) = &mut socket.end {
            end.write(now);
            if came && socket.reads_always {
                end.drain(now);
            }
        }
        self.tell_all(number, came, now);
    }

    /// Tells a socket's application all that is new of it.
    fn tell_all(&mut self, number: u32, mut readable: bool, now: Instant) {
        while let Some(event) = self.sockets[number as usize].next_event(&mut readable) {
            self.tell(self.sockets[number as usize].application, event, now);
        }
    }

    fn tell(&mut self, number: u32, event: SocketEvent, now: Instant) {
        let Running { application, first, end } = &mut self.list[number as usize];
        let (sockets, names) = (&mut self.sockets[*first as usize..*end as usize], &self.names);
        application.handle(event, &mut KernelSockets { now, sockets, names });
    }
}
