//! Predefined topologies: their expansion, their errors, and their lock files.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

use scenario::plan::{Node, NodeKind};
use scenario::{Document, Plan, lock};

fn parsed(text: &str) -> Result<Plan, String> {
    let document = Document::parse("x.toml", &format!("duration = \"1 s\"\n{text}"));
    document.and_then(|document| document.plan()).map_err(|errors| errors.to_string())
}

fn plan(text: &str) -> Plan {
    parsed(text).unwrap_or_else(|errors| panic!("{errors}\n{text}"))
}

/// The number of tables of each kind in the lock file; it gives the same plan.
fn locked(plan: &Plan) -> BTreeMap<String, usize> {
    let text = lock(plan);
    let document = Document::parse("lock.toml", &text).expect("a lock file parses");
    let mut again = document.plan().unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    // Compared flow by flow, because printing all of them takes gigabytes.
    assert_eq!(plan.flows.len(), again.flows.len());
    for (flow, again) in plan.flows.iter().zip(again.flows.drain(..)) {
        assert_eq!(format!("{flow:?}"), format!("{again:?}"));
    }
    let plan = Plan { flows: Vec::new(), ..plan.clone() };
    assert_eq!(format!("{plan:?}"), format!("{again:?}"));
    let mut tables = BTreeMap::new();
    for line in text.lines().filter(|line| line.starts_with('[')) {
        let kind = line[1..].split(['.', ']']).next().unwrap_or_default();
        let depth = line.split('.').count();
        *tables.entry(kind.to_owned()).or_insert(0) += usize::from(depth == 2);
    }
    tables
}

#[test]
fn each_has_its_nodes_and_links_and_a_lock_as_short() {
    let cases = [
        ("star", 8, 1, 8, [1, 1, 1]),
        ("dumbbell", 16, 2, 17, [2, 1, 3]),
        ("parking_lot", 4, 4, 7, [1, 1, 4]),
        ("leaf_spine", 16, 6, 24, [1, 2, 2]),
        ("fat_tree", 16, 20, 48, [1, 3, 3]),
    ];
    for (shape, hosts, routers, links, tables) in cases {
        let plan = plan(&format!("[topology.t.{shape}]\n"));
        let is_host = |kind: &NodeKind| matches!(kind, NodeKind::Host(_));
        let found = plan.nodes.iter().filter(|node| is_host(&node.kind)).count();
        assert_eq!((found, plan.nodes.len() - found, plan.links.len()), (hosts, routers, links));
        let all = (0..hosts).flat_map(|a| (0..hosts).map(move |b| (a, b)));
        for (a, b) in all.filter(|(a, b)| a != b) {
            assert!(plan.routes.next(a, b).is_some(), "{shape}: {a} to {b}");
        }
        let found = locked(&plan);
        assert_eq!(["host", "router", "link"].map(|kind| found[kind]), tables, "{shape}");
    }
}

#[test]
fn a_topology_may_be_of_switches_that_lose_nothing() {
    let text =
        "[topology.t.fat_tree]\n[topology.t]\nswitch = { lossless = 3, buffer = \"4 MB\" }\n";
    let plan = plan(text);
    let pausing = |kind: &NodeKind| matches!(kind, NodeKind::Switch(config) if config.pauses());
    assert_eq!(plan.nodes.iter().filter(|node| pausing(&node.kind)).count(), 20);
    let found = locked(&plan);
    assert_eq!((found.get("router"), found["switch"]), (None, 3));
    for key in ["count = 2", "losless = 3"] {
        let errors = parsed(&text.replace("lossless = 3", key)).expect_err(key);
        assert!(errors.contains(&key[..5]), "{errors}");
    }
}

#[test]
fn a_fat_tree_has_as_many_paths_between_pods_as_cores_and_uses_all() {
    let plan = plan(
        "[topology.t.fat_tree]\nk = 8\n[flow.f]\nfrom = \"t-host\"\nto = \"t-host\"\n\
         matrix = \"permutation\"\ncount = 8\n",
    );
    let mut cores = BTreeSet::new();
    for (number, flow) in plan.flows.iter().enumerate() {
        let path = scenario::path(&plan, flow, number).expect("a path");
        assert!([2, 4, 6].contains(&path.links.len()), "{}", path.links.len());
        let ports = path.links.iter().map(|hop| plan.links[hop.link].ends[hop.end].node);
        cores.extend(ports.filter(|&node| plan.nodes[node].name.starts_with("t-core")));
    }
    assert_eq!(cores.len(), 16, "k²/4");
    assert_eq!(plan.flows.len(), 128 * 8);
    assert_eq!(locked(&plan)["flow"], 1);
}

#[test]
fn matrices_are_drawn_from_the_seed_and_stay_one_table() {
    for matrix in ["permutation", "all_to_all", "random"] {
        let text = format!(
            "[topology.t.star]\nhosts = 9\n[flow.f]\nfrom = \"t-host\"\nto = \"t-host\"\n\
             matrix = \"{matrix}\"\n"
        );
        let ends = |seed| {
            let plan = plan(&format!("seed = {seed}\n{text}"));
            assert_eq!(locked(&plan)["flow"], 1, "{matrix}");
            plan.flows.iter().map(|flow| (flow.from, flow.to)).collect::<Vec<_>>()
        };
        assert_eq!(ends(1) != ends(2), matrix != "all_to_all", "{matrix}");
    }
    let incast = plan(
        "[topology.t.star]\n[flow.f]\nfrom = \"t-host\"\nto = \"t-host.3\"\nmatrix = \"incast\"\n",
    );
    assert_eq!(incast.flows.len(), 7);
    assert_eq!(locked(&incast)["flow"], 1);
}

#[test]
fn some_of_the_hosts_are_addressed_by_their_numbers() {
    let flow = |from: &str, to: &str, more: &str| {
        format!("[topology.t.star]\n[flow.f]\nfrom = \"{from}\"\nto = \"{to}\"\n{more}")
    };
    let ends = |plan: &Plan| -> Vec<[String; 2]> {
        let name = |node: usize| plan.nodes[node].name.clone();
        plan.flows.iter().map(|flow| [name(flow.from), name(flow.to)]).collect()
    };
    for (text, expected) in [
        (
            flow("t-host.2..4", "t-host.1", "matrix = \"incast\"\n"),
            vec![["t-host.2", "t-host.1"], ["t-host.3", "t-host.1"], ["t-host.4", "t-host.1"]],
        ),
        (
            flow("t-host.1..2", "t-host.7..8", ""),
            vec![["t-host.1", "t-host.7"], ["t-host.2", "t-host.8"]],
        ),
        (flow("t-host.3..3", "t-host.8", ""), vec![["t-host.3", "t-host.8"]]),
    ] {
        let found = plan(&text);
        assert_eq!(ends(&found), expected, "{text}");
        locked(&found);
    }
    for (from, help) in [
        ("t-host.4..2", "they are `t-host.1` to `t-host.8`"),
        ("t-host.1..9", "they are `t-host.1` to `t-host.8`"),
        ("t-host.0..2", "they are `t-host.1` to `t-host.8`"),
        ("t-hots.1..2", "available: `t-host`"),
        ("t-host..2", "t-host"),
        ("..", "t-host"),
    ] {
        let errors = parsed(&flow(from, "t-host.1", "")).expect_err(from);
        assert!(errors.contains("there is no node") && errors.contains(help), "{errors}");
    }
}

#[test]
fn what_cannot_be_built_is_refused_with_what_to_change() {
    let refused = |text: &str, message: &str, help: &str| {
        let errors = parsed(text).expect_err(text);
        assert!(errors.contains(message) && errors.contains(help), "{errors}");
    };
    refused("[topology.t]\n", "the topology `t` has no shape", "leaf_spine");
    refused("[topology.t.star]\n[topology.t.dumbbell]\n", "has 2 shapes", "one of");
    refused("[topology.t.fat_tree]\nk = 5\n", "5 is odd", "even");
    refused("[topology.t.fat_tree]\nk = 1000\n", "out of range", "2 to 96");
    refused("[topology.t.leaf_spine]\nhosts = 0\n", "out of range", "1 to 1024");
    refused("[topology.t.star]\n[host.t-host]\n", "two nodes named", "a different name");
    let ends = "[host.a]\ncount = 6\n[router.r]\ncount = 4\n[link.l]\nbetween = [\"a\", \"r\"]\n\
                rate = \"1 Gbit/s\"\n";
    refused(&format!("{ends}groups = 3\n"), "equal parts", "divides both");
    refused(&format!("{ends}groups = 0\n"), "equal parts", "divides both");
    refused(&format!("{ends}groups = 2\nplanes = 2\n"), "mutually exclusive", "remove");
    let flow = |more: &str| {
        format!("[topology.t.star]\n[flow.f]\nfrom = \"t-host\"\nto = \"t-host.1\"\n{more}")
    };
    refused(&flow("matrix = \"permutation\"\n"), "as many senders", "change");
    refused(&flow("matrix = \"random\"\n"), "two receivers", "change");
    let everybody = "[topology.t.star]\nhosts = 2000\n[flow.f]\nfrom = \"t-host\"\n\
                     to = \"t-host\"\nmatrix = \"all_to_all\"\n";
    refused(everybody, "3998000 flows", "at most 1000000");
}

/// The numbers of the hosts beyond 65 536 take more than 16 bits.
#[test]
fn each_of_many_hosts_has_its_addresses() {
    let plan = plan("[topology.t.star]\nhosts = 70_000\n");
    let addresses: BTreeSet<_> = plan.host_ids().map(|id| plan.address(id)).collect();
    let ethernet: BTreeSet<_> = (0..plan.nodes.len()).map(Node::ethernet_address).collect();
    assert_eq!((addresses.len(), ethernet.len()), (70_001, 70_001));
    assert_eq!(plan.nodes[69_999].address.to_string(), "10.1.17.112");
    assert_eq!(Node::ethernet_address(69_999), [2, 0, 0, 1, 0x11, 0x70]);
    assert!(plan.routes.next(0, 69_999).is_some());
}

/// 4 096 hosts at 64 leaves with 64 spines, and 98 304 flows.
#[test]
fn a_large_fabric_and_its_lock_are_planned() {
    let mut text = String::from("[topology.dc.leaf_spine]\nleaves = 64\nspines = 64\nhosts = 64\n");
    let _ = write!(
        text,
        "[flow.short]\nfrom = \"dc-host\"\nto = \"dc-host\"\nmatrix = \"random\"\ncount = 24\n\
         bytes = \"10 kB\"\nstagger = \"exponential 1 us\"\n"
    );
    let plan = plan(&text);
    assert_eq!((plan.nodes.len(), plan.links.len(), plan.flows.len()), (4_224, 8_192, 98_304));
    assert_eq!(locked(&plan)["flow"], 1);
}
