//! Requests and responses in turn on one connection: the client program and the server program.

mod results;

use std::any::{Any, TypeId};
use std::collections::VecDeque;

use base::setting::settings;
use base::{Bytes, Distribution, Duration, Instant, Random};
use network::application::{
    ActivePeriod, Application, INTERVAL_MIN, SocketEvent, SocketId, Sockets,
};
use network::invalid::Invalid;

use crate::workload::config::{Member, PlannedApplication, WorkloadConfig, pair};

pub use results::Exchanges;

settings! {
    required: request, response;
    /// Requests from the sending host and responses from the receiving host.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Exchange {
        /// Size of a request; a distribution is drawn for each.
        #[range(Bytes(1)..)]
        pub request: Distribution<Bytes>,
        /// Size of a response; a distribution is drawn for each.
        #[range(Bytes(1)..)]
        pub response: Distribution<Bytes>,
        /// Time between two requests. A request always waits for the previous response; no pause unless given.
        #[range(INTERVAL_MIN..)]
        pub every: Option<Duration>,
        /// Think time: from a response to the next request, in place of `every`.
        pub think: Option<Distribution<Duration>>,
        /// Number of responses after which the connection closes; no limit unless given.
        #[range(1..)]
        pub count: Option<u64>,
    }
}

impl Default for Exchange {
    fn default() -> Self {
        let nothing = Distribution::Fixed(Bytes(0));
        let (request, response) = (nothing.clone(), nothing);
        Self { request, response, every: None, think: None, count: None }
    }
}

impl WorkloadConfig for Exchange {
    fn title(&self) -> &'static str {
        "an exchange"
    }

    fn programs(&self, flows: &[Member<'_>]) -> Vec<PlannedApplication> {
        Requests::from(self).programs(&flows[0])
    }

    fn asks(&self) -> bool {
        true
    }

    fn results(&self) -> Option<TypeId> {
        Some(TypeId::of::<Exchanges>())
    }

    fn responses(&self) -> Option<u64> {
        self.count
    }

    fn check(&self) -> Result<(), Invalid> {
        if self.every.is_some() && self.think.is_some() {
            let help = "remove one of them: every counts from the request, think from the response";
            return Err(Invalid {
                setting: "think",
                message: "`think` and `every` are mutually exclusive",
                help,
            });
        }
        Ok(())
    }
}

settings! {
    /// Periodic requests and responses of one size on a separate connection, without Nagle's algorithm.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Ping {
        /// Time between two requests, which do not wait for responses; 100 ms unless given.
        #[range(INTERVAL_MIN..)]
        pub every: Duration,
        /// Size of a request and of its response; 64 B unless given.
        #[range(Bytes(1)..)]
        pub size: Bytes,
        /// Number of responses after which the connection closes; no limit unless given.
        #[range(1..)]
        pub count: Option<u64>,
    }
}

impl Default for Ping {
    fn default() -> Self {
        Self { every: Duration::from_ms(100), size: Bytes(64), count: None }
    }
}

impl WorkloadConfig for Ping {
    fn title(&self) -> &'static str {
        "a ping"
    }

    fn programs(&self, flows: &[Member<'_>]) -> Vec<PlannedApplication> {
        Requests::from(self).programs(&flows[0])
    }

    fn asks(&self) -> bool {
        true
    }

    fn results(&self) -> Option<TypeId> {
        Some(TypeId::of::<Exchanges>())
    }

    /// It measures the round trip without waiting data.
    fn nagle(&self) -> bool {
        false
    }

    fn responses(&self) -> Option<u64> {
        self.count
    }
}

/// The common settings of both kinds of workload: sizes of both messages, pace, and count.
#[derive(Clone, Debug)]
pub(crate) struct Requests {
    request: Distribution<Bytes>,
    response: Distribution<Bytes>,
    pace: Pace,
    /// The number of responses after which the connection is closed; `None` for no limit.
    count: Option<u64>,
}

impl Requests {
    fn programs(&self, flow: &Member<'_>) -> Vec<PlannedApplication> {
        let stream = (flow.names.seed, flow.names.flow);
        pair(RequestClient::new(flow.span, self, stream), RequestServer::new(self, stream))
    }
}

impl From<&Exchange> for Requests {
    fn from(exchange: &Exchange) -> Self {
        let Exchange { request, response, every, think, count } = exchange.clone();
        let pace = match (every, think) {
            (Some(every), _) => Pace::Every(every),
            (None, think) => Pace::Think(think.unwrap_or(Distribution::Fixed(Duration::ZERO))),
        };
        Self { request, response, pace, count }
    }
}

impl From<&Ping> for Requests {
    fn from(&Ping { every, size, count }: &Ping) -> Self {
        let size = Distribution::Fixed(size);
        Self { request: size.clone(), response: size, pace: Pace::Clock(every), count }
    }
}

/// The time of the next request.
#[derive(Clone, Debug)]
enum Pace {
    /// This long after the previous request, but not before its response arrived.
    Every(Duration),
    /// This long after the previous request, whether or not its response arrived: the measured path does not slow
    /// the measurement.
    Clock(Duration),
    /// This long after the response arrived, drawn for each request.
    Think(Distribution<Duration>),
}

/// The sizes of a connection's messages. Both ends draw the same ones.
#[derive(Clone, Debug)]
struct Sizes {
    of: Requests,
    requests: Random,
    responses: Random,
}

impl Sizes {
    fn new(of: Requests, (seed, name): (u64, &str)) -> Self {
        let stream = |key| Random::new(seed, &format!("{name} {key}"));
        Self { of, requests: stream("request"), responses: stream("response") }
    }

    /// The size of the next request; never 0, because the server would not notice an empty one.
    fn request(&mut self) -> u64 {
        self.of.request.draw(&mut self.requests).0.max(1)
    }

    /// The size of the next response; never 0, for the same reason.
    fn response(&mut self) -> u64 {
        self.of.response.draw(&mut self.responses).0.max(1)
    }
}

/// The client program.
#[derive(Clone, Debug)]
pub struct RequestClient {
    span: ActivePeriod,
    sizes: Sizes,
    thinking: Random,
    state: State,
    /// The requests with an outstanding response: when each was written, and how many bytes of its response are
    /// outstanding.
    awaited: VecDeque<(Instant, u64)>,
    /// When the next request is due, if it need not wait for a response.
    next: Instant,
    asked: u64,
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
    /// A program that has not started yet, of the named flow in a run with that seed.
    pub(crate) fn new(span: ActivePeriod, requests: &Requests, (seed, name): (u64, &str)) -> Self {
        Self {
            span,
            sizes: Sizes::new(requests.clone(), (seed, name)),
            thinking: Random::new(seed, &format!("{name} think")),
            state: State::Idle,
            awaited: VecDeque::new(),
            next: span.start,
            asked: 0,
            exchanges: Exchanges::default(),
        }
    }

    /// Reads responses.
    fn read(&mut self, sockets: &mut dyn Sockets) {
        loop {
            let mut bytes = sockets.read(SocketId::ONLY, u64::MAX);
            if bytes == 0 {
                return;
            }
            while let Some((asked, left)) = self.awaited.front_mut() {
                if bytes < *left {
                    *left -= bytes;
                    break;
                }
                bytes -= *left;
                let asked = *asked;
                self.awaited.pop_front();
                self.answered(asked, sockets.now());
            }
        }
    }

    /// Handles a complete response.
    fn answered(&mut self, asked: Instant, now: Instant) {
        self.exchanges.add(now - asked);
        self.next = match &self.sizes.of.pace {
            Pace::Every(every) => asked + *every,
            Pace::Clock(_) => self.next,
            Pace::Think(time) => now + time.draw(&mut self.thinking),
        };
    }

    /// Whether it has sent all its requests.
    fn is_done(&self) -> bool {
        self.sizes.of.count.is_some_and(|count| self.exchanges.completed >= count)
    }

    /// Whether a request is sent when it is due: no response is outstanding, or requests follow the clock.
    fn is_to_ask(&self) -> bool {
        let Requests { pace, count, .. } = &self.sizes.of;
        let left = count.is_none_or(|count| self.asked < count);
        left && (self.awaited.is_empty() || matches!(pace, Pace::Clock(_)))
    }

    /// Connects, writes the request that is due, or stops; an outstanding response is still read then.
    fn ask(&mut self, sockets: &mut dyn Sockets) {
        let (socket, now) = (SocketId::ONLY, sockets.now());
        if self.state == State::Idle && now >= self.span.start {
            self.state = State::Connecting;
            sockets.connect(socket);
        }
        if (now >= self.span.stop || self.is_done()) && self.state != State::Stopped {
            self.state = State::Stopped;
            return sockets.close(socket);
        }
        if self.state == State::Connected && self.is_to_ask() && now >= self.next {
            self.awaited.push_back((now, self.sizes.response()));
            self.asked += 1;
            if let Pace::Clock(every) = self.sizes.of.pace {
                // Requests missed by a late start are not made up for.
                let due = self.next + every;
                self.next = if due > now { due } else { now + every };
            }
            sockets.write(socket, self.sizes.request());
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
            State::Connected if self.is_to_ask() => self.next.min(stop),
            State::Connected => stop,
        }
    }

    fn results(&self, _: SocketId) -> Option<Box<dyn Any>> {
        Some(Box::new(self.exchanges.clone()))
    }
}

/// The server program: answers each request once it is complete.
#[derive(Clone, Debug)]
pub struct RequestServer {
    sizes: Sizes,
    /// The outstanding bytes of the request.
    awaited: u64,
}

impl RequestServer {
    /// A program without requests so far, of the flow and the seed in `stream`.
    pub(crate) fn new(requests: &Requests, stream: (u64, &str)) -> Self {
        let mut sizes = Sizes::new(requests.clone(), stream);
        let awaited = sizes.request();
        Self { sizes, awaited }
    }

    /// Takes `bytes` of received requests; returns the total length of the responses to the requests that are now
    /// complete.
    fn received(&mut self, mut bytes: u64) -> u64 {
        let mut responses = 0_u64;
        while bytes >= self.awaited {
            bytes -= self.awaited;
            self.awaited = self.sizes.request();
            responses = responses.saturating_add(self.sizes.response());
        }
        self.awaited -= bytes;
        responses
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
            sockets.write(socket, self.received(bytes));
        }
    }

    fn next_wakeup(&self) -> Instant {
        Instant::NEVER
    }
}
