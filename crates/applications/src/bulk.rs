//! Bulk transfer: writes as much as it can, or a message every so often.

use base::setting::settings;
use base::setting::{Setting, Settings, Value};
use base::{Bytes, Duration, Instant};
use network::application::{
    ActivePeriod, Application, INTERVAL_MIN, SocketEvent, SocketId, Sockets,
};

use crate::sink::Sink;
use crate::workload::config::{Member, PlannedApplication, WorkloadConfig, pair};

settings! {
    required: message, every;
    /// Periodic messages, as of an MPI program that alternates between computing and communicating.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub struct Train {
        /// Size of a message.
        #[range(Bytes(1)..)]
        pub message: Bytes,
        /// Time between the starts of two messages.
        #[range(INTERVAL_MIN..)]
        pub every: Duration,
    }
}

/// Writing as much as possible, without settings.
#[derive(Clone, Copy, Debug)]
pub struct Bulk;

impl Settings for Bulk {
    fn settings(&self) -> Vec<Setting> {
        Vec::new()
    }

    fn get(&self, _: &str) -> Option<Value> {
        None
    }

    fn set(&mut self, _: &str, _: Value) -> bool {
        false
    }
}

impl WorkloadConfig for Bulk {
    fn title(&self) -> &'static str {
        "bulk"
    }

    fn programs(&self, flows: &[Member<'_>]) -> Vec<PlannedApplication> {
        pair(BulkSender::new(flows[0].span, None), Sink::new(flows[0].reader))
    }

    fn sets_data(&self) -> bool {
        false
    }

    fn is_greedy(&self) -> bool {
        true
    }

    fn draws(&self) -> bool {
        false
    }
}

impl WorkloadConfig for Train {
    fn title(&self) -> &'static str {
        "a train"
    }

    fn programs(&self, flows: &[Member<'_>]) -> Vec<PlannedApplication> {
        pair(BulkSender::new(flows[0].span, Some(*self)), Sink::new(flows[0].reader))
    }

    fn sets_data(&self) -> bool {
        false
    }

    fn draws(&self) -> bool {
        false
    }
}

/// The program that writes.
#[derive(Clone, Copy, Debug)]
pub struct BulkSender {
    span: ActivePeriod,
    train: Option<Train>,
    /// The remaining bytes that it may write.
    left: u64,
    /// The time of the next message: the start before the first one; `NEVER` after the last.
    next_message: Instant,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    Connecting,
    Writing,
    Stopped,
}

impl BulkSender {
    /// A program that has not started yet; without a train it writes continuously.
    pub fn new(span: ActivePeriod, train: Option<Train>) -> Self {
        let left = span.bytes.map_or(u64::MAX, |b| b.0);
        Self { span, train, left, next_message: span.start, state: State::Idle }
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
        let (socket, now) = (SocketId::ONLY, sockets.now());
        match (event, self.state) {
            (SocketEvent::Timer, State::Idle) if now >= self.span.start => {
                self.state = State::Connecting;
                sockets.connect(socket);
            }
            (SocketEvent::Connected(_), State::Connecting) => {
                self.state = State::Writing;
                sockets.read_always(socket);
            }
            _ => {}
        }
        let begun = matches!(self.state, State::Connecting | State::Writing);
        if begun && now >= self.span.stop {
            self.state = State::Stopped;
            return sockets.abandon(socket);
        }
        if self.state == State::Writing {
            sockets.write(socket, self.due(now));
            if self.left == 0 {
                sockets.close(socket);
            }
        }
    }

    fn next_wakeup(&self) -> Instant {
        let stop = self.span.stop.max(self.span.start);
        match self.state {
            State::Idle => self.span.start,
            State::Connecting => stop,
            State::Writing => self.next_message.min(stop),
            State::Stopped => Instant::NEVER,
        }
    }
}
