//! Paper 0, section 3.3: the gap that follows from the target rate, against its formula.

use crate::wire::{Sent, Wire, port, rate};
use traffic::Discipline;
use traffic::qdisc::psp::{Parameters, Psp};

/// The paper's formula in its own units: MTU in bytes, the rate in MB/s; a gap in bytes from one
/// frame's end to the next one's preamble.
fn published(mtu: f64, mb_per_second: f64) -> f64 {
    ((mtu + 18.0) * 125.0 / mb_per_second - (mtu + 26.0)).max(12.0)
}

/// The frames on a Gigabit Ethernet wire for `count` full frames paced to `bits`.
fn carried(mtu: u32, bits: u64, count: usize) -> Vec<Sent> {
    let port = port(1_000_000_000, mtu.into());
    let psp = Psp::attach(&Parameters::single(rate(bits)), port).expect("a rate below the link's");
    let mut wire = Wire::new(psp, port);
    for _ in 0..count {
        wire.offer(0, mtu + 18).expect("room in the queue");
    }
    wire.drain();
    wire.log
}

/// Starts of the real packets.
fn starts(log: &[Sent]) -> Vec<u64> {
    log.iter().filter(|sent| sent.flow.is_some()).map(|sent| sent.at).collect()
}

/// Half of Gigabit Ethernet, the paper's example: the gap of 1510 bytes is the least gap (12), the
/// gap frame's preamble (8), the gap frame (1478) and the least gap again (12).
#[test]
fn half_rate_spaces_packets_by_3036_byte_times() {
    let log = carried(1500, 500_000_000, 3);
    let frame = |at, length, flow| Sent { at, length, flow };
    assert_eq!(
        log,
        [
            frame(0, 1518, Some(0)),
            frame(1538, 1478, None),
            frame(3036, 1518, Some(0)),
            frame(4574, 1478, None),
            frame(6072, 1518, Some(0)),
        ]
    );
    assert_eq!(published(1500.0, 62.5), 1510.0);
    // The gap: from the end of the frame (its preamble is 8 bytes) to the next preamble.
    assert_eq!(3036 - (1518 + 8), 1510);
}

/// Spacing of full frames by target rate, as a table: MTU, MB/s, the formula's gap, byte times from
/// packet to packet over the long run.
#[test]
fn the_gap_is_the_formula_s_over_the_whole_range() {
    let mut table = String::from(" MTU   MB/s  formula  measured\n");
    for mtu in [1500_u32, 9000] {
        for kb_per_second in [1_000_u64, 7_800, 12_500, 31_250, 62_500, 87_500, 120_000, 125_000] {
            let mb = kb_per_second as f64 / 1e3;
            let starts = starts(&carried(mtu, kb_per_second * 8_000, 1_000));
            let span = (starts[999] - starts[0]) as f64 / 999.0;
            let measured = span - f64::from(mtu + 26);
            let formula = published(mtu.into(), mb);
            assert!((measured - formula).abs() < 0.1, "{mtu} {mb}: {measured} for {formula}");
            table += &format!("{mtu:>4} {mb:>6} {formula:>8.1} {measured:>9.1}\n");
        }
    }
    assert_eq!(table, include_str!("paper_formula.txt"));
}
