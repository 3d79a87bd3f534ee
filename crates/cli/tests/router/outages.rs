//! Interfaces that are down for a while.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use crate::datagrams::Datagrams;
use crate::machines::{Machines, lacks, run};
use crate::scenarios::plain;
use testbed::eventually;

/// Stops the threads of a test however the test ends.
struct Ends<'a>([&'a AtomicBool; 2]);

impl Drop for Ends<'_> {
    fn drop(&mut self) {
        self.0.iter().for_each(|flag| flag.store(true, Ordering::Relaxed));
    }
}

/// Takes an interface down and up again under load; checks what passes and what is reported.
fn down_and_up(port: &str, interface: &str) {
    let machines = Machines::new();
    let mut router = machines.router(&plain(), &["--port", port]);
    machines.ping(1);
    let flow = Datagrams::new(&machines, 5001);
    let (stop, over) = (AtomicBool::new(false), AtomicBool::new(false));
    let counted = AtomicU64::new(0);
    let side = if interface == "ra" { "r:in" } else { "r:out" };
    thread::scope(|scope| {
        scope.spawn(|| flow.count(&over, &counted));
        scope.spawn(|| flow.flood(&stop));
        let _ends = Ends([&stop, &over]);
        let arrived = || counted.load(Ordering::Relaxed);
        let told = || router.statistics()["port"][side].clone();
        for round in 1..=2_u64 {
            let before = arrived();
            eventually("datagrams pass", || arrived() > before + 20);
            eventually("it is up", || told()["interface_state"] == "up");
            let lost_before = told()["lost_when_down"].as_u64();
            run(&machines.middle, &format!("ip link set {interface} down"));
            eventually("it is seen", || told()["interface_state"] == "down");
            // Only what leaves by it is lost here; what would come in is lost beyond.
            if interface == "rb" {
                eventually("frames are lost", || told()["lost_when_down"].as_u64() > lost_before);
            } else {
                // No event shows that none will be lost: about 200 datagrams are sent in this time.
                thread::sleep(Duration::from_millis(100));
                assert_eq!(told()["lost_when_down"], 0, "{port} {interface}");
            }
            run(&machines.middle, &format!("ip link set {interface} up"));
            let before = arrived();
            eventually("datagrams pass again", || arrived() > before + 20);
            eventually("it is seen again", || told()["interface_state"] == "up");
            assert_eq!(told()["outages"], round);
        }
    });
    // The router reports changes once a second.
    let told = |line: &str| line.starts_with(interface) && line.contains("up again");
    router.wait_for_line("the interface is up again", told);
    let ended = router.end();
    assert_eq!(ended.code, Some(0), "{port} {interface}: {}", ended.said);
    assert_eq!(ended.summary["port"][side]["outages"], 2, "{}", ended.summary);
    // The machine itself lost no frames.
    assert_eq!(ended.summary["missed_frames"], 0, "{}", ended.summary);
}

#[test]
fn an_interface_that_is_down_for_a_while_is_waited_for() {
    if lacks("an interface that is down") {
        return;
    }
    for port in ["xdp", "packet"] {
        for interface in ["ra", "rb"] {
            down_and_up(port, interface);
        }
    }
}
