//! Equal-cost paths: a fabric uses all of them, and a flow keeps to one.

use std::fmt::Write;

use crate::driver;

/// Two leaves of eight hosts, every leaf joined to each of four spines, and a flow from each host of one leaf to
/// the host of its number at the other.
fn leaf_spine(seed: u64, each: usize) -> scenario::Plan {
    let mut text = format!(
        r#"
duration = "200 ms"
seed = {seed}
[host.a]
count = 8
[host.b]
count = 8
[router.leaf]
count = 2
[link.a]
between = ["a", "leaf.1"]
rate = "1 Gbit/s"
delay = "5 us"
[link.b]
between = ["b", "leaf.2"]
rate = "1 Gbit/s"
delay = "5 us"
[flow.bulk]
from = "a"
to = "b"
count = {each}
bytes = "100 KB"
"#
    );
    for spine in 1..=4 {
        let _ = write!(
            text,
            "[router.spine{spine}]\n[link.up{spine}]\nbetween = [\"leaf\", \"spine{spine}\"]\n\
             rate = \"2 Gbit/s\"\ndelay = \"5 us\"\n"
        );
    }
    driver::plan(&text)
}

#[test]
fn all_spines_carry_what_the_flow_hash_gives_them() {
    let plan = leaf_spine(1, 16);
    let summary = driver::summary(&plan);
    let mut expected = [0_u32; 4];
    for (number, flow) in plan.flows.iter().enumerate() {
        let path = scenario::path(&plan, flow, number).expect("a path");
        assert_eq!(path.links.len(), 4);
        let spine = plan.links[path.links[1].link].name.as_bytes()[2];
        expected[usize::from(spine - b'1')] += 1;
    }
    for (spine, flows) in (1..).zip(expected) {
        assert!((16..=48).contains(&flows), "{expected:?} of 128 flows");
        // The first leaf sends the flows' 69 segments each to the spine, and retransmissions.
        let packets = summary.link.get(&format!("up{spine}.1")).expect("a link").forward.packets;
        let least = 69 * u64::from(flows);
        assert!((least..2 * least).contains(&packets), "spine {spine}: {packets} of {flows} flows");
    }
    assert!(summary.flow.0.iter().all(|(_, flow)| flow.completed));
}

/// Node numbers and the switch's port numbers take more than 16 bits.
#[test]
fn packets_reach_the_last_of_many_hosts() {
    let flow = |name: &str, from: u32, to: u32| {
        format!(
            "[flow.{name}]\nfrom = \"t-host.{from}\"\nto = \"t-host.{to}\"\nbytes = \"10 kB\"\n"
        )
    };
    let plan = driver::plan(&format!(
        "duration = \"1 ms\"\n[topology.t.star]\nhosts = 66_000\n{}{}{}",
        flow("up", 1, 66_000),
        flow("down", 65_999, 2),
        // The first of these numbers is that of the second sender without its 17th bit.
        flow("like", 463, 464)
    ));
    let totals = driver::totals(&plan);
    let received: Vec<_> = totals.flows.iter().map(|flow| flow.received.0).collect();
    assert_eq!(received, [10_000; 3]);
}

/// There are more prefixes than nodes have in a table of their own.
#[test]
fn every_leaf_is_reached_by_shared_pages() {
    let plan = driver::plan(
        "duration = \"10 ms\"\n[topology.t.leaf_spine]\nleaves = 520\nspines = 2\nhosts = 1\n\
         [flow.f]\nfrom = \"t-host\"\nto = \"t-host\"\nmatrix = \"permutation\"\nbytes = \"1 kB\"\n",
    );
    let totals = driver::totals(&plan);
    assert!(totals.flows.iter().all(|flow| flow.received.0 == 1_000));
    assert_eq!(totals.flows.len(), 520);
}

#[test]
fn a_flow_keeps_to_its_path_and_another_seed_to_another() {
    // One small flow per pair: nothing is lost, so a retransmission would mean reordering.
    let summary = driver::summary(&leaf_spine(1, 1));
    for (name, flow) in &summary.flow.0 {
        assert_eq!((flow.drops, flow.retransmissions), (0, 0), "{name}");
    }
    let paths = |seed| {
        let plan = leaf_spine(seed, 1);
        let link = |(number, flow)| {
            let path = scenario::path(&plan, flow, number).expect("a path");
            path.links[1].link
        };
        plan.flows.iter().enumerate().map(link).collect::<Vec<_>>()
    };
    assert_eq!(paths(1), paths(1));
    assert_ne!(paths(1), paths(2));
}
