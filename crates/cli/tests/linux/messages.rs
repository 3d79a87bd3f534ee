//! Small messages: the kernel's sockets and the modelled ones carry as many.

use serde_json::Value;
use tempfile::TempDir;

use crate::scenario::{KERNEL, ground, path, results};

/// Send buffers of both ends that hold 40 kB.
const FIXED: &str = "tcp.buffers.send = \"40 kB\"\nreceiver_tcp.buffers.send = \"40 kB\"\n";

/// The flow's part of the summary of 2 s over a round trip of 2 ms, between hosts with the settings `host`, with
/// packets of up to `mtu` bytes.
fn flow(ground: &TempDir, mtu: u32, flow: &str, host: &str) -> Value {
    let link = "rate = \"1 Gbit/s\"";
    let text = path(2, host, &format!("{link}\ndelay = \"1 ms\""), flow);
    let text = text.replace(link, &format!("{link}\nmtu = \"{mtu} B\""));
    let (mut summary, _) = results(ground, "run", &text);
    summary["flow"]["f"].take()
}

/// Asserts that the kernel and the model have the same count at `pointer` of the flow's part of the summary, within
/// 1 %, and at least `least`.
fn assert_equal(ground: &TempDir, mtu: u32, load: &str, (pointer, least): (&str, f64)) {
    let [kernel, model] = [KERNEL, ""].map(|host| {
        let flow = flow(ground, mtu, load, host);
        flow.pointer(pointer).and_then(Value::as_f64).unwrap_or_else(|| panic!("{flow:#}"))
    });
    assert!(kernel >= least, "{load}, MTU {mtu}: kernel {kernel}");
    let apart = (model / kernel - 1.0).abs();
    assert!(apart <= 0.01, "{load}, MTU {mtu}: kernel {kernel}, model {model}");
}

fn exchange(request: u32, response: u32) -> String {
    format!("exchange = {{ request = \"{request} B\", response = \"{response} B\" }}")
}

#[test]
fn exchanges_of_any_size_go_on_as_with_the_kernel() {
    let Some(ground) = ground("exchanges of small messages with the guest kernel") else { return };
    let completed = ("/exchanges/completed", 300.0);
    for (request, response) in [(1, 1), (14, 700), (1_448, 15), (3_000, 4_000)] {
        assert_equal(&ground, 1_500, &exchange(request, response), completed);
    }
    // One byte more than a segment has.
    for (mtu, request, response) in [(1_280, 1_229, 4_000), (9_000, 8_949, 20_000)] {
        assert_equal(&ground, mtu, &exchange(request, response), completed);
    }
    assert_equal(&ground, 1_500, &(FIXED.to_owned() + &exchange(3_000, 14)), completed);
}

#[test]
fn trains_and_pings_go_on_as_with_the_kernel() {
    let Some(ground) = ground("trains and pings with the guest kernel") else { return };
    let train = |message: u32| format!("train = {{ message = \"{message} B\", every = \"4 ms\" }}");
    // 500 messages in 2 s; the last may be under way.
    assert_equal(&ground, 1_280, &train(5_000), ("/bytes", 498.0 * 5_000.0));
    let fixed = FIXED.to_owned() + &train(20_000);
    assert_equal(&ground, 9_000, &fixed, ("/bytes", 498.0 * 20_000.0));
    let ping = "ping = { every = \"4 ms\" }";
    assert_equal(&ground, 1_500, ping, ("/exchanges/completed", 498.0));
}
