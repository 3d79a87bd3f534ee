//! Our congestion control in the guest kernel, compared with the same source in the modelled TCP.

use serde_json::Value;
use tempfile::TempDir;

use crate::scenario::{KERNEL, goodput, ground, path, results, run};
use crate::typed::{code, json, stderr};

/// The tolerance of the model's goodput, relative to the kernel's.
const WITHIN: f64 = 0.05;

/// A flow with `congestion` over 40 Mbit/s and 30 ms (BDP 150 kB), through a queue of size `buffer`, between
/// hosts with the settings `host`.
fn summary(ground: &TempDir, congestion: &str, buffer: &str, host: &str) -> Value {
    let bottleneck =
        format!("rate = \"40 Mbit/s\"\ndelay = \"15 ms\"\nqueue.fifo.bytes = \"{buffer}\"");
    let text = path(10, host, &bottleneck, &format!("congestion = {congestion}"));
    results(ground, "run", &text).0
}

/// The summary of a run with the kernel, after a check that its goodput is within [`WITHIN`] of the model's.
fn kernels(ground: &TempDir, congestion: &str, buffer: &str) -> Value {
    let kernel = summary(ground, congestion, buffer, KERNEL);
    let model = summary(ground, congestion, buffer, "");
    let [real, modelled] = [&kernel, &model].map(|summary| goodput(summary, "f"));
    let apart = (modelled / real - 1.0).abs();
    assert!(apart <= WITHIN, "{congestion}: kernel {real}, model {modelled} bit/s");
    kernel
}

#[test]
fn the_kernel_gets_with_ours_what_the_model_gets() {
    let Some(ground) = ground("our congestion control in the guest kernel") else { return };
    // Through a fifth of the bandwidth-delay product they differ: the one halves its window, the other paces.
    let [newreno, bbr, bbr3] = ["\"newreno\"", "\"bbr\"", "\"bbr3\""]
        .map(|name| goodput(&kernels(&ground, name, "30 kB"), "f"));
    assert!(newreno < 0.9 * bbr, "newreno {newreno}, bbr {bbr} bit/s");
    assert!(bbr3 < bbr, "bbr3 {bbr3}, bbr {bbr} bit/s: it leaves some of the buffer free");
}

#[test]
fn parameters_reach_the_kernel() {
    let Some(ground) = ground("parameters in the guest kernel") else { return };
    // 20 to 30 packets of 1538 bytes on the wire take 6.2 to 9.2 ms; Vegas' own 2 to 4, 0.6 to 1.2 ms.
    let run = kernels(&ground, "{ vegas = { alpha = 20, beta = 30 } }", "150 kB");
    let queueing = run["link"]["bottleneck"]["forward"]["sojourn_p50_seconds"].as_f64();
    let queueing = queueing.expect("seconds");
    assert!((0.005..=0.010).contains(&queueing), "{queueing} s");
}

/// 32 senders, one more each millisecond, into one lossless port of 1 Gbit/s; what 0.3 to 1 s have.
const MANY: &str = r#"
duration = "1 s"
[host.source]
count = 32
[host.sink]
[switch.tor]
lossless = 0
[link.in]
between = ["source", "tor"]
rate = "1 Gbit/s"
delay = "4 us"
[link.out]
between = ["tor", "sink"]
rate = "1 Gbit/s"
delay = "4 us"
[flow.data]
from = "source"
to = "sink"
congestion = { sluice = { rate = 1_000, SLUICE } }
stagger = "1 ms"
tcp.emission.tso = false
[measure]
from = "300 ms"
"#;

/// Paper 4's open question, on the kernel's stack: if the senders know their number, the queue is the same for
/// any number; if not, it grows with the fourth root of the number.
#[test]
fn many_senders_by_sluice_share_a_lossless_port() {
    let Some(ground) = ground("sluice in 32 guest kernels") else { return };
    for (sluice, target) in
        [("base = 50_000, target = 320_000, senders = 32", 320.0), ("base = 42_000", 290.0)]
    {
        let text = MANY.replace("SLUICE", sluice);
        let waits = [&["--on", "linux-6.12"][..], &[]].map(|words| {
            let (output, _) = run(&ground, "many", &text, words);
            assert_eq!(code(&output), 0, "{}", stderr(&output));
            let summary = json(&output);
            let of = |path: &str| summary.pointer(path).and_then(Value::as_f64).expect(path);
            let share = of("/run/goodput") * 8e-9 / (1448.0 / 1538.0);
            let jain = of("/run/fairness");
            println!("{sluice} {words:?}: {share:.4} of the line, Jain {jain:.4}");
            assert!(share > 0.99, "{share} of the line");
            // Without a hint the model's first senders take longer to give way.
            assert!(jain > if words.is_empty() { 0.9 } else { 0.98 }, "{jain}");
            assert_eq!(of("/run/drops"), 0.0);
            assert_eq!(of("/node/tor/pause/sent"), 0.0);
            of("/link/out/forward/sojourn_p50_seconds") * 1e6
        });
        for wait in waits {
            assert!((wait / target - 1.0).abs() < 0.2, "{wait} us of {target}");
        }
        assert!((waits[0] / waits[1] - 1.0).abs() < 0.05, "{waits:?}");
    }
}

/// A slow link with RED, whose drops are drawn: segments and ACKs that come a little sooner or later change them.
const RED: &str = r#"
duration = "30 s"
[host.a]
[host.b]
[router.r]
[link.in]
between = ["a", "r"]
rate = "1 Gbit/s"
[link.out]
between = ["r", "b"]
rate = "3 Mbit/s"
delay = "37 ms"
at.r.queue.red = { bytes = "111 kB" }
[flow.f]
from = "a"
to = "b"
congestion = "bbr"
"#;

#[test]
fn bbr_has_through_red_the_drops_and_the_acks_of_the_kernel() {
    let Some(ground) = ground("BBR through RED in the guest kernel") else { return };
    let [kernel, model] = [&["--on", "linux-6.12"][..], &[]].map(|words| {
        let (output, _) = run(&ground, "red", RED, words);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        json(&output)
    });
    for path in [
        "/link/out/forward/drops_by_reason/early",
        "/link/out/reverse/packets",
        "/link/out/forward/sojourn_p50_seconds",
        "/flow/f/goodput",
    ] {
        let of = |summary: &Value| summary.pointer(path).and_then(Value::as_f64).expect(path);
        let (kernel, model) = (of(&kernel), of(&model));
        let apart = (model / kernel - 1.0).abs();
        assert!(apart <= 0.1, "{path}: kernel {kernel}, model {model}");
    }
    // What the kernel's TCP decides is unknown.
    let decides = |summary: &Value| summary["flow"]["f"].get("fast_recoveries").is_some();
    assert_eq!((decides(&kernel), decides(&model)), (false, true));
}
