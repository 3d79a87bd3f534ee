//! A plain queue takes a shortcut past the code for classes, in calls and in answers; a discipline with a
//! single class must do what that class's queue does alone.

use crate::wire;
use base::{Duration, Instant, Packet, Share};
use proptest::prelude::*;
use traffic::qdisc::{Parameters, Qdisc, drr, ets, fifo, priq, red};
use traffic::{Discipline, Enqueued, Packets, WireClock};

#[derive(Clone, Copy, Debug)]
enum Operation {
    Offer(u32),
    Peek,
    Take,
    Flush,
    Pass(u64),
}

fn operation() -> impl Strategy<Value = Operation> {
    prop_oneof![
        8 => (64_u32..=1_518).prop_map(Operation::Offer),
        2 => Just(Operation::Peek),
        6 => Just(Operation::Take),
        1 => Just(Operation::Flush),
        2 => (0_u64..100_000_000).prop_map(Operation::Pass),
    ]
}

fn queue() -> impl Strategy<Value = Parameters> {
    prop_oneof![
        (1_u64..12).prop_map(|most| Parameters::Fifo(fifo::Parameters::of_packets(most))),
        (1_u64..4, 1_u64..4).prop_map(|(min, more)| Parameters::Red(red::Parameters {
            threshold_min: min,
            threshold_max: min + more,
            weight: Share(1 << 30),
            ..red::Parameters::default()
        })),
    ]
}

/// The disciplines with this queue in their only class.
fn around(queue: &Parameters) -> [Parameters; 3] {
    let (name, queue) = (|| String::from("all"), || queue.clone());
    let classes = vec![drr::Class { name: name(), queue: queue(), ..Default::default() }];
    let drr = drr::Parameters { classes, ..Default::default() };
    let classes = vec![ets::Class { name: name(), queue: queue(), ..Default::default() }];
    let ets = ets::Parameters { classes, ..Default::default() };
    let classes = vec![priq::Class { name: name(), queue: queue(), ..Default::default() }];
    let priq = priq::Parameters { classes, ..Default::default() };
    [Parameters::Drr(drr), Parameters::Ets(ets), Parameters::Priq(priq)]
}

/// A discipline, and the packets that were offered to it and to no other.
struct Bench {
    discipline: Qdisc,
    packets: Packets,
}

impl Bench {
    fn new(parameters: &Parameters) -> Self {
        let port = wire::port(1_000_000_000, 1_500);
        let discipline = Qdisc::attach(parameters, port).expect("parameters that make sense");
        Self { discipline, packets: Packets::new() }
    }

    /// The answer to an operation, as text; the same packets have the same numbers in every bench.
    fn apply(&mut self, operation: Operation, now: Instant) -> String {
        let (discipline, packets) = (&mut self.discipline, &mut self.packets);
        let clock = WireClock::from(now);
        match operation {
            Operation::Offer(length) => {
                let id = packets.insert(Packet { length, ..Packet::default() });
                let answer = discipline.enqueue(packets, id, clock);
                if answer != Enqueued::Queued {
                    packets.release(id);
                }
                format!("{answer:?}")
            }
            Operation::Peek => format!("{:?}", discipline.peek(packets, clock)),
            Operation::Take => format!("{:?}", discipline.dequeue(packets, clock)),
            Operation::Flush => {
                discipline.flush(packets, now);
                let mut flushed = Vec::new();
                while let Some(dropped) = packets.take_dropped() {
                    flushed.push(dropped);
                }
                format!("{flushed:?}")
            }
            Operation::Pass(_) => String::new(),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_lone_class_is_its_queue(
        queue in queue(),
        operations in prop::collection::vec(operation(), 1..200),
    ) {
        let mut alone = Bench::new(&queue);
        let mut others = around(&queue).map(|parameters| Bench::new(&parameters));
        let mut now = Instant::ZERO;
        for operation in operations {
            if let Operation::Pass(ps) = operation {
                now += Duration::from_ps(ps);
            }
            let answer = alone.apply(operation, now);
            for other in &mut others {
                prop_assert_eq!(&answer, &other.apply(operation, now));
                let counted = other.discipline.statistics();
                prop_assert_eq!(alone.discipline.statistics(), counted);
            }
        }
    }
}
