//! Applications: programs over sockets. The same code runs over modelled TCP and over a kernel's.

use core::any::Any;
use core::fmt::Debug;

use base::{Bytes, Duration, Instant};
use transport::{Connection, LimitedTimes, OptionError, SocketOption};

/// The shortest time from one thing that a program does to the next: a full frame at 100 Gbit/s.
pub const INTERVAL_MIN: Duration = Duration::from_ns(100);

/// When a program sends, and how much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActivePeriod {
    /// The time at which it connects, or begins to send datagrams.
    pub start: Instant,
    /// The time at which it stops sending and closes; `Instant::NEVER` to continue to the end of the run.
    pub stop: Instant,
    /// The total payload that it sends; `None` for as much as it can.
    pub bytes: Option<Bytes>,
}

impl ActivePeriod {
    /// The whole run.
    pub const ALWAYS: Self = Self { start: Instant::ZERO, stop: Instant::NEVER, bytes: None };
}

/// A socket of an application. Sockets are numbered from 0 in the order in which the application receives them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SocketId(pub u32);

impl SocketId {
    /// The only socket of an application with one socket.
    pub const ONLY: Self = Self(0);
}

/// An event that an application receives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketEvent {
    /// The time from [`Application::next_wakeup`] has come.
    Timer,
    /// A connection that it asked for is established.
    Connected(SocketId),
    /// A peer connects. Data written now is sent once the connection is established.
    Accepted(SocketId),
    /// Data arrived. The event repeats only when more data arrives; the application uses its own timer to read the
    /// rest later.
    Readable(SocketId),
    /// The send buffer holds all that was written.
    Writable(SocketId),
    /// The peer has closed, and all that it sent was read.
    PeerClosed(SocketId),
    /// The connection was refused or reset, or timed out.
    Failed(SocketId),
    /// A datagram of that many bytes arrived.
    Datagram(SocketId, u32),
}

/// The times for which the two ends of a connection could not send pending data, so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// The application's own end.
    pub own: LimitedTimes,
    /// The peer's end, as of the last data that it sent.
    pub peer: LimitedTimes,
    /// The minimum round trip time; zero before the first sample.
    pub min_rtt: Duration,
}

impl ConnectionLimits {
    /// The limits of a modelled connection until `now`.
    pub(crate) fn of(connection: &Connection, now: Instant) -> Self {
        Self {
            own: connection.limited_times(now),
            peer: *connection.peer_limited_times(),
            min_rtt: connection.min_rtt(),
        }
    }
}

/// The socket interface of an application. A call on a socket that is not open has no effect.
pub trait Sockets {
    /// The time.
    fn now(&self) -> Instant;

    /// Connects to the socket's peer, which the plan has fixed.
    fn connect(&mut self, socket: SocketId);

    /// Writes `bytes` bytes, `u64::MAX` for unlimited data. Data that does not fit into the send buffer at once
    /// enters it as space becomes free; [`SocketEvent::Writable`] signals that all is in the buffer.
    fn write(&mut self, socket: SocketId, bytes: u64);

    /// Sends a datagram of `bytes` bytes on a datagram socket. A datagram that the interface's queue refuses is
    /// lost.
    fn send(&mut self, socket: SocketId, bytes: u32);

    /// The number of the datagram of the present [`SocketEvent::Datagram`]: from 0, in the order in which its sender
    /// sent them, if all have the same size.
    fn datagram_number(&self, _socket: SocketId) -> u64 {
        0
    }

    /// Discards written data that is not in the send buffer yet, and closes.
    fn abandon(&mut self, socket: SocketId);

    /// Closes once all written data is sent. The peer may continue to send.
    fn close(&mut self, socket: SocketId);

    /// Reads up to `most` bytes; returns how many.
    fn read(&mut self, socket: SocketId, most: u64) -> u64;

    /// Whether there may be something to read.
    fn is_readable(&self, socket: SocketId) -> bool;

    /// Reads all data as it arrives, from now on. [`SocketEvent::Readable`], [`SocketEvent::Writable`] and
    /// [`SocketEvent::Datagram`] are no longer delivered.
    fn read_always(&mut self, socket: SocketId);

    /// Makes the connection count its limits, for [`Sockets::limits`].
    fn count_limits(&mut self, _socket: SocketId) {}

    /// What limited a connection; all zero where the stack does not report it.
    fn limits(&self, _socket: SocketId) -> ConnectionLimits {
        ConnectionLimits::default()
    }

    /// Sets an option at any time. An option set before the connection is opened applies from its start.
    ///
    /// # Errors
    /// If this stack has no such option, the value is invalid, or the connection is over.
    fn set_option(&mut self, socket: SocketId, option: &SocketOption) -> Result<(), OptionError>;
}

/// A program with any number of connections and datagram sockets.
pub trait Application: Debug + Send {
    /// Handles an event.
    fn handle(&mut self, event: SocketEvent, sockets: &mut dyn Sockets);

    /// The time of the next [`SocketEvent::Timer`]; `Instant::NEVER` for none. The host queries it after each
    /// event; the time is later than that event's.
    fn next_wakeup(&self) -> Instant;

    /// What it counts besides what its sockets do, if anything, as a type of its crate; of several connections those
    /// that concern this socket.
    fn results(&self, _socket: SocketId) -> Option<Box<dyn Any>> {
        None
    }
}
