//! The guarantees of `psp`, against exact arithmetic in fractions of a byte time.

use crate::wire::{OVERHEAD, Sent, Wire, port, rate};
use base::{Duration, FlowId};
use proptest::prelude::*;
use traffic::classify::{Filter, Rule};
use traffic::qdisc::fifo;
use traffic::qdisc::psp::{Class, Parameters, Psp};
use traffic::{Dequeued, Discipline, Port};

/// The byte times of the shortest gap frame: a packet is early by less than that.
const UNFILLABLE: i128 = 84;
/// A full frame of MTU 1500 with its overhead.
const FRAME: u64 = 1538;

const GIGABIT: u64 = 1_000_000_000;

fn class(name: &str, parent: Option<&str>, bits: u64) -> Class {
    let limit = fifo::Parameters::of_packets(1 << 20);
    Class {
        name: name.into(),
        parent: parent.map(Into::into),
        rate: rate(bits).into(),
        queue: limit,
    }
}

/// Flow `n` goes to the class named `n`, if there is one.
fn tree(classes: Vec<Class>) -> Parameters {
    let rule = |class: &Class| {
        let flow = FlowId(class.name.parse().ok()?);
        let filter = Filter { flow: Some(flow), ..Filter::default() };
        Some(Rule { filter, priority: 0, class: class.name.clone() })
    };
    let filters = classes.iter().filter_map(rule).collect();
    let unclassified = classes[0].queue;
    Parameters { classes, filters, unclassified, ..Parameters::default() }
}

fn flat(rates: &[u64]) -> Parameters {
    tree(rates.iter().enumerate().map(|(n, &bits)| class(&n.to_string(), None, bits)).collect())
}

fn wire(parameters: &Parameters, port: Port) -> Wire<Psp> {
    Wire::new(Psp::attach(parameters, port).expect("rates that the link has"), port)
}

fn of_flow(log: &[Sent], flow: u32) -> Vec<Sent> {
    log.iter().filter(|sent| sent.flow == Some(flow)).copied().collect()
}

/// `length * line / bits` byte times, at least what the frame takes on the wire, in units of
/// 1/`bits`.
fn span(length: u64, line: u64, bits: u64) -> i128 {
    let (length, line, bits) = (i128::from(length), i128::from(line), i128::from(bits));
    (length * line).max((length + i128::from(OVERHEAD)) * bits)
}

/// How late each packet began, in byte times rounded down, if the first was due at byte time 0 and
/// the class was backlogged all the time.
fn lateness(sent: &[Sent], line: u64, bits: u64) -> Vec<i128> {
    let mut due = 0;
    let late = |frame: &Sent| {
        let late = (i128::from(frame.at) * i128::from(bits) - due).div_euclid(bits.into());
        due += span(frame.length, line, bits);
        late
    };
    sent.iter().map(late).collect()
}

/// Whether between any two packets there is the time that the first's and those between deserve,
/// less `allowed` byte times.
fn never_above(sent: &[Sent], line: u64, bits: u64, allowed: i128) -> bool {
    (0..sent.len()).all(|first| {
        let mut deserved = 0;
        sent[first..].windows(2).all(|pair| {
            deserved += span(pair[0].length, line, bits);
            let passed = i128::from(pair[1].at - sent[first].at);
            deserved <= (passed + allowed) * i128::from(bits)
        })
    })
}

fn lengths(from: u32) -> impl Strategy<Value = Vec<u32>> {
    proptest::collection::vec(from..=1518, 200..400)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// One class on any line at any rate: never late, early only by what no gap frame could fill,
    /// and the error does not grow.
    #[test]
    fn one_class_is_exact(
        line in 1_000_000_u64..800_000_000_000,
        share in 1_u64..=1000,
        odd in 0_u64..1000,
        lengths in lengths(64),
    ) {
        let bits = (line / 1000 * share).saturating_sub(odd).max(1);
        let mut wire = wire(&flat(&[bits]), port(line, 1500));
        for &length in &lengths {
            wire.offer(0, length);
        }
        wire.drain();
        let sent = of_flow(&wire.log, 0);
        prop_assert_eq!(sent.len(), lengths.len());
        let late = lateness(&sent, line, bits);
        prop_assert!(late.iter().all(|l| (-UNFILLABLE..=0).contains(l)), "{late:?}");
        prop_assert!(never_above(&sent, line, bits, UNFILLABLE));
        let frames = wire.discipline.statistics();
        let gaps = frames.gap_bytes + OVERHEAD * frames.gap_frames;
        let real = frames.sent_bytes + OVERHEAD * frames.sent_packets;
        prop_assert_eq!(gaps + real, wire.position(), "gap bytes are what is left of the wire");
    }

    /// Several backlogged classes: each one keeps to its own rate as if it were alone, except for the frames of the
    /// others that are just then on the wire; and none of the gaps is put there while a packet is due.
    #[test]
    fn every_class_is_exact_beside_others(
        weights in proptest::collection::vec(1_u64..100, 2..7),
        load in 1_u64..=96,
        lengths in lengths(1000),
    ) {
        let total: u64 = weights.iter().sum();
        let rates: Vec<u64> =
            weights.iter().map(|weight| GIGABIT / 100 * load * weight / total).collect();
        let mut wire = wire(&flat(&rates), port(GIGABIT, 1500));
        for (n, _) in rates.iter().enumerate() {
            for length in &lengths {
                wire.offer(n as u32, *length);
            }
        }
        // While all are backlogged.
        let mut left = vec![lengths.len(); rates.len()];
        while left.iter().all(|&packets| packets > 1) {
            wire.step();
            if let Some(flow) = wire.log.last().and_then(|sent| sent.flow) {
                left[flow as usize] -= 1;
            }
        }
        let others = i128::from(FRAME) * rates.len() as i128;
        let mut due = Vec::new();
        for (n, &bits) in rates.iter().enumerate() {
            let sent = of_flow(&wire.log, n as u32);
            let late = lateness(&sent, GIGABIT, bits);
            prop_assert!(
                late.iter().all(|l| (-UNFILLABLE..=others).contains(l)),
                "{n} of {rates:?}: {late:?}"
            );
            due.extend(sent.iter().zip(late).map(|(sent, late)| i128::from(sent.at) - late));
        }
        due.sort_unstable();
        let mut gone = 0;
        for sent in &wire.log {
            match sent.flow {
                Some(_) => gone += 1,
                None => prop_assert!(
                    due.get(gone).is_none_or(|&due| due + 1 >= i128::from(sent.at) + UNFILLABLE),
                    "a gap at {} although {:?} is due", sent.at, due.get(gone)
                ),
            }
        }
    }

    /// Traffic that comes and goes: no class is above its rate over any window, except for what others' frames
    /// delayed; alone, except for what no gap frame could fill.
    #[test]
    fn an_idle_class_earns_no_credit(
        events in proptest::collection::vec((0_u32..4, 64_u32..=1518, 0_u64..5000), 1..200),
        rates in proptest::collection::vec(1_000_000_u64..330_000_000, 1..4),
    ) {
        let mut wire = wire(&flat(&rates), port(GIGABIT, 1500));
        for &(flow, length, idle) in &events {
            // Flow 3, and any flow without a class, is unclassified.
            wire.offer(flow % (rates.len() as u32 + 1), length);
            let until = wire.position() + idle;
            while wire.position() < until {
                if wire.step() == Dequeued::Empty {
                    wire.idle(until - wire.position());
                }
            }
        }
        wire.drain();
        for (n, &bits) in rates.iter().enumerate() {
            let sent = of_flow(&wire.log, n as u32);
            let allowed = UNFILLABLE + i128::from(FRAME) * (rates.len() as i128 + 1);
            prop_assert!(never_above(&sent, GIGABIT, bits, allowed), "{n}: {sent:?}");
        }
    }

    /// One class alone that comes and goes is held to its rate exactly.
    #[test]
    fn alone_a_class_is_never_above_its_rate(
        events in proptest::collection::vec((64_u32..=1518, 0_u64..9000), 1..200),
        bits in 1_000_000_u64..=GIGABIT,
    ) {
        let mut wire = wire(&flat(&[bits]), port(GIGABIT, 1500));
        for &(length, idle) in &events {
            wire.offer(0, length);
            let until = wire.position() + idle;
            while wire.position() < until {
                if wire.step() == Dequeued::Empty {
                    wire.idle(until - wire.position());
                }
            }
        }
        wire.drain();
        prop_assert!(never_above(&of_flow(&wire.log, 0), GIGABIT, bits, UNFILLABLE));
    }

    /// A parent limits its children together to its own rate, for any arrivals, and each child to its own.
    #[test]
    fn a_parent_bounds_its_children_together(
        events in proptest::collection::vec((0_u32..3, 64_u32..=1518, 0_u64..4000), 1..200),
        shares in (1_u64..50, 1_u64..50, 1_u64..50),
        spare in 1_u64..4,
    ) {
        let million = 1_000_000;
        let rates = [shares.0 * million, shares.1 * million, shares.2 * million];
        let parent = (rates[0] + rates[1]) * spare;
        let classes = vec![
            class("parent", None, parent),
            class("0", Some("parent"), rates[0]),
            class("1", Some("parent"), rates[1]),
            class("2", None, rates[2]),
        ];
        let mut wire = wire(&tree(classes), port(GIGABIT, 1500));
        for &(flow, length, idle) in &events {
            wire.offer(flow, length);
            let until = wire.position() + idle;
            while wire.position() < until {
                if wire.step() == Dequeued::Empty {
                    wire.idle(until - wire.position());
                }
            }
        }
        wire.drain();
        let together: Vec<Sent> =
            wire.log.iter().filter(|s| matches!(s.flow, Some(0 | 1))).copied().collect();
        // The only other frames are those of class 2.
        let allowed = UNFILLABLE + i128::from(FRAME) * 2;
        prop_assert!(never_above(&together, GIGABIT, parent, allowed), "{together:?}");
        for (n, &bits) in rates.iter().enumerate() {
            // And its sibling's frame, for as long as it takes their parent's rate.
            let sibling = i128::from(1518 * GIGABIT / parent);
            let allowed = UNFILLABLE + i128::from(FRAME) * 4 + sibling;
            prop_assert!(never_above(&of_flow(&wire.log, n as u32), GIGABIT, bits, allowed));
        }
    }
}

/// Children of a slow parent are exact too, even if their packets' times coincide.
#[test]
fn siblings_keep_their_rates_to_the_byte_over_the_long_run() {
    let million = 1_000_000;
    let (rates, parent) = ([3 * million, 7 * million, 11 * million], 21 * million);
    let mut classes = vec![class("parent", None, parent)];
    for (n, &bits) in rates.iter().enumerate() {
        classes.push(class(&n.to_string(), Some("parent"), bits));
    }
    let mut wire = wire(&tree(classes), port(GIGABIT, 1500));
    for _ in 0..2_000 {
        for flow in 0..3 {
            wire.offer(flow, 1518);
        }
    }
    wire.carry_of(2, 1_900);
    // At worst both siblings' frames go first, at the parent's rate.
    let held = i128::from(3 * 1518 * GIGABIT / parent);
    for (n, &bits) in rates.iter().enumerate() {
        let late = lateness(&of_flow(&wire.log, n as u32), GIGABIT, bits);
        assert!(late.iter().all(|l| (-UNFILLABLE..=held).contains(l)), "{n}: {late:?}");
    }
}

/// Starts of the frames of one flow.
fn starts(wire: &Wire<Psp>, flow: u32) -> Vec<u64> {
    of_flow(&wire.log, flow).iter().map(|sent| sent.at).collect()
}

/// Two children of 250 Mbit/s start at once within 500 Mbit/s: they take turns at the parent's
/// spacing.
#[test]
fn siblings_take_turns_at_their_parents_rate() {
    let half = class("half", None, GIGABIT / 2);
    let child = |name| class(name, Some("half"), GIGABIT / 4);
    let parameters = tree(vec![half, child("0"), child("1")]);
    let mut wire = wire(&parameters, port(GIGABIT, 1500));
    for _ in 0..4 {
        wire.offer(0, 1518);
        wire.offer(1, 1518);
    }
    wire.drain();
    assert_eq!(starts(&wire, 0), [0, 6072, 12144, 18216]);
    assert_eq!(starts(&wire, 1), [3036, 9108, 15180, 21252]);
}

/// Paper 0, section 5: another stream's packets fill the gap; only what is left of it is gap
/// frames.
#[test]
fn another_classs_packets_fill_the_gap() {
    let mut wire = wire(&flat(&[GIGABIT / 4, GIGABIT / 4]), port(GIGABIT, 1500));
    for _ in 0..3 {
        wire.offer(0, 1518);
        wire.offer(1, 1518);
    }
    wire.drain();
    assert_eq!(starts(&wire, 0), [0, 6072, 12144]);
    assert_eq!(starts(&wire, 1), [1538, 7610, 13682]);
    // 6072 byte times less two packets, twice; 2996 of them are one full gap frame and a second
    // one.
    let gaps: Vec<u64> = wire.log.iter().filter(|s| s.flow.is_none()).map(|s| s.length).collect();
    assert_eq!(gaps, [1518, 1438, 1518, 1438]);
}

/// Unclassified packets take the gaps, all of them while there are any, and cost no class its rate.
#[test]
fn unclassified_packets_fill_gaps() {
    let mut wire = wire(&flat(&[GIGABIT / 2]), port(GIGABIT, 1500));
    for _ in 0..1000 {
        wire.offer(0, 1518);
        wire.offer(9, 1518);
    }
    wire.carry_of(0, 900);
    assert_eq!(wire.discipline.statistics().gap_frames, 0);
    let late = lateness(&of_flow(&wire.log, 0), GIGABIT, GIGABIT / 2);
    assert!(late.iter().all(|&l| (-UNFILLABLE..=1538).contains(&l)), "{late:?}");
    // 3036 byte times hold one packet of each, and 40 fewer than they need: 900 * 2996 / 3076.
    assert_eq!(starts(&wire, 9).len(), 876);
}

/// What is too short for a gap frame is carried until it makes one: 98 % of the link leaves 11 byte
/// times a packet, so every eighth packet has a gap before it, of 64 bytes or a few more.
#[test]
fn short_gaps_are_carried_and_never_rounded_up() {
    let mut wire = wire(&flat(&[GIGABIT / 100 * 98]), port(GIGABIT, 1500));
    for _ in 0..1000 {
        wire.offer(0, 1518);
    }
    wire.drain();
    let gaps: Vec<u64> = wire.log.iter().filter(|s| s.flow.is_none()).map(|s| s.length).collect();
    assert!(gaps.iter().all(|length| (64..64 + 11).contains(length)), "{gaps:?}");
    // 1518 / 0.98 - 1538 = 10.98 byte times, 999 times, in gaps of some 87.8.
    assert_eq!(gaps.len(), 124);
}

/// A gap of 9000 bytes is one frame where the port's MTU allows, a longer one several, and none of
/// them leaves less than a frame.
#[test]
fn long_gaps_are_several_frames() {
    let gaps_at = |mtu: u64, spacing: u64| {
        // A frame of 1000 bytes at a 1000/spacing of the line: `spacing` byte times from start to
        // start.
        let line = spacing * 1000;
        let mut wire = wire(&flat(&[1_000_000]), port(line, mtu));
        wire.offer(0, 1000);
        wire.offer(0, 1000);
        wire.drain();
        assert_eq!(starts(&wire, 0)[1], spacing);
        let gaps = wire.log.iter().filter(|s| s.flow.is_none()).map(|s| s.length);
        gaps.collect::<Vec<_>>()
    };
    assert_eq!(gaps_at(9000, 1020 + 9020), [9000]);
    assert_eq!(gaps_at(9000, 1020 + 9021), [8917, 64]);
    assert_eq!(gaps_at(9000, 1020 + 9020 + 84), [9000, 64]);
    assert_eq!(gaps_at(1500, 1020 + 9020), [1518, 1518, 1518, 1518, 1518, 1310]);
    assert_eq!(gaps_at(1500, 1020 + 2 * 1538 + 83), [1518, 1517, 64]);
}

/// After silence the first packet leaves at once and the second a full gap later.
#[test]
fn a_burst_after_silence_is_paced_from_its_first_packet() {
    let mut wire = wire(&flat(&[GIGABIT / 2]), port(GIGABIT, 1500));
    for silence in [0, 1000, 100_000_000] {
        wire.idle(silence);
        let from = wire.log.len();
        for _ in 0..5 {
            wire.offer(0, 1518);
        }
        wire.drain();
        let starts: Vec<u64> = of_flow(&wire.log[from..], 0).iter().map(|s| s.at).collect();
        assert!(starts.windows(2).all(|pair| pair[1] - pair[0] == 3036), "{starts:?}");
    }
    // The silence of 1000 byte times ended before the next packet was due.
    assert_eq!(starts(&wire, 0)[5], 5 * 3036);
}

/// A link that is stopped while packets wait (a pause from the switch) earns them no credit either.
#[test]
fn a_paused_wire_is_not_caught_up() {
    let mut wire = wire(&flat(&[GIGABIT / 2]), port(GIGABIT, 1500));
    for _ in 0..10 {
        wire.offer(0, 1518);
    }
    for _ in 0..5 {
        wire.step();
    }
    wire.idle(1_000_000);
    wire.drain();
    let starts = starts(&wire, 0);
    assert!(starts.windows(2).all(|pair| pair[1] - pair[0] >= 3036), "{starts:?}");
}

/// A class promised more than frames of 64 bytes leave of the link hoards no credit for later.
#[test]
fn lateness_that_the_link_cannot_make_up_for_is_forgiven() {
    let mut wire = wire(&flat(&[GIGABIT / 2, GIGABIT / 2]), port(GIGABIT, 1500));
    for _ in 0..10_000 {
        wire.offer(0, 64);
        wire.offer(1, 64);
    }
    for _ in 0..2_000 {
        wire.offer(0, 64);
    }
    // Class 1 becomes empty; class 0 continues alone.
    wire.carry_of(1, 10_000);
    let from = wire.log.len();
    wire.drain();
    let alone = of_flow(&wire.log[from..], 0);
    assert!(alone.len() >= 2_000);
    let allowed = UNFILLABLE + 3 * i128::from(FRAME) + UNFILLABLE;
    assert!(never_above(&alone, GIGABIT, GIGABIT / 2, allowed));
}

/// A packet that comes while another's frame is on the wire was due when it came, not when that
/// ended.
#[test]
fn what_a_frame_on_the_wire_delays_is_caught_up() {
    let mut wire = wire(&flat(&[GIGABIT / 2]), port(GIGABIT, 1500));
    wire.offer(9, 1518);
    let begin = wire.now;
    wire.step();
    let end = std::mem::replace(&mut wire.now, begin + Duration::from_ns(1600));
    for _ in 0..3 {
        wire.offer(0, 1518);
    }
    wire.now = end;
    wire.drain();
    // It came 200 byte times of 8 ns after the other had begun.
    assert_eq!(starts(&wire, 0), [1538, 200 + 3036, 200 + 2 * 3036]);
}

/// A thousand silences of half a byte time are 500 byte times.
#[test]
fn fractions_of_a_byte_time_of_silence_add_up() {
    let mut wire = wire(&flat(&[GIGABIT / 2000]), port(GIGABIT, 1500));
    wire.offer(0, 1518);
    wire.step();
    for _ in 0..1000 {
        wire.now += Duration::from_ns(4);
        wire.offer(9, 64);
        wire.step();
    }
    wire.offer(0, 1518);
    wire.drain();
    let begun = wire.now - base::Instant::ZERO - Duration::from_ns(8 * FRAME);
    assert_eq!(begun, Duration::from_ns(8 * 1518 * 2000));
}

/// New rates hold from the next packet on; a class that keeps its name keeps its packets and the
/// instant its next one is due.
#[test]
fn a_change_keeps_packets_and_pace() {
    let mut wire = wire(&flat(&[GIGABIT / 2, GIGABIT / 10]), port(GIGABIT, 1500));
    for _ in 0..4 {
        wire.offer(0, 1518);
    }
    wire.step();
    wire.discipline.change(&flat(&[GIGABIT / 4]), wire.clock()).expect("rates that the link has");
    wire.drain();
    assert_eq!(starts(&wire, 0), [0, 3036, 3036 + 6072, 3036 + 2 * 6072]);
}

/// Packets queued in a removed class leave as unclassified, and are counted.
#[test]
fn packets_of_a_removed_class_leave_unclassified() {
    let mut wire = wire(&flat(&[GIGABIT / 2, GIGABIT / 10]), port(GIGABIT, 1500));
    for _ in 0..3 {
        wire.offer(1, 1518);
    }
    wire.step();
    wire.step();
    let before = wire.discipline.statistics();
    wire.discipline.change(&flat(&[GIGABIT / 2]), wire.clock()).expect("rates that the link has");
    assert_eq!(wire.discipline.statistics(), before);
    wire.drain();
    assert_eq!(starts(&wire, 1), [0, 3076, 3076 + 1538]);
}

/// After an error, nothing changes.
#[test]
fn a_refused_change_changes_nothing() {
    let mut wire = wire(&flat(&[GIGABIT / 2]), port(GIGABIT, 1500));
    wire.offer(0, 1518);
    wire.offer(0, 1518);
    wire.discipline
        .change(&flat(&[2 * GIGABIT]), wire.clock())
        .expect_err("more than the link has");
    wire.drain();
    assert_eq!(starts(&wire, 0), [0, 3036]);
}

/// Without gap frames a driver's timer makes the gaps: 24.288 us from packet to packet. A timer
/// that is late delays one packet and not those after it.
#[test]
fn without_gap_frames_the_driver_gets_the_time() {
    let parameters = Parameters { gaps: false, ..flat(&[GIGABIT / 2]) };
    let mut wire = wire(&parameters, port(GIGABIT, 1500));
    for _ in 0..5 {
        wire.offer(0, 1518);
    }
    let mut sent = Vec::new();
    loop {
        match wire.step() {
            Dequeued::Send(_) => sent.push(wire.now.as_ps() - 1538 * 8_000),
            // The third packet's timer is 5 us late.
            Dequeued::NotBefore(then) if sent.len() == 2 => {
                wire.now = then + Duration::from_us(5);
            }
            Dequeued::NotBefore(then) => wire.now = then,
            answer => break assert_eq!(answer, Dequeued::Empty),
        }
    }
    assert_eq!(sent, [0, 24_288_000, 53_576_000, 72_864_000, 97_152_000]);
}

/// The slowest and the fastest rates there are: nothing overflows, and packets keep their spacing
/// until the wire's own clock ends.
#[test]
fn the_ends_of_the_range_hold() {
    for line in [1, 8, GIGABIT, u64::MAX] {
        for bits in [1, 3, line / 3, line - 1, line] {
            if bits == 0 || bits > line {
                continue;
            }
            let mut wire = wire(&flat(&[bits]), port(line, 1500));
            for _ in 0..3 {
                wire.offer(0, 1518);
            }
            for _ in 0..100 {
                wire.step();
            }
            let sent = of_flow(&wire.log, 0);
            assert!(never_above(&sent, line, bits, UNFILLABLE), "{bits} of {line}: {sent:?}");
            let gap_time = wire.log.iter().filter(|s| s.flow.is_none()).map(|s| s.length).sum();
            assert_eq!(wire.discipline.statistics().gap_bytes, gap_time);
        }
    }
}
