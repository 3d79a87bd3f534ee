//! ALTQ's switch on a busy port: disciplines come and go, and no queued packet is lost or overtaken by
//! a later one of its flow.

use std::collections::BTreeMap;

use crate::far_side::{Wire, gigabit, rate};
use base::{Duration, FlowId, Instant, Packet};
use network::port::Offered;
use network::{Breach, Egress, Event, Observer, Port, PortId};
use proptest::prelude::*;
use traffic::Packets;
use traffic::classify::{Filter, Rule};
use traffic::qdisc::{Parameters, fifo, psp};

/// Something that happens to a port.
#[derive(Clone, Debug)]
enum Operation {
    Offer(u32),
    Pass(u64),
    Switch(Parameters),
    Disable,
    Enable,
}

fn fifo() -> impl Strategy<Value = Parameters> {
    (1_u64..30).prop_map(|packets| Parameters::Fifo(fifo::Parameters::of_packets(packets)))
}

fn psp() -> impl Strategy<Value = Parameters> {
    (1_u64..400, any::<bool>()).prop_map(|(megabits, gaps)| {
        let class = |flow: u32| psp::Class {
            name: flow.to_string(),
            rate: rate(megabits * 1_000_000).into(),
            ..psp::Class::default()
        };
        let filter = |flow| Filter { flow: Some(FlowId(flow)), ..Filter::default() };
        Parameters::Psp(psp::Parameters {
            classes: (0..2).map(class).collect(),
            filters: (0..2)
                .map(|f| Rule { filter: filter(f), priority: 0, class: f.to_string() })
                .collect(),
            gaps,
            ..psp::Parameters::default()
        })
    })
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        8 => (0..3_u32).prop_map(Operation::Offer),
        4 => (0..60_000_000_u64).prop_map(Operation::Pass),
        1 => fifo().prop_map(Operation::Switch),
        1 => psp().prop_map(Operation::Switch),
        1 => Just(Operation::Disable),
        1 => Just(Operation::Enable),
    ]
}

/// Counts drops: only refused packets may be dropped.
#[derive(Default)]
struct Drops(u64);

impl Observer for Drops {
    fn on(&mut self, event: Event<'_>) {
        self.0 += u64::from(matches!(event, Event::Dropped { .. }));
    }
}

proptest! {
    #[test]
    fn no_queued_packet_is_lost(operations in prop::collection::vec(operation(), 1..300)) {
        let first = Parameters::Fifo(fifo::Parameters::default());
        let mut port = Port::new(PortId(0), &first, gigabit()).unwrap();
        let (mut packets, mut wire, mut drops) = (Packets::new(), Wire::default(), Drops::default());
        let (mut now, mut taken, mut refused) = (Instant::ZERO, 0, 0);
        for (number, operation) in operations.iter().enumerate() {
            let mut cx = wire.context(&mut packets, &mut drops, now);
            match operation {
                Operation::Offer(flow) => {
                    let created = Instant::from_ps(number as u64);
                    let flow = FlowId(*flow);
                    let packet = Packet { created, flow, length: 1_518, ..Packet::default() };
                    let packet = cx.packets.insert(packet);
                    taken += 1;
                    match port.offer(packet, &mut (), &mut cx) {
                        Offered::Sent | Offered::Queued => {}
                        Offered::Ready => {
                            let next = port.transmit(&mut (), &mut cx);
                            cx.egress.resume(PortId(0), next);
                        }
                        Offered::Refused => refused += 1,
                    }
                }
                Operation::Switch(parameters) => port.switch(parameters, &mut (), &mut cx).unwrap(),
                Operation::Disable => port.disable(&mut (), &mut cx).unwrap(),
                Operation::Enable => port.enable(&mut (), &mut cx).unwrap(),
                Operation::Pass(ps) => now += Duration::from_ps(*ps),
            }
            while let Some(at) = wire.resumes.filter(|&at| at <= now) {
                let next = port.transmit(&mut (), &mut wire.context(&mut packets, &mut drops, at));
                wire.resumes = Some(next);
            }
            let own = port.statistics();
            prop_assert_eq!(wire.left.len() as u64 + own.backlog_packets, taken - refused);
            prop_assert_eq!(own.sent_packets, wire.left.len() as u64);
            prop_assert_eq!(own.enqueued_packets, taken - refused);
            prop_assert_eq!((own.dropped_packets, drops.0), (refused, refused));
            prop_assert_eq!(port.is_empty(), own.backlog_packets == 0);
        }
        // What is queued still goes out by itself, each flow in order within its discipline.
        let mut turns = 0;
        while !port.is_empty() && turns < 100_000 {
            let at = wire.resumes.expect("a port that holds packets goes on");
            let next = port.transmit(&mut (), &mut wire.context(&mut packets, &mut drops, at));
            wire.resumes = Some(next);
            turns += 1;
        }
        prop_assert!(port.is_empty());
        let mut last = BTreeMap::new();
        for &(packet, _) in &wire.left {
            let Packet { flow, created, .. } = packets[packet];
            let before = last.insert(flow, created);
            prop_assert!(before < Some(created), "flow {flow:?}: {created:?} after {before:?}");
        }
    }
}

/// Notes what failed.
#[derive(Default)]
struct Failures(Vec<(String, Breach, u64)>);

impl Observer for Failures {
    fn on(&mut self, event: Event<'_>) {
        if let Event::Failed { name, fault, lost, .. } = event {
            self.0.push((name.into(), fault.clone(), lost));
        }
    }
}

#[test]
fn a_fifo_takes_the_place_of_a_discipline_that_fails() {
    let class =
        psp::Class { name: "slow".into(), rate: rate(1_000_000).into(), ..psp::Class::default() };
    let filters = vec![Rule { class: "slow".into(), ..Rule::default() }];
    let psp = Parameters::Psp(psp::Parameters {
        classes: vec![class],
        filters,
        ..psp::Parameters::default()
    });
    let mut port = Port::new(PortId(0), &psp, gigabit()).unwrap();
    let (mut packets, mut wire) = (Packets::new(), Wire::default());
    let mut failures = Failures::default();
    for number in 0..5 {
        let created = Instant::from_ps(number);
        let packet = packets.insert(Packet { created, length: 1_518, ..Packet::default() });
        let mut cx = wire.context(&mut packets, &mut failures, Instant::ZERO);
        if port.offer(packet, &mut (), &mut cx) == Offered::Ready {
            let next = port.transmit(&mut (), &mut cx);
            cx.egress.resume(PortId(0), next);
        }
    }
    let fault = Breach::Found("its statistics contradict each other");
    port.fail(&fault, &mut (), &mut wire.context(&mut packets, &mut failures, Instant::ZERO));
    assert_eq!(failures.0, [("psp".into(), fault, 0)]);
    assert_eq!(port.qdisc().name(), "fifo");
    // What was queued goes out at the line's rate, in its order.
    while let Some(at) = wire.resumes.filter(|&at| at < Instant::NEVER) {
        let next = port.transmit(&mut (), &mut wire.context(&mut packets, &mut failures, at));
        wire.resumes = Some(next);
    }
    let order: Vec<_> = wire.left.iter().map(|&(packet, _)| packets[packet].created).collect();
    assert_eq!(order, (0..5).map(Instant::from_ps).collect::<Vec<_>>());
    assert!(wire.left[4].1 < Instant::ZERO + Duration::from_us(100), "{:?}", wire.left);
    let counted = port.statistics();
    assert_eq!((counted.sent_packets, counted.dropped_packets), (5, 0));
    // One queue after another: their maximum backlogs are not added.
    assert_eq!(counted.backlog_bytes_max, 4 * 1_518);
    // Enabled again, it paces again.
    port.enable(&mut (), &mut wire.context(&mut packets, &mut failures, Instant::ZERO)).unwrap();
    assert_eq!(port.qdisc().name(), "psp");
}
