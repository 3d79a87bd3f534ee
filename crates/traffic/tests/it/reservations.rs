//! Reservations under load: with any sequence of reservations, releases and packets, no discipline promises
//! more than the link has, each admitted class has its delay bound and its rate, a refusal changes nothing, and
//! nothing queued is lost.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};

use crate::wire::{OVERHEAD, port, rate};
use base::units::Serializer;
use base::{Bytes, Duration, FlowId, Instant, Packet, PacketId};
use proptest::prelude::*;
use traffic::classify::{Filter, Rule};
use traffic::qdisc::{self, Qdisc, REGISTRY, cbq, hfsc};
use traffic::reservation::{Request, TAKERS};
use traffic::{Dequeued, Discipline, Enqueued, Packets, Port};

const MEGABIT: u64 = 1_000_000;
const FRAME: u64 = 1518;
/// Reservations are for flows 0 to 5; flow 6 is the default class's, flow 7 that of a class in a group.
const SLOTS: u32 = 6;
const PICOBITS_PER_BYTE: u128 = 8_000_000_000_000;

fn flow(flow: u32) -> Filter {
    Filter { flow: Some(FlowId(flow)), ..Filter::default() }
}

/// A default class with `rest` thousandths of the link, and a class in a group.
fn hfsc(link: u64, rest: u64) -> qdisc::Parameters {
    let class = |name: &str, parent: Option<&str>, share: u64| hfsc::Class {
        name: name.into(),
        parent: parent.map(Into::into),
        real_time_m2: (name == "rest").then(|| rate(share)),
        link_share_m2: Some(rate(share)),
        ..hfsc::Class::default()
    };
    qdisc::Parameters::Hfsc(hfsc::Parameters {
        classes: vec![
            class("rest", None, (link / 1_000 * rest).max(1)),
            class("group", None, link / 2),
            class("within", Some("group"), link / 4),
        ],
        filters: vec![Rule { filter: flow(7), priority: 0, class: "within".into() }],
        default_class: "rest".into(),
        overhead: Bytes(OVERHEAD),
    })
}

/// The same classes for `cbq`; the default class may have the highest priority, too.
fn cbq(link: u64, rest: u64, priority: u32, formal: bool) -> qdisc::Parameters {
    let class = |name: &str, parent: Option<&str>, bits: u64| cbq::Class {
        name: name.into(),
        parent: parent.map(Into::into),
        rate: Some(rate(bits.max(1))),
        priority,
        borrow: true,
        ..cbq::Class::default()
    };
    qdisc::Parameters::Cbq(cbq::Parameters {
        classes: vec![
            class("rest", None, link / 1_000 * rest),
            class("group", None, link / 2),
            class("within", Some("group"), link / 50),
        ],
        filters: vec![Rule { filter: flow(7), priority: 0, class: "within".into() }],
        default: "rest".into(),
        link_sharing: if formal { cbq::LinkSharing::Formal } else { cbq::LinkSharing::TopLevel },
        ..cbq::Parameters::default()
    })
}

/// The rates guaranteed by the parameters themselves, of the link and within the group.
fn guaranteed(parameters: &qdisc::Parameters) -> (u64, u64, u64) {
    let bits = |rate: Option<base::Rate>| rate.map_or(0, base::Rate::bits_per_second);
    match parameters {
        qdisc::Parameters::Cbq(p) => {
            let [rest, group, within] = [0, 1, 2].map(|index| bits(p.classes[index].rate));
            (rest + group, within, group)
        }
        qdisc::Parameters::Hfsc(p) => (bits(p.classes[0].real_time_m2), 0, u64::MAX),
        _ => unreachable!("takes reservations"),
    }
}

/// A token bucket, as its flow sees it.
#[derive(Clone, Debug)]
struct Bucket {
    request: Request,
    /// In picobits.
    tokens: u128,
    filled: u64,
}

impl Bucket {
    /// How many of `count` packets keep to it at `now`.
    fn admit(&mut self, bytes: u64, count: u32, now: u64) -> u32 {
        let full = u128::from(self.request.burst.0) * PICOBITS_PER_BYTE;
        let earned =
            u128::from(self.request.rate.bits_per_second()) * u128::from(now - self.filled);
        (self.tokens, self.filled) = (full.min(self.tokens + earned), now);
        let need = u128::from(bytes) * PICOBITS_PER_BYTE;
        let count = count.min((self.tokens / need) as u32);
        self.tokens -= need * u128::from(count);
        count
    }
}

#[derive(Clone, Debug)]
enum Operation {
    /// Rate in thousandths of the link, burst and delay in longest frames and their times.
    Reserve {
        slot: u32,
        rate: u64,
        burst: u64,
        delay: u64,
        within: bool,
    },
    Release(u32),
    Offer {
        flow: u32,
        length: u32,
        count: u32,
    },
    /// A frame of the default class starts; then all that are reserved send what they can at once, the
    /// unsound in the shortest frames.
    Attack {
        first: u32,
    },
    /// A class that has sent is released, and one like it is asked for that sends at once.
    Swap(u32),
    /// In 16ths of a longest frame's time.
    Pass(u64),
}

fn operation() -> impl Strategy<Value = Operation> {
    use Operation::{Attack, Offer, Pass, Release, Reserve, Swap};
    let length = prop_oneof![Just(64_u32), Just(1518), 64_u32..=1518];
    prop_oneof![
        2 => (0..SLOTS, 1_u64..300, 1_u64..12, 2_u64..120, any::<bool>()).prop_map(
            |(slot, rate, burst, delay, within)| Reserve { slot, rate, burst, delay, within }
        ),
        1 => (0..SLOTS).prop_map(Release),
        2 => (0..SLOTS).prop_map(|first| Attack { first }),
        2 => (0..SLOTS).prop_map(Swap),
        8 => (0..8_u32, length, 1_u32..40)
            .prop_map(|(flow, length, count)| Offer { flow, length, count }),
        5 => prop_oneof![3 => 0_u64..80, 1 => 0_u64..2_000].prop_map(Pass),
    ]
}

/// The state of a discipline that a driver sees.
#[derive(Debug, PartialEq)]
struct Seen {
    statistics: traffic::Statistics,
    reservations: Vec<Request>,
    classes: Vec<(String, traffic::Statistics)>,
    next: Dequeued,
}

struct Run {
    parameters: qdisc::Parameters,
    discipline: Qdisc,
    port: Port,
    packets: Packets,
    serializer: Serializer,
    /// When the last event was, and when the wire is free.
    now: u64,
    free: u64,
    /// Arrivals of the packets that must be sent within their bound, by flow.
    due: BTreeMap<u32, VecDeque<(PacketId, u64)>>,
    buckets: BTreeMap<u32, Bucket>,
    queued: u64,
    admitted: u32,
    checked: u32,
    /// The greatest part of a bound that was used, in percent.
    used: u64,
}

impl Run {
    fn new(parameters: qdisc::Parameters, link: u64) -> Self {
        let port = port(link, 1500);
        Self {
            discipline: Qdisc::attach(&parameters, port).expect("a link that has this"),
            parameters,
            port,
            packets: Packets::new(),
            serializer: Serializer::new(port.rate),
            now: 0,
            free: 0,
            due: BTreeMap::new(),
            buckets: BTreeMap::new(),
            queued: 0,
            admitted: 0,
            checked: 0,
            used: 0,
        }
    }

    fn frame_time(&self) -> u64 {
        self.port.rate.time_for(Bytes(FRAME + OVERHEAD)).as_ps()
    }

    /// What a frame counts for.
    fn counted(&self, length: u32) -> u64 {
        let overhead = matches!(self.parameters, qdisc::Parameters::Hfsc(_));
        u64::from(length) + if overhead { OVERHEAD } else { 0 }
    }

    fn seen(&mut self) -> Seen {
        let mut classes = Vec::new();
        self.discipline.classes(&mut |_, name, statistics| classes.push((name.into(), statistics)));
        Seen {
            statistics: self.discipline.statistics(),
            reservations: self.discipline.reservations().to_vec(),
            classes,
            next: self
                .discipline
                .peek(&self.packets, Instant::from_ps(self.free.max(self.now)).into()),
        }
    }

    /// Asks for longer and longer bounds, so that what is admitted is about the least that can be.
    fn reserve(&mut self, mut request: Request) -> Result<(), TestCaseError> {
        let before = self.seen();
        for _ in 0..30 {
            if self.discipline.reserve(&request, Instant::from_ps(self.now).into()).is_ok() {
                let slot: u32 = request.name.parse().expect("a slot's number");
                let tokens = u128::from(request.burst.0) * PICOBITS_PER_BYTE;
                self.buckets.insert(slot, Bucket { request, tokens, filled: self.now });
                self.admitted += 1;
                break;
            }
            prop_assert_eq!(&before, &self.seen(), "a refusal changes nothing");
            request.delay += Duration::from_ps(request.delay.as_ps() / 10);
        }
        let (base, within, group) = guaranteed(&self.parameters);
        let sum = |inner: bool| {
            let all = self.discipline.reservations().iter();
            let of = all.filter(|request| request.parent.is_some() == inner);
            of.map(|request| request.rate.bits_per_second()).sum::<u64>()
        };
        prop_assert!(within + sum(true) <= group, "more than the group has");
        let inner = if group == u64::MAX { sum(true) } else { 0 };
        prop_assert!(base + inner + sum(false) <= self.port.rate.bits_per_second());
        Ok(())
    }

    fn release(&mut self, slot: u32) -> Result<(), TestCaseError> {
        let before = self.discipline.statistics();
        let known = self.buckets.remove(&slot).is_some();
        let now = Instant::from_ps(self.now);
        prop_assert_eq!(self.discipline.release(&slot.to_string(), now.into()).is_ok(), known);
        prop_assert_eq!(before, self.discipline.statistics(), "what is queued stays queued");
        // It is still sent, but not within the bound.
        self.due.remove(&slot);
        Ok(())
    }

    /// Flows of even slots keep to their bucket, the others send what they like.
    fn offer(&mut self, flow: u32, length: u32, count: u32) -> Result<(), TestCaseError> {
        let bytes = self.counted(length);
        let sound = flow.is_multiple_of(2);
        let bucket = self.buckets.get_mut(&flow).filter(|_| sound);
        let (bound, count) = match bucket {
            Some(bucket) => (true, bucket.admit(bytes, count, self.now)),
            None => (false, count),
        };
        for _ in 0..count {
            let packet = Packet { flow: FlowId(flow), length, ..Packet::default() };
            let id = self.packets.insert(packet);
            let now = Instant::from_ps(self.now);
            match self.discipline.enqueue(&mut self.packets, id, now.into()) {
                Enqueued::Queued => {
                    self.queued += 1;
                    if bound {
                        self.due.entry(flow).or_default().push_back((id, self.now));
                    }
                }
                Enqueued::Dropped(reason) => {
                    prop_assert!(!bound, "a sound packet of {flow}: {reason:?}");
                    self.packets.release(id);
                }
            }
        }
        Ok(())
    }

    /// Sends what is left of the burst, or of the queue.
    fn flood(&mut self, slot: u32) -> Result<(), TestCaseError> {
        let Some(bucket) = self.buckets.get(&slot) else { return Ok(()) };
        let length = if slot.is_multiple_of(2) { FRAME as u32 } else { 64 };
        let most = bucket.request.burst.0 / u64::from(length);
        self.offer(slot, length, most as u32)
    }

    /// Carries frames until `to`; false if nothing is queued then.
    fn pass(&mut self, to: u64) -> Result<bool, TestCaseError> {
        loop {
            let at = self.free.max(self.now);
            if at > to {
                break;
            }
            match self.discipline.dequeue(&mut self.packets, Instant::from_ps(at).into()) {
                Dequeued::Send(id) => self.carry(id, at)?,
                Dequeued::NotBefore(then) if then.as_ps() <= to => self.now = then.as_ps(),
                Dequeued::NotBefore(_) | Dequeued::Empty => break,
                Dequeued::Gap(_) => unreachable!("no pacing"),
            }
        }
        self.now = self.now.max(to);
        Ok(self.queued > 0)
    }

    fn carry(&mut self, id: PacketId, at: u64) -> Result<(), TestCaseError> {
        let Packet { flow: FlowId(flow), length, .. } = self.packets[id];
        let time = self.serializer.advance(Bytes(u64::from(length) + OVERHEAD));
        self.free = at + time.as_ps();
        self.queued -= 1;
        let due = self.due.entry(flow).or_default();
        if due.front().is_some_and(|&(first, _)| first == id)
            && let Some((_, arrived)) = due.pop_front()
        {
            let bound = self.buckets[&flow].request.delay.as_ps();
            self.checked += 1;
            let took = self.free - arrived;
            self.used = self.used.max((u128::from(took) * 100 / u128::from(bound)) as u64);
            prop_assert!(took <= bound + 2, "flow {}: {} ps, bound {}", flow, took, bound);
        }
        self.packets.release(id);
        Ok(())
    }

    fn apply(&mut self, operation: &Operation) -> Result<(), TestCaseError> {
        match *operation {
            Operation::Reserve { slot, rate: thousandths, burst, delay, within } => {
                let link = self.port.rate.bits_per_second();
                let request = Request {
                    name: slot.to_string(),
                    parent: within.then(|| "group".into()),
                    rate: rate((link / 1_000 * thousandths).max(1)),
                    burst: Bytes(burst * (FRAME + OVERHEAD)),
                    delay: Duration::from_ps(delay * self.frame_time()),
                    filters: vec![flow(slot)],
                };
                self.reserve(request)
            }
            Operation::Release(slot) => self.release(slot),
            Operation::Attack { first } => {
                self.offer(6, FRAME as u32, 1)?;
                self.pass(self.now + 1)?;
                (first..first + SLOTS).try_for_each(|slot| self.flood(slot % SLOTS))
            }
            Operation::Swap(slot) => {
                let Some(bucket) = self.buckets.get(&slot).cloned() else { return Ok(()) };
                self.release(slot)?;
                self.reserve(bucket.request)?;
                self.flood(slot)
            }
            Operation::Offer { flow, length, count } => self.offer(flow, length, count),
            Operation::Pass(frames) => {
                self.pass(self.now + frames * self.frame_time() / 16).map(|_| ())
            }
        }
    }

    fn finish(&mut self) -> Result<(), TestCaseError> {
        while self.pass(self.now + 10_000 * self.frame_time())? {}
        let statistics = self.discipline.statistics();
        prop_assert_eq!(statistics.enqueued_packets, statistics.sent_packets, "nothing is lost");
        prop_assert_eq!(self.packets.live(), 0);
        Ok(())
    }
}

fn link() -> impl Strategy<Value = u64> {
    prop_oneof![Just(9_600_u64), Just(100 * MEGABIT), Just(800_000_000_000), 100_000_u64..1 << 40]
}

fn holds(parameters: impl Strategy<Value = (u64, qdisc::Parameters)>) {
    let config = ProptestConfig { cases: 1000, failure_persistence: None, ..Default::default() };
    let operations = proptest::collection::vec(operation(), 1..150);
    let (admitted, checked) = (Cell::new(0), Cell::new(0));
    let used = RefCell::new(Vec::new());
    proptest!(config, |((link, parameters) in parameters, operations in operations)| {
        let mut run = Run::new(parameters, link);
        for operation in &operations {
            run.apply(operation)?;
        }
        run.finish()?;
        admitted.set(admitted.get() + run.admitted);
        checked.set(checked.get() + run.checked);
        used.borrow_mut().push(run.used);
    });
    let mut used = used.into_inner();
    used.sort_unstable();
    println!("{} admitted, {} delays checked", admitted.get(), checked.get());
    println!("used of the bounds: {:?} %", used.iter().rev().take(10).collect::<Vec<_>>());
    assert!(admitted.get() > 1_000 && checked.get() > 10_000, "laws that nothing was tried on");
}

#[test]
fn cbq_keeps_every_promise() {
    holds(
        (link(), 1_u64..400, 0_u32..8, any::<bool>())
            .prop_map(|(link, rest, priority, formal)| (link, cbq(link, rest, priority, formal))),
    );
}

#[test]
fn hfsc_keeps_every_promise() {
    holds((link(), 1_u64..400).prop_map(|(link, rest)| (link, hfsc(link, rest))));
}

/// What flow 2 asks for: rate in Mbit/s, burst in bytes, delay in microseconds.
fn request(name: &str, megabits: u64, burst: u64, delay: u64) -> Request {
    Request {
        name: name.into(),
        parent: None,
        rate: rate(megabits * MEGABIT),
        burst: Bytes(burst),
        delay: Duration::from_us(delay),
        filters: vec![flow(2)],
    }
}

/// What cbq refuses on 100 Mbit/s: the arithmetic is there, and what to change.
#[test]
fn a_refusal_contains_the_numbers() {
    let port = port(100 * MEGABIT, 1500);
    let mut cbq = Qdisc::attach(&cbq(100 * MEGABIT, 100, 1, true), port).unwrap();
    let mut told = Vec::new();
    let mut refuse = |cbq: &mut Qdisc, request: Request| {
        told.push(
            cbq.reserve(&request, Instant::ZERO.into())
                .expect_err("cannot be promised")
                .to_string(),
        );
    };
    cbq.reserve(&request("a", 10, 6_400, 2_000), Instant::ZERO.into()).unwrap();
    refuse(&mut cbq, request("b", 10, 0, 2_000));
    refuse(&mut cbq, Request { filters: vec![], ..request("b", 10, 1_000, 2_000) });
    refuse(&mut cbq, Request { parent: Some("rest".into()), ..request("b", 10, 1_000, 2_000) });
    refuse(&mut cbq, Request { parent: Some("none".into()), ..request("b", 10, 1_000, 2_000) });
    refuse(&mut cbq, request("a", 10, 1_000, 2_000));
    refuse(&mut cbq, request("b", 31, 1_000, 2_000));
    refuse(&mut cbq, Request { parent: Some("group".into()), ..request("b", 49, 1_000, 2_000) });
    refuse(&mut cbq, request("b", 10, 6_400, 1_000));
    refuse(&mut cbq, request("b", 10, 64_000, 20_000));
    refuse(&mut cbq, Request { parent: Some("group".into()), ..request("b", 48, 640, 20_000) });
    cbq.reserve(&request("b", 10, 6_400, 1_839), Instant::ZERO.into())
        .expect("the bound that was named");
    refuse(&mut cbq, Request { parent: Some("group".into()), ..request("c", 48, 64, 20_000) });
    told.push(cbq.release("c", Instant::ZERO.into()).unwrap_err().to_string());
    cbq.release("a", Instant::ZERO.into()).unwrap();
    cbq.release("b", Instant::ZERO.into()).unwrap();
    told.push(cbq.release("b", Instant::ZERO.into()).unwrap_err().to_string());
    cbq.reserve(&request("a", 29, 64, 1_000_000), Instant::ZERO.into()).unwrap();
    let crowded = Request { parent: Some("group".into()), ..request("b", 48, 64, 1_000_000) };
    told.push(cbq.reserve(&crowded, Instant::ZERO.into()).unwrap_err().to_string());
    let told = told.join("\n") + "\n";
    assert_eq!(told, include_str!("reservations.txt"), "\n{told}");
}

/// An estimator that forgets is refused, and so is a change to it while something is reserved.
#[test]
fn the_average_estimator_promises_nothing() {
    let port = port(100 * MEGABIT, 1500);
    let qdisc::Parameters::Cbq(exact) = cbq(100 * MEGABIT, 100, 1, true) else { unreachable!() };
    let average = cbq::Parameters { estimator: cbq::Estimator::Average, ..exact.clone() };
    let text =
        "the `average` estimator is off by some per cent: set `exact` where classes are reserved";
    let mut forgetful = cbq::Cbq::attach(&average, port).unwrap();
    let refused =
        forgetful.reserve(&request("a", 1, 1_000, 2_000), Instant::ZERO.into()).unwrap_err();
    assert_eq!(refused.to_string(), text);
    let mut cbq = cbq::Cbq::attach(&exact, port).unwrap();
    cbq.reserve(&request("a", 1, 1_000, 2_000), Instant::ZERO.into()).unwrap();
    assert_eq!(cbq.change(&average, Instant::ZERO.into()).unwrap_err().to_string(), text);
    cbq.change(&exact, Instant::ZERO.into()).unwrap();
    assert_eq!(cbq.reservations().len(), 1);
}

/// Those that take none say who does.
#[test]
fn only_the_takers_take_reservations() {
    let port = port(100 * MEGABIT, 1500);
    let mut refused = 0;
    for entry in REGISTRY {
        let parameters = match entry.name {
            "cbq" => cbq(100 * MEGABIT, 100, 1, true),
            "hfsc" => hfsc(100 * MEGABIT, 100),
            name => qdisc::Parameters::by_name(name).expect("a name of the registry"),
        };
        // Some make no sense without classes.
        let Ok(mut discipline) = Qdisc::attach(&parameters, port) else { continue };
        let answer = discipline.reserve(&request("a", 1, 1_000, 2_000), Instant::ZERO.into());
        assert_eq!(answer.is_ok(), TAKERS.contains(&entry.name), "{}", entry.name);
        assert_eq!(discipline.release("a", Instant::ZERO.into()).is_ok(), answer.is_ok());
        let Err(refusal) = answer else { continue };
        refused += 1;
        assert_eq!(
            refusal.to_string(),
            "this discipline takes no reservations: attach one that does, such as `cbq`, `hfsc`"
        );
    }
    assert!(refused >= 6, "{refused}");
}

/// A greedy class has its rate, beside greedy others and a greedy rest, and not more where it may not.
#[test]
fn a_reserved_class_has_its_rate() {
    let link = 100 * MEGABIT;
    for parameters in [cbq(link, 100, 7, false), cbq(link, 100, 1, true), hfsc(link, 100)] {
        let mut run = Run::new(parameters, link);
        let asked = [(1, 3), (3, 11), (5, 17)];
        for (slot, megabits) in asked {
            let filters = vec![flow(slot)];
            let request =
                Request { filters, ..request(&slot.to_string(), megabits, 3_200, 20_000) };
            run.discipline.reserve(&request, Instant::ZERO.into()).unwrap();
        }
        let mut before = BTreeMap::new();
        for round in 0..2_000 {
            for flow in [1, 3, 5, 6, 7] {
                run.offer(flow, if round % 3 == 0 { 64 } else { 1518 }, 6).unwrap();
            }
            run.pass(run.now + 1_000_000_000).unwrap();
            if round == 200 {
                run.discipline.classes(&mut |_, name, s| {
                    before.insert(name.to_string(), s.sent_bytes);
                });
            }
        }
        run.discipline.classes(&mut |_, name, s| {
            let Some(&(_, megabits)) = asked.iter().find(|(slot, _)| slot.to_string() == name)
            else {
                return;
            };
            // 1.799 s.
            let sent = (s.sent_bytes - before[name]) * 8;
            let wanted = megabits * MEGABIT * 1_799 / 1_000;
            println!("{name}: {sent} bits of {wanted}");
            assert!(sent * 1_000 >= wanted * 990, "{name}: {sent} bits of {wanted}");
        });
    }
}

/// A burst that has just been sent is not promised again until it can no longer delay other traffic. (`hfsc`
/// spreads a burst, so that its property above is the test.)
#[test]
fn a_burst_is_not_promised_twice_at_once() {
    let link = 100 * MEGABIT;
    let mut run = Run::new(cbq(link, 100, 1, true), link);
    let slot = |slot: u32| {
        let filters = vec![flow(slot)];
        Request { filters, ..request(&slot.to_string(), 10, 50_000, 13_000) }
    };
    run.reserve(slot(2)).unwrap();
    run.reserve(slot(1)).unwrap();
    assert_eq!(run.admitted, 2);
    run.flood(1).unwrap();
    run.flood(2).unwrap();
    run.pass(3_000_000_000).unwrap();
    run.release(1).unwrap();
    let refused = run
        .discipline
        .reserve(&slot(1), Instant::from_ps(run.now).into())
        .expect_err("it may have been sent")
        .to_string();
    assert!(refused.contains("`1 (before)`"), "{refused}");
    run.finish().unwrap();
    run.discipline.reserve(&slot(1), Instant::from_ps(run.now).into()).expect("nobody waits");
}
