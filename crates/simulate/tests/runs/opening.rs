//! Connections whose first SYNs are lost: when they open, and with which options.

use record::Summary;

use crate::driver;

fn run(text: &str) -> Summary {
    driver::summary(&driver::plan(text))
}

/// The longest completion time of twenty flows that begin while the link is down, 200 ms apart, in seconds.
fn slowest(tcp: &str) -> f64 {
    let summary = run(&format!(
        "duration = \"9 s\"\n[host.a]\n[host.b]\n\
         [link.l]\nbetween = [\"a\", \"b\"]\nrate = \"100 Mbit/s\"\ndelay = \"15 ms\"\n\
         at.a.down = {{ at = \"0 s\", lasts = \"4.5 s\" }}\n\
         [flow.f]\nfrom = \"a\"\nto = \"b\"\n\
         count = 20\nstagger = \"200 ms\"\nbytes = \"20 kB\"\n{tcp}"
    ));
    let group = summary.group.get("f").expect("a count makes a group");
    let times = group.completion.as_ref().expect("they have a size");
    assert_eq!(times.completed, 20);
    times.fct_p99_seconds
}

#[test]
fn flows_begin_within_a_second_of_the_link_s_return() {
    // The first flow sends a SYN every second plus the rest of a slot of the timer wheel: 5.2603 s with Linux
    // 6.12.
    let exact = "tcp.rto.wheel = false";
    assert!((5.255..5.265).contains(&slowest("")));
    assert!((5.0..5.2).contains(&slowest(exact)));
    assert!((7.3..7.5).contains(&slowest("tcp.rto.syn_linear = 0")), "3 s are doubled to 7");
}

/// The congestion echoes of a flow whose first SYN requests ECN and is lost.
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
