//! Reservations: the promises never exceed the link, and are kept.

use std::collections::BTreeMap;

use base::{Bytes, Duration, FlowId, Instant, Packet};
use proptest::prelude::*;
use traffic::classify::Filter;
use traffic::qdisc::hfsc::{Class, Hfsc};
use traffic::reservation::Request;
use traffic::{Dequeued, Discipline, Enqueued, Packets};

use crate::hfsc::curves::PICOBITS_PER_BYTE;
use crate::hfsc::run::{Arrival, Event, FRAME_MAX, MTU, Run, arrivals, leaf, link, parameters};
use crate::wire::{OVERHEAD, port, rate};

const MEGABIT: u64 = 1_000_000;

fn hfsc() -> Hfsc {
    let share = |index| Class { link_share_m2: Some(rate(MEGABIT)), ..leaf(index, None) };
    Hfsc::attach(&parameters(vec![share(0), share(1)]), port(100 * MEGABIT, MTU)).unwrap()
}

fn reservation(name: &str, megabits: u64, burst: u64, milliseconds: u64) -> Request {
    Request {
        name: name.into(),
        parent: None,
        rate: rate(megabits * MEGABIT),
        burst: Bytes(burst),
        delay: Duration::from_ms(milliseconds),
        filters: vec![Filter { flow: Some(FlowId(7)), ..Filter::default() }],
    }
}

#[test]
fn never_more_is_promised_than_the_link_has() {
    let mut hfsc = hfsc();
    hfsc.reserve(&reservation("a", 40, 10_000, 10), Instant::ZERO.into()).unwrap();
    hfsc.reserve(&reservation("b", 40, 10_000, 10), Instant::ZERO.into()).unwrap();
    let refused =
        hfsc.reserve(&reservation("c", 40, 10_000, 10), Instant::ZERO.into()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "in the long run the real_time curves of `a`, `b`, `c` guarantee 120000000 bit/s, but \
         the link has only 100000000 bit/s: lower them by 20000000 bit/s in all"
    );
    // The rates fit, but not the bursts within 4 ms less a frame's 123.04 us.
    let refused = hfsc.reserve(&reservation("c", 10, 60_000, 4), Instant::ZERO.into()).unwrap_err();
    assert_eq!(
        refused.to_string(),
        "by 3876960 ns the real_time curves of `a`, `b`, `c` guarantee 480001 bits, but the \
         link carries only 387696 bits: lower them by 92305 bits in all, or allow more time"
    );
    hfsc.release("a", Instant::ZERO.into()).unwrap();
    hfsc.reserve(&reservation("c", 40, 10_000, 10), Instant::ZERO.into()).unwrap();
    let names: Vec<_> = hfsc.reservations().iter().map(|r| r.name.as_str()).collect();
    assert_eq!(names, ["b", "c"]);
    assert_eq!(
        hfsc.release("a", Instant::ZERO.into()).unwrap_err().to_string(),
        "no reservation is named `a`: name one of `b`, `c`"
    );
}

/// The backlog of a class: name and packets.
fn backlogs(hfsc: &Hfsc) -> BTreeMap<String, u64> {
    let mut backlogs = BTreeMap::new();
    hfsc.classes(&mut |_, name, s| {
        backlogs.insert(name.to_string(), s.backlog_packets);
    });
    backlogs
}

#[test]
fn a_released_class_leaves_its_packets_to_the_default_class() {
    let mut hfsc = hfsc();
    hfsc.reserve(&reservation("call", 40, 10_000, 10), Instant::ZERO.into()).unwrap();
    let mut packets = Packets::new();
    let mut offer = |hfsc: &mut Hfsc, flow| {
        let packet = Packet { flow: FlowId(flow), length: 1_000, ..Packet::default() };
        let id = packets.insert(packet);
        assert_eq!(hfsc.enqueue(&mut packets, id, Instant::ZERO.into()), Enqueued::Queued);
    };
    for flow in [0, 7, 7, 1, 7] {
        offer(&mut hfsc, flow);
    }
    let backlog = |list: &[(&str, u64)]| {
        list.iter().map(|&(name, n)| (name.to_string(), n)).collect::<BTreeMap<_, _>>()
    };
    assert_eq!(backlogs(&hfsc), backlog(&[("0", 1), ("1", 1), ("call", 3)]));
    hfsc.release("call", Instant::ZERO.into()).unwrap();
    assert_eq!(backlogs(&hfsc), backlog(&[("0", 4), ("1", 1)]));
    offer(&mut hfsc, 7);
    assert_eq!(backlogs(&hfsc), backlog(&[("0", 5), ("1", 1)]));
    let mut left = Vec::new();
    while let Dequeued::Send(id) = hfsc.dequeue(&mut packets, Instant::ZERO.into()) {
        left.push(packets[id].flow.0);
    }
    left.retain(|&flow| flow != 1);
    assert_eq!(left, [7, 7, 7, 0, 7], "what was inherited goes first, in order");
    assert!(hfsc.is_empty());
    assert_eq!(hfsc.statistics().sent_packets, 6);
}

#[test]
fn a_change_keeps_reservations_or_is_refused() {
    let mut hfsc = hfsc();
    hfsc.reserve(&reservation("call", 40, 10_000, 10), Instant::ZERO.into()).unwrap();
    let guaranteed = |megabits| {
        let class = Class { real_time_m2: Some(rate(megabits * MEGABIT)), ..leaf(0, None) };
        parameters(vec![class])
    };
    hfsc.change(&guaranteed(60), Instant::ZERO.into()).unwrap();
    assert_eq!(hfsc.reservations().len(), 1);
    assert_eq!(
        hfsc.change(&guaranteed(61), Instant::ZERO.into()).unwrap_err().to_string(),
        "in the long run the real_time curves of `0`, `call` guarantee 101000000 bit/s, but \
         the link has only 100000000 bit/s: lower them by 1000000 bit/s in all"
    );
    assert_eq!(backlogs(&hfsc).len(), 2);
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 400, failure_persistence: None, ..ProptestConfig::default()
    })]

    /// A flow that conforms to its token bucket has every packet sent within the delay bound, regardless of
    /// other reservations and the rest.
    #[test]
    fn a_delay_bound_holds_for_a_flow_that_keeps_to_its_bucket(
        link in link(),
        asked in proptest::collection::vec((1_u64..1_000, 1_u64..20, 2_u64..300), 1..8),
        arrivals in arrivals(8, 150),
    ) {
        let frame = rate(link).time_for(Bytes(FRAME_MAX)).as_ps();
        let rest = Class { link_share_m2: Some(rate(link)), ..leaf(7, None) };
        let mut run = Run::new(&parameters(vec![rest]), port(link, MTU));
        run.queued = vec![0; 8];
        // Those that the link has room for; token buckets start full.
        let mut buckets = BTreeMap::new();
        for (flow, &(thousandths, frames, delay)) in asked.iter().enumerate() {
            let reservation = Request {
                name: format!("reserved {flow}"),
                parent: None,
                rate: rate((link / 1_000 * thousandths).max(1)),
                burst: Bytes(frames * FRAME_MAX),
                delay: Duration::from_ps(delay * frame),
                filters: vec![Filter { flow: Some(FlowId(flow as u32)), ..Filter::default() }],
            };
            let admitted = run.hfsc.reserve(&reservation, Instant::ZERO.into()).is_ok();
            if admitted && flow < 7 {
                let burst = u128::from(reservation.burst.0) * PICOBITS_PER_BYTE;
                buckets.insert(flow as u32, (reservation, burst, 0_u64));
            }
        }
        // Only what the buckets let through; the rest takes what it wants.
        let (mut at, mut arrives, mut sound) = (0, BTreeMap::<u32, Vec<u64>>::new(), Vec::new());
        let mut gap = 0;
        for arrival in arrivals {
            at += arrival.gap * (frame / 16);
            gap += arrival.gap;
            let mut count = arrival.count;
            if let Some((reservation, tokens, filled)) = buckets.get_mut(&arrival.flow) {
                let bits = u128::from(reservation.rate.bits_per_second());
                let full = u128::from(reservation.burst.0) * PICOBITS_PER_BYTE;
                *tokens = full.min(*tokens + bits * u128::from(at - *filled));
                *filled = at;
                let bytes = u64::from(arrival.length) + OVERHEAD;
                let need = u128::from(bytes) * PICOBITS_PER_BYTE;
                count = count.min((*tokens / need) as u32);
                *tokens -= need * u128::from(count);
                let times = arrives.entry(arrival.flow).or_default();
                times.extend(std::iter::repeat_n(at, count as usize));
            } else if arrival.flow != 7 {
                count = 0;
            }
            if count > 0 {
                sound.push(Arrival { count, gap, ..arrival });
                gap = 0;
            }
        }
        run.carry(&sound, |_, _, _| {});
        for (flow, (reservation, ..)) in &buckets {
            let ends = run.events.iter().filter_map(|event| match event {
                Event::Sent(sent) if sent.flow == *flow => Some(sent.end),
                _ => None,
            });
            let times = arrives.remove(flow).unwrap_or_default();
            for (end, arrived) in ends.zip(times) {
                prop_assert!(end - arrived <= reservation.delay.as_ps() + 2);
            }
        }
    }
}
