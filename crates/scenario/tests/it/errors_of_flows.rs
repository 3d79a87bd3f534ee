//! Errors in a file give line, column, problem and remedy: flows, their programs and changes, and expectations.

use crate::said::{GOOD, added, said};
use scenario::Document;

/// The messages for a flow with this `congestion`.
fn of_congestion(congestion: &str) -> String {
    added(&format!("congestion = {congestion}\n"))
}

#[test]
fn parameters_of_an_algorithm() {
    assert_eq!(of_congestion("{ vegas = { alpha = 3, beta = 6 } }"), "nothing");
    assert_eq!(of_congestion("{ vegas = {} }"), "nothing");
    let unknown = of_congestion("{ vegas = { alfa = 3 } }");
    assert!(unknown.contains("`vegas` has no key `alfa`"), "{unknown}");
    assert!(unknown.contains("available: `alpha`, `beta`, `gamma`"), "{unknown}");
    let range = of_congestion("{ vegas = { alpha = 0 } }");
    assert!(range.contains("x.toml:14:") && range.contains("`alpha` cannot be 0"), "{range}");
    assert!(range.contains("give 1 to 65535"), "{range}");
    let kind = of_congestion("{ vegas = { alpha = \"2 ms\" } }");
    assert!(kind.contains("`2 ms` is not a whole number"), "{kind}");
    let none = of_congestion("{ newreno = { alpha = 3 } }");
    assert!(none.contains("`newreno` has no key `alpha`"), "{none}");
    let two = of_congestion("{ vegas = {}, bic = {} }");
    assert!(two.contains("keep one of them"), "{two}");
    let other = of_congestion("{ las_vegas = {} }");
    assert!(other.contains("no key `las_vegas`"), "{other}");
}

/// Flows that start after the end of the run are never seen, which looked like unfairness.
#[test]
fn a_stagger_past_the_end_says_how_many_flows_start_and_what_to_change() {
    assert_eq!(
        added("count = 10\nstagger = \"4 s\"\n"),
        "x.toml:15:11: only 3 of 10 flows start before the run ends at 10 s: the last would start at \
         36 s\n  help: set `flow.bulk.stagger` below 1.11 s, `flow.bulk.count` to 3 or less, or \
         `duration` above 36 s"
    );
    assert_eq!(
        added("count = 3\nstart = \"1500 ms\"\nstagger = \"1 s\"\nstop = \"3 s\"\n"),
        "x.toml:16:11: only 2 of 3 flows start before they stop at 3 s: the last would start at \
         3.5 s\n  help: set `flow.bulk.stagger` below 750 ms, `flow.bulk.count` to 2 or less, or \
         `flow.bulk.stop` above 3.5 s"
    );
    assert_eq!(added("count = 10\nstagger = \"1.1 s\"\n"), "nothing");
    assert_eq!(added("count = 10\nstagger = \"exponential 4 s\"\n"), "nothing");
    assert_eq!(
        added("start = \"10 s..11 s\"\n"),
        "x.toml:14:9: the flow starts after the end of the run\n  help: set `start` below `duration`"
    );
}

#[test]
fn datagrams() {
    let datagrams = |table: &str| {
        added(&format!("[flow.u]\nfrom = \"sender\"\nto = \"receiver\"\ndatagrams = {table}\n"))
    };
    assert_eq!(
        datagrams("{ rate = \"1 Mbit/s\", size = \"1473 B\" }"),
        "x.toml:17:41: datagrams of 1473 B exceed the MTU of the path\n  \
         help: use 1 B to 1472 B: the path MTU minus 28 B of headers"
    );
    assert_eq!(
        datagrams("{ rate = \"1 Mbit/s\", size = \"0 B\" }"),
        "x.toml:17:41: `size` cannot be 0 B\n  help: give 1 B to 65507 B: UDP payload of each datagram \
         (RFC 791, RFC 768); the payload that fits the smallest MTU of the path unless given. The last \
         datagram of a limited number of bytes may be shorter."
    );
    assert_eq!(
        datagrams("{ rate = \"101 Tbit/s\" }"),
        "x.toml:17:22: `rate` cannot be 101 Tbit/s\n  help: give at most 100000 Gbit/s: UDP payload per \
         second while sending."
    );
    assert_eq!(
        datagrams("{ rate = \"1 Mbit/s\", on = \"0 s\", off = \"1 s\" }"),
        "x.toml:17:39: `on` cannot be 0 s\n  help: give at least 100 ns: Duration of each sending period, \
         before a pause of `off`; always on unless given."
    );
    assert_eq!(
        datagrams("{ rate = \"1 Mbit/s\", on = \"1 s\", off = \"9 ns\" }"),
        "x.toml:17:52: the interval is too short\n  \
         help: check its unit: the minimum is 100 ns"
    );
    assert_eq!(
        datagrams("{ rate = \"1 Mbit/s\", on = \"1 s\" }"),
        "x.toml:17:39: only one of `on` and `off`\n  \
         help: give both, or neither to send all the time"
    );
    assert_eq!(
        datagrams("{ rate = \"1 Mbit/s\", spacing = \"poison\" }"),
        "x.toml:17:44: `spacing` has no choice `poison`\n  help: did you mean `poisson`?"
    );
    assert_eq!(
        datagrams("{ rate = \"1 Mbit/s\" }\ncongestion = \"cubic\""),
        "x.toml:17:22: datagrams are sent without TCP\n  help: remove congestion, train, exchange, ping, \
         events, read, tcp and receiver_tcp, or datagrams"
    );
}

#[test]
fn changes() {
    let said = |body: &str| added(&format!("[change.c]\nat = \"r:wan\"\n{body}\n"));
    assert_eq!(
        said("when = \"1 s\"\nenabled = true\nrelease = \"a\""),
        "x.toml:14:9: `c` is not exactly one change\n  help: give exactly one of queue, enabled, reserve, \
         release and rate"
    );
    assert_eq!(
        said("when = \"10 s\"\nenabled = true"),
        "x.toml:16:8: the change comes after the end of the run\n  \
         help: set `when` below `duration`"
    );
    let bucket = "class = \"v\", rate = \"1 Mbit/s\", burst = \"3 kB\", delay = \"5 ms\"";
    let reserve = format!("reserve = {{ {bucket}, match = {{ priority = 3 }} }}");
    assert_eq!(
        said(&format!("when = \"1 s\"\n{reserve}")),
        "x.toml:17:98: a reservation has no priority\n  \
         help: remove it: the filters of a reservation precede those of other classes"
    );
    assert_eq!(
        said("when = \"1 s\"\nqueue.psp = {}"),
        "x.toml:17:7: no classes\n  help: give at least one, or use a discipline without, such as fifo"
    );
}

#[test]
fn changes_of_connections() {
    let said = |body: &str| added(&format!("[change.c]\nwhen = \"1 s\"\n{body}\n"));
    assert_eq!(said("flow = \"bulk\"\ncongestion = \"vegas\"\nrto_min = \"12 ms\""), "nothing");
    let one = "x.toml:14:9: `c` needs either `at` or `flow`\n  \
               help: give at = \"node:link\" for a port, or flow = \"name\" for connections";
    assert_eq!(said("nodelay = true"), one);
    assert_eq!(said("at = \"r:wan\"\nflow = \"bulk\"\nnodelay = true"), one);
    let none = "x.toml:14:9: `c` sets no option of a flow\n  help: give congestion, pacing_rate, rto_min, \
                idle_restart, nodelay, save_window, restore_window or phase";
    assert_eq!(said("flow = \"bulk\""), none);
    assert_eq!(said("flow = \"bulk\"\nnodelay = true\nenabled = true"), none);
    assert_eq!(
        said("at = \"r:wan\"\nrto_min = \"1 s\"\nenabled = true"),
        "x.toml:14:9: `c` is not exactly one change\n  help: give exactly one of queue, enabled, reserve, \
         release and rate"
    );
    assert_eq!(
        said("flow = \"bulk\"\nrto_min = \"0 s\""),
        "x.toml:17:11: a minimum timeout of zero\n  help: use 1 ms or more"
    );
    assert_eq!(
        said("flow = \"bulk\"\ncongestion = \"vega\""),
        "x.toml:17:14: there is no congestion control algorithm `vega`\n  help: did you mean `vegas`?"
    );
    assert_eq!(
        said("flow = \"bulb\"\nnodelay = true"),
        "x.toml:16:8: there is no flow `bulb`\n  help: did you mean `bulk`?"
    );
    let datagrams =
        "[flow.d]\nfrom = \"sender\"\nto = \"receiver\"\ndatagrams = { rate = \"1 Mbit/s\" }";
    assert_eq!(
        said(&format!("flow = \"d\"\nnodelay = true\n{datagrams}")),
        "x.toml:16:8: `d` is not a TCP connection\n  help: name a flow without `datagrams` and `program`"
    );
}

#[test]
fn expectations_are_of_what_is_measured() {
    let classes = "[link.wan.at.r.queue.drr.class]\ngold = { match = {} }\nrest = {}\n";
    let expected = |what: &str| added(&format!("{classes}[expect.{what}"));
    assert_eq!(expected("link.wan.class.gold]\nrate.min = \"1 Mbit/s\"\n"), "nothing");
    assert_eq!(
        expected("link.wan.class]\ngolf.rate = { min = \"1 Mbit/s\" }\n"),
        "x.toml:18:1: there is no class `golf`\n  help: did you mean `gold`?"
    );
    assert_eq!(expected("node.r]\ndrops.max = 0\n"), "nothing");
    assert!(expected("node.q]\ndrops.max = 0\n").contains("there is no node `q`"));
    // A class can be added by a change, or removed with a queue that a change replaces.
    let change = "[change.later]\nat = \"r:wan\"\nwhen = \"1 s\"\n";
    let later = "link.wan.class.late]\nrate.min = \"1 Mbit/s\"\n";
    let switch = "queue.drr.class = { late = { match = {} }, later = {} }\n";
    assert_eq!(expected(&format!("{later}{change}{switch}")), "nothing");
    let reserve = "reserve = { class = \"late\", rate = \"1 Mbit/s\", burst = \"2 kB\", \
                   delay = \"50 ms\", match = { flow = \"bulk\" } }\n";
    assert_eq!(expected(&format!("{later}{change}{reserve}")), "nothing");
    assert_eq!(
        expected("link.wan]\nsojourn_p99.max = \"5 ms\"\n[probe]\nautomatic = false\n"),
        "x.toml:17:14: sojourn times at `wan` are not counted\n  \
         help: remove `automatic = false` from [probe]"
    );
    assert_eq!(expected("link.wan]\nsojourn_p99.max = \"5 ms\"\n"), "nothing");
    assert_eq!(expected("flow.bulk]\nmin_rtt.max = \"5 ms\"\nsegments.min = 3\n"), "nothing");
    // Quantities of single flows and of groups differ.
    assert_eq!(
        expected("flow.bulk]\ngoodput_min.min = \"1 MB/s\"\n"),
        "x.toml:18:1: `bulk` has no `goodput_min`\n  \
         help: only the flows of a `count` or a `matrix` have it, together"
    );
    let counted = said(
        "to = \"receiver\"\n",
        "to = \"receiver\"\ncount = 2\n",
        "[expect.flow.bulk]\nsrtt.max = \"1 s\"\n",
    );
    assert_eq!(counted, "x.toml:16:1: `bulk` has no `srtt`\n  help: name one flow: \"bulk.1\"");
    assert_eq!(
        expected("flow.bulk]\ndelay_max = { max = \"20 ms\" }\n"),
        "x.toml:18:1: `bulk` has no measured delay\n  \
         help: expect it of a flow with `datagrams` on the same path"
    );
}

#[test]
fn programs() {
    let flow =
        |line: &str| said("to = \"receiver\"\n", &format!("to = \"receiver\"\n{line}\n"), "");
    assert_eq!(flow("program = \"iperf3 -c {to} -p {port}\"\nserver = \"iperf3 -s\""), "nothing");
    assert_eq!(
        flow("program = \"iperf3 -c {host}\""),
        "x.toml:14:11: unknown placeholder `{host}`\n  \
         help: available: {from}, {to}, {port}; write `{{` and `}}` for literal braces"
    );
    assert_eq!(
        flow("program = 'sh -c \"iperf3'"),
        "x.toml:14:11: unclosed quote \"\n  help: add the closing quote"
    );
    assert_eq!(
        flow("program = \"\""),
        "x.toml:14:11: empty command line\n  help: write the program and its arguments"
    );
    assert_eq!(
        flow("program = \"ping {to}\"\nbytes = \"1 MB\""),
        "x.toml:14:11: `bytes` applies to built-in programs only, but this flow has its own `program`\n  \
         help: remove bytes, or program"
    );
    assert_eq!(
        flow("server = \"iperf3 -s\""),
        "x.toml:14:10: a server without a program\n  \
         help: add the client: program = \"iperf3 -c {to} -p {port}\""
    );
    let host = |line: &str| said("[host.receiver]\n", &format!("[host.receiver]\n{line}\n"), "");
    assert_eq!(host("program = [\"httpd\", \"sh -c 'a b' {address}\"]"), "nothing");
    assert_eq!(host("program = \"httpd\"\nas = \"root\""), "nothing");
    assert_eq!(
        host("as = \"nobody\""),
        "x.toml:3:7: `receiver` has `as` but no program\n  \
         help: add a program, or remove `as`"
    );
    assert!(host("program = \"httpd\"\nas = \"bin\"").contains("available: `nobody`, `root`"));
    assert_eq!(
        host("program = [\"httpd\", \"x {to}\"]"),
        "x.toml:4:21: unknown placeholder `{to}`\n  help: available: {address}; write `{{` and `}}` for literal braces"
    );
    assert_eq!(
        said("[host.sender]\n", "[host.sender]\naddress = \"2001:db8::1\"\n", "")
            .replace("bulk", ""),
        "x.toml:14:6: 2001:db8::1 and 10.0.0.2 have different IP versions\n  \
         help: use addresses of the same IP version for both hosts"
    );
    let text = "to = \"receiver\"\nprogram = \"ping {to}\"\n";
    let six = GOOD.replace("[host.sender]\n", "[host.sender]\naddress = \"2001:db8::1\"\n");
    let mixed = Document::parse("x.toml", &six.replace("to = \"receiver\"\n", text));
    let errors = mixed.and_then(|document| document.plan()).unwrap_err().to_string();
    assert!(
        errors.starts_with("x.toml:14:6: 2001:db8::1 and 10.0.0.2 have different IP versions"),
        "{errors}"
    );
}

#[test]
fn the_kernels_congestion_control() {
    let flow = |name: &str| {
        said("to = \"receiver\"\n", &format!("to = \"receiver\"\ncongestion = \"{name}\"\n"), "")
    };
    assert_eq!(flow("kernel:bbr"), "nothing");
    for name in ["kernel:", "kernel:b b", "kernel:a_name_that_is_too_long"] {
        let said = flow(name);
        assert!(said.contains("of a kernel's congestion control"), "{said}");
    }
}

#[test]
fn exchanges() {
    let flow =
        |line: &str| said("to = \"receiver\"\n", &format!("to = \"receiver\"\n{line}\n"), "");
    let exchange = "exchange = { request = \"1 KiB\", response = \"64 KiB\" }";
    assert_eq!(flow(exchange), "nothing");
    assert_eq!(
        flow(&exchange.replace("64 KiB", "0 B")),
        "x.toml:14:44: `response` cannot be 0 B\n  help: give at least 1 B: Size of a response; a distribution \
         is drawn for each."
    );
    assert_eq!(
        flow(&format!("{exchange}\nbytes = \"1 MB\"")),
        "x.toml:14:24: `bytes` cannot be combined with an exchange\n  help: remove bytes, or exchange"
    );
    let expected = "[expect.flow.bulk]\nresponse_mean.max = \"1 s\"\n";
    assert_eq!(
        added(expected),
        "x.toml:15:1: `bulk` has no exchanges\n  help: name a flow with an `exchange` or a `ping`"
    );
    let text = format!("to = \"receiver\"\n{exchange}\n");
    assert_eq!(said("to = \"receiver\"\n", &text, expected), "nothing");
}

#[test]
fn tolerances() {
    assert_eq!(
        added(
            "[compare]\ntolerance = \"5 %\"\n[compare.flow.bulk]\ngoodput = \"3 %\"\ndrops = 7\n"
        ),
        "nothing"
    );
    assert_eq!(
        added("[compare]\ntolerance = \"5\"\n"),
        "x.toml:15:13: `5` is not in percent\n  help: write it as \"5 %\""
    );
    assert_eq!(
        added("[compare.flow.bulk]\ngoodput = \"1 MB\"\n"),
        "x.toml:15:11: `MB` is not a unit of rate\n  help: a rate is per second: \"1 MB/s\""
    );
    assert_eq!(
        added("[compare.flow.bulc]\ngoodput = \"3 %\"\n"),
        "x.toml:14:15: there is no flow `bulc`\n  help: did you mean `bulk`?"
    );
    assert_eq!(
        added("[compare.flow.bulk]\ndelay_max = \"3 %\"\n"),
        "x.toml:15:1: `bulk` has no measured delay\n  \
         help: expect it of a flow with `datagrams` on the same path"
    );
}
