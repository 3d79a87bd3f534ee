//! A path that reorders: the reordering that TCP measures decides what it retransmits, and how soon it stops
//! doing so.

use serde_json::Value;
use tempfile::TempDir;

use crate::scenario::{KERNEL, ground, results};

/// Which packets are late is drawn, and one more or less changes all that follows.
const SEEDS: u32 = 8;

fn text(host: &str, seed: u32) -> String {
    format!(
        r#"
duration = "15 s"
seed = {seed}
[probe]
automatic = false
[host.a]
{host}
[host.b]
{host}
[router.r]
[link.in]
between = ["a", "r"]
rate = "1 Gbit/s"
delay = "20 us"
[link.out]
between = ["r", "b"]
rate = "33 Mbit/s"
delay = "13.5 ms"
at.r.reorder = {{ share = "5 %", by = "0 ms..11 ms" }}
at.r.queue.fifo.bytes = "167062 B"
[flow.bulk]
from = "a"
to = "b"
"#
    )
}

/// Goodput in Mbit/s, the smoothed round trip in ms, and retransmissions.
fn measured(summary: &Value) -> [f64; 3] {
    let flow = &summary["flow"]["bulk"];
    let number = |name: &str| flow[name].as_f64().unwrap_or_else(|| panic!("{flow:#}"));
    [8e-6 * number("goodput"), 1e3 * number("srtt_seconds"), number("retransmissions")]
}

/// The mean of the seeds.
fn mean(ground: &TempDir, host: &str) -> [f64; 3] {
    let of = |seed| measured(&results(ground, "reordering", &text(host, seed)).0);
    let add = |sum: [f64; 3], of: [f64; 3]| std::array::from_fn(|index| sum[index] + of[index]);
    (1..=SEEDS).map(of).fold([0.0; 3], add).map(|sum| sum / f64::from(SEEDS))
}

/// 750 of 15 000 packets are late. If the reordering degree were lost at every partial undo, there would be
/// several times as many retransmissions.
#[test]
fn hardly_a_packet_is_sent_again() {
    let Some(ground) = ground("reordering") else { return };
    let [kernel, model] = [KERNEL, ""].map(|host| mean(&ground, host));
    let within = |index: usize, share: f64| (model[index] / kernel[index] - 1.0).abs() < share;
    assert!(within(0, 0.01) && within(1, 0.1) && within(2, 0.5), "{kernel:?} {model:?}");
}
