//! `hfsc` takes no memory for a packet, with 10 000 classes that all have packets.

mod wire;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

use traffic::classify::{Filter, Rule};
use traffic::qdisc::hfsc::{Class, Hfsc, Parameters};
use traffic::{
    Bytes, Dequeued, Discipline, Enqueued, FlowId, Instant, Packet, Packets, units::Serializer,
};
use wire::{port, rate};

/// The system's allocator, and how often it was asked for memory.
struct Counting;

static TAKEN: AtomicU64 = AtomicU64::new(0);

// SAFETY: passes everything on to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        TAKEN.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the caller's promise is the system allocator's condition.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, memory: *mut u8, layout: Layout) {
        // SAFETY: as above.
        unsafe { System.dealloc(memory, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

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
            assert_eq!(hfsc.enqueue(&mut packets, id, now), Enqueued::Queued);
        }
    }
    let mut serializer = Serializer::new(rate(LINK));
    let taken = TAKEN.load(Ordering::Relaxed);
    #[expect(clippy::disallowed_methods, reason = "the cost of a packet is measured")]
    let start = std::time::Instant::now();
    let mut sent = 0;
    while sent < groups * 100 * (DEPTH - 1) {
        match hfsc.dequeue(&mut packets, now) {
            Dequeued::Send(_) => {
                sent += 1;
                now += serializer.advance(Bytes(1_538));
            }
            Dequeued::NotBefore(then) => now = then,
            _ => unreachable!("packets are queued"),
        }
    }
    let ns = start.elapsed().as_nanos() / sent as u128;
    (TAKEN.load(Ordering::Relaxed) - taken, ns)
}

#[test]
fn a_packet_takes_no_memory() {
    for groups in [1, 10, 100] {
        let (taken, ns) = carry(groups);
        println!("{} classes: {ns} ns a dequeue", 101 * groups);
        assert_eq!(taken, 0);
    }
}
