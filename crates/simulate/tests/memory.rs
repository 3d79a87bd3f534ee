//! What a scenario takes before it runs, as more and more hosts stand in it.

#[path = "../../traffic/tests/counting/mod.rs"]
mod counting;
mod driver;

use counting::allocated;
use simulate::World;

/// Bytes asked for to make the plan and the world of so many pairs of hosts with a flow each, at one router.
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
