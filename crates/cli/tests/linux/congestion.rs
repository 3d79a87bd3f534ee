//! Our congestion control in the guest kernel, beside the same text under the modelled TCP.

use serde_json::Value;
use tempfile::TempDir;

use crate::scenario::{KERNEL, goodput, ground, path, results};

/// How far the model's goodput may be from the kernel's.
const WITHIN: f64 = 0.05;

/// A flow with that congestion control over 40 Mbit/s and 30 ms, whose bandwidth-delay product is 150 kB, through that
/// buffer between hosts that are `host`.
fn summary(ground: &TempDir, congestion: &str, buffer: &str, host: &str) -> Value {
    let bottleneck =
        format!("rate = \"40 Mbit/s\"\ndelay = \"15 ms\"\nqueue.fifo.bytes = \"{buffer}\"");
    let text = path(10, host, &bottleneck, &format!("congestion = {congestion}"));
    results(ground, "run", &text).0
}

/// What a run with the kernel gives, once its goodput is within [`WITHIN`] of the model's.
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
    let [newreno, bbr] =
        ["\"newreno\"", "\"bbr\""].map(|name| goodput(&kernels(&ground, name, "30 kB"), "f"));
    assert!(newreno < 0.9 * bbr, "newreno {newreno}, bbr {bbr} bit/s");
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
