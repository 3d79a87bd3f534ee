//! A guest's frames keep their slots in its network card until they have left the host's port, so that its
//! stack knows the queue there and loses nothing.

use serde_json::Value;

use crate::scenario::{ground, run};
use crate::typed::{code, json, stderr};

/// The results of a run on kernels.
fn on_kernels(name: &str, text: &str) -> Option<Value> {
    let ground = ground(name)?;
    let (output, _) = run(&ground, "run", text, &["--on", "linux-6.12"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    Some(json(&output))
}

fn number(summary: &Value, path: &str) -> f64 {
    summary.pointer(path).and_then(Value::as_f64).unwrap_or_else(|| panic!("{path}"))
}

/// Paper 0's table 3 at its shallowest buffer, without a configured rate: the rate of the path is known before
/// the window exceeds its buffer.
#[test]
fn a_rate_that_is_measured_loses_nothing() {
    let scenario = include_str!("../../../../papers/p0/shallow-buffer.toml");
    let scenario = scenario.replace("duration = \"300 s\"", "duration = \"8 s\"");
    let text = scenario + "\n[link.access.at.sender.queue.psp]\nrate = \"measured\"\n";
    let Some(summary) = on_kernels("a rate that kernels' ACKs measure", &text) else { return };
    let class = "/link/access/forward/class/all";
    let found = number(&summary, &format!("{class}/measured_rate")) / 62.5e6;
    assert!((0.99..1.01).contains(&found), "{found} of the bottleneck");
    let after = number(&summary, &format!("{class}/measured_after_seconds"));
    assert!(after < 1.0, "known after {after} s");
    assert_eq!(number(&summary, "/run/drops"), 0.0);
    // 63/64 of the formula's 59.62 MB/s.
    let goodput = number(&summary, "/flow/bulk/goodput_last_half");
    assert!((58.5e6..58.8e6).contains(&goodput), "{goodput} B/s");
}

/// Three hosts; their ports are stopped most of the time.
#[test]
fn a_port_that_is_stopped_stops_its_host() {
    let text = r#"
duration = "1 s"
[host.a]
count = 3
[host.b]
[switch.s]
lossless = 0
[link.in]
between = ["a", "s"]
rate = "1 Gbit/s"
[link.out]
between = ["s", "b"]
rate = "1 Gbit/s"
[flow.f]
from = "a"
to = "b"
"#;
    let Some(summary) = on_kernels("three kernels into a lossless port", text) else { return };
    assert_eq!(number(&summary, "/run/drops"), 0.0);
    assert!(number(&summary, "/node/s/pause/sent") > 1e3, "hosts were stopped");
    let goodput = number(&summary, "/run/goodput") * 8e-9;
    assert!(goodput > 0.93, "{goodput} Gbit/s");
}
