//! A port says of every packet that it was offered what became of it, once: with every discipline of
//! the registry, through switches, flushes and faults.

use crate::drawn;
use std::collections::BTreeMap;

use crate::far_side::{Wire, gigabit};
use base::{Duration, FlowId, Instant, Packet};
use network::custody::{Fate, Left, Owner};
use network::port::Offered;
use network::{Breach, Egress, Port, PortId};
use proptest::prelude::*;
use traffic::Packets;
use traffic::qdisc::{Parameters, REGISTRY, fifo};

/// Something that happens to a port.
#[derive(Clone, Debug)]
enum Operation {
    Offer(u32, u32),
    Pass(u64),
    Switch(Box<Parameters>),
    Enable(bool),
    Flush,
    Fail,
}

fn operation() -> impl Strategy<Value = Operation> {
    let drawn =
        (0..REGISTRY.len()).prop_flat_map(|number| drawn::parameters(REGISTRY[number].name));
    prop_oneof![
        40 => (0..6_u32, 64..1_519_u32).prop_map(|(f, length)| Operation::Offer(f, length)),
        10 => (0..60_000_000_u64).prop_map(Operation::Pass),
        3 => drawn.prop_map(|parameters| Operation::Switch(Box::new(parameters))),
        1 => any::<bool>().prop_map(Operation::Enable),
        1 => Just(Operation::Flush),
        1 => Just(Operation::Fail),
    ]
}

/// The packets that the port has, by the number that each was created with, and how many left it.
#[derive(Default)]
struct Ledger {
    held: BTreeMap<Instant, u32>,
    sent: u64,
    returned: u64,
}

impl Owner for Ledger {
    fn left(&mut self, Left { packet, fate, .. }: Left<'_>) {
        let length = self.held.remove(&packet.created);
        assert_eq!(length, Some(packet.length), "of a packet that was offered, once");
        self.sent += u64::from(fate == Fate::Sent);
        self.returned += u64::from(matches!(fate, Fate::Returned(_)));
    }

    /// Takes back the packets of every other flow.
    fn takes_back(&self, packet: &Packet) -> bool {
        packet.flow.0.is_multiple_of(2)
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(300) })]
    #[test]
    fn every_packet_that_is_offered_leaves_once(
        operations in prop::collection::vec(operation(), 1..400),
    ) {
        let first = Parameters::Fifo(fifo::Parameters::default());
        let mut port = Port::new(PortId(0), &first, gigabit()).unwrap();
        let (mut packets, mut wire, mut nobody) = (Packets::new(), Wire::default(), ());
        let mut owner = Ledger::default();
        let (mut now, mut returned) = (Instant::ZERO, 0);
        for (number, operation) in operations.iter().enumerate() {
            let mut cx = wire.context(&mut packets, &mut nobody, now);
            match operation {
                Operation::Offer(flow, length) => {
                    let (created, flow) = (Instant::from_ps(number as u64), FlowId(*flow));
                    let packet = Packet { created, flow, length: *length, ..Packet::default() };
                    owner.held.insert(created, *length);
                    let packet = cx.packets.insert(packet);
                    match port.offer(packet, &mut owner, &mut cx) {
                        Offered::Sent | Offered::Queued => {}
                        Offered::Ready => {
                            let next = port.transmit(&mut owner, &mut cx);
                            cx.egress.resume(PortId(0), next);
                        }
                        Offered::Refused if flow.0.is_multiple_of(2) => {
                            returned += 1;
                            cx.packets.release(packet);
                        }
                        Offered::Refused => {}
                    }
                }
                Operation::Switch(parameters) => {
                    // Refused where the same discipline cannot change so; then nothing has changed.
                    let _ = port.switch(parameters, &mut owner, &mut cx);
                }
                Operation::Enable(false) => port.disable(&mut owner, &mut cx).unwrap(),
                Operation::Enable(true) => port.enable(&mut owner, &mut cx).unwrap(),
                Operation::Flush => port.flush(&mut owner, &mut cx),
                Operation::Fail => port.fail(&Breach::Found("a test"), &mut owner, &mut cx),
                Operation::Pass(ps) => now += Duration::from_ps(*ps),
            }
            while let Some(at) = wire.resumes.filter(|&at| at <= now) {
                let mut cx = wire.context(&mut packets, &mut nobody, at);
                let next = port.transmit(&mut owner, &mut cx);
                wire.resumes = Some(next);
            }
            let counted = port.statistics();
            let bytes = owner.held.values().map(|&length| u64::from(length)).sum::<u64>();
            prop_assert_eq!(owner.held.len() as u64, counted.backlog_packets);
            prop_assert_eq!(bytes, counted.backlog_bytes);
            prop_assert_eq!(owner.sent, wire.left.len() as u64);
            prop_assert_eq!(owner.returned, returned);
            let held = packets.held_by(1).map(|(_, packet)| (packet.created, packet.length));
            prop_assert_eq!(held.collect::<BTreeMap<_, _>>(), owner.held.clone());
        }
    }
}
