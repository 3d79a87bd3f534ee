//! Bulk transfer: writes as much as it can, or a message every so often.

use traffic::{Bytes, Duration, Instant};

use crate::application::{ActivePeriod, Application, SocketEvent, SocketId, Sockets};

/// A message every so often, as an MPI program that computes and communicates in turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Train {
    /// A message's size.
    pub message: Bytes,
    /// From the start of one message to the start of the next.
    pub every: Duration,
}

/// The program that writes.
#[derive(Clone, Copy, Debug)]
pub struct BulkSender {
    span: ActivePeriod,
    train: Option<Train>,
    /// Bytes it may still write in all.
    left: u64,
    /// When the next message is due: the start, before it; `NEVER` after the last.
    next_message: Instant,
    connected: bool,
    stopped: bool,
}

impl BulkSender {
    /// A program that has not started yet; without a train it writes all the time.
    pub fn new(span: ActivePeriod, train: Option<Train>) -> Self {
        let left = span.bytes.map_or(u64::MAX, |b| b.0);
        Self { span, train, left, next_message: span.start, connected: false, stopped: false }
    }

    /// The bytes of the messages that are due.
    fn due(&mut self, now: Instant) -> u64 {
        let mut due = 0_u64;
        while now >= self.next_message {
            let bytes = self.train.map_or(u64::MAX, |train| train.message.0).min(self.left);
            due = due.saturating_add(bytes);
            self.left -= bytes;
            self.next_message = match self.train {
                Some(train) if self.left > 0 => {
                    self.next_message + train.every.max(Duration::from_ns(1))
                }
                _ => Instant::NEVER,
            };
        }
        due
    }
}

impl Application for BulkSender {
    fn handle(&mut self, event: SocketEvent, sockets: &mut dyn Sockets) {
        let now = sockets.now();
        if event != SocketEvent::Timer || self.stopped || now < self.span.start {
            return;
        }
        let socket = SocketId::ONLY;
        if !self.connected {
            self.connected = true;
            sockets.connect(socket);
            sockets.read_always(socket);
        }
        if now >= self.span.stop {
            self.stopped = true;
            return sockets.abandon(socket);
        }
        sockets.write(socket, self.due(now));
        if self.left == 0 {
            sockets.close(socket);
        }
    }

    fn next_wakeup(&self) -> Instant {
        if self.stopped {
            return Instant::NEVER;
        }
        self.next_message.min(self.span.stop.max(self.span.start))
    }
}
