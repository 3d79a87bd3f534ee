//! Explicit congestion notification between two ends' settings.

use record::Summary;

use crate::driver;

/// Packets that a sender gets an echo of a mark for, where `tcp` are its flow's keys and `profile` is the receiving
/// host's; the queue marks rather than drops, and small queues do not keep it short.
fn echoes(tcp: &str, profile: &str) -> f64 {
    let plan = driver::plan(&format!(
        "duration = \"5 s\"\n[host]\na = {{}}\nb.profile = \"{profile}\"\n\
         [link.wire]\nbetween = [\"a\", \"b\"]\nrate = \"10 Mbit/s\"\ndelay = \"10 ms\"\n\
         at.a.queue.codel = {{ packets = 1000, ecn = true }}\n\
         [flow.bulk]\nfrom = \"a\"\nto = \"b\"\n\
         tcp.emission.small_queues = false\n{tcp}\n"
    ));
    let quantities = Summary::new(&plan, &driver::totals(&plan)).quantities();
    let found = quantities.iter().find(|(name, _)| *name == "flow.bulk.congestion_echoes");
    found.expect("the flow is in the summary").1
}

#[test]
fn linux_accepts_ecn_that_the_sender_alone_asks_for() {
    let asked = "tcp.segment.ecn = true";
    assert!(echoes(asked, "linux-6") > 0.0);
    assert!(echoes("tcp.segment.ecn = true\nreceiver_tcp.segment.ecn = false", "linux-6") == 0.0);
    assert!(echoes("", "linux-6") == 0.0, "nobody asks by default");
    assert!(echoes(asked, "linux-2.4-web100") == 0.0, "tcp_ecn = 0 then");
}
