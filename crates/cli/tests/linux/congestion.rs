//! Our congestion control in the guest kernel, beside the same text under the modelled TCP.

use std::fs;
use std::process::Command;

use serde_json::Value;

use crate::typed::{SUIMON, code, json, stderr};

/// How far the model's goodput may be from the kernel's.
const WITHIN: f64 = 0.05;

/// What comes of a flow with that congestion control over 40 Mbit/s and 30 ms, whose bandwidth-delay product is 150 kB,
/// through that buffer between hosts that have `stack`.
fn run(congestion: &str, buffer: &str, stack: &str) -> Value {
    let folder = tempfile::tempdir().expect("a folder");
    let scenario = format!(
        r#"
        duration = "10 s"
        [host.a]
        {stack}
        [host.b]
        {stack}
        [router.r]
        [link.access]
        between = ["a", "r"]
        rate = "1 Gbit/s"
        [link.bottleneck]
        between = ["r", "b"]
        rate = "40 Mbit/s"
        delay = "15 ms"
        queue.fifo.bytes = "{buffer}"
        [flow.bulk]
        from = "a"
        to = "b"
        congestion = {congestion}
        "#
    );
    fs::write(folder.path().join("one.toml"), scenario).expect("a file");
    let mut suimon = Command::new(SUIMON);
    suimon.args(["run", "one.toml", "--out", "run", "--json"]).current_dir(&folder);
    let output = suimon.output().expect("it starts");
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    json(&output)
}

/// What a run with the kernel gives, once its goodput is within [`WITHIN`] of the model's.
fn kernels(congestion: &str, buffer: &str) -> Value {
    let kernel = run(congestion, buffer, "kernel = \"linux-6.12\"");
    let model = run(congestion, buffer, "");
    let [real, modelled] = [&kernel, &model].map(goodput);
    let apart = (modelled / real - 1.0).abs();
    assert!(apart <= WITHIN, "{congestion}: kernel {real}, model {modelled} bytes/s");
    kernel
}

/// In bytes a second.
fn goodput(run: &Value) -> f64 {
    run["flow"]["bulk"]["goodput"].as_f64().expect("a goodput")
}

#[test]
fn the_kernel_gets_with_ours_what_the_model_gets() {
    if crate::kernel("our congestion control in the guest kernel", &["setarch"]).is_none() {
        return;
    }
    // Through a fifth of the bandwidth-delay product they differ: the one halves its window, the other paces.
    let [newreno, bbr] = ["\"newreno\"", "\"bbr\""].map(|name| goodput(&kernels(name, "30 kB")));
    assert!(newreno < 0.9 * bbr, "newreno {newreno}, bbr {bbr} bytes/s");
}

#[test]
fn parameters_reach_the_kernel() {
    if crate::kernel("parameters in the guest kernel", &["setarch"]).is_none() {
        return;
    }
    // 20 to 30 packets of 1538 bytes on the wire take 6.2 to 9.2 ms; Vegas' own 2 to 4, 0.6 to 1.2 ms.
    let run = kernels("{ vegas = { alpha = 20, beta = 30 } }", "150 kB");
    let queueing = run["link"]["bottleneck"]["forward"]["sojourn_p50_seconds"].as_f64();
    let queueing = queueing.expect("seconds");
    assert!((0.005..=0.010).contains(&queueing), "{queueing} s");
}
