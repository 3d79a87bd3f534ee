//! The router's counters for Prometheus.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::thread;

use testbed::{PATIENCE, eventually};

use crate::machines::{Machines, Router, lacks};
use crate::prometheus::Scrape;
use crate::scenarios::scenario;
use crate::typed::{code, stderr};
use crate::{QUEUE, RIGHT, run, transfer};

/// The address that the router printed.
fn address(router: &mut Router) -> String {
    let starts = |line: &str| line.contains("metrics: http://127.0.0.1:");
    router.wait_for_line("the address", starts);
    let said = router.said_so_far();
    let (_, rest) = said.split_once("metrics: http://").expect("it is there");
    rest.split_once("/metrics").expect("its path").0.to_owned()
}

fn scrape(machines: &Machines, address: &str) -> Scrape {
    let stream = machines.middle.within(|| TcpStream::connect(address)).expect("there");
    let mut stream = stream.expect("connect");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    write!(stream, "GET /metrics HTTP/1.1\r\nHost: {address}\r\n\r\n").expect("send");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).expect("text");
    let (head, body) = answer.split_once("\r\n\r\n").expect("a body");
    assert!(head.starts_with("HTTP/1.1 200 OK"), "{head}");
    Scrape::read(body)
}

#[test]
fn prometheus_scrapes_a_router_while_packets_pass() {
    if lacks("metrics of a router") {
        return;
    }
    let machines = Machines::new();
    run(&machines.middle, "ip link set lo up");
    let text = scenario("20 Mbit/s", &QUEUE.replace("200 M", "2 M").replace("500 M", "5 M"));
    let mut router = machines.router(&text, &["--metrics", "127.0.0.1:0"]);
    let address = address(&mut router);
    let out = [("device", "rb"), ("part", "qdisc"), ("kind", "cbq"), ("handle", "r:out")];
    let rest = [("device", "rb"), ("part", "class"), ("handle", "rest"), ("parent", "r:out")];
    let sent = |page: &Scrape| page.get("suimon_qdisc_sent_bytes_total", &out).expect("it is");
    let mut counts = vec![sent(&scrape(&machines, &address))];
    thread::scope(|scope| {
        let passing = scope.spawn(|| transfer(&machines, RIGHT, 4 << 20));
        while !passing.is_finished() {
            counts.push(sent(&scrape(&machines, &address)));
        }
        passing.join().expect("all of it");
    });
    assert!(counts.is_sorted(), "{counts:?}");
    let grew = counts.windows(2).filter(|pair| pair[1] > pair[0]).count();
    assert!(grew >= 3, "it was scraped while packets passed: {counts:?}");
    // Without traffic, the page and `router stats` show the same.
    eventually("page and statistics agree", || {
        let before = router.statistics();
        let page = scrape(&machines, &address);
        if router.statistics()["port"] != before["port"] {
            return false;
        }
        let port = &before["port"]["r:out"];
        for (name, labels, value) in [
            ("suimon_qdisc_sent_bytes_total", &out[..], &port["bytes"]),
            ("suimon_qdisc_sent_packets_total", &out, &port["packets"]),
            ("suimon_qdisc_drops_total", &out, &port["drops"]),
            ("suimon_qdisc_marks_total", &out, &port["marks"]),
            ("suimon_qdisc_gap_bytes_total", &out, &port["gap_bytes"]),
            ("suimon_qdisc_backlog_bytes", &out, &port["backlog_bytes"]),
            ("suimon_qdisc_sojourn_seconds_count", &out, &port["packets"]),
            ("suimon_qdisc_sent_bytes_total", &rest, &port["class"]["rest"]["bytes"]),
            ("suimon_qdisc_rate_bytes_per_second", &[("handle", "rest")], &625_000.0.into()),
            ("suimon_router_missed_frames_total", &[], &before["missed_frames"]),
        ] {
            assert_eq!(page.get(name, labels), value.as_f64(), "{name} {labels:?}");
        }
        true
    });
    let page = scrape(&machines, &address);
    // The sender's window waits at the port.
    let waited = page.get("suimon_qdisc_sojourn_seconds_sum", &out).expect("a sum");
    let packets = page.get("suimon_qdisc_sojourn_seconds_count", &out).expect("a count");
    assert!(waited / packets > 0.001, "{waited} s of {packets} packets");
    assert_eq!(page.get("suimon_router_interface_up", &[("device", "ra")]), Some(1.0));
    let [median, p99, max] = ["median", "p99", "max"]
        .map(|which| page.get(&format!("suimon_router_lateness_{which}_seconds"), &[]));
    assert!(median > Some(0.0) && median <= p99 && p99 <= max, "{median:?} {p99:?} {max:?}");
    // Another server cannot have its address.
    let more = ["rb", "ra", "--metrics", &address];
    let taken = machines.output(&text, &more);
    assert_eq!(code(&taken), 2, "{}", stderr(&taken));
    assert!(stderr(&taken).contains("choose another address with --metrics"), "{}", stderr(&taken));
    assert_eq!(router.end().code, Some(0));
}
