//! A port that changes: its rate, its MTU and its overhead.

use proptest::prelude::*;

use base::units::Serializer;
use base::{Bytes, FlowId, Instant, Packet};
use traffic::qdisc::{Parameters, Qdisc, REGISTRY};
use traffic::{Dequeued, Discipline, Packets, Port, WireClock};

use crate::drawn::{self, LINK};
use crate::wire::port;

/// Packets of a flow and a length each, and how many frames are sent after.
type Steps = Vec<(u32, u32, u8)>;

fn drawn() -> impl Strategy<Value = (Parameters, Steps)> {
    let names: Vec<_> = REGISTRY.iter().map(|entry| entry.name).collect();
    let steps = prop::collection::vec((0_u32..6, 64_u32..=1_518, 0_u8..4), 1..60);
    (prop::sample::select(names).prop_flat_map(drawn::parameters), steps)
}

/// A discipline, its packets, and the clock of its link.
struct Bench {
    qdisc: Qdisc,
    packets: Packets,
    clock: WireClock,
    link: Serializer,
    port: Port,
}

impl Bench {
    fn new(parameters: &Parameters, port: Port) -> Self {
        Self {
            qdisc: Qdisc::attach(parameters, port).expect("accepted"),
            packets: Packets::new(),
            clock: Instant::ZERO.into(),
            link: Serializer::new(port.rate),
            port,
        }
    }

    /// False if the parameters make no sense at that port; all is as before then.
    fn set_port(&mut self, parameters: &Parameters, port: Port) -> bool {
        self.qdisc.set_port(port, self.clock);
        let accepted = self.qdisc.change(parameters, self.clock).is_ok();
        if accepted {
            (self.port, self.link) = (port, Serializer::new(port.rate));
        } else {
            self.qdisc.set_port(self.port, self.clock);
        }
        accepted
    }

    fn offer(&mut self, flow: u32, length: u32) {
        let WireClock { now, .. } = self.clock;
        let flow = FlowId(flow);
        let packet = Packet { flow, length, created: now, queued: now, ..Packet::default() };
        let id = self.packets.insert(packet);
        self.qdisc.enqueue(&mut self.packets, id, self.clock);
    }

    /// The next frame, and when it has left; the time that the discipline waits for passes before.
    fn send(&mut self) -> (Dequeued, Instant) {
        let answer = self.qdisc.dequeue(&mut self.packets, self.clock);
        let length = match answer {
            Dequeued::Send(id) => Bytes(self.packets[id].length.into()),
            Dequeued::Gap(length) => length,
            Dequeued::NotBefore(then) => {
                self.clock.now = then;
                return (answer, then);
            }
            Dequeued::Empty => return (answer, self.clock.now),
        };
        let time = self.link.advance(length + self.port.overhead);
        self.clock = (self.clock.now.max(self.clock.free) + time).into();
        (answer, self.clock.free)
    }

    /// Everything that is sent, and when.
    fn run(&mut self, steps: &Steps) -> Vec<(Dequeued, Instant)> {
        let mut sent = Vec::new();
        for &(flow, length, frames) in steps {
            self.offer(flow, length);
            sent.extend((0..frames).map(|_| self.send()));
        }
        sent
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 1_000, ..ProptestConfig::default() })]

    /// A discipline that took another port does what one does that was attached there.
    #[test]
    fn a_discipline_follows_its_port((parameters, steps) in drawn()) {
        let (before, after) = (port(3 * LINK, 1_400), port(LINK, 1_500));
        prop_assume!(Qdisc::attach(&parameters, before).is_ok());
        let before = Port { overhead: Bytes(24), ..before };
        let mut moved = Bench::new(&parameters, before);
        prop_assert!(moved.set_port(&parameters, after));
        let mut attached = Bench::new(&parameters, after);
        prop_assert_eq!(moved.run(&steps), attached.run(&steps));
    }

    /// Under load, the packets that are queued stay queued, and their counters go on; a port that is refused changes nothing.
    #[test]
    fn queued_packets_stay_through_a_change_of_the_port(
        (parameters, steps) in drawn(),
        (times, mtu) in (1_u64..5, prop::sample::select(vec![600, 1_500, 9_000])),
    ) {
        let mut bench = Bench::new(&parameters, port(LINK, 1_500));
        let mut reference = Bench::new(&parameters, port(LINK, 1_500));
        bench.run(&steps);
        reference.run(&steps);
        let before = bench.qdisc.statistics();
        let accepted = bench.set_port(&parameters, port(times * LINK, mtu));
        prop_assert_eq!(bench.qdisc.statistics(), before);
        if accepted {
            // Gap frames before packets of slow classes: a second of a fast link has a million.
            for _ in 0..2_000_000 {
                if bench.send().0 == Dequeued::Empty {
                    break;
                }
            }
            prop_assert!(bench.qdisc.is_empty());
            bench.run(&steps);
        } else {
            prop_assert_eq!(bench.run(&steps), reference.run(&steps));
        }
    }
}
