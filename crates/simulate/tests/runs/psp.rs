//! Paper 0's future work: two bottlenecks of different rates and delays behind one sender, each paced by
//! a class of its own, each class's gaps filled with the other's packets first.

use std::path::Path;

use base::{Duration, Instant};
use network::{Event, Observer, PortId};
use record::Summary;
use scenario::{Document, Plan};

use crate::driver;

/// Slow start on the long path is over by then.
const SETTLED: Instant = Instant::from_ps(10_000_000_000_000);
/// The sender's access link.
const ACCESS: PortId = PortId(0);
/// A full frame with preamble and inter-packet gap, at 1 Gbit/s.
const FRAME_TIME: Duration = Duration::from_ns(1_538 * 8);

fn plan() -> Plan {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers/p0/two-bottlenecks.toml");
    let text = std::fs::read_to_string(file).expect("paper 0's scenario");
    let mut document = Document::parse("two-bottlenecks.toml", &text).expect("a scenario");
    document.set("duration=20s").expect("a duration");
    document.plan().expect("a plan")
}

/// The time that the access link was busy since it settled.
#[derive(Default)]
struct Taken {
    by_packets: Duration,
    by_gaps: Duration,
    /// Packets of each flow.
    packets: [u64; 2],
}

impl Observer for Taken {
    fn on(&mut self, event: Event<'_>) {
        match event {
            Event::Transmitted { port: ACCESS, packet, start, end, .. } if start >= SETTLED => {
                self.by_packets += end.since(start);
                self.packets[packet.flow.0 as usize] += 1;
            }
            Event::Gap { port: ACCESS, start, end, .. } if start >= SETTLED => {
                self.by_gaps += end.since(start);
            }
            _ => {}
        }
    }
}

#[test]
fn each_class_keeps_its_bottleneck_full_without_a_loss_or_a_gap_too_many() {
    let plan = plan();
    assert_eq!(plan.links[0].name, "access");
    let mut taken = Taken::default();
    let totals = driver::totals_observed(&plan, &mut taken);
    let summary = Summary::new(&plan, &totals);
    assert_eq!(summary.run.drops, 0);
    for (name, rate) in [("near", 62.5e6), ("far", 31.25e6)] {
        let flow = summary.flow.get(name).expect("a flow");
        // Of a frame of 1518 bytes, 1448 are payload.
        let full = rate * 1448.0 / 1518.0;
        let got = flow.goodput_last_half.expect("measured");
        assert!((got / full - 1.0).abs() < 0.005, "{name}: {got} of {full} bytes/s");
        assert_eq!(flow.retransmissions, 0, "{name}");
    }

    // Once both windows are open the wire is never idle. Packets at the classes' rates take their share
    // of it and gaps exactly the rest, except for the frames at the edges. Were gaps sent where the other
    // class's packets could be, there would be more of them and the rates would be missed: paced one by
    // one, the classes would need gaps for 1/2 and 3/4 of the wire.
    let span = totals.ending.at.since(SETTLED);
    let rest = span - taken.by_packets;
    let off = taken.by_gaps.as_ps().abs_diff(rest.as_ps());
    assert!(off <= 2 * FRAME_TIME.as_ps(), "gaps take {:?}, {rest:?} is left", taken.by_gaps);
    let share = taken.by_packets.as_ps() as f64 / span.as_ps() as f64;
    let needed = (62.5 + 31.25) / 125.0 * 1538.0 / 1518.0;
    assert!((share / needed - 1.0).abs() < 0.001, "packets take {share} of the wire, not {needed}");
    let ratio = taken.packets[0] as f64 / taken.packets[1] as f64;
    assert!((ratio - 2.0).abs() < 0.002, "{ratio} packets to the near one for each to the far one");
}
