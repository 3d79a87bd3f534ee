//! Requests and responses in turn on one connection: the program that asks, and the one that answers.

use traffic::{Bytes, Duration, Instant};

use crate::application::{ActivePeriod, Application, SocketEvent, SocketId, Sockets};

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
    state: State,
    /// When the request was written whose response is awaited, and how much of that is still to come.
    awaited: Option<(Instant, u64)>,
    /// When the next request is due, if no response is awaited.
    next: Instant,
    exchanges: Exchanges,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    Connecting,
    Connected,
    Stopped,
}

impl RequestClient {
    /// A program that has not started yet.
    pub fn new(span: ActivePeriod, exchange: Exchange) -> Self {
        let (state, exchanges) = (State::Idle, Exchanges::default());
        Self { span, exchange, state, awaited: None, next: span.start, exchanges }
    }

    /// Reads responses.
    fn read(&mut self, sockets: &mut dyn Sockets) {
        loop {
            let bytes = sockets.read(SocketId::ONLY, u64::MAX);
            if bytes == 0 {
                return;
            }
            let Some((asked, left)) = self.awaited else { continue };
            self.awaited = Some((asked, left.saturating_sub(bytes)));
            if bytes >= left {
                self.exchanges.add(sockets.now() - asked);
                self.awaited = None;
            }
        }
    }

    /// Connects, writes the request that is due, or stops; a response under way then is still read.
    fn ask(&mut self, sockets: &mut dyn Sockets) {
        let (socket, now) = (SocketId::ONLY, sockets.now());
        if self.state == State::Idle && now >= self.span.start {
            self.state = State::Connecting;
            sockets.connect(socket);
        }
        if now >= self.span.stop && self.state != State::Stopped {
            self.state = State::Stopped;
            return sockets.close(socket);
        }
        if self.state == State::Connected && self.awaited.is_none() && now >= self.next {
            self.awaited = Some((now, self.exchange.response.0));
            self.next = now + self.exchange.every.unwrap_or(Duration::ZERO);
            sockets.write(socket, self.exchange.request.0);
        }
    }
}

impl Application for RequestClient {
    fn handle(&mut self, event: SocketEvent, sockets: &mut dyn Sockets) {
        match event {
            SocketEvent::Connected(_) if self.state == State::Connecting => {
                self.state = State::Connected;
            }
            SocketEvent::Readable(_) => self.read(sockets),
            _ => {}
        }
        self.ask(sockets);
    }

    fn next_wakeup(&self) -> Instant {
        let stop = self.span.stop.max(self.span.start);
        match self.state {
            State::Stopped => Instant::NEVER,
            State::Connecting => stop,
            State::Idle => self.span.start,
            State::Connected if self.awaited.is_some() => stop,
            State::Connected => self.next.min(stop),
        }
    }

    fn exchanges(&self) -> Option<Exchanges> {
        Some(self.exchanges)
    }
}

/// The program that answers every request when all of it came.
#[derive(Clone, Copy, Debug)]
pub struct RequestServer {
    exchange: Exchange,
    /// Of the request that is coming in.
    received: u64,
}

impl RequestServer {
    /// A program that nobody has asked yet.
    pub const fn new(exchange: Exchange) -> Self {
        Self { exchange, received: 0 }
    }
}

impl Application for RequestServer {
    fn handle(&mut self, event: SocketEvent, sockets: &mut dyn Sockets) {
        let socket = match event {
            SocketEvent::Readable(socket) => socket,
            SocketEvent::PeerClosed(socket) => return sockets.close(socket),
            _ => return,
        };
        loop {
            let bytes = sockets.read(socket, u64::MAX);
            if bytes == 0 {
                return;
            }
            let received = self.received + bytes;
            let request = self.exchange.request.0.max(1);
            self.received = received % request;
            let responses = received / request;
            if responses > 0 {
                sockets.write(socket, responses.saturating_mul(self.exchange.response.0));
            }
        }
    }

    fn next_wakeup(&self) -> Instant {
        Instant::NEVER
    }
}
