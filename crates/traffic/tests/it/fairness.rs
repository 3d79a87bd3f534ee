//! The guarantees of the fair disciplines, compared with independent computations: strict priorities, DRR's
//! bound, ETS's shares, and exact WFQ's distance from a fluid link.

use crate::wire;
use std::collections::VecDeque;

use crate::fluid::FluidLink;
use crate::wire::{OVERHEAD, Wire, port};
use base::{Bytes, FlowId, Instant, Packet, units};
use proptest::prelude::*;
use traffic::classify::{Filter, Rule};
use traffic::qdisc::{Parameters, drr, ets, fairq, fifo, priq, wfq};
use traffic::{Dequeued, Discipline, Enqueued, Packets, Port};

const LINK: u64 = 8_000_000_000;
/// The longest frame of a port with an MTU of 1500.
const FRAME: u64 = 1518;

/// Flow `n` goes to class `n`.
fn filters(classes: u32) -> Vec<Rule> {
    let filter = |flow| Filter { flow: Some(FlowId(flow)), ..Filter::default() };
    let rule = |flow: u32| Rule { filter: filter(flow), priority: 0, class: flow.to_string() };
    (0..classes).map(rule).collect()
}

fn roomy() -> Parameters {
    Parameters::Fifo(fifo::Parameters::of_packets(1_000))
}

fn lengths() -> impl Strategy<Value = Vec<u32>> {
    let length = prop_oneof![64_u32..=1518, Just(64), Just(1518)];
    proptest::collection::vec(length, 1..50)
}

/// Flows that always have two packets queued, with lengths that repeat.
struct Greedy<D> {
    wire: Wire<D>,
    flows: Vec<u32>,
    lengths: Vec<u32>,
    offered: usize,
    /// Bytes that each flow has sent.
    sent: Vec<u64>,
}

impl<D: Discipline> Greedy<D> {
    fn new(discipline: D, port: Port, flows: Vec<u32>, lengths: Vec<u32>) -> Self {
        let sent = vec![0; flows.len()];
        let mut greedy =
            Self { wire: Wire::new(discipline, port), flows, lengths, offered: 0, sent };
        for place in 0..greedy.flows.len() {
            greedy.offer(place);
            greedy.offer(place);
        }
        greedy
    }

    fn offer(&mut self, place: usize) {
        // Each flow at its own pace through the lengths.
        let step = self.offered / self.flows.len() * (place + 1) + place;
        let length = self.lengths[step % self.lengths.len()];
        self.offered += 1;
        self.wire.offer(self.flows[place], length).expect("room for it");
    }

    /// Sends a frame, and its flow offers another.
    fn step(&mut self) {
        assert!(matches!(self.wire.step(), Dequeued::Send(_)));
        let last = self.wire.log.last().expect("a frame");
        let place = self.flows.iter().position(|&flow| Some(flow) == last.flow).expect("a flow");
        self.sent[place] += last.length;
        self.wire.log.clear();
        self.offer(place);
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 64, failure_persistence: None, ..ProptestConfig::default()
    })]

    /// Whatever comes and goes, the packet that leaves is of the highest priority there is, and the first
    /// of its flow.
    #[test]
    fn priq_never_serves_lower_before_higher(
        priorities in Just((0..16_u32).collect::<Vec<_>>()).prop_shuffle(),
        steps in proptest::collection::vec((0_u32..16, 0_u32..3), 1..2_000),
    ) {
        let class = |(flow, &priority): (usize, &u32)| priq::Class {
            name: flow.to_string(), parent: None, priority, queue: roomy(),
        };
        let classes = priorities.iter().enumerate().map(class).collect();
        let parameters = priq::Parameters { classes, filters: filters(16), default_class: None };
        let port = port(LINK, 1500);
        let mut wire = Wire::new(priq::Priq::attach(&parameters, port).unwrap(), port);
        let mut queued = vec![VecDeque::new(); 16];
        for (n, (flow, step)) in steps.into_iter().enumerate() {
            if step > 0 {
                // The lengths distinguish a flow's packets.
                let length = 64 + n as u32 % 1_000;
                if wire.offer(flow, length).is_some() {
                    queued[priorities[flow as usize] as usize].push_back((flow, u64::from(length)));
                }
                continue;
            }
            let sent = wire.step();
            let expected = queued.iter_mut().rev().find_map(VecDeque::pop_front);
            prop_assert_eq!(matches!(sent, Dequeued::Send(_)), expected.is_some());
            if let Some((flow, length)) = expected {
                let last = wire.log.last().unwrap();
                prop_assert_eq!((last.flow, last.length), (Some(flow), length));
            }
        }
    }

    /// Between any two moments, two classes that always have packets differ by at most a turn and a
    /// longest packet of each (Shreedhar and Varghese, section 4: lemma 2 and theorem 1).
    #[test]
    fn drr_keeps_its_bound(
        quanta in proptest::collection::vec(FRAME..20_000, 2..6),
        lengths in lengths(),
    ) {
        let class = |(flow, &quantum): (usize, &u64)| drr::Class {
            name: flow.to_string(), quantum: Some(Bytes(quantum)), queue: roomy(), ..Default::default()
        };
        let classes: Vec<_> = quanta.iter().enumerate().map(class).collect();
        let flows: Vec<_> = (0..classes.len() as u32).collect();
        let filters = filters(flows.len() as u32);
        let parameters = drr::Parameters { classes, filters, default_class: None };
        let port = port(LINK, 1500);
        let drr = drr::Drr::attach(&parameters, port).unwrap();
        let mut greedy = Greedy::new(drr, port, flows, lengths);
        let mut moments = vec![greedy.sent.clone()];
        for n in 1..1_500 {
            greedy.step();
            for (i, j) in (0..quanta.len()).flat_map(|i| (0..i).map(move |j| (i, j))) {
                let (p, q) = (quanta[i], quanta[j]);
                for then in &moments {
                    let (a, b) = (greedy.sent[i] - then[i], greedy.sent[j] - then[j]);
                    // a / p and b / q differ by at most 1 + FRAME / p + FRAME / q.
                    prop_assert!((a * q).abs_diff(b * p) <= p * q + FRAME * (p + q));
                }
            }
            if n % 97 == 0 {
                moments.push(greedy.sent.clone());
            }
        }
    }

    /// The classes that have packets share what a strict one leaves by their percentages, within 1 %.
    #[test]
    fn ets_shares_are_within_one_percent(
        percents in proptest::collection::vec(2_u32..=20, 2..6),
        idle in any::<bool>(),
        lengths in lengths(),
    ) {
        let share = |(flow, &percent): (usize, &u32)| ets::Class {
            name: flow.to_string(), percent: Some(percent), queue: roomy(), ..Default::default()
        };
        let mut classes: Vec<_> = percents.iter().enumerate().map(share).collect();
        let strict = percents.len() as u32;
        classes.push(ets::Class { name: strict.to_string(), queue: roomy(), ..Default::default() });
        // One class may have nothing to send: the others share its part in the same proportion.
        let flows: Vec<_> = (u32::from(idle)..strict).collect();
        let percents = &percents[usize::from(idle)..];
        let parameters = ets::Parameters { classes, filters: filters(strict + 1), default_class: None };
        let port = port(LINK, 1500);
        let ets = ets::Ets::attach(&parameters, port).unwrap();
        let mut greedy = Greedy::new(ets, port, flows, lengths);
        let sum: u64 = percents.iter().map(|&percent| u64::from(percent)).sum();
        let round = sum * FRAME / u64::from(*percents.iter().min().unwrap()) + FRAME;
        let mut frames = 0;
        // At any moment a class is up to a turn and a longest packet from its share.
        while greedy.sent.iter().sum::<u64>() < 600 * round {
            frames += 1;
            if frames % 3 == 0 {
                greedy.wire.offer(strict, 1000).unwrap();
                prop_assert!(matches!(greedy.wire.step(), Dequeued::Send(_)));
                prop_assert_eq!(greedy.wire.log.pop().unwrap().flow, Some(strict));
            }
            greedy.step();
        }
        let total: u64 = greedy.sent.iter().sum();
        for (&sent, &percent) in greedy.sent.iter().zip(percents) {
            let (got, due) = (sent * sum, total * u64::from(percent));
            prop_assert!(got.abs_diff(due) * 100 <= due, "{got} for {due}");
        }
    }

    /// Flows in different queues share by their weights, which are equal unless given.
    #[test]
    fn stochastic_wfq_shares_by_weight_among_queues(
        flows in proptest::collection::btree_set(any::<u32>(), 2..6),
        weights in proptest::option::of(proptest::collection::vec(50_u32..300, 6)),
        lengths in lengths(),
    ) {
        let port = port(LINK, 1500);
        let mut parameters = wfq::Parameters {
            hash: Some(wfq::HashBy::Full),
            queues: wfq::QUEUES_MAX,
            bytes: Bytes(1 << 20),
            ..Default::default()
        };
        for (&flow, &weight) in flows.iter().zip(weights.iter().flatten()) {
            let (name, filter) = (flow.to_string(), Filter { flow: Some(FlowId(flow)), ..Default::default() });
            parameters.filters.push(Rule { filter, priority: 0, class: name.clone() });
            parameters.classes.push(wfq::Class { name, parent: None, weight });
        }
        let wfq = wfq::Wfq::attach(&parameters, port).unwrap();
        let queue = |&flow: &u32| wfq.queue_of(&Packet { flow: FlowId(flow), ..Packet::default() });
        let queues: std::collections::BTreeSet<_> = flows.iter().map(queue).collect();
        prop_assume!(queues.len() == flows.len());
        let weights = weights.unwrap_or_else(|| vec![100; 6]);
        let mut greedy = Greedy::new(wfq, port, flows.into_iter().collect(), lengths);
        for _ in 0..30_000 {
            greedy.step();
        }
        let sum: u64 = weights.iter().take(greedy.sent.len()).map(|&weight| u64::from(weight)).sum();
        let total: u64 = greedy.sent.iter().sum();
        for (&sent, &weight) in greedy.sent.iter().zip(&weights) {
            let (got, due) = (sent * sum, total * u64::from(weight));
            prop_assert!(got.abs_diff(due) * 100 <= due, "{got} for {due}");
        }
    }
}

/// Packets that come to an exact WFQ port and to a fluid link at the same time.
struct Race {
    wfq: wfq::Wfq,
    packets: Packets,
    fluid: FluidLink,
    /// Picoseconds a byte.
    byte: u64,
    /// When the fluid link is done with each queued packet, once it is known; by flow, oldest first.
    offered: Vec<u64>,
    sent: Vec<u64>,
    /// The tolerance for rounding, in bytes.
    tolerance: u64,
}

impl Race {
    fn arrive(&mut self, at: u64, flow: usize, length: u32) {
        self.fluid.advance(at);
        self.fluid.arrive(flow, u64::from(length) + OVERHEAD);
        let (created, number) = (Instant::from_ps(self.offered[flow]), FlowId(flow as u32));
        let packet = Packet { flow: number, length, created, ..Packet::default() };
        let id = self.packets.insert(packet);
        let now = Instant::from_ps(at * self.byte);
        assert_eq!(self.wfq.enqueue(&mut self.packets, id, now.into()), Enqueued::Queued);
        self.offered[flow] += 1;
    }

    /// Begins to send at byte time `at`; the flow and the length on the wire.
    fn begin(&mut self, at: u64) -> Option<(usize, u64)> {
        let now = Instant::from_ps(at * self.byte);
        let Dequeued::Send(id) = self.wfq.dequeue(&mut self.packets, now.into()) else {
            return None;
        };
        let Packet { flow, length, created, .. } = self.packets[id];
        self.packets.release(id);
        let flow = flow.0 as usize;
        assert!(created.as_ps() < self.offered[flow], "a packet that was offered");
        Some((flow, u64::from(length) + OVERHEAD))
    }

    /// The packet's last byte is on the wire: no flow is behind the fluid link by more than a longest
    /// packet (Parekh and Gallager, theorem 2).
    fn end(&mut self, at: u64, flow: usize, length: u64) {
        self.sent[flow] += length;
        self.fluid.advance(at);
        for (flow, &sent) in self.sent.iter().enumerate() {
            let ideal = self.fluid.served(flow);
            let most = sent + FRAME + OVERHEAD + self.tolerance;
            assert!(ideal <= most, "flow {flow} sent {sent}, the fluid link {ideal}, at {at}");
        }
    }
}

/// Runs arrivals of (idle byte times before, flow, length) to their end.
fn race(rate: u64, weights: &[u32], arrivals: &[(u64, usize, u32)]) {
    let port = port(rate, 1500);
    let mut parameters =
        wfq::Parameters { mode: wfq::Mode::Exact, bytes: Bytes(1 << 30), ..Default::default() };
    parameters.filters = filters(weights.len() as u32);
    for (flow, &weight) in weights.iter().enumerate() {
        parameters.classes.push(wfq::Class { name: flow.to_string(), parent: None, weight });
    }
    let sum: u64 = weights.iter().map(|&weight| u64::from(weight)).sum();
    let mut race = Race {
        wfq: wfq::Wfq::attach(&parameters, port).unwrap(),
        packets: Packets::new(),
        fluid: FluidLink::new(weights),
        byte: 8 * units::PS_PER_SECOND / rate,
        offered: vec![0; weights.len()],
        sent: vec![0; weights.len()],
        // One unit of virtual time, 2^-23 byte a unit of weight, for each arrival.
        tolerance: 1 + ((sum * arrivals.len() as u64) >> 23),
    };
    let (mut arrived, mut free, mut arrivals) = (0, 0, arrivals.iter().copied().peekable());
    loop {
        // What has arrived by the time the wire is free may be sent next.
        while let Some((idle, flow, length)) =
            arrivals.next_if(|&(idle, ..)| arrived + idle <= free || race.wfq.is_empty())
        {
            arrived += idle;
            race.arrive(arrived, flow, length);
        }
        free = free.max(arrived);
        let Some((flow, length)) = race.begin(free) else { break };
        while let Some((idle, flow, length)) =
            arrivals.next_if(|&(idle, ..)| arrived + idle < free + length)
        {
            arrived += idle;
            race.arrive(arrived, flow, length);
        }
        free += length;
        race.end(free, flow, length);
    }
    assert!(race.wfq.is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300, failure_persistence: None, ..ProptestConfig::default()
    })]

    /// The bound holds from 8 kbit/s to 800 Gbit/s, over bursts and silences.
    #[test]
    fn exact_wfq_is_within_a_packet_of_the_fluid_ideal(
        rate in proptest::sample::select(vec![
            8_000, 64_000, 1_000_000, 1_000_000_000, LINK, 100_000_000_000, 800_000_000_000,
        ]),
        weights in proptest::collection::vec(
            prop_oneof![10_u32..200, 10_u32..=65_535, Just(100)], 1..8
        ),
        arrivals in proptest::collection::vec(
            (prop_oneof![3 => Just(0), 2 => 0_u64..3_000, 1 => 0_u64..20_000], 0_usize..8,
             prop_oneof![64_u32..=1518, Just(64), Just(1518)]),
            1..300,
        ),
    ) {
        let flow = |(idle, flow, length): (u64, usize, u32)| (idle, flow % weights.len(), length);
        let arrivals: Vec<_> = arrivals.into_iter().map(flow).collect();
        race(rate, &weights, &arrivals);
    }
}

/// A flow that sends ten times as much as another loses its own packets only, and still gets its half.
#[test]
fn exact_wfq_is_fair_when_the_buffer_overflows() {
    let port = port(LINK, 1500);
    let parameters = wfq::Parameters { mode: wfq::Mode::Exact, ..Default::default() };
    let mut wire = Wire::new(wfq::Wfq::attach(&parameters, port).unwrap(), port);
    let mut sent = [0_u64; 2];
    for step in 0..40_000_u32 {
        for n in 0..10 {
            wire.offer(0, 64 + (step + n) % 1_400);
        }
        wire.offer(1, 1518);
        assert!(matches!(wire.step(), Dequeued::Send(_)));
        while let Some((id, _)) = wire.packets.take_dropped() {
            wire.packets.release(id);
        }
        let frame = wire.log.pop().unwrap();
        sent[frame.flow.unwrap() as usize] += frame.length + OVERHEAD;
    }
    let total = sent[0] + sent[1];
    assert!((2 * sent[0]).abs_diff(total) * 100 <= total, "{sent:?}");
}

fn fairq(classes: Vec<fairq::Class>, port: Port) -> fairq::Fairq {
    let filters = filters(classes.len() as u32);
    fairq::Fairq::attach(&fairq::Parameters { classes, filters, default_class: None }, port)
        .unwrap()
}

/// Two flows that always have packets: the upper class goes first up to its bandwidth and leaves the
/// rest to the lower one; by the rate over the last packets, so to 2 %.
#[test]
fn fairq_lets_a_lower_class_send_when_the_upper_is_above_its_bandwidth() {
    let port = port(LINK, 1500);
    let upper = fairq::Class {
        name: "0".into(),
        priority: 5,
        bandwidth: Some(wire::rate(LINK / 4)),
        ..Default::default()
    };
    let lower = fairq::Class { name: "1".into(), ..Default::default() };
    let mut greedy = Greedy::new(fairq(vec![upper, lower], port), port, vec![0, 1], vec![1518]);
    for _ in 0..10_000 {
        greedy.step();
    }
    // A quarter of the link by frame bits, of a link that carries 20 bytes more a frame.
    let due = (greedy.sent[0] + greedy.sent[1]) / 1518 * (1518 + OVERHEAD) / 4;
    assert!(greedy.sent[0].abs_diff(due) * 50 <= due, "{} for {due}", greedy.sent[0]);
}

/// A flow far below the hog limit waits at most for the frame on the wire, with any number of hogs.
#[test]
fn fairq_lets_a_thin_flow_pass_the_hogs() {
    let port = port(LINK, 1500);
    let class = fairq::Class {
        name: "0".into(),
        hogs: Some(wire::rate(LINK / 100)),
        buckets: 2_048,
        ..Default::default()
    };
    // No filter matches flows other than 0, which all go to the only class.
    let hogs: Vec<u32> = (1..=20).collect();
    let mut greedy = Greedy::new(fairq(vec![class], port), port, hogs, vec![1518]);
    for round in 0..200 {
        greedy.wire.offer(0, 64).expect("room for it");
        let waited = (0..1_000).position(|_| {
            assert!(matches!(greedy.wire.step(), Dequeued::Send(_)));
            let flow = greedy.wire.log.pop().and_then(|frame| frame.flow);
            if flow != Some(0) {
                let place = flow.map_or(0, |flow| flow as usize - 1);
                greedy.offer(place);
            }
            flow == Some(0)
        });
        // Nothing is known of it before it has sent something.
        assert!(round < 1 || waited == Some(0), "round {round}: {waited:?} frames before it");
        for _ in 0..200 {
            greedy.step();
        }
    }
}

/// Refused parameters, and the advice in the error.
#[test]
fn mistakes_are_reported_with_their_remedy() {
    let port = port(LINK, 1500);
    let told = |result: Result<(), String>| result.unwrap_err();
    let priq =
        |priority| priq::Class { name: format!("p{priority}"), priority, ..Default::default() };
    let attach = |classes: Vec<priq::Class>, default: Option<&str>| {
        let default_class = default.map(Into::into);
        let parameters = priq::Parameters { classes, filters: Vec::new(), default_class };
        told(priq::Priq::attach(&parameters, port).map(drop).map_err(|error| error.to_string()))
    };
    assert_eq!(
        attach(vec![priq(16)], None),
        "`priority` of class `p16` cannot be 16: give 0 to 15"
    );
    assert_eq!(
        attach(vec![priq(1)], Some("x")),
        "the default class `x` does not exist: name one of `p1`"
    );
    let nested =
        Parameters::Priq(priq::Parameters { classes: vec![priq(1)], ..Default::default() });
    let within = priq::Class { queue: nested, ..priq(2) };
    assert_eq!(
        attach(vec![within], None),
        "class `p2` has a queue priq, which holds packets back or has classes of its own: give it \
         one without, such as fifo"
    );
    let share = |name: &str, percent| ets::Class {
        name: name.into(),
        percent: Some(percent),
        ..Default::default()
    };
    let classes = vec![share("a", 60), share("b", 50)];
    let ets = ets::Ets::attach(&ets::Parameters { classes, ..Default::default() }, port);
    assert_eq!(
        told(ets.map(drop).map_err(|error| error.to_string())),
        "the classes have 110 percent together: lower them to 100 in all"
    );
    let small = drr::Class { name: "a".into(), quantum: Some(Bytes(1_000)), ..Default::default() };
    let drr =
        drr::Drr::attach(&drr::Parameters { classes: vec![small], ..Default::default() }, port);
    assert_eq!(
        told(drr.map(drop).map_err(|error| error.to_string())),
        "class `a` has a quantum of 1000 B, less than the port's longest frame: give it at least \
         1518 B"
    );
}
