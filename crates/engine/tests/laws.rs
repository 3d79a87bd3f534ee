//! Laws of the engine, for drawn paths: time runs forward, a link keeps order, delay and rate, and nothing
//! depends on how a run is cut into pieces.

use std::collections::VecDeque;

use base::{DropReason, Duration, Instant};
use engine::{Engine, World};
use network::observer::Place;
use network::{Event, Observer};
use proptest::prelude::*;
use scenario::{Document, Plan};

/// A host, a router and a host, and flows both ways.
#[derive(Clone, Debug)]
struct Path {
    /// The rate of each link, in Mbit/s.
    rates: [u32; 2],
    /// The delay of each link, in microseconds.
    delays: [u32; 2],
    /// The packets lost per 1000 on the second link.
    lost: u32,
    /// In front of the second link, in packets.
    queue: u32,
    flows: u32,
    seed: u32,
}

impl Path {
    fn drawn() -> impl Strategy<Value = Self> {
        let rates = [5..100_u32, 3..30_u32];
        let delays = [0..5_000_u32, 0..30_000_u32];
        (rates, delays, 0..20_u32, 2..60_u32, 1..5_u32, 1..1_000_u32).prop_map(
            |(rates, delays, lost, queue, flows, seed)| Self {
                rates,
                delays,
                lost,
                queue,
                flows,
                seed,
            },
        )
    }

    fn plan(&self) -> Plan {
        let Self { rates: [near, far], delays: [short, long], lost, queue, flows, seed } = self;
        let text = format!(
            r#"
seed = {seed}
duration = "1 s"
[host.a]
[host.b]
[router.r]
[link.near]
between = ["a", "r"]
rate = "{near} Mbit/s"
delay = "{short} us"
[link.far]
between = ["r", "b"]
rate = "{far} Mbit/s"
delay = "{long} us"
loss = "{}.{} %"
at.r.queue.fifo = {{ packets = {queue} }}
[flow.there]
from = "a"
to = "b"
count = {flows}
[flow.back]
from = "b"
to = "a"
"#,
            lost / 10,
            lost % 10
        );
        let document = Document::parse("test.toml", &text);
        let document = document.unwrap_or_else(|e| panic!("{e}\n{text}"));
        document.plan().unwrap_or_else(|e| panic!("{e}\n{text}"))
    }
}

/// A packet as it is known again: its flow, its sequence number, when it was created, its length.
type Identity = (u32, u32, Instant, u32);

/// One direction of a link as it has to be.
#[derive(Debug)]
struct Wire {
    delay: Duration,
    /// In bits per second.
    rate: u128,
    overhead: u64,
    free_at: Instant,
    flight: VecDeque<(Instant, Identity)>,
}

/// Everything that happened, and the links, which are checked meanwhile.
#[derive(Debug)]
struct Record {
    wires: Vec<Wire>,
    now: Instant,
    events: Vec<(char, Identity, Instant)>,
}

impl Record {
    fn new(plan: &Plan) -> Self {
        let ways = plan.links.iter().flat_map(|link| [0, 1].map(|end| link.from_end(end)));
        let wires = ways.map(|config| Wire {
            delay: config.delay,
            rate: config.rate.bits_per_second().into(),
            overhead: config.overhead.0,
            free_at: Instant::ZERO,
            flight: VecDeque::new(),
        });
        Self { wires: wires.collect(), now: Instant::ZERO, events: Vec::new() }
    }

    fn goes_on(&mut self, now: Instant) {
        assert!(now >= self.now, "time runs forward");
        self.now = now;
    }
}

impl Observer for Record {
    fn on(&mut self, event: Event<'_>) {
        let (Event::Transmitted { packet, .. }
        | Event::Dropped { packet, .. }
        | Event::Received { packet, .. }) = event
        else {
            return;
        };
        let identity = (packet.flow.0, packet.tcp.seq, packet.created, packet.length);
        match event {
            Event::Transmitted { port, start, end, .. } => {
                let wire = &mut self.wires[port.0 as usize];
                assert!(start >= wire.free_at, "{port:?} sends one frame at a time");
                assert!(start >= self.now, "{port:?} sends nothing in the past");
                let bits = u128::from(8 * (u64::from(packet.length) + wire.overhead));
                let exact = bits * 1_000_000_000_000;
                let took = u128::from((end - start).as_ps()) * wire.rate;
                assert!(took.abs_diff(exact) < wire.rate, "{port:?} sends at line rate");
                wire.free_at = end;
                wire.flight.push_back((end + wire.delay, identity));
                self.events.push(('t', identity, start));
            }
            Event::Dropped { place, reason, now, .. } => {
                self.goes_on(now);
                if let (Place::Port(port), DropReason::LinkLoss) = (place, reason) {
                    let lost = self.wires[port.0 as usize].flight.pop_back();
                    assert_eq!(lost.map(|(_, lost)| lost), Some(identity));
                }
                self.events.push(('d', identity, now));
            }
            Event::Received { port, now, .. } => {
                self.goes_on(now);
                let first = self.wires[port.0 as usize].flight.pop_front();
                assert_eq!(first, Some((now, identity)), "{port:?}: in order, after the delay");
                self.events.push(('r', identity, now));
            }
            _ => {}
        }
    }
}

/// The plan in motion from the start to its end by `run`; what happened, and how many events it took.
fn recorded(plan: &Plan, run: impl FnOnce(&mut Engine, &mut Record)) -> (Record, u64) {
    let mut engine = Engine::new(World::new(plan).expect("a plan from text was checked"));
    let mut record = Record::new(plan);
    run(&mut engine, &mut record);
    let end = Instant::ZERO + plan.duration;
    engine.run_until(end, &mut record);
    assert_eq!(engine.now(), end);
    for wire in &record.wires {
        assert!(wire.flight.front().is_none_or(|&(at, _)| at > end), "what is due has arrived");
    }
    (record, engine.events())
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(40) })]

    #[test]
    fn wires_keep_order_delay_and_rate_however_a_run_is_cut(
        path in Path::drawn(),
        pieces in prop::collection::vec((1..500_u64, 0..100_u64), 1..100),
    ) {
        let plan = path.plan();
        let (whole, events) = recorded(&plan, |_, _| {});
        prop_assert!(whole.events.len() > 100, "{} events", whole.events.len());
        let (cut, in_pieces) = recorded(&plan, |engine, record| {
            let end = Instant::ZERO + plan.duration;
            for &(most, permille) in &pieces {
                engine.run_some(end, most, record);
                let step = Duration::from_ps(plan.duration.as_ps() / 10_000 * permille);
                engine.run_until((engine.now() + step).min(end), record);
            }
        });
        prop_assert_eq!(whole.events, cut.events);
        prop_assert_eq!(events, in_pieces);
    }
}
