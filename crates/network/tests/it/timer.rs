//! A discipline that waits continues at a tick of its machine's timer.

use crate::far_side::{Wire, gigabit, rate};
use base::{Duration, Instant, Packet};
use network::port::Offered;
use network::{Egress, Port, PortId};
use traffic::Packets;
use traffic::qdisc::{Parameters, psp};

/// When each of ten full frames leaves a class of 10 Mbit/s that waits by a timer of that period.
fn departures(tick: Duration) -> Vec<Instant> {
    let queue = psp::Parameters { gaps: false, ..psp::Parameters::single(rate(10_000_000)) };
    let port = Port::new(PortId(0), &Parameters::Psp(queue), gigabit()).unwrap();
    let (mut port, mut packets, mut wire) =
        (port.with_timer(tick), Packets::new(), Wire::default());
    for _ in 0..10 {
        let packet = packets.insert(Packet { length: 1_518, ..Packet::default() });
        let mut nobody = ();
        let mut cx = wire.context(&mut packets, &mut nobody, Instant::ZERO);
        if port.offer(packet, &mut (), &mut cx) == Offered::Ready {
            let next = port.transmit(&mut (), &mut cx);
            cx.egress.resume(PortId(0), next);
        }
    }
    while wire.left.len() < 10 {
        let now = wire.resumes.expect("packets are queued");
        let next = port.transmit(&mut (), &mut wire.context(&mut packets, &mut (), now));
        wire.resumes = Some(next);
    }
    wire.left.iter().map(|&(_, left)| left).collect()
}

#[test]
fn a_wait_ends_with_a_tick() {
    let frame = Duration::from_ps(1_538 * 8_000);
    let exact = departures(Duration::ZERO);
    // 1518 bytes every 1214.4 us, at 10 Mbit/s.
    for (n, &left) in exact.iter().enumerate() {
        let due = Instant::ZERO + Duration::from_ns(1_214_400).times(n as u64) + frame;
        assert!(left >= due && left - due < Duration::from_us(1), "{n}: {left:?}");
    }
    // The next packet is due 1214.4 us after the first, and no wait is shorter than two ticks.
    let tick = Duration::from_ms(1);
    let late = departures(tick);
    assert_eq!(late[1], Instant::ZERO + tick.times(2) + frame);
    for (n, (&late, &exact)) in late.iter().zip(&exact).enumerate().skip(1) {
        let start = Instant::from_ps(late.as_ps() - frame.as_ps());
        assert!(late >= exact, "{n}: a tick is never early");
        let behind = start.as_ps() % tick.as_ps();
        assert!(behind < 4 * frame.as_ps(), "{n}: {start:?} is no tick, nor a burst after one");
    }
}

/// A flush may discard the packet that a discipline waits for. The next packet passes at once, and no other is
/// requested while that one is on the wire.
#[test]
fn a_wait_ends_with_a_flush() {
    let queue = psp::Parameters { gaps: false, ..psp::Parameters::single(rate(10_000_000)) };
    let mut port = Port::new(PortId(0), &Parameters::Psp(queue), gigabit()).unwrap();
    let (mut packets, mut wire, mut nobody) = (Packets::new(), Wire::default(), ());
    for _ in 0..2 {
        let packet = packets.insert(Packet { length: 1_518, ..Packet::default() });
        let mut cx = wire.context(&mut packets, &mut nobody, Instant::ZERO);
        if port.offer(packet, &mut (), &mut cx) == Offered::Ready {
            let next = port.transmit(&mut (), &mut cx);
            cx.egress.resume(PortId(0), next);
        }
    }
    let now = wire.resumes.expect("the second packet is queued");
    let waits = port.transmit(&mut (), &mut wire.context(&mut packets, &mut nobody, now));
    assert!(now < waits && waits < Instant::NEVER);
    wire.resumes = Some(waits);
    port.flush(&mut (), &mut wire.context(&mut packets, &mut nobody, now));
    assert_eq!(wire.resumes, Some(Instant::NEVER));
}
