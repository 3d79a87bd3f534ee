//! The dashboard for Grafana uses metrics that are served.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Family, Kind, host, queues, router};

/// The file to import.
const DASHBOARD: &str = include_str!("../../../../docs/grafana/suimon.json");

/// All metrics of `suimon host metrics` and `suimon router --metrics`.
fn served() -> Vec<Family> {
    [queues::families(), host::families(), router::families()].concat()
}

/// The names of series in an expression of PromQL.
fn names(expression: &str) -> impl Iterator<Item = &str> {
    let words = expression.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with("suimon_"))
}

/// Whether a family has a series of that name.
fn has(family: &Family, name: &str) -> bool {
    match family.kind {
        Kind::Counter | Kind::Gauge => name == family.name,
        Kind::Histogram => ["_bucket", "_sum", "_count"]
            .iter()
            .any(|suffix| name.strip_suffix(suffix) == Some(family.name)),
    }
}

fn strings<'a>(value: &'a Value, key: &str, found: &mut Vec<&'a str>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(name, value)| match value {
            Value::String(text) if name == key => found.push(text),
            value => strings(value, key, found),
        }),
        Value::Array(list) => list.iter().for_each(|value| strings(value, key, found)),
        _ => {}
    }
}

#[test]
fn each_metric_of_the_dashboard_is_served() {
    let dashboard: Value = serde_json::from_str(DASHBOARD).expect("JSON");
    let (served, mut expressions) = (served(), Vec::new());
    ["expr", "query", "definition"]
        .iter()
        .for_each(|key| strings(&dashboard, key, &mut expressions));
    let used: BTreeSet<&str> = expressions.iter().flat_map(|text| names(text)).collect();
    for name in &used {
        assert!(served.iter().any(|family| has(family, name)), "nothing serves {name}");
    }
    for wanted in [
        "suimon_qdisc_sent_bytes_total",
        "suimon_qdisc_backlog_bytes",
        "suimon_qdisc_delay_seconds",
        "suimon_qdisc_sojourn_seconds_bucket",
        "suimon_qdisc_drops_total",
        "suimon_qdisc_marks_total",
        "suimon_qdisc_gap_bytes_total",
        "suimon_tcp_connections",
        "suimon_router_lateness_p99_seconds",
    ] {
        assert!(used.contains(wanted), "{wanted} is not shown");
    }
    // Counters are shown as rates.
    for expression in &expressions {
        for name in names(expression).filter(|name| name.ends_with("_total")) {
            let rated = format!("rate({name}{{");
            let values = expression.starts_with("label_values(");
            assert!(values || expression.contains(&rated), "{expression}");
        }
    }
}

/// Prometheus itself reads each expression, with Grafana's variables in it replaced.
#[test]
fn each_expression_of_the_dashboard_is_valid() {
    const TEST: &str = "the expressions of Grafana's dashboard";
    if !testbed::is_installed("promtool") {
        return testbed::unbuilt(TEST, "promtool is not installed: Debian's package prometheus");
    }
    let dashboard: Value = serde_json::from_str(DASHBOARD).expect("JSON");
    let mut expressions = Vec::new();
    strings(&dashboard, "expr", &mut expressions);
    assert!(expressions.len() >= 10);
    let rule = |(number, expression): (usize, &&str)| {
        let expression = expression.replace("$__rate_interval", "1m");
        let expression = serde_json::Value::from(expression);
        format!("      - {{ record: \"dashboard:{number}\", expr: {expression} }}\n")
    };
    let rules: String = expressions.iter().enumerate().map(rule).collect();
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("rules.yml");
    std::fs::write(&file, format!("groups:\n  - name: dashboard\n    rules:\n{rules}"))
        .expect("a file");
    let mut check = std::process::Command::new("promtool");
    let checked = check.args(["check", "rules"]).arg(&file).output().expect("promtool runs");
    let said = String::from_utf8_lossy(&checked.stderr);
    assert!(checked.status.success(), "{said}{}", String::from_utf8_lossy(&checked.stdout));
}

#[test]
fn its_panels_have_a_place_and_a_unit() {
    let dashboard: Value = serde_json::from_str(DASHBOARD).expect("JSON");
    let panels = dashboard["panels"].as_array().expect("a list");
    let (mut ids, mut cells) = (BTreeSet::new(), BTreeSet::new());
    for panel in panels {
        assert!(ids.insert(panel["id"].as_u64().expect("a number")), "{}", panel["id"]);
        let at = |key: &str| panel["gridPos"][key].as_u64().expect("a number");
        assert!(at("x") + at("w") <= 24, "{}", panel["title"]);
        for x in at("x")..at("x") + at("w") {
            for y in at("y")..at("y") + at("h") {
                assert!(cells.insert((x, y)), "{} covers another", panel["title"]);
            }
        }
        if panel["type"] == "row" {
            continue;
        }
        assert!(panel["fieldConfig"]["defaults"]["unit"].is_string(), "{}", panel["title"]);
        let targets = panel["targets"].as_array().expect("a list");
        let references: BTreeSet<_> =
            targets.iter().filter_map(|target| target["refId"].as_str()).collect();
        assert!(!targets.is_empty() && references.len() == targets.len(), "{}", panel["title"]);
        let source = |of: &Value| of["datasource"]["uid"] == "${datasource}";
        assert!(source(panel) && targets.iter().all(source), "{}", panel["title"]);
    }
}
