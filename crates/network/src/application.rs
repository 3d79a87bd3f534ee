//! Applications: programs over sockets. The same text runs over modelled TCP and over a kernel's.

use core::fmt::Debug;

use traffic::{Bytes, Duration, Instant};
use transport::{Connection, LimitedTimes, OptionError, SocketOption};

use crate::event_builder::Events;
use crate::exchange::Exchanges;
use crate::mpi::rank::RankTotals;

/// When a program sends, and how much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ActivePeriod {
    /// When it connects, or begins to send datagrams.
    pub start: Instant,
    /// When it stops sending and closes; `Instant::NEVER` to go on to the end of the run.
    pub stop: Instant,
    /// How much payload it sends in all; `None` for as much as it can.
    pub bytes: Option<Bytes>,
}

impl ActivePeriod {
    /// From the beginning of the run to its end.
    pub const ALWAYS: Self = Self { start: Instant::ZERO, stop: Instant::NEVER, bytes: None };
}

/// A socket of an application: they are numbered from 0 in the order in which it was given them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SocketId(pub u32);

impl SocketId {
    /// The only one of an application that has one.
    pub const ONLY: Self = Self(0);
}

/// What an application is told.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SocketEvent {
    /// The time has come that [`Application::next_wakeup`] named.
    Timer,
    /// A connection that it asked for is established.
    Connected(SocketId),
    /// A peer connects. What is written now goes out once the connection is established.
    Accepted(SocketId),
    /// Something came. It is told again only when more comes: what is left for later is left to the
    /// application's own timer.
    Readable(SocketId),
    /// The send buffer took all that was written.
    Writable(SocketId),
    /// The peer has closed, and all that it sent was read.
    PeerClosed(SocketId),
    /// The connection was refused or reset, or timed out.
    Failed(SocketId),
    /// A datagram came, of so many bytes.
    Datagram(SocketId, u32),
}

/// For how long the two ends of a connection could not send what they had to send, so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ConnectionLimits {
    /// The application's own end.
    pub own: LimitedTimes,
    /// The peer's, when it sent what came last.
    pub peer: LimitedTimes,
    /// The least round trip time; zero before the first sample.
    pub min_rtt: Duration,
}

impl ConnectionLimits {
    /// Those of a modelled connection until `now`.
    pub(crate) fn of(connection: &Connection, now: Instant) -> Self {
        Self {
            own: connection.limited_times(now),
            peer: *connection.peer_limited_times(),
            min_rtt: connection.min_rtt(),
        }
    }
}

/// What an application acts through. On a socket that is not open, or no longer, nothing happens.
pub trait Sockets {
    /// The time.
    fn now(&self) -> Instant;

    /// Connects to the socket's peer, which the plan has fixed.
    fn connect(&mut self, socket: SocketId);

    /// Writes `bytes`, `u64::MAX` for without end. What the send buffer does not take at once enters it as
    /// room comes up; [`SocketEvent::Writable`] says when all is there.
    fn write(&mut self, socket: SocketId, bytes: u64);

    /// Sends a datagram of so many bytes, on a socket of datagrams. What the interface's queue refuses is lost.
    fn send(&mut self, socket: SocketId, bytes: u32);

    /// Gives up what was written and the send buffer has not taken yet, and closes.
    fn abandon(&mut self, socket: SocketId);

    /// Closes, once all that was written is sent. The peer may go on sending.
    fn close(&mut self, socket: SocketId);

    /// Reads up to `most` bytes; returns how many.
    fn read(&mut self, socket: SocketId, most: u64) -> u64;

    /// Whether there may be something to read.
    fn is_readable(&self, socket: SocketId) -> bool;

    /// From now on reads whatever comes as soon as it does. [`SocketEvent::Readable`],
    /// [`SocketEvent::Writable`] and [`SocketEvent::Datagram`] are no longer told.
    fn read_always(&mut self, socket: SocketId);

    /// Has the connection count what limits it: it is to be asked for.
    fn count_limits(&mut self, _socket: SocketId) {}

    /// What limited a connection; all zero where the stack does not tell.
    fn limits(&self, _socket: SocketId) -> ConnectionLimits {
        ConnectionLimits::default()
    }

    /// Sets an option, at any moment; before the connection is opened, it has it from the start.
    ///
    /// # Errors
    /// If this stack has no such option, or the value cannot be, or the connection is over.
    fn set_option(&mut self, socket: SocketId, option: &SocketOption) -> Result<(), OptionError>;
}

/// A program, with any number of connections and sockets of datagrams.
pub trait Application: Debug + Send {
    /// Something happened.
    fn handle(&mut self, event: SocketEvent, sockets: &mut dyn Sockets);

    /// When it wants to be told of [`SocketEvent::Timer`]; `Instant::NEVER` if at no time. It is asked after
    /// each event, and the time is later than that event's.
    fn next_wakeup(&self) -> Instant;

    /// What became of its requests, if it makes any.
    fn exchanges(&self) -> Option<Exchanges> {
        None
    }

    /// What became of the events that it builds, with the fragments that came by that socket, if it builds any.
    fn events(&self, _socket: SocketId) -> Option<Events> {
        None
    }

    /// What became of it, if it is a rank of an MPI job.
    fn rank(&self) -> Option<RankTotals> {
        None
    }
}
