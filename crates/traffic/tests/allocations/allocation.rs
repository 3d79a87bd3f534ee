//! Nothing is allocated for a packet: neither to read its header, nor to classify, nor to condition, nor to
//! queue it.

use crate::drawn;
use crate::wire;
use std::hint::black_box;
use std::net::Ipv4Addr;

use proptest::strategy::{Strategy, ValueTree};
use proptest::test_runner::TestRunner;

use crate::counting::allocations;
use base::action::Action;
use base::header::Header;
use base::packet::ecn;
use base::units::Serializer;
use base::{Bytes, Duration, FlowId, Instant, Packet, Random, Rate};
use traffic::classify::{Filter, Fragments, PortRange, Prefix, Rules};
use traffic::condition::{Conditioner, Element, Parameters, Rule};
use traffic::meter::{self, window};
use traffic::qdisc::{Qdisc, REGISTRY};
use traffic::{Dequeued, Discipline, Enqueued, Packets, WireClock};

/// A first fragment of UDP from 10.0.0.0/8 to port 53.
fn frame(n: u32) -> Vec<u8> {
    let mut frame = vec![0; 12];
    frame.extend([0x08, 0x00, 0x45, 0, 0, 28, 0, n as u8, 0x20, 0, 64, 17, 0, 0]);
    frame.extend((0x0a00_0000 + n).to_be_bytes());
    frame.extend([10, 0, 0, 1, 0, 99, 0, 53, 0, 8, 0, 0]);
    frame
}

#[test]
fn nothing_is_allocated_to_classify_and_condition() {
    let mut rules = Rules::new(1);
    for n in 0..1_000 {
        let address = Ipv4Addr::from_bits(0x0a00_0000 + n).into();
        let ports = Some(PortRange { first: 50, last: 60 });
        let source = Some(Prefix { address, length: 32 });
        let pattern = Filter { source, destination_ports: ports, ..Filter::default() };
        rules.add(&pattern, 0, n as usize).expect("a rule");
    }
    let rate = Rate::from_bits_per_second(1_000_000).expect("a rate above zero");
    let window = Duration::from_ms(10);
    let element = Element {
        name: "a".into(),
        meter: Some(meter::Parameters::Window(window::Parameters {
            committed_rate: rate,
            peak_rate: rate,
            window,
        })),
        red: Action::Drop,
        ..Element::default()
    };
    let filter = Filter { flow: Some(FlowId(1)), ..Filter::default() };
    let parameters = Parameters {
        elements: vec![element],
        rules: vec![Rule { filter, priority: 0, element: "a".into() }],
        default: Action::Pass,
    };
    let mut conditioner = Conditioner::attach(&parameters, 0, Instant::ZERO).expect("accepted");
    let mut fragments = Fragments::default();
    let frames: Vec<_> = (0..1_000).map(frame).collect();
    let mut packets = Packets::new();
    let packet = Packet { flow: FlowId(1), length: 1_500, ..Packet::default() };
    let packet = packets.insert(packet);
    let before = allocations();
    let mut found = 0;
    for (n, frame) in frames.iter().enumerate() {
        let mut header = Header::parse(frame);
        fragments.follow(&mut header);
        found += usize::from(rules.class_of(&header) == Some(n));
        let now = Instant::from_ps(n as u64);
        let _ = black_box(conditioner.condition(&mut packets, packet, now));
    }
    assert_eq!(allocations() - before, 0);
    assert_eq!(found, 1_000);
    assert!(before > 1_000, "the counter counts");
    let statistics = conditioner.statistics();
    assert!(statistics.pass.packets > 0 && statistics.drop.packets > 0);
}

/// Packets at once, at most.
const PLACES: u32 = 1_900;
/// The number of flows; some have a class of their own.
const FLOWS: u32 = 6;

/// A port with a discipline, and packets that come and go as in the laws' operations.
struct Load {
    discipline: Qdisc,
    packets: Packets,
    random: Random,
    wire: Serializer,
    clock: WireClock,
}

impl Load {
    fn offer(&mut self, flow: u32, length: u32, tos: u8) {
        let packet = Packet { flow: FlowId(flow), length, tos, ..Packet::default() };
        let Some(id) = self.packets.try_alloc() else { return };
        self.packets[id] = packet;
        if self.discipline.enqueue(&mut self.packets, id, self.clock) != Enqueued::Queued {
            self.packets.release(id);
        }
    }

    /// Carries the next frame to its end, or waits for it.
    fn carry(&mut self) {
        let length = match self.discipline.dequeue(&mut self.packets, self.clock) {
            Dequeued::Send(id) => {
                let length = self.packets[id].length;
                self.packets.release(id);
                u64::from(length)
            }
            Dequeued::Gap(length) => length.0,
            Dequeued::NotBefore(then) => return self.clock.now = then,
            Dequeued::Empty => return,
        };
        self.clock.now += self.wire.advance(Bytes(length + wire::OVERHEAD));
        self.clock.free = self.clock.now;
    }

    /// Lets each flow alone, and then all together, fill the queues.
    fn fill(&mut self) {
        for flow in 0..FLOWS {
            self.pour(|_| flow);
        }
        self.pour(|n| n);
    }

    /// Offers more packets than any buffer takes, and throws them away.
    fn pour(&mut self, flow: impl Fn(u32) -> u32) {
        for n in 0..PLACES + 100 {
            self.offer(flow(n), 64, ecn::NOT_ECT);
            self.release_dropped();
        }
        self.discipline.flush(&mut self.packets, self.clock.now);
        self.release_dropped();
    }

    fn release_dropped(&mut self) {
        while let Some((id, _)) = self.packets.take_dropped() {
            self.packets.release(id);
        }
    }

    /// On average as many packets arrive as frames leave, so that the queues become full and empty.
    fn run(&mut self, steps: usize) {
        for _ in 0..steps {
            let drawn = self.random.next_u64();
            let (flow, length) = (drawn as u32 % FLOWS, 64 + (drawn >> 16) as u32 % 1_455);
            let tos = if drawn >> 48 & 1 == 0 { ecn::ECT0 } else { ecn::NOT_ECT };
            self.offer(flow, length, tos);
            for _ in 0..(drawn >> 56) % 3 {
                self.carry();
            }
            self.release_dropped();
        }
    }
}

#[test]
fn nothing_is_allocated_to_queue() {
    const PARAMETERS: usize = 40;
    const STEPS: usize = 5_000;
    let mut runner = TestRunner::deterministic();
    let port = wire::port(drawn::LINK, 1_500);
    for entry in REGISTRY {
        let mut sent = 0;
        for _ in 0..PARAMETERS {
            let drawn = drawn::parameters(entry.name).new_tree(&mut runner);
            let parameters = drawn.expect("parameters").current();
            let mut load = Load {
                discipline: Qdisc::attach(&parameters, port).expect("parameters that make sense"),
                packets: Packets::with_headers(PLACES),
                random: Random::from_seed(1),
                wire: Serializer::new(port.rate),
                clock: Instant::ZERO.into(),
            };
            load.discipline.prepare_for(load.packets.places());
            let before = allocations();
            load.run(STEPS);
            load.fill();
            load.run(STEPS);
            assert_eq!(allocations() - before, 0, "{parameters:?}");
            sent += load.discipline.statistics().sent_packets;
        }
        let offered = (2 * PARAMETERS * STEPS) as u64;
        assert!(sent > offered / 20, "{}: {sent} of {offered} sent", entry.name);
    }
}
