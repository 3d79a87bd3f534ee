//! A host's own queue may drop what it has taken: the connections go on all the same.

mod driver;

use proptest::prelude::*;
use traffic::qdisc::REGISTRY;

/// The settings of the discipline with that name for one class that takes everything.
fn queue(name: &str) -> &'static str {
    match name {
        "fifo" | "red" | "rio" | "blue" | "codel" | "pie" | "fq_codel" | "wfq" => "{}",
        "priq" | "drr" | "ets" | "fairq" => "{ class.all.match = {} }",
        "hfsc" => {
            "{ default_class = 'all', class.all = { link_share_m2 = '10 Mbit/s', match = {} } }"
        }
        "cbq" => {
            // A class has 30 packets of drop-tail queue unless given, which locks out whoever is refused.
            "{ default = 'all', class.all = { rate = '9 Mbit/s', borrow = true, match = {}, \
             queue.fifo.packets = 1000 } }"
        }
        "psp" => "{ gaps = false, class.all = { rate = '10 Mbit/s', match = {} } }",
        "tbr" => "{ rate = '9.9 Mbit/s', queue.fq_codel.packets = 30 }",
        "jobs" => "{ packets = 100, class.all = { delay = '50 ms', match = {} } }",
        other => panic!("say here how {other} is set"),
    }
}

/// Twenty bulk flows out of one host of Linux 6 at 10 Mbit/s, whose queue is its own.
fn scenario(queue: &str, more: &str) -> String {
    format!(
        r#"
duration = "20 s"
[host.a]
profile = "linux-6"
[host.b]
[link.out]
between = ["a", "b"]
rate = "10 Mbit/s"
delay = "10 ms"
at.a.queue.{queue}
[flow.bulk]
from = "a"
to = "b"
count = 20
{more}"#
    )
}

/// What all flows received in a second of their last half, in Mbit/s, and how many stood still.
fn outcome(text: &str) -> (f64, usize) {
    let summary = driver::summary(&driver::plan(text));
    let late = summary.flow.0.iter().map(|(_, flow)| flow.goodput_last_half.unwrap_or(0.0));
    let dead = late.clone().filter(|&goodput| goodput < 1_250.0).count();
    (late.sum::<f64>() * 8e-6, dead)
}

#[test]
fn the_flows_of_a_host_live_with_every_discipline_in_its_own_queue() {
    let (fifo, dead) = outcome(&scenario("fifo = {}", ""));
    assert_eq!(dead, 0);
    let disciplines =
        REGISTRY.iter().map(|entry| format!("{} = {}", entry.name, queue(entry.name)));
    let tight =
        ["fq_codel = { packets = 20 }", "wfq = { bytes = '60 kB' }", "codel = { packets = 20 }"];
    let mut failed = Vec::new();
    for queue in disciplines.chain(tight.map(String::from)) {
        let (goodput, dead) = outcome(&scenario(&queue, ""));
        println!("{queue}: {goodput:.3} of {fifo:.3} Mbit/s, {dead} dead");
        if dead > 0 || goodput < 0.95 * fifo {
            failed.push(format!("{queue}: {goodput:.3} of {fifo:.3} Mbit/s, {dead} dead"));
        }
    }
    assert!(failed.is_empty(), "{failed:#?}");
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(12) })]
    /// Debug builds assert after every event that the credits are what is queued.
    #[test]
    fn the_flows_of_a_host_live_through_changes_of_its_queue(
        changes in prop::collection::vec((0..REGISTRY.len(), 1..9_000_u32, any::<bool>()), 1..12),
        packets in 10..40_u32,
    ) {
        let mut more = String::new();
        for (number, &(discipline, at, off)) in changes.iter().enumerate() {
            let name = REGISTRY[discipline].name;
            let what = match off {
                true => "enabled = false".into(),
                false => format!("queue.{name} = {}", queue(name)),
            };
            more += &format!("[change.c{number}]\nwhen = \"{at} ms\"\nat = \"a:out\"\n{what}\n");
        }
        more += "[change.last]\nwhen = \"9500 ms\"\nat = \"a:out\"\nqueue.fifo = {}\n";
        let first = format!("fq_codel = {{ packets = {packets} }}");
        let (goodput, dead) = outcome(&scenario(&first, &more));
        prop_assert_eq!(dead, 0);
        prop_assert!(goodput > 8.9, "{} Mbit/s", goodput);
    }
}
