//! The report of runs that are long, or wide.

use crate::scene;
use base::{Duration, FlowId};
use record::totals::NodeTotals;
use record::{PortTotals, Recorder, Summary};
use report::RunReport;
use scenario::Plan;
use serde_json::Value;

fn report(plan: &Plan, recorder: Recorder) -> String {
    let mut totals = scene::totals();
    totals.ports.resize_with(2 * plan.links.len(), PortTotals::default);
    totals.nodes.resize(plan.nodes.len(), NodeTotals::default());
    let recording = recorder.finish(&totals).unwrap();
    let command = ["suimon".to_owned()];
    let summary = Summary::new(plan, &totals);
    let report = RunReport {
        plan,
        summary: &summary,
        verdicts: &[],
        recording: Some(&recording),
        command: &command,
        left_out: &[],
        guest_notes: &[],
        lab: None,
    };
    report.to_html().unwrap()
}

/// The charts' data of a page.
fn data(page: &str) -> Value {
    let start = "<script type=\"application/json\" id=\"charts\">";
    let (_, rest) = page.split_once(start).unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

#[test]
fn one_sample_of_a_million_is_in_the_page() {
    const SAMPLES: u64 = 1_000_000;
    let plan = scene::plan();
    let mut recorder = Recorder::new(&plan, None).unwrap();
    // 10 ms of a window that goes up and down, a spike of one sample and a dip of one sample.
    for n in 0..SAMPLES {
        let cwnd = match n {
            700_001 => 9_999,
            300_003 => 1,
            _ => 300 + (n * 7_919 % 101) as u32,
        };
        let info = transport::Info { cwnd, bytes_read: n * 6, ..transport::Info::default() };
        let now = scene::at_us(0) + Duration::from_ns(n * 10);
        recorder.flow_sample(now, FlowId(0), [&info; 2]);
    }
    let page = report(&plan, recorder);
    assert!(page.len() < 1_500_000, "{} bytes", page.len());
    let data = data(&page);
    let charts = data["charts"].as_array().unwrap();
    let windows = charts.iter().find(|chart| chart["y"]["label"] == "window (packets)").unwrap();
    let series = &windows["series"][0];
    let ys = series["y"].as_array().unwrap();
    for wanted in [9_999, 1] {
        assert_eq!(ys.iter().filter(|y| **y == wanted).count(), 1, "{wanted}");
    }
    // Where it was, to the sample.
    let x = &data["x"][series["x"].as_u64().unwrap() as usize];
    let place = ys.iter().position(|y| *y == 9_999).unwrap();
    let by = &x["by"].as_array().unwrap()[..=place];
    let steps: f64 = by.iter().map(|by| by.as_f64().unwrap()).sum();
    let ms = steps / x["per"].as_f64().unwrap();
    assert!((ms - 7.000_01).abs() < 1e-7, "{ms}");
    // Two thousand columns of at most four points, and the SVG has the spike too: it sets the axis.
    assert!((2_000..9_000).contains(&ys.len()), "{} points", ys.len());
    assert!(page.contains(">10000</text>"));
}

/// The scene with `hosts` additional hosts at its emulator.
fn wide(hosts: usize) -> Plan {
    let mut plan = scene::plan();
    let (host, link) = (plan.nodes[0].clone(), plan.links[0].clone());
    for number in 0..hosts {
        let mut host = host.clone();
        host.name = format!("h{number}");
        plan.nodes.push(host);
        let mut link = link.clone();
        link.name = format!("l{number}");
        link.ends[0].node = plan.nodes.len() - 1;
        plan.links.push(link);
    }
    plan.routes = scenario::plan::Routes::default();
    plan
}

fn topology(plan: &Plan) -> String {
    let page = report(plan, Recorder::new(plan, None).unwrap());
    let (_, rest) = page.split_once("<h2>Topology</h2>").unwrap();
    rest.split_once("</section>").unwrap().0.to_owned()
}

#[test]
fn the_topology_names_everything() {
    let drawn = topology(&scene::plan());
    for words in ["sender", "gnet", "receiver", "access", "1000 Mbit/s, 5 us", "500 Mbit/s, 100 ms"]
    {
        assert!(drawn.contains(&format!(">{words}<")), "{words} is missing");
    }
    // The hosts' ports; an emulator's ports have its buffer.
    assert_eq!(drawn.matches(">fifo<").count(), 2);
    assert_eq!(drawn, topology(&scene::plan()));
}

#[test]
fn hosts_that_are_alike_share_a_box_where_there_are_many() {
    let few = topology(&wide(30));
    assert_eq!(few.matches("<rect").count(), 33);
    let many = topology(&wide(300));
    assert!(many.matches("<rect").count() < 10);
    assert!(many.contains(">300 hosts<"), "{many}");
    assert!(many.contains("Hosts that are alike share a box."));
}

#[test]
fn what_finds_no_room_is_reported() {
    let mut plan = wide(100);
    // No two alike.
    for (number, link) in plan.links.iter_mut().enumerate() {
        link.ends.iter_mut().for_each(|end| end.direction.delay = Duration::from_us(number as u64));
    }
    let drawn = topology(&plan);
    assert_eq!(drawn.matches("<rect").count(), 40);
    assert!(drawn.contains("63 more nodes are left out."), "{drawn}");
}

#[test]
fn a_browser_runs_no_script_but_ours() {
    let plan = scene::plan();
    let page = report(&plan, Recorder::new(&plan, None).unwrap());
    let (_, policy) = page.split_once("Content-Security-Policy\" content=\"").unwrap();
    let (policy, _) = policy.split_once('"').unwrap();
    let (_, scripts) = policy.split_once("script-src ").unwrap();
    assert!(scripts.split(' ').all(|source| source.starts_with("'sha256-")), "{policy}");
    assert!(!page.contains(" onclick="));
}
