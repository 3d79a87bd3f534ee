//! The programs on top of a connection: what writes and what reads.

use traffic::units::Serializer;
use traffic::{Bytes, Duration, Instant, Rate};
use transport::Connection;

/// What the sending program does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Writer {
    /// When it connects.
    pub start: Instant,
    /// When it stops writing and closes; `Instant::NEVER` to go on to the end of the run.
    pub stop: Instant,
    /// How much it writes in all; `None` for as much as it can.
    pub bytes: Option<Bytes>,
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

/// A sending program at work.
#[derive(Debug)]
pub(crate) struct Writing {
    writer: Writer,
    /// Bytes it may still write in all.
    left: u64,
    /// Bytes of the current message not yet written.
    message: u64,
    /// When the next message is due; the start, before it.
    next_message: Instant,
    started: bool,
    closed: bool,
}

impl Writing {
    pub(crate) fn new(writer: Writer) -> Self {
        let left = writer.bytes.map_or(u64::MAX, |b| b.0);
        let next_message = writer.start;
        Self { writer, left, message: 0, next_message, started: false, closed: false }
    }

    /// Whether it has opened its connection.
    pub(crate) fn started(&self) -> bool {
        self.started
    }

    /// Writes what the connection takes.
    #[inline]
    pub(crate) fn run(&mut self, connection: &mut Connection, now: Instant) {
        if self.closed || now < self.writer.start {
            return;
        }
        self.started = true;
        if now >= self.writer.stop || self.left == 0 {
            self.closed = true;
            connection.close(now);
            return;
        }
        if now >= self.next_message {
            self.next_message(now);
        }
        let want = self.message.min(self.left);
        if want > 0 {
            let wrote = connection.write(want, now);
            self.left -= wrote;
            self.message -= wrote;
            if self.left == 0 {
                self.closed = true;
                connection.close(now);
            }
        }
    }

    /// Starts the message that is due; a bulk writer's only message has no end.
    fn next_message(&mut self, now: Instant) {
        match self.writer.train {
            None => {
                self.message = u64::MAX;
                self.next_message = Instant::NEVER;
            }
            Some(train) => {
                while now >= self.next_message {
                    self.message = self.message.saturating_add(train.message.0);
                    self.next_message += train.every.max(Duration::from_ns(1));
                }
            }
        }
    }

    pub(crate) fn next_wakeup(&self) -> Instant {
        match (self.closed, self.started) {
            (true, _) => Instant::NEVER,
            (false, false) => self.writer.start,
            (false, true) => self.next_message.min(self.writer.stop),
        }
    }
}

/// A receiving program at work.
#[derive(Debug)]
pub(crate) struct Reading {
    rate: Option<Serializer>,
    /// When a slow reader reads again; `NEVER` while there is nothing to read.
    next: Instant,
    /// Before this it is busy with what it read.
    busy_until: Instant,
    read: u64,
    /// When it last read something.
    read_at: Instant,
}

impl Reading {
    pub(crate) fn new(reader: Reader) -> Self {
        Self {
            rate: reader.rate.map(Serializer::new),
            next: Instant::NEVER,
            busy_until: Instant::ZERO,
            read: 0,
            read_at: Instant::ZERO,
        }
    }

    /// Bytes it has read, and when it read the last of them.
    pub(crate) fn progress(&self) -> (u64, Instant) {
        (self.read, self.read_at)
    }

    #[inline]
    pub(crate) fn run(&mut self, connection: &mut Connection, now: Instant) {
        let Some(rate) = &mut self.rate else {
            let ready = connection.readable();
            if ready > 0 {
                self.read += connection.read(ready, now);
                self.read_at = now;
            }
            return;
        };
        while now >= self.busy_until && connection.readable() > 0 {
            let got = connection.read(READ_MAX.min(connection.readable()), now);
            self.read += got;
            self.read_at = now;
            self.busy_until = self.busy_until.max(now) + rate.advance(Bytes(got));
        }
        self.next = if connection.readable() > 0 { self.busy_until } else { Instant::NEVER };
    }

    pub(crate) fn next_wakeup(&self) -> Instant {
        self.next
    }
}
