//! Chains of elements: what they do, what they count, and which are refused.

use base::action::Action;
use base::{Bytes, DropReason, Duration, FlowId, Instant, Packet, Rate};
use proptest::prelude::*;
use traffic::Packets;
use traffic::classify::Filter;
use traffic::condition::{Conditioner, Count, Element, Parameters, Rule, Statistics};
use traffic::meter::{Parameters as Meter, bucket, single_rate, two_rate, window};

fn rate(bits: u64) -> Rate {
    Rate::from_bits_per_second(bits).expect("a rate above zero")
}

fn bucket(bits: u64, burst: u64) -> Option<Meter> {
    Some(Meter::TokenBucket(bucket::Parameters { rate: rate(bits), burst: Bytes(burst) }))
}

/// The action of a conditioner on a packet, which it may mark.
fn condition(
    conditioner: &mut Conditioner,
    packet: &mut Packet,
    now: Instant,
) -> Result<(), DropReason> {
    let mut packets = Packets::new();
    let id = packets.insert(*packet);
    let answer = conditioner.condition(&mut packets, id, now);
    *packet = packets[id];
    answer
}

fn flow(flow: u32, element: &str) -> Rule {
    let filter = Filter { flow: Some(FlowId(flow)), ..Filter::default() };
    Rule { filter, priority: 0, element: element.into() }
}

fn next(name: &str) -> Action {
    Action::Next(name.into())
}

fn packet(flow: u32, ip_bytes: u32, tos: u8) -> Packet {
    Packet { flow: FlowId(flow), length: ip_bytes + 18, tos, ..Packet::default() }
}

fn counts(conditioner: &Conditioner) -> Vec<(String, [Count; 3])> {
    let mut counts = Vec::new();
    conditioner.elements(&mut |name, count| counts.push((name.into(), count)));
    counts
}

/// An expedited class is policed; an assured one is marked by its excess and then policed together with the
/// rest: every packet's path is known beforehand.
#[test]
fn a_packet_goes_from_element_to_element() {
    let green = Element {
        name: "assured".into(),
        meter: Some(Meter::SingleRate(single_rate::Parameters {
            committed_rate: rate(8),
            committed_burst: Bytes(1_000),
            excess_burst: Bytes(1_000),
            colour_aware: false,
        })),
        green: Action::Mark(10),
        yellow: next("rest"),
        red: Action::Return,
    };
    let rest = Element {
        name: "rest".into(),
        meter: bucket(8, 700),
        green: Action::Mark(12),
        red: Action::Drop,
        ..Element::default()
    };
    let parameters = Parameters {
        elements: vec![rest, green],
        rules: vec![flow(1, "assured"), flow(2, "rest")],
        default: Action::Mark(0),
    };
    let mut conditioner = Conditioner::attach(&parameters, 0, Instant::ZERO).expect("accepted");
    let mut offer = |flow, tos| {
        let mut packet = packet(flow, 500, tos);
        condition(&mut conditioner, &mut packet, Instant::ZERO).map(|()| packet.tos)
    };
    // Two packets of the committed burst; one of the excess that the bucket has room for; one that
    // it has not; then none; what returns is marked by default. The ECN field (here 0b10) stays.
    assert_eq!(offer(1, 0b10), Ok(10 << 2 | 0b10));
    assert_eq!(offer(1, 0b10), Ok(10 << 2 | 0b10));
    assert_eq!(offer(1, 0), Ok(12 << 2));
    assert_eq!(offer(1, 0), Err(DropReason::Policed));
    assert_eq!(offer(1, 46 << 2), Ok(0));
    assert_eq!(offer(2, 0), Err(DropReason::Policed));
    assert_eq!(offer(3, 46 << 2), Ok(0));
    let of = |packets| Count { packets, bytes: 500 * packets };
    let statistics =
        Statistics { pass: of(0), drop: of(2), mark: of(5), next: of(2), returned: of(1) };
    assert_eq!(conditioner.statistics(), statistics);
    assert_eq!(
        counts(&conditioner),
        [("rest".into(), [of(1), of(0), of(2)]), ("assured".into(), [of(2), of(2), of(1)])]
    );
    // A second earns a byte; 500 s a packet.
    let mut late = packet(2, 500, 0);
    let time = |s| Instant::ZERO + Duration::from_secs(s);
    assert_eq!(condition(&mut conditioner, &mut late, time(299)), Err(DropReason::Policed));
    assert_eq!(condition(&mut conditioner, &mut late, time(300)), Ok(()));
}

/// A marker's colour counts in a later colour-aware one, an assured-forwarding code point likewise.
#[test]
fn a_colour_is_carried_on() {
    let aware = |name: &str| Element {
        name: name.into(),
        meter: Some(Meter::TwoRate(two_rate::Parameters {
            peak_rate: rate(1_000),
            peak_burst: Bytes(10_000),
            committed_rate: rate(1_000),
            committed_burst: Bytes(10_000),
            colour_aware: true,
        })),
        green: Action::Mark(10),
        yellow: Action::Mark(12),
        red: Action::Mark(14),
    };
    let blind = Element {
        name: "blind".into(),
        meter: Some(Meter::SingleRate(single_rate::Parameters {
            committed_rate: rate(1_000),
            committed_burst: Bytes(500),
            excess_burst: Bytes(500),
            colour_aware: false,
        })),
        green: next("aware"),
        yellow: next("aware"),
        red: next("aware"),
    };
    let parameters = Parameters {
        elements: vec![blind, aware("aware"), aware("alone")],
        rules: vec![flow(1, "blind"), flow(2, "alone")],
        default: Action::Drop,
    };
    let mut conditioner = Conditioner::attach(&parameters, 0, Instant::ZERO).expect("accepted");
    let mut offer = |flow, dscp: u8| {
        let mut packet = packet(flow, 500, dscp << 2);
        condition(&mut conditioner, &mut packet, Instant::ZERO).map(|()| packet.tos >> 2)
    };
    assert_eq!([offer(1, 0), offer(1, 0), offer(1, 0)], [Ok(10), Ok(12), Ok(14)]);
    let from = [46, 34, 36, 38].map(|dscp| offer(2, dscp));
    assert_eq!(from, [Ok(10), Ok(10), Ok(12), Ok(14)]);
    assert_eq!(offer(3, 0), Err(DropReason::Policed));
}

#[test]
fn a_change_keeps_tokens_and_counters_and_an_error_everything() {
    let with = |burst, name: &str| Parameters {
        elements: vec![Element {
            name: name.into(),
            meter: bucket(8, burst),
            red: Action::Drop,
            ..Element::default()
        }],
        rules: vec![flow(1, name)],
        default: Action::Pass,
    };
    let mut conditioner =
        Conditioner::attach(&with(1_000, "a"), 0, Instant::ZERO).expect("accepted");
    let offer = |conditioner: &mut Conditioner| {
        condition(conditioner, &mut packet(1, 400, 0), Instant::ZERO).is_ok()
    };
    assert!(offer(&mut conditioner));
    assert!(conditioner.change(&with(0, "a"), Instant::ZERO).is_err());
    assert!(offer(&mut conditioner));
    // 200 bytes are left, which a larger bucket does not make more.
    conditioner.change(&with(2_000, "a"), Instant::ZERO).expect("accepted");
    assert!(!offer(&mut conditioner));
    assert_eq!(conditioner.statistics().pass.packets, 2);
    assert_eq!(counts(&conditioner)[0].1[2], Count { packets: 1, bytes: 400 });
    // Another element starts from zero.
    conditioner.change(&with(1_000, "b"), Instant::ZERO).expect("accepted");
    assert!(offer(&mut conditioner));
    assert_eq!(conditioner.statistics().pass.packets, 3);
}

#[test]
fn what_is_refused_says_what_to_change() {
    let element =
        |name: &str, green: Action| Element { name: name.into(), green, ..Element::default() };
    let of = |elements: Vec<Element>| Parameters { elements, ..Parameters::default() };
    let metered = |meter| of(vec![Element { name: "a".into(), meter, ..Element::default() }]);
    let window = |committed, peak, ms| {
        let (committed_rate, peak_rate) = (rate(committed), rate(peak));
        metered(Some(Meter::Window(window::Parameters {
            committed_rate,
            peak_rate,
            window: Duration::from_ms(ms),
        })))
    };
    let rule = |element: &str, filter| Rule { filter, priority: 0, element: element.into() };
    let bad = Filter { vlan_priority: Some(9), ..Filter::default() };
    let wrong = [
        of(vec![element("a", Action::Pass), element("a", Action::Pass)]),
        of(vec![element("a", next("c")), element("b", Action::Pass)]),
        of(vec![element("a", next("b")), element("b", next("c")), element("c", next("b"))]),
        of(vec![element("a", next("a"))]),
        Parameters {
            elements: vec![element("a", Action::Return)],
            default: next("a"),
            ..Parameters::default()
        },
        Parameters { default: Action::Return, ..Parameters::default() },
        Parameters { default: next("a"), ..Parameters::default() },
        of(vec![element("a", Action::Mark(64))]),
        Parameters { rules: vec![rule("b", bad)], ..of(vec![element("a", Action::Pass)]) },
        Parameters { rules: vec![rule("a", bad)], ..of(vec![element("a", Action::Pass)]) },
        metered(bucket(8, 0)),
        window(20_000_000, 10_000_000, 100),
        window(1, 1, 0),
        window(1, 800_000_000_000, 100_000),
    ];
    let text = |parameters: &Parameters| {
        Conditioner::attach(parameters, 0, Instant::ZERO).expect_err("refused").to_string()
    };
    let expected = [
        "two elements are named `a`: give each a different name",
        "element `a` leads to the element `c`, which does not exist: name one of `a`, `b`",
        "a packet would loop through `b`, `c`: use pass, drop, mark or return instead of `next` in one of them",
        "a packet would loop through `a`: use pass, drop, mark or return instead of `next` in one of them",
        "a packet would loop through `a`: use pass, drop, mark or return instead of `next` in one of them",
        "the default action cannot be `return`: use `pass`",
        "the default action leads to the element `a`, which does not exist: there are none",
        "element `a` marks with the code point 64: it has 6 bits, at most 63",
        "rule 1 leads to the element `b`, which does not exist: name one of `a`",
        "rule 1: the VLAN priority 9 exceeds 7: it has 3 bits",
        "element `a`: `burst` cannot be 0 B: give at least 1 B",
        "element `a`: the peak rate 10 Mbit/s is below the committed rate 20 Mbit/s: raise the one \
         or lower the other",
        "element `a`: `window` cannot be 0 s: give more than 0 s",
        "element `a`: 800 Gbit/s for the whole window is more than 4 TiB: shorten the window",
    ];
    assert_eq!(wrong.iter().map(text).collect::<Vec<_>>(), expected);
}

fn action() -> impl Strategy<Value = Action> {
    prop_oneof![
        2 => Just(Action::Pass),
        2 => Just(Action::Drop),
        2 => Just(Action::Return),
        2 => (0_u8..64).prop_map(Action::Mark),
        2 => (0_usize..6).prop_map(|to| Action::Next(to.to_string())),
    ]
}

fn meter() -> impl Strategy<Value = Option<Meter>> {
    let (rate, bytes) = (rate(1_000_000), Bytes(2_000));
    let two = two_rate::Parameters {
        peak_rate: rate,
        peak_burst: bytes,
        committed_rate: rate,
        committed_burst: Bytes(1_000),
        colour_aware: true,
    };
    let (committed_rate, peak_rate, window) = (rate, rate, Duration::from_ms(10));
    prop::sample::select(vec![
        None,
        bucket(1_000_000, 2_000),
        Some(Meter::TwoRate(two)),
        Some(Meter::Window(window::Parameters { committed_rate, peak_rate, window })),
    ])
}

/// Whether a packet could go round, by the definition: some element that it can reach from itself.
fn goes_round(parameters: &Parameters) -> bool {
    let place = |action: &Action| match action {
        Action::Next(name) => name.parse::<usize>().ok(),
        Action::Return => match &parameters.default {
            Action::Next(name) => name.parse().ok(),
            _ => None,
        },
        _ => None,
    };
    let n = parameters.elements.len();
    let mut reach = vec![vec![false; n]; n];
    for (from, element) in parameters.elements.iter().enumerate() {
        let Element { green, yellow, red, .. } = element;
        let actions: &[_] = match element.meter {
            None => &[green],
            Some(Meter::TokenBucket(_)) => &[green, red],
            _ => &[green, yellow, red],
        };
        for to in actions.iter().filter_map(|action| place(action)) {
            reach[from][to] = true;
        }
    }
    for by in 0..n {
        for from in 0..n {
            for to in 0..n {
                reach[from][to] |= reach[from][by] && reach[by][to];
            }
        }
    }
    (0..n).any(|index| reach[index][index])
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 1_000, ..ProptestConfig::default() })]

    /// Exactly the chains without end are refused; in all others every packet comes to an end, which
    /// is counted once, and every step to an element is counted there.
    #[test]
    fn every_packet_is_accounted_for(
        drawn in prop::collection::vec((meter(), action(), action(), action()), 6),
        default in action().prop_filter("nowhere to return to", |action| *action != Action::Return),
        packets in prop::collection::vec((0_u32..8, 0_u32..1_500, any::<u8>(), 0_u64..10_000_000), 0..60),
    ) {
        let element = |(index, (meter, green, yellow, red)): (usize, _)| {
            Element { name: index.to_string(), meter, green, yellow, red }
        };
        let elements: Vec<_> = drawn.into_iter().enumerate().map(element).collect();
        let rules = (0..6).map(|n| flow(n, &n.to_string())).collect();
        let parameters = Parameters { elements, rules, default };
        let attached = Conditioner::attach(&parameters, 0, Instant::ZERO);
        prop_assert_eq!(attached.is_err(), goes_round(&parameters));
        let Ok(mut conditioner) = attached else { return Ok(()) };
        let (mut now, mut bytes, mut started, mut dropped) = (0, 0, 0, 0);
        for &(flow, length, tos, gap) in &packets {
            now += gap;
            bytes += u64::from(length);
            started += u64::from(flow < 6);
            let mut packet = packet(flow, length, tos);
            dropped += u64::from(condition(&mut conditioner, &mut packet, Instant::from_ps(now)).is_err());
            prop_assert_eq!(packet.tos & 0b11, tos & 0b11);
        }
        let Statistics { pass, drop, mark, next, returned } = conditioner.statistics();
        prop_assert_eq!(pass.packets + drop.packets + mark.packets, packets.len() as u64);
        prop_assert_eq!(pass.bytes + drop.bytes + mark.bytes, bytes);
        prop_assert_eq!(drop.packets, dropped);
        let visits: u64 = counts(&conditioner).iter().flat_map(|(_, count)| count).map(|count| count.packets).sum();
        let by_default = match parameters.default {
            Action::Next(_) => returned.packets + packets.len() as u64 - started,
            _ => 0,
        };
        prop_assert_eq!(visits, started + next.packets + by_default);
    }
}
