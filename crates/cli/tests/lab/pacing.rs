//! A host of real TCP that paces with gap packets.

use crate::ground::{Ground, Network};

#[test]
fn a_paced_host_gets_the_rate_without_a_drop() {
    const RATE: f64 = 300e6;
    let test = "a paced host";
    let Some(ground) = Ground::take(test, &[]) else { return };
    // A twentieth of what is under way; unpaced, slow start alone fills it many times over.
    let network = Network {
        duration: "4 s",
        rate: "300 Mbit/s",
        delay: "10 ms",
        buffer: "40 kB",
        ..Network::default()
    };
    let scenario = network.with(
        r#"
[link.west.at.a.queue.psp]
rate = "300 Mbit/s"
[flow.bulk]
from = "a"
to = "b"
tcp.buffers.send = "8 MiB"
receiver_tcp.buffers.receive = "8 MiB"
"#,
    );
    let Some(run) = ground.measure(test, &scenario, &[], |_| true) else { return };
    let summary = run.summary();
    // TCP learns of the queue in its host, so that none overflows before the pacer either.
    for link in ["west", "east"] {
        let port = &summary["link"][link]["forward"];
        assert_eq!(port["drops"], 0, "{link}: {port}");
    }
    // Of 1518 bytes 1448 are payload.
    let goodput = summary["flow"]["bulk"]["goodput_last_half"].as_f64().expect("a rate");
    let share = goodput * 8.0 / (RATE * 1448.0 / 1518.0);
    // Of the two seconds' edges each falls within what the receiver is handed at once: 64 KiB (GRO), a thousandth.
    let most = 1.0 + f64::from(1 << 16) / (2.0 * RATE / 8.0 * 1448.0 / 1518.0);
    assert!((0.97..most).contains(&share), "{share} of what the rate allows");
}
