//! `psp` takes no memory for a packet, and keeps its rates, with 10 000 classes that all have packets.

use crate::counting::allocations;
use crate::wire::{port, rate};
use base::{Bytes, FlowId, Instant, Packet, units::Serializer};
use traffic::classify::{Filter, Rule};
use traffic::qdisc::psp::{Class, Parameters, Psp};
use traffic::{Dequeued, Discipline, Enqueued, Packets};

const LINK: u64 = 100_000_000_000;

/// `groups` classes of 100 leaves each, which together are promised nine tenths of the link.
fn psp(groups: usize) -> Psp {
    let mut classes = Vec::new();
    let part = LINK / 10 * 9 / groups as u64;
    for group in 0..groups {
        let name = format!("g{group}");
        classes.push(Class { name: name.clone(), rate: rate(part).into(), ..Class::default() });
        classes.extend((0..100).map(|leaf| Class {
            name: format!("{group}.{leaf}"),
            parent: Some(name.clone()),
            rate: rate(part / 100).into(),
            ..Class::default()
        }));
    }
    let leaves = (0..groups * 100).map(|leaf| format!("{}.{}", leaf / 100, leaf % 100));
    let rule = |(flow, class)| Rule {
        filter: Filter { flow: Some(FlowId(flow)), ..Filter::default() },
        priority: 0,
        class,
    };
    let filters = (0..).zip(leaves).map(rule).collect();
    let parameters = Parameters { classes, filters, ..Parameters::default() };
    Psp::attach(&parameters, port(LINK, 1_500)).unwrap()
}

/// Packets queued in each leaf.
const DEPTH: usize = 8;

#[test]
fn a_packet_takes_no_memory_and_every_class_its_turn() {
    for groups in [1, 10, 100] {
        let (mut psp, mut packets) = (psp(groups), Packets::new());
        let leaves = groups * 100;
        let mut now = Instant::ZERO;
        for _ in 0..DEPTH {
            for flow in 0..leaves as u32 {
                let packet = Packet { flow: FlowId(flow), length: 1_518, ..Packet::default() };
                let id = packets.insert(packet);
                assert_eq!(psp.enqueue(&mut packets, id, now.into()), Enqueued::Queued);
            }
        }
        let mut serializer = Serializer::new(rate(LINK));
        let mut turns = vec![0; leaves];
        let taken = allocations();
        for round in 1..DEPTH {
            // All have the same rate, so each sends once before any sends again.
            for _ in 0..leaves {
                let id = loop {
                    match psp.dequeue(&mut packets, now.into()) {
                        Dequeued::Send(id) => break id,
                        Dequeued::Gap(Bytes(length)) => {
                            now += serializer.advance(Bytes(length + 20))
                        }
                        other => unreachable!("packets are queued: {other:?}"),
                    }
                };
                now += serializer.advance(Bytes(1_538));
                turns[packets[id].flow.0 as usize] += 1;
            }
            assert!(turns.iter().all(|&turn| turn == round), "{groups} groups, round {round}");
        }
        assert_eq!(allocations() - taken, 0, "{groups} groups");
    }
}
