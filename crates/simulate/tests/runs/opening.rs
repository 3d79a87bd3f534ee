//! Connections whose first SYNs are lost: when they open, and with what.

use record::Summary;

use crate::driver;

fn run(text: &str) -> Summary {
    driver::summary(&driver::plan(text))
}

/// Echoes of congestion that a flow gets whose first SYN asks for ECN and is lost.
fn echoes(tcp: &str) -> u64 {
    let summary = run(&format!(
        "duration = \"4 s\"\n[host.a]\n[host.b]\n[router.r]\n\
         [link.in]\nbetween = [\"a\", \"r\"]\nrate = \"1 Gbit/s\"\ndelay = \"20 us\"\n\
         [link.out]\nbetween = [\"r\", \"b\"]\nrate = \"33 Mbit/s\"\ndelay = \"13 ms\"\n\
         queue.codel = {{ ecn = true }}\ndown = {{ at = \"900 ms\", lasts = \"500 ms\" }}\n\
         [flow.bulk]\nfrom = \"a\"\nto = \"b\"\ncongestion = \"cubic\"\nstart = \"1 s\"\n\
         tcp.segment.ecn = true\nreceiver_tcp.segment.ecn = true\n{tcp}"
    ));
    let quantities = summary.quantities();
    let found = quantities.iter().find(|(name, _)| *name == "flow.bulk.congestion_echoes");
    found.expect("the flow is in the summary").1 as u64
}

#[test]
fn a_flow_whose_first_syn_is_lost_has_no_ecn() {
    assert_eq!(echoes(""), 0);
    assert!(echoes("tcp.segment.ecn_fallback = false") > 0);
}
