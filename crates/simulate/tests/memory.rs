//! The memory that a scenario takes before it runs, for a growing number of hosts.

#[path = "../../traffic/tests/counting/mod.rs"]
mod counting;
#[allow(dead_code, reason = "shared with tests that need more")]
#[path = "runs/driver/mod.rs"]
mod driver;

use counting::allocated;
use simulate::World;

/// Bytes allocated for the plan and the world of `pairs` pairs of hosts with one flow each, at one router.
fn bytes(pairs: usize) -> u64 {
    let text = format!(
        r#"
duration = "1 s"
probe.automatic = false
host.s.count = {pairs}
host.d.count = {pairs}
[router.r]
[link.up]
between = ["s", "r"]
rate = "1 Gbit/s"
[link.down]
between = ["r", "d"]
rate = "1 Gbit/s"
[flow.bulk]
from = "s"
to = "d"
"#
    );
    let before = allocated();
    let plan = driver::plan(&text);
    assert_eq!(plan.flows.len(), pairs);
    World::new(&plan).expect("a world");
    allocated() - before
}

#[test]
fn twice_as_many_hosts_and_flows_take_twice_the_memory() {
    let (few, many) = (bytes(500), bytes(1_000));
    println!("{few} bytes for 500 pairs, {many} for 1000");
    assert!(10 * many < 22 * few, "{few} bytes for 500 pairs, {many} for 1000");
}

/// Bytes allocated to run `flows` short flows, one after another.
fn bytes_of_a_run(flows: usize) -> u64 {
    let mut text = String::from(
        "duration = \"60 s\"\nprobe.automatic = false\n[host.a]\n[host.b]\n\
         [link.l]\nbetween = [\"a\", \"b\"]\nrate = \"100 Mbit/s\"\ndelay = \"1 ms\"\n",
    );
    for number in 0..flows {
        let start = 20 * number;
        text += &format!(
            "[flow.f{number}]\nfrom = \"a\"\nto = \"b\"\nbytes = \"10 kB\"\nstart = \"{start} ms\"\n"
        );
    }
    let plan = driver::plan(&text);
    let before = allocated();
    let totals = driver::totals(&plan);
    assert!(totals.flows.iter().all(|flow| flow.completed));
    allocated() - before
}

#[test]
fn a_short_flow_asks_for_no_more_than_its_share() {
    let (few, many) = (bytes_of_a_run(500), bytes_of_a_run(1_500));
    let each = (many - few) / 1_000;
    println!("{each} bytes a flow");
    // Measured: 7709, for what is known of both ends before, while and after it runs; given back or not.
    assert!(each < 8_000, "{each} bytes a flow");
}
