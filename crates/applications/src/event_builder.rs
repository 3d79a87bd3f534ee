//! Data acquisition: every source sends its fragment of each event to one event builder.
//!
//! A trigger starts an event in all sources at once. With push a source sends its fragment when the trigger comes; with pull
//! the builder asks each source for it, for a bounded number of events at a time. An event is complete when the builder has
//! read the fragments of all sources. The two architectures are those of the LHC experiments' networks (G. Jereczek,
//! G. Lehmann Miotto and D. Malone, "Analogues between tuning TCP for data acquisition and datacenter networks", ICC 2015).

mod results;

use std::any::{Any, TypeId};
use std::collections::VecDeque;

use base::setting::{choice, settings};
use base::{Bytes, Distribution, Duration, Instant, Random};
use network::application::{
    ActivePeriod, Application, INTERVAL_MIN, SocketEvent, SocketId, Sockets,
};
use network::invalid::Invalid;

use crate::workload::config::{
    FlowEnd, Member, Names, PlannedApplication, Sharing, WorkloadConfig,
};

pub use results::Events;

settings! {
    required: fragment;
    /// Data acquisition: at each trigger, every source sends a fragment of an event to one event builder, without
    /// Nagle's algorithm.
    #[derive(Clone, Debug, PartialEq, Eq)]
    pub struct Readout {
        /// Size of a fragment; a distribution is drawn for each source and event.
        #[range(Bytes(1)..)]
        pub fragment: Distribution<Bytes>,
        /// Time between two triggers, which all sources share: a constant time makes them periodic, "exponential 1
        /// ms" makes a Poisson process; set by the flow's `load` unless given.
        #[range(INTERVAL_MIN..)]
        pub every: Option<Distribution<Duration>>,
        /// Readout mode: "push", where each source sends its fragment at the trigger, or "pull", where the builder
        /// requests it from each source; "push" unless given.
        pub mode: Mode,
        /// With push, the time over which the sources' transmissions are spread: source i of N starts (i - 1)/N of it
        /// after the trigger; all at once unless given.
        pub spread: Option<Duration>,
        /// With pull, the maximum number of events requested and not yet complete; 1 unless given.
        #[range(1..)]
        pub credits: Option<u64>,
        /// With pull, the maximum number of fragments requested and not yet read; those of all credits unless given.
        #[range(1..)]
        pub requests_max: Option<u64>,
        /// With pull, the size of a request for a fragment; 64 B unless given.
        #[range(Bytes(1)..)]
        pub request: Option<Bytes>,
        /// Deadline after the trigger: a fragment read later counts as late; none unless given.
        pub deadline: Option<Duration>,
        /// Number of events after which the connections close; no limit unless given.
        #[range(1..)]
        pub count: Option<u64>,
    }
}

choice! {
    /// The side that decides when a fragment is sent.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
    pub enum Mode {
        /// The source, when the trigger comes.
        #[default]
        Push = "push",
        /// The builder, which requests it.
        Pull = "pull",
    }
}

impl Default for Readout {
    fn default() -> Self {
        Self {
            fragment: Distribution::Fixed(Bytes(0)),
            every: None,
            mode: Mode::Push,
            spread: None,
            credits: None,
            requests_max: None,
            request: None,
            deadline: None,
            count: None,
        }
    }
}

/// The size of a request for a fragment, unless given.
const REQUEST: Bytes = Bytes(64);

impl WorkloadConfig for Readout {
    fn title(&self) -> &'static str {
        "events"
    }

    fn sharing(&self) -> Sharing {
        Sharing::Receiver
    }

    /// The sources, with their builder after the first one.
    fn programs(&self, flows: &[Member<'_>]) -> Vec<PlannedApplication> {
        let source = |(flow, member): (usize, &Member<'_>)| {
            let source = self.source(member.span, (flow, flows.len()), member.names);
            PlannedApplication::new(source, vec![FlowEnd { flow, end: 0 }])
        };
        let mut programs: Vec<_> = flows.iter().enumerate().map(source).collect();
        let builder = self.builder(flows[0].span, flows.iter().map(|flow| flow.names));
        let sockets = (0..flows.len()).map(|flow| FlowEnd { flow, end: 1 }).collect();
        programs.insert(1, PlannedApplication::new(builder, sockets));
        programs
    }

    fn burst(&self) -> Option<(Bytes, Option<Duration>)> {
        Some((self.fragment.mean(), self.every.as_ref().map(Distribution::mean)))
    }

    fn both_write(&self) -> bool {
        self.mode == Mode::Pull
    }

    fn results(&self) -> Option<TypeId> {
        Some(TypeId::of::<Events>())
    }

    fn lacking(&self, quantity: &str) -> Option<[&'static str; 2]> {
        let lacks = quantity == "fragments_late" && self.deadline.is_none();
        lacks.then_some(["deadline for its fragments", "give its events a `deadline`"])
    }

    /// The end of a fragment does not wait for the ACK of earlier data.
    fn nagle(&self) -> bool {
        false
    }

    fn check(&self) -> Result<(), Invalid> {
        if self.every.as_ref().is_some_and(|every| every.mean() < INTERVAL_MIN) {
            let (message, help) = ("triggers come too fast", "set the mean to at least 100 ns");
            return Err(Invalid { setting: "every", message, help });
        }
        let pull = self.mode == Mode::Pull;
        let refused = [
            (self.spread.is_some() && pull, "spread", "`spread` with pull"),
            (self.credits.is_some() && !pull, "credits", "`credits` without pull"),
            (self.requests_max.is_some() && !pull, "requests_max", "`requests_max` without pull"),
            (self.request.is_some() && !pull, "request", "`request` without pull"),
        ];
        match refused.into_iter().find(|(refused, ..)| *refused) {
            Some((_, setting, message)) => {
                let help = if pull { "remove it, or `mode`" } else { "add mode = \"pull\"" };
                Err(Invalid { setting, message, help })
            }
            None => Ok(()),
        }
    }
}

impl Readout {
    /// The program of source `index` (counted from 0) of `sources`.
    pub fn source(
        &self,
        span: ActivePeriod,
        (index, sources): (usize, usize),
        names: Names<'_>,
    ) -> EventSource {
        let spread = u128::from(self.spread.unwrap_or_default().as_ps());
        let offset = spread * index as u128 / sources.max(1) as u128;
        EventSource {
            start: span.start,
            triggers: Triggers::new(self, span, names),
            fragments: Fragments::new(self, names),
            offset: Duration::from_ps(offset as u64),
            request: self.requests(),
            received: 0,
            state: State::Idle,
        }
    }

    /// The program with the receiving ends of the flows `names`, in the same order.
    pub fn builder<'n>(
        &self,
        span: ActivePeriod,
        names: impl IntoIterator<Item = Names<'n>>,
    ) -> EventBuilder {
        let mut triggers = None;
        let source = |names: Names<'_>| {
            triggers.get_or_insert_with(|| Triggers::new(self, span, names));
            let mut fragments = Fragments::new(self, names);
            let left = fragments.next();
            Source { fragments, left, event: 0, late: 0 }
        };
        let sources: Vec<Source> = names.into_iter().map(source).collect();
        let pull = self.requests().map(|request| Pull {
            request,
            credits: self.credits.unwrap_or(1),
            requests_max: self.requests_max.unwrap_or(u64::MAX),
            connected: 0,
            next: sources.len(),
            outstanding: 0,
        });
        EventBuilder {
            sources,
            triggers: triggers.unwrap_or_else(Triggers::none),
            deadline: self.deadline,
            pull,
            pending: VecDeque::new(),
            built: Events::default(),
        }
    }

    /// The size of requests, if the builder sends requests.
    fn requests(&self) -> Option<u64> {
        (self.mode == Mode::Pull).then(|| self.request.unwrap_or(REQUEST).0)
    }
}

/// The times of the triggers. All programs draw the same ones.
#[derive(Clone, Debug)]
struct Triggers {
    every: Distribution<Duration>,
    random: Random,
    /// The next one; `NEVER` after the last.
    next: Instant,
    /// The number of triggers left, the next one included.
    left: u64,
    stop: Instant,
}

impl Triggers {
    /// The first trigger comes one interval after the start, so that the connections are established.
    fn new(readout: &Readout, span: ActivePeriod, names: Names<'_>) -> Self {
        let mut triggers = Self {
            every: readout.every.clone().unwrap_or(Distribution::Fixed(Duration::ZERO)),
            random: Random::new(names.seed, &format!("{} trigger", names.group)),
            next: span.start,
            left: readout.count.map_or(u64::MAX, |count| count.saturating_add(1)),
            stop: span.stop,
        };
        triggers.take();
        triggers
    }

    /// No triggers.
    fn none() -> Self {
        let every = Distribution::Fixed(Duration::ZERO);
        let (next, stop) = (Instant::NEVER, Instant::NEVER);
        Self { every, random: Random::from_seed(0), next, left: 0, stop }
    }

    /// Returns the next one, and draws the one after it.
    fn take(&mut self) -> Instant {
        let taken = self.next;
        self.left = self.left.saturating_sub(1);
        let interval = self.every.draw(&mut self.random).max(Duration::from_ns(1));
        let next = taken + interval;
        self.next = if self.left > 0 && next < self.stop { next } else { Instant::NEVER };
        taken
    }

    /// Whether the last one was taken.
    fn is_over(&self) -> bool {
        self.next == Instant::NEVER
    }
}

/// The sizes of a source's fragments. Both ends draw the same ones.
#[derive(Clone, Debug)]
struct Fragments {
    size: Distribution<Bytes>,
    random: Random,
}

impl Fragments {
    fn new(readout: &Readout, names: Names<'_>) -> Self {
        let random = Random::new(names.seed, &format!("{} fragment", names.flow));
        Self { size: readout.fragment.clone(), random }
    }

    /// The size of the next fragment; never 0, because the receiver would not notice an empty one.
    fn next(&mut self) -> u64 {
        self.size.draw(&mut self.random).0.max(1)
    }
}

/// The program of a source.
#[derive(Clone, Debug)]
pub struct EventSource {
    start: Instant,
    triggers: Triggers,
    fragments: Fragments,
    /// The time from a trigger to its sending slot.
    offset: Duration,
    /// The size of requests, if it sends only requested fragments.
    request: Option<u64>,
    /// Bytes of the next request that were read.
    received: u64,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    Connecting,
    Connected,
    Stopped,
}

impl EventSource {
    /// The time at which the fragment of the next event is due.
    fn due(&self) -> Instant {
        self.triggers.next + self.offset
    }

    /// Sends the fragments that are due, and closes after the last.
    fn push(&mut self, sockets: &mut dyn Sockets) {
        let now = sockets.now();
        while !self.triggers.is_over() && now >= self.due() {
            self.triggers.take();
            sockets.write(SocketId::ONLY, self.fragments.next());
        }
        if self.triggers.is_over() {
            self.close(sockets);
        }
    }

    /// Sends the requested fragments.
    fn answer(&mut self, request: u64, sockets: &mut dyn Sockets) {
        loop {
            let bytes = sockets.read(SocketId::ONLY, u64::MAX);
            if bytes == 0 {
                return;
            }
            self.received += bytes;
            while self.received >= request {
                self.received -= request;
                sockets.write(SocketId::ONLY, self.fragments.next());
            }
        }
    }

    fn close(&mut self, sockets: &mut dyn Sockets) {
        self.state = State::Stopped;
        sockets.close(SocketId::ONLY);
    }
}

impl Application for EventSource {
    fn handle(&mut self, event: SocketEvent, sockets: &mut dyn Sockets) {
        match (event, self.state) {
            (SocketEvent::Timer, State::Idle) if sockets.now() >= self.start => {
                self.state = State::Connecting;
                sockets.connect(SocketId::ONLY);
            }
            (SocketEvent::Connected(_), State::Connecting) => self.state = State::Connected,
            (SocketEvent::PeerClosed(_), State::Connected) => self.close(sockets),
            (SocketEvent::Failed(_), _) => self.state = State::Stopped,
            _ => {}
        }
        match (self.state, self.request) {
            (State::Connected, None) => self.push(sockets),
            (State::Connected, Some(request)) => self.answer(request, sockets),
            _ => {}
        }
    }

    fn next_wakeup(&self) -> Instant {
        match (self.state, self.request) {
            (State::Idle, _) => self.start,
            (State::Connected, None) => self.due(),
            _ => Instant::NEVER,
        }
    }
}

/// The program that reads the fragments of all sources: it has a socket for each, in their order.
#[derive(Clone, Debug)]
pub struct EventBuilder {
    sources: Vec<Source>,
    /// The triggers of events that are not pending yet.
    triggers: Triggers,
    deadline: Option<Duration>,
    pull: Option<Pull>,
    /// Incomplete events with at least one fragment requested or read, oldest first.
    pending: VecDeque<Pending>,
    /// Its fragments are counted by source.
    built: Events,
}

/// The data from one source: its fragments, one after the other.
#[derive(Clone, Debug)]
struct Source {
    fragments: Fragments,
    /// The outstanding bytes of the fragment.
    left: u64,
    /// The number of its event, from 0.
    event: u64,
    late: u64,
}

#[derive(Clone, Copy, Debug)]
struct Pending {
    trigger: Instant,
    /// The number of sources with missing fragments.
    missing: usize,
}

/// The state of the requests in pull mode.
#[derive(Clone, Copy, Debug)]
struct Pull {
    request: u64,
    credits: u64,
    requests_max: u64,
    /// Sources that have connected.
    connected: usize,
    /// The next source to request a fragment of the youngest pending event from.
    next: usize,
    /// Fragments that were requested and not read yet.
    outstanding: u64,
}

impl EventBuilder {
    /// Reads what came from a source.
    fn read(&mut self, socket: SocketId, sockets: &mut dyn Sockets) {
        loop {
            let mut bytes = sockets.read(socket, u64::MAX);
            if bytes == 0 {
                return;
            }
            while let Some(source) = self.sources.get_mut(socket.0 as usize) {
                if bytes < source.left {
                    source.left -= bytes;
                    break;
                }
                bytes -= source.left;
                source.left = source.fragments.next();
                let event = source.event;
                source.event += 1;
                self.received(socket, event, sockets.now());
            }
        }
    }

    /// Handles the complete fragment of `event` from the source `source`.
    fn received(&mut self, SocketId(source): SocketId, event: u64, now: Instant) {
        // Each source's fragments arrive in the order of events, so events are completed in that order, too.
        let place = (event - self.built.completed) as usize;
        while self.pending.len() <= place {
            let trigger = self.triggers.take();
            self.pending.push_back(Pending { trigger, missing: self.sources.len() });
        }
        let pending = &mut self.pending[place];
        pending.missing -= 1;
        if self.deadline.is_some_and(|deadline| now > pending.trigger + deadline) {
            self.sources[source as usize].late += 1;
        }
        if let Some(pull) = &mut self.pull {
            pull.outstanding -= 1;
        }
        if let Some(&Pending { trigger, missing: 0 }) = self.pending.front() {
            self.pending.pop_front();
            self.built.complete(now - trigger);
        }
    }

    /// Requests as many fragments as there are credits, once all sources have connected; closes when all is read.
    fn ask(&mut self, sockets: &mut dyn Sockets) {
        let Some(pull) = &mut self.pull else { return };
        let all = self.sources.len();
        if pull.connected < all {
            return;
        }
        loop {
            if pull.next == all {
                if self.pending.is_empty() && self.triggers.is_over() {
                    return (0..all as u32).for_each(|socket| sockets.close(SocketId(socket)));
                }
                let credit = (self.pending.len() as u64) < pull.credits;
                if !credit || sockets.now() < self.triggers.next {
                    return;
                }
                let trigger = self.triggers.take();
                self.pending.push_back(Pending { trigger, missing: all });
                pull.next = 0;
            }
            if pull.outstanding >= pull.requests_max {
                return;
            }
            sockets.write(SocketId(pull.next as u32), pull.request);
            pull.next += 1;
            pull.outstanding += 1;
        }
    }
}

impl Application for EventBuilder {
    fn handle(&mut self, event: SocketEvent, sockets: &mut dyn Sockets) {
        match (event, &mut self.pull) {
            (SocketEvent::Accepted(_), Some(pull)) => pull.connected += 1,
            (SocketEvent::Readable(socket), _) => self.read(socket, sockets),
            (SocketEvent::PeerClosed(socket), _) => return sockets.close(socket),
            _ => {}
        }
        self.ask(sockets);
    }

    fn next_wakeup(&self) -> Instant {
        match &self.pull {
            Some(pull)
                if pull.connected == self.sources.len()
                    && pull.next == self.sources.len()
                    && (self.pending.len() as u64) < pull.credits =>
            {
                self.triggers.next
            }
            _ => Instant::NEVER,
        }
    }

    fn results(&self, SocketId(source): SocketId) -> Option<Box<dyn Any>> {
        let source = self.sources.get(source as usize)?;
        let late = self.deadline.map(|_| source.late);
        Some(Box::new(Events { fragments: source.event, late, ..self.built.clone() }))
    }
}
