//! Upper-limit curves: no class passes its limit by more than a packet, and none saves it up.

use base::{Bytes, Duration, Instant};
use proptest::prelude::*;
use traffic::Discipline;
use traffic::qdisc::hfsc::Class;

use crate::hfsc::curves::{Fluid, PICOBITS_PER_BYTE, fluid};
use crate::hfsc::run::{Event, FRAME_MAX, MTU, Run, leaf, parameters, thousandths};
use crate::hfsc::shares::{Shared, Within, shared, tree};
use crate::wire::{port, rate};

/// Upper limits for some classes of a tree: an index into curves, `None` for no limit.
fn limited() -> impl Strategy<Value = (Shared, Vec<Option<Fluid>>)> {
    shared().prop_flat_map(|(link, shape, arrivals)| {
        let limits = proptest::collection::vec(proptest::option::of(fluid(link)), shape.len());
        (Just((link, shape, arrivals)), limits)
    })
}

/// Whether link-sharing ever sent a packet of a class before its limit let it.
///
/// Since each start of a backlog, what was sent before a packet is within the curve by the time it
/// starts; so with that packet the limit is exceeded by it at most.
fn check_limit(
    shape: &[(Option<usize>, u64)],
    class: usize,
    limit: Fluid,
    events: &[Event],
) -> Result<(), TestCaseError> {
    let mut within = Within::new(shape);
    let mut starts = Vec::new();
    for event in events {
        match *event {
            Event::Backlogged { flow, at }
                if within.backlogged[class] == 0 && within.ancestors(flow).contains(&class) =>
            {
                starts.push((at, within.sent[class]));
            }
            Event::Sent(sent) if within.ancestors(sent.flow).contains(&class) => {
                for &(at, before) in &starts {
                    let served = u128::from(within.sent[class] - before) * PICOBITS_PER_BYTE;
                    let lets = limit.at(sent.start - at);
                    prop_assert!(served <= lets, "class {class}: {served} > {lets} picobits");
                }
            }
            _ => {}
        }
        within.count(event);
    }
    Ok(())
}

/// The limit of a class that has packets starts when it is given, not when the discipline was asked last.
#[test]
fn a_limit_given_to_a_class_with_packets_starts_then() {
    const LINK: u64 = 100_000_000;
    let limited = |limit: Option<u64>| {
        let (link_share_m2, upper_limit_m2) = (Some(rate(LINK)), limit.map(rate));
        parameters(vec![Class { link_share_m2, upper_limit_m2, ..leaf(0, None) }])
    };
    let mut run = Run::new(&limited(None), port(LINK, MTU));
    (0..3).for_each(|_| run.offer(0, 1_000, 0));
    run.take();
    let given = Instant::ZERO + Duration::from_ms(1_000);
    run.hfsc.change(&limited(Some(1_000_000)), given.into()).unwrap();
    run.now = given.as_ps();
    run.now = run.take().expect("the second packet");
    // 1020 bytes at 1 Mbit/s.
    assert_eq!(run.take(), Some((given + Duration::from_us(8_160)).as_ps()));
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 400, failure_persistence: None, ..ProptestConfig::default()
    })]

    /// No upper limit is exceeded by more than a packet, at any level of the tree, from any start
    /// of a backlog on.
    #[test]
    fn an_upper_limit_is_exceeded_by_one_packet_at_most(
        ((link, shape, arrivals), limits) in limited(),
    ) {
        let (mut classes, arrivals) = tree(&shape, arrivals);
        for (class, limit) in classes.iter_mut().zip(&limits) {
            if let Some(limit) = limit {
                limit.upper_limit(class);
            }
        }
        let mut run = Run::new(&parameters(classes), port(link, MTU));
        run.carry(&arrivals, |_, _, _| {});
        for (class, limit) in limits.iter().enumerate() {
            if let Some(limit) = limit {
                check_limit(&shape, class, *limit, &run.events)?;
            }
        }
    }
}

/// Paper 1's figures 5 to 7 by an upper limit, alone and beside a class that takes all the rest.
#[test]
fn a_limited_class_has_its_rate() {
    for link in [128_000, 10_000_000, 155_000_000, 100_000_000_000, 800_000_000_000] {
        for percent in (5..=95).step_by(5) {
            let limit = rate(link / 100 * percent);
            let limited = Class { upper_limit_m2: Some(limit), ..leaf(0, None) };
            let classes = [limited, leaf(1, None)]
                .map(|class| Class { link_share_m2: Some(rate(link)), ..class });
            let alone = thousandths(classes.to_vec(), &[0], link, 5_000);
            assert!(alone[0].abs_diff(10 * percent) <= 1, "{link}, {percent} %: {alone:?}");
            let beside = thousandths(classes.to_vec(), &[0, 1], link, 5_000);
            let wanted = [10 * percent.min(50), 1_000 - 10 * percent.min(50)];
            for (has, wants) in beside.iter().zip(wanted) {
                assert!(has.abs_diff(wants) <= 2, "{link}, {percent} %: {beside:?}");
            }
        }
    }
}

/// A class that guarantees of others kept from sending does not make up for it at the link's speed
/// once they are over: its upper limit stores no credit.
#[test]
fn a_starved_class_does_not_burst() {
    let link = 1_000_000_000;
    let limited = Class {
        link_share_m2: Some(rate(link)),
        upper_limit_m2: Some(rate(link / 10)),
        ..leaf(0, None)
    };
    let urgent = Class { real_time_m2: Some(rate(link)), ..leaf(1, None) };
    let mut run = Run::new(&parameters(vec![limited, urgent]), port(link, MTU));
    for _ in 0..1_000 {
        run.offer(0, 1_518, 0);
        run.offer(1, 1_518, 0);
    }
    let frame = rate(link).time_for(Bytes(FRAME_MAX)).as_ps();
    while run.queued[1] > 0 {
        run.now = run.take().unwrap();
    }
    let (before, end) = (run.queued[0], run.now + 500 * frame);
    while run.now < end {
        run.now = run.take().unwrap();
    }
    // A tenth of the frames; one, and what the other class's frame on the wire delayed, beyond.
    let sent = before - run.queued[0];
    assert!((50..=52).contains(&sent), "{sent} packets");
}
