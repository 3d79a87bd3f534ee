//! Flow completion times and slowdowns, compared with manual calculations.

use record::Summary;

use crate::driver;

fn run(flows: &str) -> Summary {
    let text = format!(
        "duration = \"2 s\"\n[host.a]\n[host.b]\n[link.wire]\nbetween = [\"a\", \"b\"]\n\
         rate = \"100 Mbit/s\"\ndelay = \"5 ms\"\n{flows}"
    );
    let plan = scenario::Document::parse("x.toml", &text).and_then(|document| document.plan());
    let plan = plan.unwrap_or_else(|errors| panic!("{errors}"));
    Summary::new(&plan, &driver::totals(&plan))
}

const FLOW: &str = "[flow.f]\nfrom = \"a\"\nto = \"b\"\n";

#[test]
fn a_flow_that_fits_the_initial_window_takes_hardly_more_than_the_ideal() {
    // Ten full segments: 1448 bytes of payload in 1538 on the wire each.
    let summary = run(&format!("{FLOW}count = 1\nbytes = \"14480 B\"\n"));
    let group = summary.group.get("f").expect("a count makes a group");
    let times = group.completion.as_ref().expect("it has a size");
    let wire = |bytes: f64| bytes * 8.0 / 100e6;
    // The SYN and the SYN-ACK of 74 and the ACK of 66 bytes go before, each with FCS, preamble and gap.
    let handshake = wire(2.0 * (74.0 + 24.0) + 66.0 + 24.0);
    let ideal = 0.015 + wire(10.0 * 1538.0);
    assert!((times.fct_p50_seconds - ideal - handshake).abs() < 1e-9, "{times:?}");
    assert!((times.slowdown_p99 - (1.0 + handshake / ideal)).abs() < 1e-6, "{times:?}");
    assert_eq!((times.completed, times.fct_p99_seconds), (1, times.fct_p50_seconds));
}

#[test]
fn sizes_are_distinguished_and_what_is_unfinished_does_not_count() {
    let sizes = "bytes = \"cdf 5 kB 50 %, 5 kB 50 %, 50 MB 50 %, 50 MB 100 %\"\n";
    let summary = run(&format!("{FLOW}count = 20\n{sizes}"));
    let group = summary.group.get("f").expect("a count makes a group");
    let buckets: Vec<_> = group.size.0.iter().map(|(name, times)| (&**name, times)).collect();
    let [("to_10_kB", small), ("above_10_MB", large)] = buckets[..] else { panic!("{buckets:?}") };
    assert_eq!(large.completed, 0, "50 MB take 4 s");
    assert_eq!((large.fct_p99_seconds, large.slowdown_p50), (0.0, 0.0));
    assert!(small.completed > 4 && small.slowdown_p50 >= 1.0, "{small:?}");
    assert_eq!(group.completion.as_ref().map(|all| all.completed), Some(small.completed));
}

#[test]
fn what_has_no_set_size_has_no_completion_time() {
    let exchange = "exchange = { request = \"1 kB\", response = \"1 kB\" }\n";
    for flow in ["", exchange, "datagrams = { rate = \"1 Mbit/s\" }\nbytes = \"10 kB\"\n"] {
        let summary = run(&format!("{FLOW}count = 2\n{flow}"));
        let group = summary.group.get("f").expect("a count makes a group");
        assert!(group.completion.is_none() && group.size.is_empty(), "{flow}");
    }
}
