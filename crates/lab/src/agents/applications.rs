//! Applications on kernel sockets: epoll events and timers become application events, and the applications' actions
//! become system calls.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;

use base::Instant;
use network::application::{Application, SocketEvent, SocketId, Sockets};
use nix::sys::epoll::EpollFlags;
use transport::{Info, OptionError, SocketOption};

use super::connection::Connection;
use super::end::End;
use super::udp::{Datagrams, Scratch};
use crate::clock::Clock;
use crate::congestion::Names;

/// A socket of an application.
#[derive(Debug)]
pub(super) struct Socket {
    application: u32,
    number: SocketId,
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    Connection(Connection),
    Datagrams(Box<Datagrams>),
}

impl From<Connection> for Socket {
    fn from(connection: Connection) -> Self {
        let kind = Kind::Connection(connection);
        Self { application: 0, number: SocketId::ONLY, kind }
    }
}

impl From<Datagrams> for Socket {
    fn from(datagrams: Datagrams) -> Self {
        let kind = Kind::Datagrams(datagrams.into());
        Self { application: 0, number: SocketId::ONLY, kind }
    }
}

impl Socket {
    /// The kernel socket, if there is one, and its epoll flags: edge-triggered for a connection, level-triggered for
    /// datagrams.
    pub(super) fn kernel(&self) -> Option<(&OwnedFd, EpollFlags)> {
        match &self.kind {
            Kind::Connection(connection) => {
                let flags = EpollFlags::EPOLLIN | EpollFlags::EPOLLRDHUP | EpollFlags::EPOLLOUT;
                Some((connection.end.as_ref()?.socket(), flags | EpollFlags::EPOLLET))
            }
            Kind::Datagrams(datagrams) => Some((datagrams.socket(), EpollFlags::EPOLLIN)),
        }
    }

    /// The number of bytes read, and the time of the last read.
    pub(super) fn progress(&self) -> (u64, Instant) {
        match &self.kind {
            Kind::Connection(connection) => connection.progress(),
            Kind::Datagrams(datagrams) => datagrams.counters().progress(),
        }
    }

    /// The socket's state; zero before the kernel has it.
    pub(super) fn info(&self) -> Info {
        match &self.kind {
            Kind::Connection(connection) => connection.info(),
            Kind::Datagrams(datagrams) => datagrams.counters().info(),
        }
    }

    /// The datagram socket, if it is one.
    pub(super) fn datagrams(&self) -> Option<&Datagrams> {
        match &self.kind {
            Kind::Connection(_) => None,
            Kind::Datagrams(datagrams) => Some(datagrams),
        }
    }

    fn connection(&self) -> Option<&Connection> {
        match &self.kind {
            Kind::Connection(connection) => Some(connection),
            Kind::Datagrams(_) => None,
        }
    }

    fn connection_mut(&mut self) -> Option<&mut Connection> {
        match &mut self.kind {
            Kind::Connection(connection) => Some(connection),
            Kind::Datagrams(_) => None,
        }
    }

    fn set_option(&self, option: &SocketOption, names: &Names) -> Result<(), OptionError> {
        self.connection().ok_or(OptionError::NotOpen)?.set_option(option, names)
    }

    fn next_wakeup(&self) -> Instant {
        self.connection().map_or(Instant::NEVER, Connection::next_wakeup)
    }
}

/// An application and the range of its sockets.
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
    /// The algorithms' names in the kernel.
    names: Names,
    clock: Clock,
    /// The memory for sending and receiving datagrams.
    scratch: Scratch,
    /// The sockets that an application has written to; empty between events.
    written: Vec<SocketId>,
}

/// An application's view of its sockets.
struct KernelSockets<'a> {
    now: Instant,
    sockets: &'a mut [Socket],
    names: &'a Names,
    clock: Clock,
    scratch: &'a mut Scratch,
    /// The sockets that were written to.
    written: &'a mut Vec<SocketId>,
}

impl KernelSockets<'_> {
    fn connection(&mut self, SocketId(number): SocketId) -> Option<&mut Connection> {
        self.sockets.get_mut(number as usize)?.connection_mut()
    }

    fn datagrams(&mut self, SocketId(number): SocketId) -> Option<&mut Datagrams> {
        match &mut self.sockets.get_mut(number as usize)?.kind {
            Kind::Connection(_) => None,
            Kind::Datagrams(datagrams) => Some(datagrams),
        }
    }

    fn end(&mut self, socket: SocketId) -> Option<&mut End> {
        self.connection(socket)?.open_end()
    }
}

impl Sockets for KernelSockets<'_> {
    fn now(&self) -> Instant {
        self.now
    }

    fn connect(&mut self, socket: SocketId) {
        if let Some(connection) = self.connection(socket) {
            connection.connect();
        }
    }

    fn write(&mut self, socket: SocketId, bytes: u64) {
        let now = self.now;
        self.written.push(socket);
        if let Some(connection) = self.connection(socket) {
            connection.write(bytes, now);
        }
    }

    fn send(&mut self, SocketId(number): SocketId, bytes: u32) {
        let Self { sockets, clock, scratch, .. } = self;
        let socket = sockets.get_mut(number as usize).map(|socket| &mut socket.kind);
        if let Some(Kind::Datagrams(datagrams)) = socket {
            datagrams.send(bytes, *clock, scratch);
        }
    }

    fn datagram_number(&self, SocketId(number): SocketId) -> u64 {
        let socket = self.sockets.get(number as usize);
        socket.and_then(Socket::datagrams).map_or(0, Datagrams::number)
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
        socket.and_then(Socket::connection).is_some_and(Connection::is_readable)
    }

    fn read_always(&mut self, socket: SocketId) {
        let now = self.now;
        if let Some(connection) = self.connection(socket) {
            connection.read_always(now);
        } else if let Some(datagrams) = self.datagrams(socket) {
            datagrams.read_always();
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
    /// Creates an empty list. `names` are the algorithms' names in the kernel; `clock` stamps datagrams.
    pub(super) fn new(names: Names, clock: Clock) -> Self {
        let (list, sockets, written) = (Vec::new(), Vec::new(), Vec::new());
        Self { list, sockets, names, clock, scratch: Scratch::new(), written }
    }

    /// Sets an option of socket `number`.
    ///
    /// # Errors
    /// If the kernel has no such option, or the socket is not open.
    pub(super) fn set_option(&self, number: u32, option: &SocketOption) -> Result<(), OptionError> {
        let socket = self.sockets.get(number as usize).ok_or(OptionError::NotOpen)?;
        socket.set_option(option, &self.names)
    }

    /// Adds an application with its sockets. Returns the number of the first socket.
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

    /// The number of applications.
    pub(super) fn len(&self) -> usize {
        self.list.len()
    }

    /// All sockets, by number.
    pub(super) fn sockets(&self) -> &[Socket] {
        &self.sockets
    }

    /// The application that owns socket `number`, and the socket's number within the application.
    pub(super) fn application(&self, number: u32) -> Option<(&dyn Application, SocketId)> {
        let socket = self.sockets.get(number as usize)?;
        let Running { application, .. } = &self.list[socket.application as usize];
        Some((application.as_ref(), socket.number))
    }

    /// The number of the application that owns `socket`.
    pub(super) fn of(&self, socket: u32) -> Option<u32> {
        Some(self.sockets.get(socket as usize)?.application)
    }

    /// The time at which the application or one of its sockets is to be woken.
    pub(super) fn next_wakeup(&self, number: u32) -> Instant {
        let Some(running) = self.list.get(number as usize) else { return Instant::NEVER };
        let own = self.sockets[running.first as usize..running.end as usize].iter();
        let own = own.map(Socket::next_wakeup).fold(Instant::NEVER, Instant::min);
        own.min(running.application.next_wakeup())
    }

    /// Runs the due timers of application `number` and its sockets.
    pub(super) fn wake(&mut self, number: u32, now: Instant) {
        let Some(&Running { first, end, ref application }) = self.list.get(number as usize) else {
            return;
        };
        if application.next_wakeup() <= now {
            self.notify(number, SocketEvent::Timer, now);
        }
        for socket in first..end {
            if self.sockets[socket as usize].next_wakeup() <= now {
                self.go_on(socket, now);
            }
        }
    }

    /// Continues the transfer that a socket interrupted to let others run.
    fn go_on(&mut self, number: u32, now: Instant) {
        if let Some(connection) = self.sockets[number as usize].connection_mut() {
            connection.go_on(now);
        }
        self.notify_all(number, false, now);
    }

    /// Gives socket `number` an accepted connection, and returns the socket. `None` if it is open already or is not a
    /// connection.
    ///
    /// # Errors
    /// If the kernel refuses an option.
    pub(super) fn accept(
        &mut self,
        number: u32,
        accepted: OwnedFd,
        peer: SocketAddr,
        now: Instant,
    ) -> nix::Result<Option<&Socket>> {
        let Some(socket) = self.sockets.get_mut(number as usize) else { return Ok(None) };
        let Some(connection) = socket.connection_mut() else { return Ok(None) };
        if !connection.accept(accepted, peer)? {
            return Ok(None);
        }
        let (application, event) = (socket.application, SocketEvent::Accepted(socket.number));
        self.notify(application, event, now);
        Ok(self.sockets.get(number as usize))
    }

    /// Handles an epoll event of socket `number`.
    pub(super) fn on_ready(&mut self, number: u32, flags: EpollFlags, now: Instant) {
        let Some(socket) = self.sockets.get_mut(number as usize) else { return };
        match &mut socket.kind {
            Kind::Connection(connection) => {
                let Some(came) = connection.on_ready(flags) else { return };
                if connection.has_connected(flags) {
                    let event = SocketEvent::Connected(socket.number);
                    let application = socket.application;
                    self.notify(application, event, now);
                }
                if let Some(connection) = self.sockets[number as usize].connection_mut() {
                    connection.transfer(came, now);
                }
                self.notify_all(number, came, now);
            }
            // Receiving also clears a pending socket error, which epoll would otherwise report forever.
            Kind::Datagrams(_) => self.receive(number, now),
        }
    }

    /// Receives the datagrams that wait at socket `number`.
    fn receive(&mut self, number: u32, now: Instant) {
        loop {
            let Self { sockets, clock, scratch, .. } = self;
            let Socket { application, number: id, kind: Kind::Datagrams(datagrams) } =
                &mut sockets[number as usize]
            else {
                return;
            };
            let Some(bytes) = datagrams.receive(*clock, scratch) else { return };
            if !datagrams.reads_always() {
                let (application, event) = (*application, SocketEvent::Datagram(*id, bytes));
                self.notify(application, event, now);
            }
        }
    }

    /// Delivers all new events of a connection to its application.
    fn notify_all(&mut self, number: u32, mut readable: bool, now: Instant) {
        loop {
            let Socket { application, number: id, ref mut kind } = self.sockets[number as usize];
            let Kind::Connection(connection) = kind else { return };
            let Some(event) = connection.next_event(id, &mut readable) else { return };
            self.notify(application, event, now);
        }
    }

    /// Delivers an event to an application, then the writable events of data that the kernel took at once.
    fn notify(&mut self, number: u32, event: SocketEvent, now: Instant) {
        let mut written = std::mem::take(&mut self.written);
        self.handle(number, event, &mut written, now);
        while let Some(SocketId(socket)) = written.pop() {
            let socket = &mut self.sockets[(self.list[number as usize].first + socket) as usize];
            let id = socket.number;
            let written_event = socket.connection_mut().and_then(|own| own.writable_event(id));
            if let Some(event) = written_event {
                self.handle(number, event, &mut written, now);
            }
        }
        self.written = written;
    }

    fn handle(
        &mut self,
        number: u32,
        event: SocketEvent,
        written: &mut Vec<SocketId>,
        now: Instant,
    ) {
        let Self { list, sockets, names, clock, scratch, .. } = self;
        let Running { application, first, end } = &mut list[number as usize];
        let (sockets, clock) = (&mut sockets[*first as usize..*end as usize], *clock);
        let sockets = &mut KernelSockets { now, sockets, names, clock, scratch, written };
        application.handle(event, sockets);
    }
}
