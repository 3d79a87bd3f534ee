//! The programs: when they send, and on top of a connection what writes and what reads.

use traffic::units::Serializer;
use traffic::{Bytes, Duration, Instant, Rate};
use transport::Connection;

use crate::exchange::{RequestClient, RequestServer};

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

/// What the program on top of a sending connection does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Writer {
    /// When and how much.
    pub span: ActivePeriod,
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
pub const READ_MAX: u64 = 4096;

/// What a sending program does when its time has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AppAction {
    /// What it begins to write, in bytes; `u64::MAX` for as much as it can.
    pub bytes: u64,
    /// What it does then.
    pub then: AfterWrite,
}

/// What a sending program does after it has written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum AfterWrite {
    /// It will write again.
    #[default]
    Waits,
    /// It closes, once all is written.
    Closes,
    /// It gives up what the send buffer has not taken yet, and closes.
    GivesUp,
}

/// A sending program at work. What it writes waits for room in the send buffer without its doing.
#[derive(Clone, Copy, Debug)]
pub struct BulkSender {
    span: ActivePeriod,
    train: Option<Train>,
    /// Bytes it may still write in all.
    left: u64,
    /// When the next message is due: the start, before it; `NEVER` after the last.
    next_message: Instant,
    stopped: bool,
}

impl BulkSender {
    /// A program that has not started yet.
    pub fn new(Writer { span, train }: Writer) -> Self {
        let left = span.bytes.map_or(u64::MAX, |b| b.0);
        Self { span, train, left, next_message: span.start, stopped: false }
    }

    /// Starts, writes the messages that are due, or stops.
    pub fn act(&mut self, now: Instant) -> AppAction {
        if self.stopped || now < self.span.start {
            return AppAction::default();
        }
        if now >= self.span.stop {
            self.stopped = true;
            return AppAction { bytes: 0, then: AfterWrite::GivesUp };
        }
        let mut act = AppAction::default();
        while now >= self.next_message {
            let bytes = self.train.map_or(u64::MAX, |train| train.message.0).min(self.left);
            act.bytes = act.bytes.saturating_add(bytes);
            self.left -= bytes;
            self.next_message = match self.train {
                Some(train) if self.left > 0 => {
                    self.next_message + train.every.max(Duration::from_ns(1))
                }
                _ => Instant::NEVER,
            };
            if self.left == 0 {
                act.then = AfterWrite::Closes;
            }
        }
        act
    }

    fn run(&mut self, connection: &mut Connection, now: Instant) {
        let AppAction { bytes, then } = self.act(now);
        connection.supply(bytes, now);
        match then {
            AfterWrite::Waits => {}
            AfterWrite::Closes => connection.close(now),
            AfterWrite::GivesUp => connection.abandon_write(),
        }
    }

    /// When it acts next; `NEVER` if it will not.
    pub fn next_wakeup(&self) -> Instant {
        if self.stopped {
            return Instant::NEVER;
        }
        self.next_message.min(self.span.stop.max(self.span.start))
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
    Write(BulkSender),
    /// Reads at a rate.
    Read(Reading),
    /// Reads whatever comes, which takes no doing: see `Connection::read_always`.
    ReadAlways,
    /// Writes requests and reads responses.
    Ask(RequestClient),
    /// Reads requests and writes responses.
    Answer(RequestServer),
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
    pub(crate) fn wants_segments(&self) -> bool {
        matches!(self, Self::Read(_) | Self::Ask(_) | Self::Answer(_))
    }

    /// Does what is to be done at `now`.
    pub(crate) fn run(&mut self, connection: &mut Connection, now: Instant) {
        match self {
            Self::Write(writing) => writing.run(connection, now),
            Self::Read(reading) => reading.run(connection, now),
            Self::ReadAlways => {}
            Self::Ask(asking) => asking.run(connection, now),
            Self::Answer(answering) => answering.run(connection, now),
        }
    }

    /// When it wants to run by itself.
    #[inline]
    pub(crate) fn next_wakeup(&self) -> Instant {
        match self {
            Self::Write(writing) => writing.next_wakeup(),
            Self::Read(reading) => reading.next,
            Self::Ask(asking) => asking.next_wakeup(),
            Self::ReadAlways | Self::Answer(_) => Instant::NEVER,
        }
    }
}
