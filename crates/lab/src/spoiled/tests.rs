use base::{DropReason, Instant};
use record::Drops;
use scenario::Document;

use super::*;

/// A path of 20 Mbit/s and 30 ms whose drop-tail buffer holds 20 full frames, 12 ms.
const PATH: &str = r#"
duration = "10 s"
[host.a]
[host.b]
[emulator.wan]
rate = "20 Mbit/s"
delay = "15 ms"
buffer = "30360 B"
[link.west]
between = ["a", "wan"]
rate = "1 Gbit/s"
[link.east]
between = ["wan", "b"]
rate = "1 Gbit/s"
[flow.bulk]
from = "a"
to = "b"
"#;

fn plan(text: &str) -> Plan {
    let document = Document::parse("test.toml", text).expect("a scenario");
    document.plan().unwrap_or_else(|errors| panic!("{errors:?}"))
}

fn stalls(each_ms: &[u64]) -> Stalls {
    let mut stalls = Stalls::default();
    each_ms.iter().for_each(|&ms| stalls.note(Duration::from_ms(ms)));
    stalls
}

/// The spoiled results of a run of 10 s with the hosts' stalls `hosts` and `drops` drops at the emulator towards `b`.
fn spoiled(text: &str, hosts: &[u64], drops: u64) -> Vec<Spoiled> {
    let plan = plan(text);
    let mut ports = vec![PortTotals::default(); 2 * plan.links.len()];
    let mut counted = Drops::default();
    (0..drops).for_each(|_| counted.count(DropReason::QueueBytes));
    let bulk = &plan.flows[0];
    let path = scenario::path(&plan, bulk, 0).expect("a path");
    let last = path.links.last().expect("a hop");
    ports[2 * last.link + last.end].drops = counted;
    let (hosts, fabric) = (stalls(hosts), Stalls::default());
    let run = (Instant::ZERO + plan.duration).since(Instant::ZERO);
    judge(&plan, &ports, &Evidence { stalls: [&hosts, &fabric], run })
}

fn burst(spoiled: &[Spoiled]) -> Option<&Burst> {
    spoiled.iter().find_map(|spoiled| match spoiled {
        Spoiled::Drops(burst) => Some(burst),
        Spoiled::RoundTrip(_) => None,
    })
}

#[test]
fn a_stall_of_most_of_a_buffer_spoils_its_drops() {
    let found = spoiled(PATH, &[10], 50);
    let Some(burst) = burst(&found) else { panic!("{found:?}") };
    // 10 ms of 20 Mbit/s are 16.5 frames of 1518 bytes; in slow start twice as many leave.
    assert_eq!((burst.burst_packets, burst.buffer_packets), (33, 20));
    // A fiftieth of these leaves while they arrive at 1 Gbit/s; stalls are known to 0.8 %.
    assert!((10..=12).contains(&burst.extra), "{burst:?}");
    assert_eq!((burst.port.as_str(), burst.flow.as_str()), ("wan:east", "bulk"));
}

#[test]
fn a_stall_that_the_buffer_bears_spoils_nothing() {
    assert_eq!(spoiled(PATH, &[5], 50), []);
}

#[test]
fn where_nothing_was_dropped_no_drops_are_spoiled() {
    assert_eq!(spoiled(PATH, &[10, 10], 0), []);
}

#[test]
fn a_few_drops_among_many_spoil_nothing() {
    assert_eq!(burst(&spoiled(PATH, &[10], 5_000)), None);
    assert!(burst(&spoiled(PATH, &[10; 100], 5_000)).is_some(), "of many stalls they are many");
}

#[test]
fn what_is_paced_before_the_buffer_does_not_burst() {
    let text = PATH.to_owned() + "[link.west.at.a.queue.psp]\nrate = \"20 Mbit/s\"\n";
    assert_eq!(burst(&spoiled(&text, &[10; 100], 50)), None);
}

#[test]
fn a_window_bounds_the_burst() {
    let text = PATH.to_owned() + "tcp.buffers.send = \"15 kB\"\n";
    assert_eq!(burst(&spoiled(&text, &[100], 50)), None, "15 of 30 kB");
}

#[test]
fn stalls_are_judged_by_the_round_trip() {
    // Ten stalls of 40 ms in 10 s add 0.8 ms on average: much for a path of 10 ms, little for one of 30 ms.
    let short = PATH.replace("15 ms", "5 ms");
    let found = spoiled(&short, &[40; 10], 0);
    let [Spoiled::RoundTrip(found)] = found.as_slice() else { panic!("{found:?}") };
    assert!((700_000..=800_000).contains(&found.added_ns), "{found:?}");
    assert_eq!((found.stall_ns, found.round_trip_ns), (40_000_000, 10_000_000));
    assert_eq!(spoiled(PATH, &[40; 10], 0), []);
}
