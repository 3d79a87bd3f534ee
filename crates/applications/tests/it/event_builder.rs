//! Laws of data acquisition over any network: programs over pipes that deliver at any time and in any amounts.

use applications::Results;
use applications::counts::Counts as _;
use applications::event_builder::{EventBuilder, EventSource, Events, Mode, Readout};
use applications::workload::WorkloadConfig as _;
use applications::workload::config::Names;
use base::{Bytes, Distribution, Duration, Instant, Random};
use network::application::{ActivePeriod, Application, SocketEvent, SocketId, Sockets};
use proptest::prelude::*;
use transport::{OptionError, SocketOption};

/// One direction of a connection.
#[derive(Clone, Copy, Debug, Default)]
struct Pipe {
    written: u64,
    delivered: u64,
    read: u64,
    closed: bool,
}

/// The sockets of one program: the pipes that it reads, and those that it writes.
struct Ends<'p> {
    now: Instant,
    reads: &'p mut [Pipe],
    writes: &'p mut [Pipe],
    connects: bool,
}

impl Sockets for Ends<'_> {
    fn now(&self) -> Instant {
        self.now
    }
    fn connect(&mut self, _: SocketId) {
        self.connects = true;
    }
    fn write(&mut self, SocketId(socket): SocketId, bytes: u64) {
        self.writes[socket as usize].written += bytes;
    }
    fn send(&mut self, _: SocketId, _: u32) {
        panic!("these are connections");
    }
    fn abandon(&mut self, _: SocketId) {
        panic!("nothing is given up");
    }
    fn close(&mut self, SocketId(socket): SocketId) {
        self.writes[socket as usize].closed = true;
    }
    fn read(&mut self, SocketId(socket): SocketId, most: u64) -> u64 {
        let pipe = &mut self.reads[socket as usize];
        let bytes = most.min(pipe.delivered - pipe.read);
        pipe.read += bytes;
        bytes
    }
    fn is_readable(&self, SocketId(socket): SocketId) -> bool {
        let pipe = self.reads[socket as usize];
        pipe.delivered > pipe.read
    }
    fn read_always(&mut self, _: SocketId) {
        panic!("they count what they read");
    }
    fn set_option(&mut self, _: SocketId, _: &SocketOption) -> Result<(), OptionError> {
        Err(OptionError::NotOpen)
    }
}

/// Sources, a builder, and the pipes between them.
struct Network {
    now: Instant,
    sources: Vec<EventSource>,
    builder: EventBuilder,
    fragments: Vec<Pipe>,
    requests: Vec<Pipe>,
}

const SEED: u64 = 7;

fn name(source: usize) -> String {
    format!("data.{}", source + 1)
}

impl Network {
    fn new(readout: &Readout, sources: usize) -> Self {
        let flows: Vec<String> = (0..sources).map(name).collect();
        let names = |flow| Names { seed: SEED, flow, group: "data" };
        let span = ActivePeriod::ALWAYS;
        let source = |index| readout.source(span, (index, sources), names(&flows[index]));
        Self {
            now: Instant::ZERO,
            sources: (0..sources).map(source).collect(),
            builder: readout.builder(span, flows.iter().map(|flow| names(flow))),
            fragments: vec![Pipe::default(); sources],
            requests: vec![Pipe::default(); sources],
        }
    }

    fn notify_source(&mut self, index: usize, event: SocketEvent) {
        let mut ends = Ends {
            now: self.now,
            reads: &mut self.requests[index..=index],
            writes: &mut self.fragments[index..=index],
            connects: false,
        };
        self.sources[index].handle(event, &mut ends);
        let connects = ends.connects;
        assert!(self.sources[index].next_wakeup() > self.now, "it asks for its past");
        if connects {
            self.notify_builder(SocketEvent::Accepted(SocketId(index as u32)));
            self.notify_source(index, SocketEvent::Connected(SocketId::ONLY));
        }
    }

    fn notify_builder(&mut self, event: SocketEvent) {
        let mut ends = Ends {
            now: self.now,
            reads: &mut self.fragments,
            writes: &mut self.requests,
            connects: false,
        };
        self.builder.handle(event, &mut ends);
        assert!(self.builder.next_wakeup() > self.now, "it asks for its past");
    }

    /// Advances to the earliest wakeup and handles it; false if there is none.
    fn wake(&mut self) -> bool {
        let next = self.sources.iter().map(Application::next_wakeup).min().expect("sources");
        let next = next.min(self.builder.next_wakeup());
        if next == Instant::NEVER {
            return false;
        }
        self.now = self.now.max(next);
        for index in 0..self.sources.len() {
            if self.sources[index].next_wakeup() <= self.now {
                self.notify_source(index, SocketEvent::Timer);
            }
        }
        if self.builder.next_wakeup() <= self.now {
            self.notify_builder(SocketEvent::Timer);
        }
        true
    }

    /// Delivers up to `most` bytes each of a source's fragments and requests; returns whether there were any.
    fn deliver(&mut self, index: usize, most: u64) -> bool {
        let deliver = |pipe: &mut Pipe| {
            let bytes = most.min(pipe.written - pipe.delivered);
            pipe.delivered += bytes;
            bytes > 0
        };
        let asked = deliver(&mut self.requests[index]);
        if asked {
            self.notify_source(index, SocketEvent::Readable(SocketId::ONLY));
        }
        let sent = deliver(&mut self.fragments[index]);
        if sent {
            self.notify_builder(SocketEvent::Readable(SocketId(index as u32)));
        }
        asked || sent
    }

    fn events(&self) -> Vec<Events> {
        let sources = 0..self.sources.len() as u32;
        let results = sources.map(|source| Results::of(&self.builder, SocketId(source)));
        results
            .map(|results| results.as_ref().and_then(Results::get).cloned().expect("it builds"))
            .collect()
    }
}

fn readouts() -> impl Strategy<Value = Readout> {
    let fragment = prop_oneof![
        Just(Distribution::Fixed(Bytes(1_000))),
        Just(Distribution::Uniform { min: Bytes(1), max: Bytes(5_000) }),
        Just(Distribution::Exponential { mean: Bytes(300) }),
    ];
    let every = prop_oneof![
        Just(Distribution::Fixed(Duration::from_us(10))),
        Just(Distribution::Exponential { mean: Duration::from_us(10) }),
    ];
    let pull = (1..5_u64, prop::option::of(1..20_u64), 1..200_u64);
    let pull = prop::option::of(pull);
    let spread = prop::option::of((0..50_u64).prop_map(Duration::from_us));
    (fragment, every, pull, spread, 1..40_u64).prop_map(|(fragment, every, pull, spread, count)| {
        Readout {
            fragment,
            every: Some(every),
            mode: if pull.is_some() { Mode::Pull } else { Mode::Push },
            spread: spread.filter(|_| pull.is_none()),
            credits: pull.map(|(credits, ..)| credits),
            requests_max: pull.and_then(|(_, most, _)| most),
            request: pull.map(|(.., size)| Bytes(size)),
            deadline: Some(Duration::from_us(30)),
            count: Some(count),
        }
    })
}

/// The sizes that a source draws.
fn sizes(readout: &Readout, source: usize) -> impl Iterator<Item = u64> {
    let mut random = Random::new(SEED, &format!("{} fragment", name(source)));
    let size = readout.fragment.clone();
    std::iter::repeat_with(move || size.draw(&mut random).0.max(1))
}

/// No more is asked for than the credits allow.
fn check_credits(network: &Network, readout: &Readout) -> Result<(), TestCaseError> {
    let Some(request) = readout.request else { return Ok(()) };
    let events = network.events();
    let asked: Vec<u64> = network.requests.iter().map(|pipe| pipe.written / request.0).collect();
    let outstanding = asked.iter().sum::<u64>() - events.iter().map(|e| e.fragments).sum::<u64>();
    let begun = asked.iter().max().expect("sources") - events[0].completed;
    prop_assert!(begun <= readout.credits.unwrap_or(1), "{begun} events");
    prop_assert!(
        outstanding <= readout.requests_max.unwrap_or(u64::MAX),
        "{outstanding} fragments"
    );
    // A source is asked before those after it.
    prop_assert!(asked.is_sorted_by(|a, b| a >= b), "{asked:?}");
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(400) })]

    /// Every event is completed once, with all the bytes that its sources drew and not one more, and the credits are kept.
    #[test]
    fn every_event_is_completed_once(
        readout in readouts(),
        sources in 1..9_usize,
        steps in prop::collection::vec((0..10_usize, 1..4_000_u64), 0..600),
    ) {
        prop_assert_eq!(readout.check(), Ok(()));
        let count = readout.count.expect("it ends");
        let mut network = Network::new(&readout, sources);
        // As drawn first, and then until nothing is left.
        for (index, most) in steps {
            if index < sources { network.deliver(index, most) } else { network.wake() };
            check_credits(&network, &readout)?;
        }
        for round in 0_u64.. {
            let woken = network.wake();
            let delivered = (0..sources).filter(|&index| network.deliver(index, u64::MAX)).count();
            check_credits(&network, &readout)?;
            if !woken && delivered == 0 {
                break;
            }
            prop_assert!(round < 1_000, "it ends");
        }
        for (source, events) in network.events().into_iter().enumerate() {
            prop_assert_eq!((events.completed, events.fragments), (count, count));
            prop_assert_eq!(events.times.total(), count);
            prop_assert!(events.late.expect("there is a deadline") <= count);
            let drawn: u64 = sizes(&readout, source).take(count as usize).sum();
            let Pipe { written, read, .. } = network.fragments[source];
            prop_assert_eq!((written, read), (drawn, drawn));
        }
        // Who sends last closes first: sources that push, and a builder that asks.
        let first = if readout.mode == Mode::Pull { &network.requests } else { &network.fragments };
        prop_assert!(first.iter().all(|pipe| pipe.closed));
    }

    /// The counters of two parts of a run add up to those of the whole run.
    #[test]
    fn parts_of_a_run_add_up(readout in readouts(), rounds in 0..60_usize) {
        let mut network = Network::new(&readout, 3);
        let mut middle = network.events();
        for round in 0..60 {
            network.wake();
            (0..3).for_each(|index| _ = network.deliver(index, 700));
            if round == rounds {
                middle = network.events();
            }
        }
        for (all, before) in network.events().iter().zip(&middle) {
            let after = all.since(before);
            prop_assert_eq!(after.completed + before.completed, all.completed);
            prop_assert_eq!(after.fragments + before.fragments, all.fragments);
            prop_assert_eq!(after.sum + before.sum, all.sum);
            prop_assert_eq!(after.late.zip(before.late).map(|(a, b)| a + b), all.late);
        }
    }
}

/// If sources take turns, each sends later by its part of the time.
#[test]
fn turns_are_spread_over_the_time_given() {
    let readout = Readout {
        fragment: Distribution::Fixed(Bytes(1_000)),
        every: Some(Distribution::Fixed(Duration::from_ms(1))),
        spread: Some(Duration::from_us(400)),
        count: Some(1),
        ..Readout::default()
    };
    let mut network = Network::new(&readout, 4);
    let mut sent = Vec::new();
    while network.wake() {
        let written = network.fragments.iter().filter(|pipe| pipe.written > 0).count();
        sent.push((network.now.since(Instant::ZERO).as_ns() / 1_000, written));
    }
    assert_eq!(sent, [(0, 0), (1_000, 1), (1_100, 2), (1_200, 3), (1_300, 4)]);
}
