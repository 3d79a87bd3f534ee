//! A connection on a kernel socket: how it is established, and the events for its application.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use base::Instant;
use base::header::Header;
use network::application::{SocketEvent, SocketId};
use nix::sys::epoll::EpollFlags;
use nix::sys::socket::{getsockopt, sockopt};
use transport::{Config, Info, OptionError, Phase, SocketOption};

use super::end::End;
use super::socket;
use crate::congestion::Names;

/// The way in which a connection is established.
#[derive(Debug)]
enum Opening {
    /// The connection connects actively.
    Connect {
        /// The address of the peer.
        destination: SocketAddr,
        /// The IPv6 flow label, 0 for none.
        flow_label: u32,
    },
    /// A peer connects to it.
    Accept {
        /// The header fields of its packets.
        header: Header,
        /// Its TCP configuration.
        config: Arc<Config>,
        /// Its congestion control, where that matters (`Tcp::receiver_controls`).
        congestion: Option<String>,
    },
}

/// A connection.
#[derive(Debug)]
pub(super) struct Connection {
    opening: Opening,
    /// The kernel's socket. A passive connection has it once a peer has connected.
    pub(super) end: Option<End>,
    /// Whether it began to connect or was accepted.
    opened: bool,
    established: bool,
    reads_always: bool,
    reported_writable: bool,
    reported_closed: bool,
    reported_failed: bool,
}

impl Connection {
    fn new(opening: Opening, end: Option<End>) -> Self {
        Self {
            opening,
            end,
            opened: false,
            established: false,
            reads_always: false,
            reported_writable: true,
            reported_closed: false,
            reported_failed: false,
        }
    }

    /// Creates an active connection on the kernel socket `socket`.
    pub(super) fn connecting(socket: OwnedFd, destination: SocketAddr, flow_label: u32) -> Self {
        Self::new(Opening::Connect { destination, flow_label }, Some(End::new(socket)))
    }

    /// Creates a passive connection.
    pub(super) fn accepting(
        header: Header,
        config: Arc<Config>,
        congestion: Option<String>,
    ) -> Self {
        Self::new(Opening::Accept { header, config, congestion }, None)
    }

    /// The number of bytes read, and the time of the last read.
    pub(super) fn progress(&self) -> (u64, Instant) {
        self.end.as_ref().map_or_else(Default::default, End::progress)
    }

    /// The connection's state; zero before the kernel has it.
    pub(super) fn info(&self) -> Info {
        match (&self.end, &self.opening) {
            (Some(end), _) if self.opened => end.info(),
            (_, Opening::Connect { .. }) => Info { phase: Phase::SynSent, ..Info::default() },
            (_, Opening::Accept { .. }) => Info::default(),
        }
    }

    /// Sets a socket option. An active connection has its kernel socket even before it connects.
    pub(super) fn set_option(
        &self,
        option: &SocketOption,
        names: &Names,
    ) -> Result<(), OptionError> {
        match &self.end {
            Some(end) if !end.is_over() => socket::set_option(end.socket(), option, names),
            _ => Err(OptionError::NotOpen),
        }
    }

    /// The next event for the application, if any.
    pub(super) fn next_event(&mut self, id: SocketId, readable: &mut bool) -> Option<SocketEvent> {
        self.end.as_ref()?;
        if std::mem::take(readable) && !self.reads_always {
            return Some(SocketEvent::Readable(id));
        }
        if let Some(event) = self.writable_event(id) {
            return Some(event);
        }
        let end = self.end.as_mut()?;
        if !self.reported_closed && end.has_ended() {
            self.reported_closed = true;
            return Some(SocketEvent::PeerClosed(id));
        }
        if !self.reported_failed && end.has_failed() {
            self.reported_failed = true;
            return Some(SocketEvent::Failed(id));
        }
        None
    }

    /// The event that the kernel took all written data, unless it was already delivered.
    pub(super) fn writable_event(&mut self, id: SocketId) -> Option<SocketEvent> {
        let written = self.end.as_ref().is_some_and(End::is_written);
        let unreported = !self.reported_writable && !self.reads_always && written;
        self.reported_writable |= unreported;
        unreported.then_some(SocketEvent::Writable(id))
    }

    pub(super) fn next_wakeup(&self) -> Instant {
        self.end.as_ref().filter(|_| self.opened).map_or(Instant::NEVER, End::next_wakeup)
    }

    /// The end to write to and read from, once the connection has begun to connect or was accepted.
    pub(super) fn open_end(&mut self) -> Option<&mut End> {
        self.end.as_mut().filter(|_| self.opened)
    }

    /// Begins to connect, if the connection is active and has not begun yet.
    pub(super) fn connect(&mut self) {
        let (Opening::Connect { destination, flow_label }, Some(end), false) =
            (&self.opening, &mut self.end, self.opened)
        else {
            return;
        };
        self.opened = true;
        if socket::start_connecting(end.socket(), *destination, *flow_label).is_err() {
            end.fail();
        }
    }

    /// Takes the socket of a peer's connection. Returns false if the connection is open already or is active.
    ///
    /// # Errors
    /// If the kernel refuses an option.
    pub(super) fn accept(&mut self, accepted: OwnedFd, peer: SocketAddr) -> nix::Result<bool> {
        let (Opening::Accept { header, config, congestion }, false) = (&self.opening, self.opened)
        else {
            return Ok(false);
        };
        // The kernel reflects the flow label of the peer's SYN.
        socket::mark(&accepted, &Header { flow_label: 0, ..*header }, 0, peer)?;
        socket::size(&accepted, &config.buffers)?;
        socket::send_at_once(&accepted, !config.emission.nagle)?;
        if let Some(name) = congestion {
            socket::control(&accepted, name)?;
        }
        let mut end = End::new(accepted);
        end.establish();
        self.end = Some(end);
        (self.opened, self.established) = (true, true);
        Ok(true)
    }

    /// Begins to write `bytes` more bytes.
    pub(super) fn write(&mut self, bytes: u64, now: Instant) {
        let Some(end) = self.open_end() else { return };
        end.supply(bytes);
        end.write(now);
        self.reported_writable = false;
    }

    /// Whether there may be something to read.
    pub(super) fn is_readable(&self) -> bool {
        self.end.as_ref().is_some_and(End::is_readable)
    }

    /// Starts to read and discard all incoming data.
    pub(super) fn read_always(&mut self, now: Instant) {
        self.reads_always = true;
        if let Some(end) = &mut self.end {
            end.drain(now);
        }
    }

    /// Continues the transfer that it interrupted to let other connections run.
    pub(super) fn go_on(&mut self, now: Instant) {
        self.transfer(true, now);
    }

    /// Handles an epoll event. Returns whether there is something to read; `None` if the connection is not open.
    pub(super) fn on_ready(&mut self, flags: EpollFlags) -> Option<bool> {
        let end = self.open_end()?;
        let error = flags.contains(EpollFlags::EPOLLERR);
        if error && getsockopt(end.socket(), sockopt::SocketError) != Ok(0) {
            end.fail();
        }
        let hung_up = flags.contains(EpollFlags::EPOLLRDHUP);
        let came = hung_up || flags.contains(EpollFlags::EPOLLIN);
        if came {
            end.on_readable(hung_up);
        }
        Some(came)
    }

    /// Returns whether the connection was established by this epoll event.
    pub(super) fn has_connected(&mut self, flags: EpollFlags) -> bool {
        let failed = self.end.as_ref().is_none_or(End::has_failed);
        let connected = !self.established && !failed && flags.contains(EpollFlags::EPOLLOUT);
        if let Some(end) = self.end.as_mut().filter(|_| connected) {
            end.establish();
            self.established = true;
        }
        connected
    }

    /// Writes pending data, and reads what came if the connection always reads.
    pub(super) fn transfer(&mut self, came: bool, now: Instant) {
        let Some(end) = &mut self.end else { return };
        end.write(now);
        if came && self.reads_always {
            end.drain(now);
        }
    }
}
