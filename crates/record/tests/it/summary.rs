//! The summary against a golden file, and expectations against the summary.

use crate::scene;
use std::path::Path;

use base::{Bytes, Duration};
use network::PortId;
use record::{Error, Summary, judge};
use scenario::Plan;
use scenario::plan::{Expectation, Node, Program, Transport, User};
use transport::Info;

fn expectation(path: &str, low: Option<f64>, high: Option<f64>) -> Expectation {
    Expectation { path: path.into(), low, high }
}

fn summary() -> Summary {
    Summary::new(&scene::plan(), &scene::totals())
}

#[test]
fn the_summary_is_the_golden_file() {
    let golden = include_str!("summary.json");
    assert_eq!(summary().to_json() + "\n", golden, "a changed result is a release note of its own");
}

#[test]
fn quantities_follow_from_the_totals() {
    let quantities = summary().quantities();
    let value = |path: &str| quantities.iter().find(|(known, _)| known == path).unwrap().1;
    assert_eq!(value("flow.bulk.1.goodput"), 300_000.0 / 0.010);
    assert_eq!(value("flow.bulk.1.goodput_last_half"), 225_000.0 / 0.005);
    assert_eq!(value("group.bulk.goodput"), 400_000.0 / 0.010);
    assert_eq!(value("link.wan.drops"), 5.0);
    assert_eq!(value("link.wan.forward.drops_by_reason.queue_bytes"), 5.0);
    assert_eq!(value("emulator.gnet.drops"), 5.0);
    assert_eq!(value("node.receiver.drops"), 1.0);
    assert_eq!(value("run.drops"), 6.0);
    // (3 + 1 + 2)^2 / (3 (9 + 1 + 4))
    assert!((value("run.fairness") - 36.0 / 42.0).abs() < 1e-12);
    // 400 frames of 1538 and 100 gaps of 1510 byte times, of 1 250 000 in 10 ms at 1 Gbit/s.
    let busy = (400.0 * 1538.0 + 100.0 * 1510.0) / 1_250_000.0;
    assert!((value("link.access.utilisation") - busy).abs() < 1e-12);
}

#[test]
fn idle_members_are_counted_rather_than_listed() {
    let (mut plan, mut totals) = (scene::plan(), scene::totals());
    // Two hosts of a count behind the emulator, each with a link of a count, through which nothing goes.
    for number in 1..=3 {
        let node = plan.nodes[2].clone();
        plan.nodes.push(Node { name: format!("lab.pc.{number}"), ..node });
        let mut link = plan.links[1].clone();
        (link.name, link.ends[1].node) = (format!("lab.{number}"), plan.nodes.len() - 1);
        plan.links.push(link);
        totals.nodes.push(record::totals::NodeTotals::default());
        totals.ports.extend([record::PortTotals::default(), record::PortTotals::default()]);
    }
    totals.ports[2 * 4].statistics.sent_packets = 1;
    let listed = |plan: &Plan| {
        let summary = Summary::new(plan, &totals);
        let names = summary.link.0.iter().map(|(name, _)| name.clone());
        let nodes = summary.node.0.iter().map(|(name, _)| name.clone());
        let idle = summary.idle.link.0.iter().chain(&summary.idle.node.0).cloned();
        (names.collect::<Vec<_>>(), nodes.collect::<Vec<_>>(), idle.collect::<Vec<_>>())
    };
    let idle = |links, nodes| vec![("lab".to_owned(), links), ("lab.pc".to_owned(), nodes)];
    let (links, nodes, left_out) = listed(&plan);
    assert_eq!(links, ["access", "wan", "lab.3"]);
    assert_eq!(nodes, ["sender", "gnet", "receiver", "lab.pc.3"]);
    assert_eq!(left_out, idle(2, 2));
    // What the file names has its entry.
    plan.expectations = vec![expectation("link.lab.1.drops", None, Some(0.0))];
    plan.probes.captures[0].port = port_at_second_end(3);
    let (links, nodes, left_out) = listed(&plan);
    assert_eq!(links, ["access", "wan", "lab.1", "lab.2", "lab.3"]);
    assert_eq!(nodes, ["sender", "gnet", "receiver", "lab.pc.2", "lab.pc.3"]);
    assert_eq!(left_out, [("lab.pc".to_owned(), 1)]);
    let verdicts = judge(&plan.expectations, &Summary::new(&plan, &totals)).expect("verdicts");
    assert!(verdicts[0].ok);
    plan.expectations = vec![expectation("node.lab.pc.1.drops", None, Some(0.0))];
    let of_others = judge(&plan.expectations, &Summary::new(&without_expectations(&plan), &totals));
    assert!(of_others.expect("verdicts")[0].ok, "left out, it dropped nothing");
    plan.probes.idle = true;
    let (links, nodes, left_out) = listed(&plan);
    assert_eq!((links.len(), nodes.len(), left_out.len()), (5, 6, 0));
}

/// The port at the second end of the link with that number.
fn port_at_second_end(link: u32) -> PortId {
    PortId(2 * link + 1)
}

/// The plan without its expectations.
fn without_expectations(plan: &Plan) -> Plan {
    Plan { expectations: Vec::new(), ..plan.clone() }
}

#[test]
fn a_program_that_goes_on_makes_no_flow_slower() {
    let (mut plan, mut totals) = (scene::plan(), scene::totals());
    let last = plan.flows.len() - 1;
    let flow = &mut totals.flows[last];
    (flow.received, flow.end) = (Bytes(0), flow.end + Duration::from_secs(60));
    let run = |plan: &Plan| Summary::new(plan, &totals).run;
    let diluted = run(&plan);
    plan.flows[last].transport = Transport::Program(Program {
        client: vec!["ping".into()],
        server: None,
        user: User::Nobody,
    });
    let alone = run(&plan);
    assert_eq!(alone.goodput, 400_000.0 / 0.010);
    assert!(alone.goodput > 100.0 * diluted.goodput && alone.fairness > diluted.fairness);
    let flow = &mut totals.flows[last];
    (flow.received, flow.end) = (Bytes(600_000), flow.start + Duration::from_ms(10));
    let busy = Summary::new(&plan, &totals).run;
    assert_eq!(busy.goodput, 1_000_000.0 / 0.010, "what a program moves is throughput too");
    assert_eq!((busy.bytes, busy.fairness), (1_000_000, alone.fairness));
}

#[test]
fn limits_belong_to_their_range() {
    let asked = [
        expectation("link.wan.drops", Some(5.0), Some(5.0)),
        expectation("link.wan.drops", None, Some(4.0)),
        expectation("flow.solo.goodput", Some(20_000_000.1), None),
        expectation("flow.bulk.goodput", Some(4e7), None),
    ];
    let verdicts = judge(&asked, &summary()).unwrap();
    let held: Vec<bool> = verdicts.iter().map(|verdict| verdict.ok).collect();
    assert_eq!(held, [true, false, false, true]);
    assert_eq!(verdicts[3].value, 4e7, "a flow with a count is all its connections");
}

#[test]
fn an_unknown_path_names_the_nearest() {
    let asked = [expectation("flow.sol.godput", None, Some(1.0))];
    match judge(&asked, &summary()) {
        Err(Error::UnknownPath { nearest, .. }) => assert_eq!(nearest, "flow.solo.goodput"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn the_schema_that_is_checked_in_is_current() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/summary.schema.json");
    let schema = schemars::schema_for!(Summary).to_value();
    let current = serde_json::to_string_pretty(&schema).expect("JSON") + "\n";
    if std::env::var_os("UPDATE_SCHEMA").is_some() {
        std::fs::write(&path, &current).expect("written");
    }
    let checked_in = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(checked_in == current, "run UPDATE_SCHEMA=1 cargo test -p record --test it summary");
}

#[test]
fn a_flow_that_stalled_says_which_end_and_why() {
    let mut totals = scene::totals();
    let stall = Some(transport::Stall::SendBuffer);
    totals.flows[0].receiver = Info { stall, ..Info::default() }.into();
    let summary = Summary::new(&scene::plan(), &totals);
    let stalls: Vec<_> = summary.stalls().collect();
    let why = "receiver: send buffer full, nothing in flight, no timer armed";
    assert_eq!(stalls, [(scene::plan().flows[0].name.as_str(), why)]);
}

#[test]
fn what_a_kernels_tcp_decides_is_absent() {
    let decisions =
        ["spurious_timeouts", "fast_recoveries", "undos", "tail_loss_probes", "local_drops"];
    let mut totals = scene::totals();
    for (number, flow) in totals.flows.iter_mut().enumerate() {
        let mut counts = flow.sender.get();
        (counts.spurious_timeouts, counts.undos) = (1, 3);
        (counts.tlp_probes, counts.local_drops) = (4, 5);
        // As it is for a kernel's socket.
        counts.reports_decisions &= number > 0;
        flow.sender = counts.into();
    }
    let summary = Summary::new(&scene::plan(), &totals);
    let (document, quantities) = (summary.to_value(), summary.quantities());
    for (column, count) in decisions.into_iter().zip([1, 2, 3, 4, 5]) {
        let [kernel, model] = ["bulk.1", "bulk.2"].map(|flow| document["flow"][flow].get(column));
        assert_eq!((kernel, model), (None, Some(&count.into())), "{column}");
        let has =
            |flow: &str| quantities.iter().any(|(path, _)| *path == format!("{flow}.{column}"));
        assert_eq!((has("flow.bulk.1"), has("flow.bulk.2")), (false, true), "{column}");
        let asked = [expectation(&format!("flow.bulk.1.{column}"), None, Some(0.0))];
        let verdicts = judge(&asked, &summary).expect("a quantity of flows");
        assert!(!verdicts[0].ok, "{column} is not 0");
    }
    assert_eq!(document["flow"]["bulk.1"]["timeouts"], 1, "a kernel counts those");
}
