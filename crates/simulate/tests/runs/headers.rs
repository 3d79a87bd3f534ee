//! Simulated packets have headers, and rules over those choose among them.

use record::Summary;

use crate::driver;

/// One flow for each rule; traffic without a rule is in the last class.
const TEXT: &str = r#"
duration = "1 s"
[host.a]
address = "ADDRESS1"
[host.b]
address = "ADDRESS2"
[link.wire]
between = ["a", "b"]
rate = "100 Mbit/s"
[link.wire.at.a.queue.drr.class]
by_port = { match = { destination_port = "80-443", protocol = "tcp" } }
by_code_point = { match = { dscp = "af21" } }
by_source = { match = { source = "PREFIX", source_port = 7 } }
by_priority = { match = { flow = "web.2", priority = 1 } }
rest = { match = { } }
[flow]
web = { from = "a", to = "b", count = 2, destination_port = 80, bytes = "100 kB" }
marked = { from = "a", to = "b", dscp = 18, bytes = "200 kB" }
from_seven = { from = "a", to = "b", source_port = 7, bytes = "300 kB" }
other = { from = "a", to = "b", bytes = "400 kB" }
"#;

/// Frame bytes that each class sent, and the payload of a full segment.
fn sent(addresses: [&str; 2], prefix: &str, header: f64) {
    let text = TEXT.replace("ADDRESS1", addresses[0]).replace("ADDRESS2", addresses[1]);
    let plan = driver::plan(&text.replace("PREFIX", prefix));
    let quantities = Summary::new(&plan, &driver::totals(&plan)).quantities();
    for (class, bytes) in [
        ("by_port", 100_000.0),
        ("by_code_point", 200_000.0),
        ("by_source", 300_000.0),
        ("by_priority", 100_000.0),
        ("rest", 400_000.0),
    ] {
        let path = format!("link.wire.forward.class.{class}.bytes");
        let sent = quantities.iter().find(|(name, _)| *name == path).expect("a class").1;
        // IP, TCP with timestamps, Ethernet; SYN, ACK and FIN besides.
        let overhead = header + 32.0 + 18.0;
        let expected = bytes + (bytes / (1500.0 - header - 32.0)).ceil() * overhead;
        assert!((0.0..500.0).contains(&(sent - expected)), "{class}: {sent} of {expected}");
    }
}

#[test]
fn rules_look_at_ipv4_headers() {
    sent(["10.1.0.1", "10.2.0.1"], "10.1.0.0/16", 20.0);
}

#[test]
fn rules_look_at_ipv6_headers() {
    sent(["2001:db8:1::1", "2001:db8:2::1"], "2001:db8:1::/48", 40.0);
}
