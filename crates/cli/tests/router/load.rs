//! Load beyond what the router lets pass: shares, changes of them, and the end.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::datagrams::Datagrams;
use crate::machines::{Machines, Router, lacks};
use crate::scenarios::scenario;
use crate::typed::json;
use testbed::eventually;

/// Two classes by port, for 20 Mbit/s. Their queues outlast the time for which a busy machine may leave the
/// senders without a turn.
const CLASSES: &str = r#"
[link.out.at.r.queue.cbq]
default = "rest"
[link.out.at.r.queue.cbq.class]
one = { rate = "12 Mbit/s", queue.fifo.packets = 2000, match = { destination_port = "5001" } }
two = { rate = "4 Mbit/s", queue.fifo.packets = 2000, match = { destination_port = "5002" } }
rest = { rate = "1 Mbit/s", borrow = true }
"#;

/// The rate of each class over 2 s, Mbit/s of frames, once both have a backlog. Uses the router's counters and
/// clock, because a receiver that waits for a CPU counts late.
fn rates(router: &Router) -> [f64; 2] {
    let told = || {
        let told = router.statistics();
        let class = &told["port"]["r:out"]["class"];
        let bytes = ["one", "two"].map(|name| class[name]["bytes"].as_f64().expect("bytes"));
        (bytes, told["seconds"].as_f64().expect("seconds"))
    };
    eventually("both classes have a backlog", || {
        let class = &router.statistics()["port"]["r:out"]["class"];
        ["one", "two"].iter().all(|name| class[name]["backlog_packets"].as_u64() > Some(100))
    });
    let (before, from) = told();
    // The interval of the measurement. The router's clock says how long it was.
    thread::sleep(Duration::from_secs(2));
    let (after, until) = told();
    [0, 1].map(|class: usize| (after[class] - before[class]) * 8.0 / 1e6 / (until - from))
}

fn assert_near(what: &str, measured: f64, wanted: f64) {
    eprintln!("{what}: {measured:.2} Mbit/s for {wanted}");
    assert!((measured / wanted - 1.0).abs() < 0.05, "{what}: {measured} Mbit/s for {wanted}");
}

#[test]
fn classes_share_by_their_settings_before_and_after_a_change() {
    if lacks("shares") {
        return;
    }
    for mode in [&[][..], &["--port", "packet"]] {
        let machines = Machines::new();
        let router = machines.router(&scenario("20 Mbit/s", CLASSES), mode);
        machines.ping(1);
        let flows = [5001, 5002].map(|port| Datagrams::new(&machines, port));
        let (stop, over) = (AtomicBool::new(false), AtomicBool::new(false));
        let counted = [AtomicU64::new(0), AtomicU64::new(0)];
        let sent: u64 = thread::scope(|scope| {
            for (flow, counted) in flows.iter().zip(&counted) {
                let over = &over;
                scope.spawn(move || flow.count(over, counted));
            }
            let floods = flows.each_ref().map(|flow| {
                let stop = &stop;
                scope.spawn(move || flow.flood(stop))
            });
            let [one, two] = rates(&router);
            let [first, second] = [("one", 5), ("two", 10)].map(|(class, rate)| {
                format!("link.out.at.r.queue.cbq.class.{class}.rate={rate} Mbit/s")
            });
            let answer = json(&router.ask(&["set", &first, &second, "--json"]));
            let [one_then, two_then] = rates(&router);
            let told = router.statistics();
            stop.store(true, Ordering::Relaxed);
            let sent = floods.map(|flood| flood.join().expect("it sends")).iter().sum();
            eventually("the queues are empty", || {
                router.statistics()["port"]["r:out"]["backlog_packets"] == 0
            });
            over.store(true, Ordering::Relaxed);
            assert_eq!(answer, serde_json::json!({ "set": ["r:out"] }));
            assert_near("one", one, 12.0);
            assert_near("two", two, 4.0);
            assert_near("one, then", one_then, 5.0);
            assert_near("two, then", two_then, 10.0);
            let rate = told["port"]["r:out"]["class"]["two"]["rate"].as_f64().expect("a rate");
            assert_near("two, as told", rate * 8.0 / 1e6, 10.0);
            sent
        });
        let ended = router.end();
        assert_eq!(ended.code, Some(0), "{}", ended.said);
        // Every packet arrived, or was dropped by a full queue of the scenario: no switch lost any.
        let drops = &ended.summary["port"]["r:out"]["drops_by_reason"];
        let full = drops["queue_packets"].as_u64().unwrap_or(0);
        let arrived: u64 = counted.iter().map(|counted| counted.load(Ordering::Relaxed)).sum();
        assert_eq!(drops.as_object().map(|all| all.len()), Some(1), "{drops}");
        assert_eq!(ended.summary["missed_frames"], 0, "{}", ended.summary);
        assert_eq!(arrived + full, sent, "{}", ended.summary);
        eprintln!("{mode:?} lateness: {}", ended.summary["lateness"]);
    }
}

/// Queues 200 datagrams, ends the router, and returns how many arrived with its summary.
fn burst_then_end(more: &[&str]) -> (u64, Value) {
    let machines = Machines::new();
    // Its queue holds 1000 packets; 200 of them take 0.85 s to leave.
    let router = machines.router(&scenario("2 Mbit/s", ""), more);
    machines.ping(1);
    let datagrams = Datagrams::new(&machines, 5001);
    datagrams.burst(200);
    eventually("it has them all", || {
        let port = &router.statistics()["port"]["r:out"];
        port["backlog_packets"].as_u64() > Some(100)
    });
    let ended = router.end();
    assert_eq!(ended.code, Some(0), "{}", ended.said);
    let (over, counted) = (AtomicBool::new(true), AtomicU64::new(0));
    datagrams.count(&over, &counted);
    (counted.into_inner(), ended.summary)
}

#[test]
fn its_end_sends_what_is_queued_or_counts_it() {
    if lacks("a router's end") {
        return;
    }
    let (arrived, summary) = burst_then_end(&[]);
    assert_eq!(arrived, 200, "{summary}");
    assert_eq!(summary["port"]["r:out"]["drops"], 0, "{summary}");
    let (arrived, summary) = burst_then_end(&["--drain", "100 ms"]);
    let flushed = summary["port"]["r:out"]["drops_by_reason"]["flushed"].as_u64().unwrap_or(0);
    assert!(flushed > 20 && arrived > 0, "{arrived} arrived: {summary}");
    assert_eq!(arrived + flushed, 200, "{summary}");
}
