//! The programs: when they send, and on top of a connection what writes and what reads.

use traffic::units::Serializer;
use traffic::{Bytes, Duration, Instant, Rate};
use transport::Connection;

/// When a program sends, and how much.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// When it connects, or begins to send datagrams.
    pub start: Instant,
    /// When it stops sending and closes; `Instant::NEVER` to go on to the end of the run.
    pub stop: Instant,
    /// How much payload it sends in all; `None` for as much as it can.
    pub bytes: Option<Bytes>,
}

impl Span {
    /// From the beginning of the run to its end.
    pub const ALWAYS: Self = Self { start: Instant::ZERO, stop: Instant::NEVER, bytes: None };
}

/// What the program on top of a sending connection does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Writer {
    /// When and how much.
    pub span: Span,
    /// Messages with silence between; `None` writes all the time.
    pub train: Option<Train>,
}

/// A message every so often, as an MPI program that computes and communicates in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Train {
    /// A message's size.
    pub message: Bytes,
    /// From the start of one message to the start of the next.
    pub every: Duration,
}

/// What the receiving program does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reader {
    /// The rate at which it reads; `None` reads at once whatever comes.
    pub rate: Option<Rate>,
}

/// What a slow reader takes at a time, in bytes: a page.
const READ_MAX: u64 = 4096;

/// A sending program at work. What it writes waits for room in the send buffer without its doing.
#[derive(Debug)]
pub(crate) struct Writing {
    writer: Writer,
    /// Bytes it may still write in all.
    left: u64,
    /// When the next message is due; the start, before it.
    next_message: Instant,
    closed: bool,
}

impl Writing {
    pub(crate) fn new(writer: Writer) -> Self {
        let left = writer.span.bytes.map_or(u64::MAX, |b| b.0);
        Self { writer, left, next_message: writer.span.start, closed: false }
    }

    /// Starts, writes the messages that are due, or stops.
    fn run(&mut self, connection: &mut Connection, now: Instant) {
        let Span { start, stop, .. } = self.writer.span;
        if self.closed || now < start {
            return;
        }
        if now >= stop {
            self.closed = true;
            return connection.abandon_write();
        }
        while now >= self.next_message {
            let message = self.writer.train.map_or(u64::MAX, |train| train.message.0);
            let bytes = message.min(self.left);
            self.left -= bytes;
            connection.supply(bytes, now);
            self.next_message = match self.writer.train {
                Some(train) => self.next_message + train.every.max(Duration::from_ns(1)),
                None => Instant::NEVER,
            };
        }
        if self.left == 0 {
            self.closed = true;
            connection.close(now);
        }
    }

    fn next_wakeup(&self) -> Instant {
        if self.closed {
            return Instant::NEVER;
        }
        let Span { start, stop, .. } = self.writer.span;
        self.next_message.min(stop.max(start))
    }
}

/// A program that reads at a rate.
#[derive(Debug)]
pub(crate) struct Reading {
    rate: Serializer,
    /// When it reads again; `NEVER` while there is nothing to read.
    next: Instant,
    /// Before this it is busy with what it read.
    busy_until: Instant,
}

impl Reading {
    fn run(&mut self, connection: &mut Connection, now: Instant) {
        while now >= self.busy_until && connection.readable() > 0 {
            let got = connection.read(READ_MAX.min(connection.readable()), now);
            self.busy_until = self.busy_until.max(now) + self.rate.advance(Bytes(got));
        }
        self.next = if connection.readable() > 0 { self.busy_until } else { Instant::NEVER };
    }
}

/// The program at one end of a flow.
#[derive(Debug)]
pub(crate) enum Program {
    /// Writes.
    Write(Writing),
    /// Reads at a rate.
    Read(Reading),
    /// Reads whatever comes, which takes no doing: see `Connection::read_always`.
    ReadAlways,
}

impl Program {
    /// The program of a receiving end.
    pub(crate) fn reader(reader: Reader) -> Self {
        let Some(rate) = reader.rate else { return Self::ReadAlways };
        let (next, busy_until) = (Instant::NEVER, Instant::ZERO);
        Self::Read(Reading { rate: Serializer::new(rate), next, busy_until })
    }

    /// Whether it wants to run whenever a segment came, and not only at its own times.
    #[inline]
    pub(crate) fn heeds_segments(&self) -> bool {
        matches!(self, Self::Read(_))
    }

    /// Does what is to be done at `now`.
    pub(crate) fn run(&mut self, connection: &mut Connection, now: Instant) {
        match self {
            Self::Write(writing) => writing.run(connection, now),
            Self::Read(reading) => reading.run(connection, now),
            Self::ReadAlways => {}
        }
    }

    /// When it wants to run by itself.
    #[inline]
    pub(crate) fn next_wakeup(&self) -> Instant {
        match self {
            Self::Write(writing) => writing.next_wakeup(),
            Self::Read(reading) => reading.next,
            Self::ReadAlways => Instant::NEVER,
        }
    }
}
