//! Requests and responses in turn on one connection: the program that asks, and the one that answers.

use traffic::{Bytes, Duration, Instant};
use transport::Connection;

use crate::application::{ActivePeriod, AfterWrite, AppAction};

/// Sizes of both, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    /// A request's size; above zero.
    pub request: Bytes,
    /// A response's size; above zero.
    pub response: Bytes,
    /// From one request to the next, which waits for the response in any case; `None` asks again at once.
    pub every: Option<Duration>,
}

/// What became of the requests.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exchanges {
    /// Requests whose whole response was read.
    pub completed: u64,
    /// From writing a request to reading the last of its response: picoseconds, summed over all.
    pub sum: u128,
    /// The longest of these.
    pub max: Duration,
}

impl Exchanges {
    fn add(&mut self, time: Duration) {
        self.completed += 1;
        self.sum += u128::from(time.as_ps());
        self.max = self.max.max(time);
    }
}

/// The program that asks.
#[derive(Clone, Copy, Debug)]
pub struct RequestClient {
    span: ActivePeriod,
    exchange: Exchange,
    /// When the request was written whose response is awaited, and how much of that is still to come.
    awaited: Option<(Instant, u64)>,
    /// When the next request is due, if no response is awaited.
    next: Instant,
    /// It began to connect, and is not connected yet.
    connecting: bool,
    stopped: bool,
    exchanges: Exchanges,
}

impl RequestClient {
    /// A program that has not started yet.
    pub fn new(span: ActivePeriod, exchange: Exchange) -> Self {
        Self {
            span,
            exchange,
            awaited: None,
            next: span.start,
            connecting: false,
            stopped: false,
            exchanges: Exchanges::default(),
        }
    }

    /// `bytes` of responses were read.
    pub fn on_read(&mut self, bytes: u64, now: Instant) {
        let Some((asked, left)) = self.awaited else { return };
        self.awaited = Some((asked, left.saturating_sub(bytes)));
        if bytes >= left {
            self.exchanges.add(now - asked);
            self.awaited = None;
        }
    }

    /// Once it is connected: writes the request that is due, or stops; a response under way then is still
    /// read.
    pub fn act(&mut self, now: Instant) -> AppAction {
        if self.stopped || now < self.span.start {
            return AppAction::default();
        }
        if now >= self.span.stop {
            self.stopped = true;
            return AppAction { bytes: 0, then: AfterWrite::Closes };
        }
        if self.awaited.is_some() || now < self.next {
            return AppAction::default();
        }
        self.awaited = Some((now, self.exchange.response.0));
        self.next = now + self.exchange.every.unwrap_or(Duration::ZERO);
        AppAction { bytes: self.exchange.request.0, then: AfterWrite::Waits }
    }

    /// When it acts next by itself; `NEVER` if it will not.
    pub fn next_wakeup(&self) -> Instant {
        if self.stopped {
            return Instant::NEVER;
        }
        let stop = self.span.stop.max(self.span.start);
        let waits = self.awaited.is_some() || self.connecting;
        if waits { stop } else { self.next.min(stop) }
    }

    /// What became of its requests so far.
    pub const fn exchanges(&self) -> Exchanges {
        self.exchanges
    }

    pub(crate) fn run(&mut self, connection: &mut Connection, now: Instant) {
        let ActivePeriod { start, stop, .. } = self.span;
        self.connecting = (start..stop).contains(&now) && !connection.is_established();
        if self.connecting {
            return;
        }
        let got = connection.read(connection.readable(), now);
        self.on_read(got, now);
        let AppAction { bytes, then } = self.act(now);
        if bytes > 0 {
            connection.supply(bytes, now);
        }
        if then == AfterWrite::Closes {
            connection.close(now);
        }
    }
}

/// The program that answers every request when all of it came.
#[derive(Clone, Copy, Debug)]
pub struct RequestServer {
    exchange: Exchange,
    /// Of the request that is coming in.
    heard: u64,
}

impl RequestServer {
    /// A program that has heard nothing yet.
    pub const fn new(exchange: Exchange) -> Self {
        Self { exchange, heard: 0 }
    }

    /// `bytes` of requests were read; returns how much it writes for that.
    pub fn on_read(&mut self, bytes: u64) -> u64 {
        let heard = self.heard + bytes;
        let request = self.exchange.request.0.max(1);
        self.heard = heard % request;
        (heard / request).saturating_mul(self.exchange.response.0)
    }

    pub(crate) fn run(&mut self, connection: &mut Connection, now: Instant) {
        let got = connection.read(connection.readable(), now);
        let bytes = self.on_read(got);
        if bytes > 0 {
            connection.supply(bytes, now);
        }
    }
}
