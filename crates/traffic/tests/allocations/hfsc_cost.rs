//! `hfsc` takes no memory for a packet, with 10 000 classes that all have packets.

use crate::counting::allocations;
use crate::wire::{port, rate};
use base::{Bytes, FlowId, Instant, Packet, units::Serializer};
use traffic::classify::{Filter, Rule};
use traffic::qdisc::hfsc::{Class, Hfsc, Parameters};
use traffic::{Dequeued, Discipline, Enqueued, Packets};

const LINK: u64 = 100_000_000_000;

/// `groups` classes of 100 leaves each; each leaf has a guarantee, a share, and half of them a limit.
fn hfsc(groups: usize) -> Hfsc {
    let mut classes = Vec::new();
    for group in 0..groups {
        let name = format!("g{group}");
        let share = Some(rate(LINK / groups as u64));
        classes.push(Class { name: name.clone(), link_share_m2: share, ..Class::default() });
        classes.extend((0..100).map(|leaf| Class {
            name: format!("{group}.{leaf}"),
            parent: Some(name.clone()),
            real_time_m2: Some(rate(LINK / groups as u64 / 200)),
            link_share_m2: Some(rate(LINK / groups as u64 / 100)),
            upper_limit_m2: (leaf % 2 == 0).then(|| rate(LINK / groups as u64 / 50)),
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
    let default_class = "0.0".into();
    let parameters = Parameters { classes, filters, default_class, overhead: Bytes(20) };
    Hfsc::attach(&parameters, port(LINK, 1_500)).unwrap()
}

/// Packets queued in each leaf.
const DEPTH: usize = 8;

/// Fills every leaf, then carries all but the last of each; calls for memory and nanoseconds a
/// packet.
fn carry(groups: usize) -> (u64, u128) {
    let (mut hfsc, mut packets) = (hfsc(groups), Packets::new());
    let mut now = Instant::ZERO;
    for _ in 0..DEPTH {
        for flow in 0..groups as u32 * 100 {
            let id =
                packets.insert(Packet { flow: FlowId(flow), length: 1_518, ..Packet::default() });
            assert_eq!(hfsc.enqueue(&mut packets, id, now.into()), Enqueued::Queued);
        }
    }
    let mut serializer = Serializer::new(rate(LINK));
    let taken = allocations();
    #[expect(clippy::disallowed_methods, reason = "the cost of a packet is measured")]
    let start = std::time::Instant::now();
    let mut sent = 0;
    while sent < groups * 100 * (DEPTH - 1) {
        match hfsc.dequeue(&mut packets, now.into()) {
            Dequeued::Send(_) => {
                sent += 1;
                now += serializer.advance(Bytes(1_538));
            }
            Dequeued::NotBefore(then) => now = then,
            _ => unreachable!("packets are queued"),
        }
    }
    let ns = start.elapsed().as_nanos() / sent as u128;
    (allocations() - taken, ns)
}

#[test]
fn a_packet_takes_no_memory() {
    for groups in [1, 10, 100] {
        let (taken, ns) = carry(groups);
        println!("{} classes: {ns} ns a dequeue", 101 * groups);
        assert_eq!(taken, 0);
    }
}
