//! The direct path through a port and the general one do the same. The far end has stopped the port for a
//! priority that no packet has. So the port asks its flow control before each packet, and no packet bypasses
//! its queue; it sends what a port without flow control sends, at the same times, with any discipline.

use crate::drawn;
use crate::far_side::{Wire, gigabit};
use base::{Bytes, Duration, FlowId, HostId, Instant, Packet, Rate};
use network::forwarding::{Destination, ForwardingTable, NO_ROUTE};
use network::ingress::Side;
use network::node::NodeKind;
use network::{Behaviour, Parts};
use network::{Context, Node, Port, PortId, router};
use proptest::prelude::*;
use traffic::qdisc::{Parameters, REGISTRY, fifo, fq_codel, psp};
use traffic::{Control, Packets, Pause};

/// Something that happens to the port.
#[derive(Clone, Debug)]
enum Operation {
    Offer(u32, u32),
    Pass(u64),
    Switch(Box<Parameters>),
    Flush,
}

fn operation() -> impl Strategy<Value = Operation> {
    let drawn =
        (0..REGISTRY.len()).prop_flat_map(|number| drawn::parameters(REGISTRY[number].name));
    prop_oneof![
        40 => (0..6_u32, 64..1_519_u32).prop_map(|(f, length)| Operation::Offer(f, length)),
        20 => (0..40_000_000_u64).prop_map(Operation::Pass),
        2 => drawn.prop_map(|parameters| Operation::Switch(Box::new(parameters))),
        1 => Just(Operation::Flush),
    ]
}

/// A router; its port 0 sends what comes in at port 1.
struct Bench {
    node: Node,
    packets: Packets,
    wire: Wire,
    now: Instant,
}

impl Bench {
    fn new() -> Self {
        let queue = Parameters::Fifo(fifo::Parameters::default());
        let port = |number| Port::new(PortId(number), &queue, gigabit()).unwrap();
        let to = Destination { gateway: 7, port: 0, prefix: 0 };
        let nowhere = Destination { gateway: NO_ROUTE, ..to };
        let table = ForwardingTable::new(7, [nowhere, to].into(), std::iter::empty(), 0);
        let sides = vec![Side { control: true, ..Side::default() }, Side::default()];
        let ports = vec![port(0).with_flow_control(Duration::ZERO, Duration::MAX), port(1)];
        let node = NodeKind::Router(router::Config::default());
        let node = node.build(Parts { number: 7, ports, sides, table, seed: 0 });
        Self { node, packets: Packets::new(), wire: Wire::default(), now: Instant::ZERO }
    }

    fn act<R>(&mut self, act: impl FnOnce(&mut Node, &mut Context<'_, Wire, ()>) -> R) -> R {
        let observer = &mut ();
        act(&mut self.node, &mut self.wire.context(&mut self.packets, observer, self.now))
    }

    /// Stops priority 7 for the longest time that a frame can express: 33 ms.
    fn stop_another_priority(&mut self) {
        let frame = self.packets.insert_control(Control::Pause(Pause::priority(7, u16::MAX)));
        self.act(|node, cx| node.receive(0, frame, cx));
    }

    fn apply(&mut self, number: usize, operation: &Operation) {
        match operation {
            Operation::Offer(flow, length) => {
                let packet = Packet {
                    created: Instant::from_ps(number as u64),
                    flow: FlowId(*flow),
                    length: *length,
                    destination: HostId(1),
                    ..Packet::default()
                };
                let packet = self.packets.insert(packet);
                self.act(|node, cx| node.receive(1, packet, cx));
            }
            // Refused where the same discipline cannot change so; then nothing has changed.
            Operation::Switch(to) => self.act(|node, cx| {
                node.with_port(0, cx, |port, owner, cx| drop(port.switch(to, owner, cx)));
            }),
            Operation::Flush => self.act(|node, cx| {
                node.with_port(0, cx, |port, owner, cx| port.flush(owner, cx));
            }),
            Operation::Pass(ps) => self.run(Duration::from_ps(*ps)),
        }
    }

    fn run(&mut self, time: Duration) {
        let until = self.now + time;
        while let Some(at) = self.wire.resumes.filter(|&at| at <= until) {
            self.now = at;
            self.wire.resumes = None;
            let next = self.act(|node, cx| node.transmit(0, cx));
            let told = self.wire.resumes.unwrap_or(Instant::NEVER);
            self.wire.resumes = Some(next.min(told)).filter(|&at| at != Instant::NEVER);
        }
        self.now = until;
    }

    /// What was sent, by the number that it was offered with, and when.
    fn sent(&self) -> Vec<(Instant, Instant)> {
        let sent = self.wire.left.iter();
        sent.map(|&(packet, leaves)| (self.packets[packet].created, leaves)).collect()
    }
}

/// Both ports, one of them always stopped for a priority that has no packets.
fn compare(operations: &[Operation]) -> Result<(), TestCaseError> {
    let (mut direct, mut general) = (Bench::new(), Bench::new());
    for (number, operation) in operations.iter().enumerate() {
        general.stop_another_priority();
        direct.apply(number, operation);
        general.apply(number, operation);
        let [one, other] = [&direct, &general].map(|bench| bench.node.ports()[0].statistics());
        prop_assert_eq!(one, other);
    }
    general.stop_another_priority();
    direct.run(Duration::from_ms(20));
    general.run(Duration::from_ms(20));
    prop_assert_eq!(direct.sent(), general.sent());
    Ok(())
}

fn switch(parameters: Parameters) -> Operation {
    Operation::Switch(Box::new(parameters))
}

/// A link that idles between two packets counts as idle until gap frames fill it.
#[test]
fn idling_counts_up_to_a_change() {
    let paced = |gaps| {
        let rate = Rate::from_bits_per_second(1_000_000).expect("not 0");
        let rate = Some(rate.into());
        switch(Parameters::Psp(psp::Parameters { rate, gaps, ..psp::Parameters::default() }))
    };
    let [packet, pass] = [Operation::Offer(0, 64), Operation::Pass(1_000_000)];
    let then = [pass.clone(), pass, paced(true), packet.clone(), packet.clone()];
    let first = [paced(false), packet.clone(), packet.clone(), packet];
    compare(&[&first[..], &then].concat()).unwrap();
}

/// Queues of `fq_codel` that were emptied by a drop grow old when the port has its turn, as any others.
#[test]
fn an_emptied_port_has_its_turn() {
    let queues = fq_codel::Parameters {
        bytes: Bytes(1_518),
        packets: 2,
        flows: 2,
        quantum: Bytes(964),
        ..fq_codel::Parameters::default()
    };
    let before = [
        switch(Parameters::FqCodel(queues)),
        Operation::Offer(0, 64),
        Operation::Offer(0, 64),
        Operation::Pass(1_344_000),
        // More than the queue takes: all goes.
        Operation::Offer(4, 64),
        Operation::Offer(1, 131),
        Operation::Offer(4, 1_388),
        Operation::Pass(672_000),
    ];
    let after = [Operation::Offer(0, 836), Operation::Offer(2, 64), Operation::Offer(1, 64)];
    compare(&[&before[..], &after].concat()).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::with_cases(200)
    })]

    #[test]
    fn a_port_with_flow_control_sends_what_one_without_does(
        operations in prop::collection::vec(operation(), 1..300),
    ) {
        compare(&operations)?;
    }
}
