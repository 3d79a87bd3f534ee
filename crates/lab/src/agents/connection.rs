//! A connection on a socket of the kernel's: how it comes about, and what its application is to be told of it.

use std::net::SocketAddr;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use network::application::{SocketEvent, SocketId};
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
enum Opening {
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
        /// Its congestion control, where that matters.
        congestion: Option<String>,
    },
}

/// A connection.
#[derive(Debug)]
pub(super) struct Connection {
    opening: Opening,
    /// The kernel's; of one that accepts, since a peer has connected.
    pub(super) end: Option<End>,
    /// It began to connect, or was accepted.
    opened: bool,
    established: bool,
    reads_always: bool,
    told_writable: bool,
    told_closed: bool,
    told_failed: bool,
}

impl Connection {
    fn new(opening: Opening, end: Option<End>) -> Self {
        Self {
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

    /// What the application is to be told of next, if anything.
    pub(super) fn next_event(&mut self, id: SocketId, readable: &mut bool) -> Option<SocketEvent> {
        self.end.as_ref()?;
        if std::mem::take(readable) && !self.reads_always {
            return Some(SocketEvent::Readable(id));
        }
        if let Some(event) = self.writable_event(id) {
            return Some(event);
        }
        let end = self.end.as_mut()?;
        if !self.told_closed && end.has_ended() {
            self.told_closed = true;
            return Some(SocketEvent::PeerClosed(id));
        }
        if !self.told_failed && end.has_failed() {
            self.told_failed = true;
            return Some(SocketEvent::Failed(id));
        }
        None
    }

    /// That the kernel took all that was written, if the application is to be told.
    pub(super) fn writable_event(&mut self, id: SocketId) -> Option<SocketEvent> {
        let written = self.end.as_ref().is_some_and(End::is_written);
        let untold = !self.told_writable && !self.reads_always && written;
        self.told_writable |= untold;
        untold.then_some(SocketEvent::Writable(id))
    }

    pub(super) fn next_wakeup(&self) -> Instant {
        self.end.as_ref().filter(|_| self.opened).map_or(Instant::NEVER, End::next_wakeup)
    }

    /// What it writes to and reads from, once it has begun to connect or was accepted.
    pub(super) fn open_end(&mut self) -> Option<&mut End> {
        self.end.as_mut().filter(|_| self.opened)
    }

    /// Begins to connect, if it is to.
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

    /// A peer connects; false if it is open already, or connects itself.
    ///
    /// # Errors
    /// If the kernel refuses an option.
    pub(super) fn accept(&mut self, accepted: OwnedFd, peer: SocketAddr) -> nix::Result<bool> {
        let (Opening::Accept { header, config, congestion }, false) = (&self.opening, self.opened)
        else {
            return Ok(false);
        };
        // The label towards the peer is the one that it called with.
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

    /// Begins to write so much more.
    pub(super) fn write(&mut self, bytes: u64, now: Instant) {
        let Some(end) = self.open_end() else { return };
        end.supply(bytes);
        end.write(now);
        self.told_writable = false;
    }

    /// Whether there may be something to read.
    pub(super) fn is_readable(&self) -> bool {
        self.end.as_ref().is_some_and(End::is_readable)
    }

    /// From now on reads whatever comes.
    pub(super) fn read_always(&mut self, now: Instant) {
        self.reads_always = true;
        if let Some(end) = &mut self.end {
            end.drain(now);
        }
    }

    /// Goes on with what it left off for others to have their turn.
    pub(super) fn go_on(&mut self, now: Instant) {
        self.transfer(true, now);
    }

    /// Epoll tells of it; returns whether something came, and `None` if it is not open.
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

    /// Whether it is established by what epoll tells, and was not before.
    pub(super) fn has_connected(&mut self, flags: EpollFlags) -> bool {
        let failed = self.end.as_ref().is_none_or(End::has_failed);
        let connected = !self.established && !failed && flags.contains(EpollFlags::EPOLLOUT);
        if let Some(end) = self.end.as_mut().filter(|_| connected) {
            end.establish();
            self.established = true;
        }
        connected
    }

    /// Writes what waits for room, and reads what came if it reads always.
    pub(super) fn transfer(&mut self, came: bool, now: Instant) {
        let Some(end) = &mut self.end else { return };
        end.write(now);
        if came && self.reads_always {
            end.drain(now);
        }
    }
}
