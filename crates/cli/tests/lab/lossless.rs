//! Many senders of real TCP into one port of a switch that loses nothing.

use crate::ground::{Ground, Run};
use testbed::say;

/// Eight hosts with our congestion control in the kernel share a port of a switch.
const SCENARIO: &str = r#"
[host.source]
count = 8
[host.sink]
[switch.tor]
lossless = "0-7"
[link.in]
between = ["source", "tor"]
rate = "200 Mbit/s"
delay = "100 us"
[link.out]
between = ["tor", "sink"]
rate = "200 Mbit/s"
delay = "100 us"
[flow.data]
from = "source"
to = "sink"
congestion = { sluice = { rate = 200, base = 530_000 } } # ns: the idle path's round trip
"#;

/// However late the machine is, a switch that stops senders has room for what comes.
fn nothing_dropped(run: &Run) -> bool {
    let summary = run.summary();
    assert_eq!(summary["run"]["drops"], 0, "{}", summary["run"]);
    true
}

#[test]
fn a_lossless_port_drops_nothing() {
    let Some(ground) = Ground::take("a lossless port", &[]) else { return };
    for options in [&["--sleep"][..], &[]] {
        nothing_dropped(&ground.run(&format!("duration = \"2 s\"{SCENARIO}"), options));
    }
}

/// Full line rate, and equal shares, as in the simulator (188.30 Mbit/s, Jain's index 0.9996). On a shared two-core
/// machine, 185 and 0.9996. In guest kernels it is a test of `suimon::linux`.
#[test]
fn eight_senders_share_a_lossless_port() {
    const RATE: f64 = 200e6;
    let test = "eight senders into a lossless port";
    let Some(ground) = Ground::take(test, &[]) else { return };
    let scenario = format!("duration = \"6 s\"\nmeasure.from = \"2 s\"{SCENARIO}");
    let Some(run) = ground.measure(test, &scenario, &["--sleep"], nothing_dropped) else { return };
    let summary = run.summary();
    let run = &summary["run"];
    let figure = |name: &str| run[name].as_f64().unwrap_or_else(|| panic!("{name}: {run}"));
    // Of the 1538 bytes that a frame takes on the wire 1448 are payload.
    let share = figure("goodput") * 8.0 / (RATE * 1448.0 / 1538.0);
    let port = &summary["link"]["out"]["forward"];
    let [p50, p99] = ["sojourn_p50_seconds", "sojourn_p99_seconds"].map(|name| &port[name]);
    let fairness = figure("fairness");
    let pauses = &summary["node"]["tor"]["pause"]["sent"];
    say(&format!(
        "{test}: {share:.3} of the line, Jain {fairness:.4}, wait {p50} {p99} s, {pauses} pauses"
    ));
    // Nothing is counted that TCP does once nothing carries its packets any more.
    assert_eq!([figure("retransmissions"), figure("timeouts")], [0.0; 2], "{run}");
    assert!(share > 0.97, "{share} of the line");
    assert!(fairness > 0.98, "Jain's index {fairness}");
}
