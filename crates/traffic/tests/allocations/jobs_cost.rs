//! `jobs` takes no memory for a packet, and no longer with long queues than with short ones.

use crate::counting::allocations;
use crate::wire::{port, rate};
use base::units::Serializer;
use base::{Bytes, Duration, FlowId, Instant, Packet, Share};
use traffic::classify::{Filter, Rule};
use traffic::qdisc::jobs::{Class, Jobs, Parameters};
use traffic::{Dequeued, Discipline, Enqueued, Packets};

const LINK: u64 = 100_000_000_000;

/// Every kind of guarantee in turn.
fn jobs(classes: u32, packets: u64) -> Jobs {
    let class = |n: u32| Class {
        name: n.to_string(),
        delay: n.is_multiple_of(4).then(|| Duration::from_ms(1)),
        loss: n.is_multiple_of(3).then_some(Share(1 << 25)),
        rate: (n % 4 == 1).then(|| rate(LINK / 20)),
        relative_delay: n.is_multiple_of(2).then_some(n + 1),
        relative_loss: n.is_multiple_of(2).then_some(n + 1),
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

/// A full buffer, to which three packets come for two that leave.
struct Full {
    jobs: Jobs,
    packets: Packets,
    classes: u32,
    now: Instant,
    serializer: Serializer,
}

impl Full {
    fn new(classes: u32, buffer: u64) -> Self {
        let (jobs, packets) = (jobs(classes, buffer), Packets::new());
        let (now, serializer) = (Instant::ZERO, Serializer::new(rate(LINK)));
        let mut full = Self { jobs, packets, classes, now, serializer };
        // Each queue grows to the whole buffer once.
        for class in 0..classes {
            (0..buffer).for_each(|_| full.offer(class));
            full.jobs.flush(&mut full.packets, now);
            full.release();
        }
        full
    }

    fn offer(&mut self, class: u32) {
        let packet = Packet { flow: FlowId(class), length: 1_518, ..Packet::default() };
        let id = self.packets.insert(packet);
        if matches!(self.jobs.enqueue(&mut self.packets, id, self.now.into()), Enqueued::Dropped(_))
        {
            self.packets.release(id);
        }
        self.release();
    }

    fn release(&mut self) {
        while let Some((id, _)) = self.packets.take_dropped() {
            self.packets.release(id);
        }
    }

    fn carry(&mut self, arrivals: u64) {
        for n in 0..arrivals {
            self.offer((n * 7 / 3) as u32 % self.classes);
            if n % 3 == 2 {
                continue;
            }
            if let Dequeued::Send(id) = self.jobs.dequeue(&mut self.packets, self.now.into()) {
                self.packets.release(id);
                self.now += self.serializer.advance(Bytes(1_538));
            }
        }
    }
}

/// Arrivals that are measured.
const ARRIVALS: u64 = 200_000;

/// Calls for memory, and nanoseconds for a packet that comes, after ten full buffers.
fn cost(classes: u32, buffer: u64) -> (u64, u128) {
    let mut full = Full::new(classes, buffer);
    full.carry(10 * buffer);
    let taken = allocations();
    #[expect(clippy::disallowed_methods, reason = "the cost of a packet is measured")]
    let start = std::time::Instant::now();
    full.carry(ARRIVALS);
    let ns = start.elapsed().as_nanos() / u128::from(ARRIVALS);
    let counted = full.jobs.statistics();
    assert!(counted.dropped_packets > ARRIVALS / 4 && counted.backlog_packets >= buffer / 2);
    (allocations() - taken, ns)
}

#[test]
fn a_packet_takes_no_memory() {
    for (classes, buffer) in [(4, 100), (4, 10_000), (16, 100), (16, 10_000)] {
        let (taken, ns) = cost(classes, buffer);
        println!("{classes} classes, a buffer of {buffer} packets: {ns} ns a packet");
        assert_eq!(taken, 0);
    }
}
