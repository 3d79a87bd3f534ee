//! Workloads: sizes that are drawn, the load that flows make, and that the lock file makes them again.

use scenario::{Document, Plan, lock};

const LINES: &str = "duration = \"10 s\"\n[topology.t.star]\nhosts = 16\n";

fn parsed(flow: &str) -> Result<Plan, String> {
    let text = format!("{LINES}[flow.f]\nfrom = \"t-host\"\nto = \"t-host\"\n{flow}");
    let document = Document::parse("x.toml", &text);
    document.and_then(|document| document.plan()).map_err(|errors| errors.to_string())
}

fn plan(flow: &str) -> Plan {
    parsed(flow).unwrap_or_else(|errors| panic!("{errors}\n{flow}"))
}

/// Bytes that the flows bring each second.
fn offered(plan: &Plan) -> f64 {
    let bytes: u64 = plan.flows.iter().filter_map(|flow| flow.span.bytes).map(|b| b.0).sum();
    let last = plan.flows.iter().map(|flow| flow.span.start).max().expect("there are flows");
    bytes as f64 / last.as_secs_f64()
}

#[test]
fn a_load_is_the_share_of_the_links_that_the_flows_take() {
    // Of sixteen hosts' links; of 1538 bytes on the wire 1448 are payload.
    let carried = 16.0 * 10e9 / 8.0 * 1448.0 / 1538.0;
    let cases = [
        // With all of one size, what varies is the time: 1 / sqrt(20 000) is 0.7 %.
        ("any_to_any", "count = 20000", "100 kB", 0.03),
        ("all_to_all", "count = 80", "100 kB", 0.03),
        ("permutation", "count = 1200", "100 kB", 0.03),
        // 2.8 times the mean is the standard deviation of the sizes: 2.1 %.
        ("any_to_any", "count = 20000", "web search", 0.08),
    ];
    for (matrix, count, bytes, tolerance) in cases {
        let flow =
            format!("matrix = \"{matrix}\"\n{count}\nbytes = \"{bytes}\"\nload = \"60 %\"\n");
        let share = offered(&plan(&flow)) / carried;
        assert!((share / 0.6 - 1.0).abs() < tolerance, "{matrix}, {bytes}: {share}");
    }
    // All to one: that one's link is the busiest.
    let incast = "matrix = \"incast\"\ncount = 1000\nbytes = \"100 kB\"\nload = \"60 %\"\n";
    let text = format!("{LINES}[flow.f]\nfrom = \"t-host\"\nto = \"t-host.1\"\n{incast}");
    let plan = Document::parse("x.toml", &text).and_then(|document| document.plan());
    let share = offered(&plan.expect("a plan")) / (carried / 16.0);
    assert!((share / 0.6 - 1.0).abs() < 0.03, "incast: {share}");
}

#[test]
fn sizes_are_drawn_by_seed_and_name_and_locked_as_they_stand() {
    let flow =
        "matrix = \"any_to_any\"\ncount = 500\nbytes = \"pareto 50 kB 1.2\"\nload = \"10 %\"\n";
    let plan = plan(flow);
    let sizes = |plan: &Plan| plan.flows.iter().map(|flow| flow.span.bytes).collect::<Vec<_>>();
    let pairs: std::collections::BTreeSet<_> =
        plan.flows.iter().map(|flow| (flow.from, flow.to)).collect();
    assert!(pairs.len() > 150, "of 240 pairs {} are drawn", pairs.len());
    let text = lock(&plan);
    assert!(text.contains("bytes = \"pareto 50000 B 1.200\"\n"), "{text}");
    assert!(text.contains("matrix = \"any_to_any\"\ncount = 500\n"), "{text}");
    let again = Document::parse("lock.toml", &text).and_then(|document| document.plan());
    assert_eq!(format!("{plan:?}"), format!("{:?}", again.expect("the lock has a plan")));
    let other = self::plan(&format!("{flow}[units]\n"));
    assert_eq!(sizes(&plan), sizes(&other));
    let mut seeded = Document::parse("lock.toml", &text).expect("it parses");
    seeded.set("seed=2").expect("it has a seed");
    assert_ne!(sizes(&plan), sizes(&seeded.plan().expect("a plan")));
}

#[test]
fn an_exchange_is_locked_with_what_it_draws() {
    let exchange = "[flow.f.exchange]\nrequest = \"100 B..1 kB\"\nresponse = \"data mining\"\n\
                    think = \"exponential 2 s\"\ncount = 7\n";
    let plan = plan(&format!("matrix = \"permutation\"\n{exchange}"));
    let text = lock(&plan);
    for line in ["request = \"100 B..1000 B\"", "response = \"data mining\"", "count = 7"] {
        assert!(text.contains(&format!("exchange.{line}\n")), "{text}");
    }
    let again = Document::parse("lock.toml", &text).and_then(|document| document.plan());
    assert_eq!(format!("{plan:?}"), format!("{:?}", again.expect("the lock has a plan")));
}

#[test]
fn a_distribution_comes_from_a_file() {
    let text = format!(
        "{LINES}[flow.f]\nfrom = \"t-host.1\"\nto = \"t-host.2\"\nbytes = \"cdf file:sizes.txt\"\n"
    );
    let mut document = Document::parse("x.toml", &text).expect("it parses");
    document.set("flow.f.bytes=cdf file:others.txt").expect("a flow has bytes");
    assert_eq!(document.files().into_iter().collect::<Vec<_>>(), ["others.txt", "sizes.txt"]);
    let refused = document.plan().expect_err("nobody read it").to_string();
    assert!(refused.contains("nobody has read the file `others.txt`"), "{refused}");
    document.supply("others.txt".into(), "# bytes, share\n\n1000 0\n2000 100 # %\n".into());
    let plan = document.plan().expect("a plan");
    let size = plan.flows[0].span.bytes.expect("it ends").0;
    assert!((1_000..=2_000).contains(&size), "{size}");
    assert!(lock(&plan).contains("bytes = \"cdf 1000 B 0.000000000, 2000 B 1.000000000\"\n"));
}

#[test]
fn mistakes_are_told_with_what_to_change() {
    let said = |flow: &str| match parsed(&format!("matrix = \"permutation\"\n{flow}")) {
        Ok(_) => "nothing".to_owned(),
        Err(errors) => errors,
    };
    for (flow, message) in [
        ("load = \"60 %\"", "a load by flows without end"),
        ("load = \"0 %\"\nbytes = \"1 MB\"", "a load of nothing"),
        ("load = \"60 %\"\nbytes = \"1 MB\"\nstagger = \"1 s\"", "`stagger` beside `load`"),
        ("bytes = \"websearch..2 MB\"", "`websearch`"),
        (
            "exchange = { request = \"1 B\", response = \"1 B\", every = \"1 s\", think = \"1 s\" }",
            "`think` beside `every`",
        ),
        ("exchange = { request = \"1 B\", response = \"1 B\", count = 0 }", "`count` cannot be 0"),
        (
            "exchange = { request = \"1 B\", response = \"1 B\" }\nread.rate = \"1 Mbit/s\"",
            "`read`",
        ),
    ] {
        let told = said(flow);
        assert!(told.contains(message), "{flow}: {told}");
    }
}

#[test]
fn a_ping_goes_by_the_clock_without_nagle_and_is_locked_as_it_stands() {
    let flow = "from = \"t-host.1\"\nto = \"t-host.2\"\n";
    let plan = |more: &str| {
        let text = format!("{LINES}[flow.f]\n{flow}{more}");
        Document::parse("x.toml", &text).and_then(|document| document.plan())
    };
    let given = plan("ping = {}\n").expect("a plan");
    let text = lock(&given);
    for line in ["ping.every = \"100 ms\"\n", "ping.size = \"64 B\"\n", "nagle = false\n"] {
        assert!(text.contains(line), "{line} is not in\n{text}");
    }
    assert!(!text.contains("nagle = true\n"), "{text}");
    let again = Document::parse("x.lock.toml", &text).and_then(|document| document.plan());
    assert_eq!(lock(&again.expect("a plan")), text);
    // Who wants the algorithm has it.
    let text =
        lock(&plan("ping = { every = \"1 s\" }\ntcp.emission.nagle = true\n").expect("a plan"));
    assert!(text.contains("nagle = true\n") && text.contains("ping.every = \"1 s\"\n"), "{text}");
    for (more, words) in [
        ("ping = { every = \"0 s\" }\n", "`every` cannot be 0 s"),
        ("ping = { size = \"0 B\" }\n", "`size` cannot be 0 B"),
        ("ping = {}\nbytes = \"1 MB\"\n", "`bytes` beside a ping"),
        ("ping = {}\ntrain = { message = \"1 kB\", every = \"1 s\" }\n", "`train` beside a ping"),
        ("ping = {}\ndatagrams.rate = \"1 Mbit/s\"\n", "datagrams are sent without TCP"),
    ] {
        let errors = plan(more).expect_err(more).to_string();
        assert!(errors.contains(words), "{more}{errors}");
    }
}
