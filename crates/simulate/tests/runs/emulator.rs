//! The WAN emulator keeps its three numbers exactly: buffer to the byte, delay and rate to the
//! picosecond.

use base::{DropReason, Instant};
use network::{Event, Observer, PortId};
use scenario::Plan;

use crate::driver;

/// The first segments leave back to back and reach the emulator before it has forwarded one of them: all within
/// 0.6 ms, while one takes 1.2 ms. The first window holds no more than 45, because a SYN's window is not
/// scaled.
const BURST: u64 = 44;
const FRAME: u64 = 1518;
/// Towards the receiver, from the emulator.
const OUT: PortId = PortId(2);

fn burst(buffer: u64) -> Plan {
    driver::plan(&format!(
        r#"
duration = "250 ms"
[host.a]
[emulator.wan]
rate = "10 Mbit/s"
delay = "40 ms"
buffer = "{buffer} B"
[host.b]
[link.access]
between = ["a", "wan"]
rate = "1 Gbit/s"
[link.exit]
between = ["wan", "b"]
rate = "1 Gbit/s"
[flow.bulk]
from = "a"
to = "b"
bytes = "{} B"
tcp.window.initial = {BURST}
tcp.emission = {{ tso = false, small_queues = false }}
tcp.buffers.send = "1 MB"
receiver_tcp.buffers.receive = "1 MB"
"#,
        BURST * 1448
    ))
}

/// The drops of the emulator's port, and the maximum length of its buffer, within the burst.
fn overflow(buffer: u64) -> (u64, u64) {
    let mut plan = burst(buffer);
    assert_eq!(plan.nodes[plan.links[1].ends[0].node].name, "wan");
    // The handshake takes one round trip of 80 ms; the burst follows, and its ACKs come after 160 ms.
    plan.duration = base::Duration::from_ms(120);
    let port = &driver::totals(&plan).ports[OUT.0 as usize];
    assert_eq!(port.drops.total(), port.drops.of(DropReason::QueueBytes));
    (port.drops.total(), port.statistics.backlog_bytes_max)
}

#[test]
fn the_buffer_drops_the_first_byte_too_many() {
    // One frame is being sent; the buffer holds those behind it.
    for frames in [1, 7, 20] {
        assert_eq!(overflow(frames * FRAME), (BURST - 1 - frames, frames * FRAME));
        assert_eq!(overflow(frames * FRAME + 1), (BURST - 1 - frames, frames * FRAME));
        assert_eq!(
            overflow((frames + 1) * FRAME - 1),
            (BURST - 1 - frames, frames * FRAME),
            "one byte less than another frame needs"
        );
    }
    assert_eq!(overflow((BURST - 1) * FRAME), (0, (BURST - 1) * FRAME));
}

/// Notes when frames leave the emulator, and when they arrive behind it.
#[derive(Default)]
struct Stamps {
    sent: Vec<(u32, Instant, Instant)>,
    arrived: Vec<Instant>,
}

impl Observer for Stamps {
    fn on(&mut self, event: Event<'_>) {
        match event {
            Event::Transmitted { port: OUT, packet, start, end, .. } => {
                self.sent.push((packet.length, start, end));
            }
            Event::Received { port: OUT, now, .. } => self.arrived.push(now),
            _ => {}
        }
    }
}

#[test]
fn the_rate_and_the_delay_are_exact() {
    // OC-12's rate: a byte takes 12860.0823 ps, so the remainders below a picosecond must be carried.
    let rate = 622_080_000_u128;
    let text = r#"
duration = "300 ms"
[host.a]
[emulator.wan]
rate = "622.08 Mbit/s"
delay = "7.000000123 ms"
buffer = "1 MB"
[host.b]
[link.access]
between = ["a", "wan"]
rate = "1 Gbit/s"
[link.exit]
between = ["wan", "b"]
rate = "1 Gbit/s"
delay = "3 ns"
[flow.bulk]
from = "a"
to = "b"
"#;
    let mut stamps = Stamps::default();
    driver::totals_observed(&driver::plan(text), &mut stamps);
    assert!(stamps.arrived.len() > 1_000);
    for (&(_, _, left), &arrived) in stamps.sent.iter().zip(&stamps.arrived) {
        assert_eq!(arrived.since(left).as_ps(), 7_000_000_123 + 3_000);
    }

    // Each busy period: from its first bit to the end of every frame, what the rate says of the bytes.
    let (mut began, mut bytes, mut free, mut longest) = (Instant::ZERO, 0, Instant::ZERO, 0);
    for &(length, start, end) in &stamps.sent {
        assert!(start >= free, "frames do not overlap");
        if start > free {
            (began, bytes) = (start, 0);
        }
        bytes += u128::from(length);
        longest = longest.max(bytes);
        let exact = bytes * 8_000_000_000_000 / rate;
        let took = u128::from(end.since(began).as_ps());
        assert!(took.abs_diff(exact) <= 1, "{bytes} bytes took {took} ps, not {exact}");
        free = end;
    }
    assert!(longest > 1_000_000, "no busy period was longer than {longest} bytes");
}
