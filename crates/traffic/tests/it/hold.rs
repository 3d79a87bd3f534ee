//! Priorities that are stopped: disciplines of classes side by side pass over what may not go, and lose nothing.

use crate::drawn;
use crate::wire::port;
use base::{FlowId, Packet, Priorities};
use proptest::prelude::*;
use traffic::qdisc::{Parameters, Qdisc, ets, fifo};
use traffic::{Dequeued, Discipline, Enqueued, Packets, WireClock};

/// The disciplines that skip a stopped class.
const FLAT: [&str; 4] = ["priq", "drr", "ets", "fairq"];

#[derive(Clone, Debug)]
enum Step {
    /// Offers a packet of this flow, with the flow's number as its priority, and of this length.
    Offer(u8, u32),
    /// Stops the priorities with these bits, and resumes the others.
    Hold(u8),
    Dequeue,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..6_u8, 64..1_519_u32).prop_map(|(flow, length)| Step::Offer(flow, length)),
        2 => (0..64_u8).prop_map(Step::Hold),
        3 => Just(Step::Dequeue),
    ]
}

/// A discipline, its packets, and the stopped priorities.
struct Bench {
    qdisc: Qdisc,
    packets: Packets,
    clock: WireClock,
    stopped: Priorities,
    queued: u64,
}

impl Bench {
    fn hold(&mut self, stopped: Priorities) {
        self.stopped = stopped;
        self.qdisc.hold(stopped);
    }

    fn offer(&mut self, priority: u8, length: u32) {
        let flow = FlowId(priority.into());
        let id = self.packets.insert(Packet { flow, length, priority, ..Packet::default() });
        let answer = self.qdisc.enqueue(&mut self.packets, id, self.clock);
        self.queued += u64::from(answer == Enqueued::Queued);
        self.take_discarded();
    }

    fn take_discarded(&mut self) -> u64 {
        let before = self.queued;
        while let Some((id, _)) = self.packets.take_dropped() {
            self.packets.release(id);
            self.queued -= 1;
        }
        before - self.queued
    }

    /// The priority of the packet that is sent, and how many were discarded before.
    fn dequeue(&mut self) -> (Option<u8>, u64) {
        let peeked = self.qdisc.peek(&self.packets, self.clock);
        let answer = self.qdisc.dequeue(&mut self.packets, self.clock);
        assert_eq!(peeked, answer, "what was peeked");
        let sent = match answer {
            Dequeued::Send(id) => {
                self.queued -= 1;
                Some(self.packets[id].priority)
            }
            Dequeued::Empty => None,
            other => panic!("a queue that holds nothing back answers {other:?}"),
        };
        (sent, self.take_discarded())
    }
}

proptest! {
    #[test]
    fn what_is_stopped_stays_and_all_else_goes(
        (parameters, steps) in prop::sample::select(&FLAT[..]).prop_flat_map(|name| {
            (drawn::parameters(name), prop::collection::vec(step(), 1..200))
        }),
    ) {
        let qdisc = Qdisc::attach(&parameters, port(drawn::LINK, 1500)).unwrap();
        let (packets, clock) = (Packets::new(), base::Instant::ZERO.into());
        let mut bench = Bench { qdisc, packets, clock, stopped: Priorities::NONE, queued: 0 };
        for step in steps {
            match step {
                Step::Offer(priority, length) => bench.offer(priority, length),
                Step::Hold(bits) => bench.hold(Priorities::of(bits)),
                Step::Dequeue => match bench.dequeue() {
                    (Some(priority), _) => prop_assert!(!bench.stopped.contains(priority)),
                    (None, discarded) if discarded == 0 && bench.queued > 0 => {
                        // Nothing could leave: the next packet's priority was stopped.
                        let stopped = bench.stopped;
                        bench.hold(Priorities::NONE);
                        let (sent, discarded) = bench.dequeue();
                        prop_assert!(discarded > 0 || sent.is_some_and(|p| stopped.contains(p)));
                    }
                    (None, _) => {}
                },
            }
            prop_assert_eq!(bench.qdisc.statistics().backlog_packets, bench.queued);
        }
        bench.hold(Priorities::NONE);
        while bench.dequeue() != (None, 0) {}
        prop_assert_eq!((bench.queued, bench.qdisc.is_empty()), (0, true));
    }
}

/// Classes by the priorities that belong to them; the last one has the rest.
fn by_priority(classes: &[(&str, u8)]) -> Result<Qdisc, String> {
    let class = |&(name, bits): &(&str, u8)| ets::Class {
        name: name.into(),
        priorities: Priorities::of(bits),
        queue: Parameters::Fifo(fifo::Parameters::of_packets(10)),
        ..ets::Class::default()
    };
    let classes = classes.iter().map(class).collect();
    let parameters = Parameters::Ets(ets::Parameters { classes, ..ets::Parameters::default() });
    Qdisc::attach(&parameters, port(drawn::LINK, 1500)).map_err(|error| error.to_string())
}

#[test]
fn a_class_has_the_priorities_that_belong_to_it() {
    let mut qdisc =
        by_priority(&[("control", 0b1100_0000), ("data", 0b1000), ("rest", 0)]).unwrap();
    let mut packets = Packets::new();
    for priority in 0..8 {
        let packet = Packet { priority, length: 100, ..Packet::default() };
        let id = packets.insert(packet);
        qdisc.enqueue(&mut packets, id, base::Instant::ZERO.into());
    }
    let mut order = Vec::new();
    while let Dequeued::Send(id) = qdisc.dequeue(&mut packets, base::Instant::ZERO.into()) {
        order.push(packets[id].priority);
    }
    assert_eq!(order, [6, 7, 3, 0, 1, 2, 4, 5]);
    assert_eq!(
        by_priority(&[("a", 0b10), ("b", 0b110)]).map(drop),
        Err("class `b` has priority 1, which class `a` has: leave it to one".into())
    );
}
