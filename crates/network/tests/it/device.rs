//! A device that takes frames ahead of the wire hides the discipline's order, and a shallow one does not
//! (paper 1: 16 KB at 128 kbit/s is a second).

use crate::far_side::{Wire, gigabit, rate};
use base::{Bytes, Duration, FlowId, Instant, Packet};
use network::port::Offered;
use network::{Egress, Port, PortId};
use traffic::Packets;
use traffic::classify::{Filter, Rule};
use traffic::qdisc::{Parameters, priq};

/// The time that an urgent frame waits behind a queue of others on a serial line of 128 kbit/s. The device
/// takes up to `device_buffer` bytes ahead.
fn wait(device_buffer: Bytes) -> Duration {
    let class = |name: &str, priority| priq::Class {
        name: name.into(),
        priority,
        ..priq::Class::default()
    };
    let filter = Filter { flow: Some(FlowId(1)), ..Filter::default() };
    let queue = priq::Parameters {
        classes: vec![class("bulk", 0), class("urgent", 7)],
        filters: vec![Rule { filter, priority: 0, class: "urgent".into() }],
        default_class: Some("bulk".into()),
    };
    let link = traffic::Port { rate: rate(128_000), overhead: Bytes(0), ..gigabit() };
    let port = Port::new(PortId(0), &Parameters::Priq(queue), link).unwrap();
    let mut port = port.with_device_buffer(device_buffer);
    let (mut packets, mut wire, mut nobody) = (Packets::new(), Wire::default(), ());
    let flows = std::iter::repeat_n(0, 40).chain([1]);
    for flow in flows {
        let packet = Packet { length: 1_000, flow: FlowId(flow), ..Packet::default() };
        let packet = packets.insert(packet);
        let mut cx = wire.context(&mut packets, &mut nobody, Instant::ZERO);
        match port.offer(packet, &mut (), &mut cx) {
            Offered::Ready => {
                let next = port.transmit(&mut (), &mut cx);
                cx.egress.resume(PortId(0), next);
            }
            offered => assert_eq!(offered, Offered::Queued),
        }
    }
    loop {
        if let Some(&(_, left)) =
            wire.left.iter().find(|(packet, _)| packets[*packet].flow == FlowId(1))
        {
            return left - Instant::ZERO;
        }
        let now = wire.resumes.expect("packets are queued");
        let next = port.transmit(&mut (), &mut wire.context(&mut packets, &mut nobody, now));
        wire.resumes = Some(next);
    }
}

#[test]
fn a_deep_device_buffer_undoes_a_priority() {
    let frame = Duration::from_us(62_500);
    // Behind the one on the wire, and itself.
    assert_eq!(wait(Bytes(0)), frame.times(2));
    // 16 KB are sixteen more.
    assert_eq!(wait(Bytes(16_000)), frame.times(18));
}
