//! The TCP metrics of a connection that hosts cache for the next one to the same peer.

use crate::scenario::{KERNEL, goodput, ground, path, results};

/// A flow that fills a buffer of half a second, then a short one to the same host: its first flight is lost, as
/// is everything sent for 500 ms.
fn text(host: &str) -> String {
    let bottleneck = r#"
rate = "10 Mbit/s"
delay = "10 ms"
at.r.queue.fifo.bytes = "600 kB"
at.r.down = { at = "6.005 s", lasts = "500 ms" }"#;
    path(9, host, bottleneck, "bytes = \"2 MB\"")
        + "[flow.next]\nfrom = \"a\"\nto = \"b\"\nstart = \"6 s\"\nbytes = \"10 kB\"\n"
}

/// With only its own RTT samples, the second flow would complete in 0.785 s.
#[test]
fn the_first_timeout_of_a_connection_knows_the_round_trip_of_the_one_before() {
    let Some(ground) = ground("what a host keeps of a connection") else { return };
    let [kernel, model] = [KERNEL, ""].map(|host| {
        let (summary, _) = results(&ground, "run", &text(host));
        assert_eq!(summary["flow"]["next"]["timeouts"], 2, "{summary:#}");
        1e4 * 8.0 / goodput(&summary, "next")
    });
    assert!((model / kernel - 1.0).abs() <= 0.05, "kernel {kernel} s, model {model} s");
}
