//! Load beyond what the router lets pass: shares, changes of them, and the end.

use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use serde_json::Value;

use crate::machines::{LEFT, Machines, RIGHT, eventually, lacks, run};

/// Two classes by port on 20 Mbit/s. Their queues outlast the time for which a busy machine may leave the
/// senders without a turn.
const CLASSES: &str = r#"
duration = "1 s"
[host.a]
[router.b]
[host.c]
[link.in]
between = ["a", "b"]
rate = "1 Gbit/s"
[link.out]
between = ["b", "c"]
rate = "20 Mbit/s"
[link.out.at.b.queue.cbq]
default = "rest"
[link.out.at.b.queue.cbq.class]
one = { rate = "12 Mbit/s", queue.fifo.packets = 500, match = { destination_port = "5001" } }
two = { rate = "4 Mbit/s", queue.fifo.packets = 500, match = { destination_port = "5002" } }
rest = { rate = "1 Mbit/s", borrow = true }
"#;
/// UDP payload, and what it makes of a frame.
const PAYLOAD: usize = 1_000;
const FRAME: f64 = PAYLOAD as f64 + 8.0 + 20.0 + 18.0;

/// Sends datagrams to a port, some 17 Mbit/s of them however seldom it has its turn, until told to stop; how
/// many.
fn flood(socket: &UdpSocket, port: u16, stop: &AtomicBool) -> u64 {
    const A_MILLISECOND: u64 = 2;
    let clock = lab::clock::Clock::starting_in(Duration::ZERO);
    let mut sent = 0;
    while !stop.load(Ordering::Relaxed) {
        let due = clock.now().as_ps() / 1_000_000_000 * A_MILLISECOND;
        while sent < due {
            socket.send_to(&[0; PAYLOAD], (RIGHT, port)).expect("send");
            sent += 1;
        }
        thread::sleep(Duration::from_millis(1));
    }
    sent
}

/// Counts what arrives until nothing has for a while after `stop`.
fn count(socket: &UdpSocket, stop: &AtomicBool, counted: &AtomicU64) {
    let mut buffer = [0; 2048];
    loop {
        match socket.recv(&mut buffer) {
            Ok(_) => drop(counted.fetch_add(1, Ordering::Relaxed)),
            Err(_) if stop.load(Ordering::Relaxed) => return,
            Err(_) => {}
        }
    }
}

/// Mbit/s of frames over two seconds of each flow, after one in which queues settle.
fn rates(counted: &[AtomicU64; 2]) -> [f64; 2] {
    const SECONDS: u64 = 2;
    let read = || [0, 1].map(|n: usize| counted[n].load(Ordering::Relaxed));
    thread::sleep(Duration::from_secs(1));
    let clock = lab::clock::Clock::starting_in(Duration::ZERO);
    let before = read();
    thread::sleep(Duration::from_secs(SECONDS));
    let after = read();
    let seconds = clock.now().as_secs_f64();
    [0, 1].map(|n: usize| (after[n] - before[n]) as f64 * FRAME * 8.0 / 1e6 / seconds)
}

fn assert_near(what: &str, measured: f64, wanted: f64) {
    eprintln!("{what}: {measured:.2} Mbit/s for {wanted}");
    assert!((measured / wanted - 1.0).abs() < 0.05, "{what}: {measured} Mbit/s for {wanted}");
}

#[test]
fn classes_share_as_they_say_and_as_they_are_told() {
    if lacks("shares") {
        return;
    }
    for mode in [&[][..], &["--port", "packet"]] {
        let machines = Machines::new();
        let router = machines.router(CLASSES, mode);
        run(&machines.left, &format!("ping -c 1 -W 5 {RIGHT}"));
        let ports = [5001, 5002];
        let from = ports.map(|port| Machines::udp(&machines.left, LEFT, port));
        let to = ports.map(|port| Machines::udp(&machines.right, RIGHT, port));
        let (stop, over) = (AtomicBool::new(false), AtomicBool::new(false));
        let counted = [AtomicU64::new(0), AtomicU64::new(0)];
        let sent: u64 = thread::scope(|scope| {
            for (socket, counted) in to.iter().zip(&counted) {
                let over = &over;
                scope.spawn(move || count(socket, over, counted));
            }
            let floods = [0, 1].map(|n: usize| {
                let (socket, stop) = (&from[n], &stop);
                scope.spawn(move || flood(socket, ports[n], stop))
            });
            let [one, two] = rates(&counted);
            let set = r#"{"set": ["link.out.at.b.queue.cbq.class.one.rate=5 Mbit/s",
                                  "link.out.at.b.queue.cbq.class.two.rate=10 Mbit/s"]}"#;
            let answer = router.tell(set);
            let [one_then, two_then] = rates(&counted);
            let told = router.statistics();
            stop.store(true, Ordering::Relaxed);
            let sent = floods.map(|flood| flood.join().expect("it sends")).iter().sum();
            eventually("the queues are empty", || {
                router.statistics()["port"]["b:out"]["backlog_packets"] == 0
            });
            over.store(true, Ordering::Relaxed);
            assert_eq!(answer, serde_json::json!({ "set": ["b:out"] }));
            assert_near("one", one, 12.0);
            assert_near("two", two, 4.0);
            assert_near("one, then", one_then, 5.0);
            assert_near("two, then", two_then, 10.0);
            let rate = told["port"]["b:out"]["class"]["two"]["rate"].as_f64().expect("a rate");
            assert_near("two, as told", rate * 8.0 / 1e6, 10.0);
            sent
        });
        let ended = router.end();
        assert_eq!(ended.code, Some(0), "{}", ended.said);
        // Every packet arrived, or was dropped by a full queue of the scenario: no switch lost any.
        let drops = &ended.summary["port"]["b:out"]["drops_by_reason"];
        let full = drops["queue_packets"].as_u64().unwrap_or(0);
        let arrived: u64 = counted.iter().map(|counted| counted.load(Ordering::Relaxed)).sum();
        assert_eq!(drops.as_object().map(|all| all.len()), Some(1), "{drops}");
        assert_eq!(ended.summary["missed_frames"], 0, "{}", ended.summary);
        assert_eq!(arrived + full, sent, "{}", ended.summary);
        eprintln!("{mode:?} lateness: {}", ended.summary["lateness"]);
    }
}

/// 2 Mbit/s and a queue of a thousand packets: 200 of them take 0.85 s.
const SLOW: &str = r#"
duration = "1 s"
[host.a]
[router.r]
[host.b]
[link.in]
between = ["a", "r"]
rate = "1 Gbit/s"
[link.out]
between = ["r", "b"]
rate = "2 Mbit/s"
"#;

/// Queues 200 datagrams, ends the router, and returns how many arrived with its summary.
fn burst_then_end(more: &[&str]) -> (u64, Value) {
    const SENT: u64 = 200;
    let machines = Machines::new();
    let router = machines.router(SLOW, more);
    run(&machines.left, &format!("ping -c 1 -W 5 {RIGHT}"));
    let to = Machines::udp(&machines.right, RIGHT, 5001);
    let from = Machines::udp(&machines.left, LEFT, 5001);
    for _ in 0..SENT {
        from.send_to(&[0; PAYLOAD], (RIGHT, 5001)).expect("send");
    }
    eventually("it has them all", || {
        let port = &router.statistics()["port"]["r:out"];
        port["backlog_packets"].as_u64() > Some(100)
    });
    let ended = router.end();
    assert_eq!(ended.code, Some(0), "{}", ended.said);
    let (over, counted) = (AtomicBool::new(true), AtomicU64::new(0));
    count(&to, &over, &counted);
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
