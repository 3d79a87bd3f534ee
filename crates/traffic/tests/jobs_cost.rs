//! `jobs` takes no memory for a packet, and no longer with long queues than with short ones.

mod wire;

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicU64, Ordering};

use traffic::classify::{Filter, Rule};
use traffic::qdisc::jobs::{Class, Jobs, Parameters};
use traffic::units::Serializer;
use traffic::{
    Bytes, Dequeued, Discipline, Duration, Enqueued, FlowId, Instant, Packet, Packets, Share,
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

/// Every kind of guarantee in turn.
fn jobs(classes: u32, packets: u64) -> Jobs {
    let class = |n: u32| Class {
        name: n.to_string(),
        delay: (n % 4 == 0).then(|| Duration::from_ms(1)),
        loss: (n % 3 == 0).then_some(Share(1 << 25)),
        rate: (n % 4 == 1).then(|| rate(LINK / 20)),
        relative_delay: (n % 2 == 0).then_some(n + 1),
        relative_loss: (n % 2 == 0).then_some(n + 1),
        ..Class::default()
    };
    let filter = |n| Filter { flow: Some(FlowId(n)), ..Filter::default() };
    let rule = |n: u32| Rule { filter: filter(n), priority: 0, class: n.to_string() };
    let parameters = Parameters {
        packets,
        classes: (0..classes).map(class).collect(),
        filters: (0..classes).map(rule).collect(),
        ..Parameters::default()
    };
    Jobs::attach(&parameters, port(LINK, 1_500)).expect("parameters that make sense")
}

/// Three packets arrive for two that leave, so that the buffer is full; calls for memory and nanoseconds
/// for a packet that arrives, after a start of ten full buffers.
fn carry(classes: u32, packets: u64) -> (u64, u128) {
    let (mut jobs, mut arena) = (jobs(classes, packets), Packets::new());
    let (mut now, mut serializer) = (Instant::ZERO, Serializer::new(rate(LINK)));
    let (start, arrivals) = (10 * packets, 200_000);
    // Each queue grows to the whole buffer once.
    for class in 0..classes {
        for _ in 0..packets {
            let packet = Packet { flow: FlowId(class), length: 1_518, ..Packet::default() };
            let id = arena.insert(packet);
            jobs.enqueue(&mut arena, id, now);
        }
        jobs.flush(&mut arena, now);
        while let Some((id, _)) = arena.take_dropped() {
            arena.release(id);
        }
    }
    let (mut taken, mut ns) = (0, 0);
    #[expect(clippy::disallowed_methods, reason = "the cost of a packet is measured")]
    let mut since = std::time::Instant::now();
    for n in 0..start + arrivals {
        if n == start {
            taken = TAKEN.load(Ordering::Relaxed);
            #[expect(clippy::disallowed_methods, reason = "the cost of a packet is measured")]
            let begin = std::time::Instant::now();
            since = begin;
        }
        let flow = FlowId((n * 7 / 3) as u32 % classes);
        let id = arena.insert(Packet { flow, length: 1_518, ..Packet::default() });
        if matches!(jobs.enqueue(&mut arena, id, now), Enqueued::Dropped(_)) {
            arena.release(id);
        }
        while let Some((id, _)) = arena.take_dropped() {
            arena.release(id);
        }
        if n % 3 < 2 {
            if let Dequeued::Send(id) = jobs.dequeue(&mut arena, now) {
                arena.release(id);
                now += serializer.advance(Bytes(1_538));
            }
        }
        if n + 1 == start + arrivals {
            ns = since.elapsed().as_nanos() / u128::from(arrivals);
        }
    }
    assert!(jobs.statistics().dropped_packets > 0 && jobs.statistics().backlog_packets > 0);
    (TAKEN.load(Ordering::Relaxed) - taken, ns)
}

#[test]
fn a_packet_takes_no_memory() {
    for (classes, packets) in [(4, 100), (4, 10_000), (16, 100), (16, 10_000)] {
        let (taken, ns) = carry(classes, packets);
        println!("{classes} classes, {packets} packets queued: {ns} ns a packet");
        assert_eq!(taken, 0);
    }
}
