//! A discipline that waits goes on with a tick of its machine's timer.

use network::port::Offered;
use network::{Context, Egress, Port, PortId};
use traffic::qdisc::{Parameters, psp};
use traffic::{Bytes, Duration, Instant, Packet, PacketId, Packets, Rate};

/// What left and when, and when the port goes on.
#[derive(Default)]
struct Wire {
    left: Vec<Instant>,
    resumes: Option<Instant>,
}

impl Egress for Wire {
    fn launch(&mut self, _: PortId, _: PacketId, leaves: Instant) -> bool {
        self.left.push(leaves);
        true
    }
    fn resume(&mut self, _: PortId, at: Instant) {
        self.resumes = Some(at);
    }
    fn wake(&mut self, _: u32, _: Instant) {}
}

/// When each of ten full frames leaves a class of 10 Mbit/s that waits by a timer of that period.
fn departures(tick: Duration) -> Vec<Instant> {
    let rate = |bits| Rate::from_bits_per_second(bits).unwrap();
    let queue = psp::Parameters { gaps: false, ..psp::Parameters::single(rate(10_000_000)) };
    let link = traffic::Port {
        rate: rate(1_000_000_000),
        mtu: Bytes(1_500),
        overhead: Bytes(20),
        seed: 0,
    };
    let port = Port::new(PortId(0), &Parameters::Psp(queue), link).unwrap();
    let (mut port, mut packets, mut wire) =
        (port.with_timer(tick), Packets::new(), Wire::default());
    let mut now = Instant::ZERO;
    for _ in 0..10 {
        let packet = packets.insert(Packet { length: 1_518, ..Packet::default() });
        let (egress, packets) = (&mut wire, &mut packets);
        let mut cx = Context { now, packets, egress, observer: &mut () };
        if port.offer(packet, &mut cx) == Offered::Ready {
            let next = port.transmit(&mut cx).next;
            cx.egress.resume(PortId(0), next);
        }
    }
    while wire.left.len() < 10 {
        now = wire.resumes.expect("packets are queued");
        let (egress, packets) = (&mut wire, &mut packets);
        let mut cx = Context { now, packets, egress, observer: &mut () };
        wire.resumes = Some(port.transmit(&mut cx).next);
    }
    wire.left
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
    let tick = Duration::from_ms(1);
    for (n, (&late, &exact)) in departures(tick).iter().zip(&exact).enumerate().skip(1) {
        let start = Instant::from_ps(late.as_ps() - frame.as_ps());
        assert!(late >= exact, "{n}: a tick is never early");
        let behind = start.as_ps() % tick.as_ps();
        assert!(behind < 4 * frame.as_ps(), "{n}: {start:?} is no tick, nor a burst after one");
    }
}
