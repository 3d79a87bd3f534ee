//! The curves of a report with many flows, and of several runs at once.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use tempfile::TempDir;

use crate::typed::{SUIMON, code, stderr};

/// Ninety short flows, then ten that come late and one by itself, through 20 Mbit/s of 60 ms.
const CROWD: &str = r#"
title = "A crowd"
duration = "4 s"
[host.a]
[host.b]
[router.r]
[link.access]
between = ["a", "r"]
rate = "1 Gbit/s"
delay = "1 ms"
[link.wan]
between = ["r", "b"]
rate = "20 Mbit/s"
delay = "29 ms"
[flow.web]
from = "a"
to = "b"
count = 90
[flow.bulk]
from = "a"
to = "b"
count = 10
start = "1 s"
[flow.last]
from = "a"
to = "b"
start = "2 s"
"#;

fn suimon(folder: &Path, words: &[&str]) {
    let output = Command::new(SUIMON).current_dir(folder).args(words).output().expect("it starts");
    assert_eq!(code(&output), 0, "{}", stderr(&output));
}

fn crowd() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("crowd.toml"), CROWD).expect("a scenario");
    folder
}

/// The data of a page's charts, and the list of abscissas that they share.
fn charts(page: &Path) -> (Vec<Value>, Value) {
    let page = fs::read_to_string(page).expect("a page");
    let (_, rest) = page.split_once("id=\"charts\">").expect("charts");
    let data: Value =
        serde_json::from_str(rest.split_once("</script>").expect("an end").0).expect("JSON");
    (data["charts"].as_array().expect("a list").clone(), data["x"].clone())
}

fn names(chart: &Value) -> Vec<&str> {
    let series = chart["series"].as_array().expect("series");
    series.iter().map(|series| series["name"].as_str().expect("a name")).collect()
}

fn labelled<'c>(charts: &'c [Value], axis: &str, label: &str) -> &'c Value {
    let found = charts
        .iter()
        .find(|chart| chart[axis]["label"].as_str().is_some_and(|text| text.starts_with(label)));
    found.unwrap_or_else(|| panic!("no chart has {label}"))
}

/// The abscissas of a chart's first series, as the page's script reads them.
fn abscissas(chart: &Value, xs: &Value) -> Vec<f64> {
    let x = &xs[chart["series"][0]["x"].as_u64().expect("a place") as usize];
    let mut sum = 0.0;
    let steps = x["by"].as_array().expect("steps").iter();
    steps
        .map(|by| by.as_f64().expect("a step"))
        .map(|by| {
            sum += by;
            sum / x["per"].as_f64().expect("a unit")
        })
        .collect()
}

#[test]
fn many_flows_are_drawn_by_group_with_one_of_each_and_their_distribution() {
    let folder = crowd();
    suimon(folder.path(), &["run", "crowd.toml", "--out", "run", "--quiet"]);
    let (charts, xs) = charts(&folder.path().join("run/report.html"));
    let rates = labelled(&charts, "y", "received");
    assert_eq!(names(rates), ["all 101 flows", "web (90 flows)", "bulk (10 flows)", "last"]);
    // The bottleneck's line rate, and not that of the access link.
    let marks = rates["marks"].as_array().expect("marks");
    let marks: Vec<_> = marks.iter().map(|mark| mark["name"].as_str().expect("a name")).collect();
    assert_eq!(marks, ["line rate of wan, 20 Mbit/s"]);
    // A window's bursts within a round trip of 60 ms are not rates.
    let times = abscissas(rates, &xs);
    let bins: Vec<f64> = times.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(bins[..bins.len() - 1].iter().all(|bin| *bin >= 0.06 - 1e-6), "{bins:?}");
    assert!(bins.len() > 30, "{} bins", bins.len());
    let windows = names(labelled(&charts, "y", "window"));
    for group in ["web.", "bulk.", "last"] {
        assert!(windows.iter().any(|name| name.starts_with(group)), "{group}: {windows:?}");
    }
    let distribution = labelled(&charts, "x", "goodput of a flow");
    assert_eq!(names(distribution), ["web (90 flows)", "bulk (10 flows)"]);
    assert_eq!(distribution["series"][0]["y"].as_array().map(Vec::len), Some(91));
}

#[test]
fn compared_runs_have_their_curves_in_one_chart() {
    let folder = crowd();
    let run = |out: &str, set: &str| {
        suimon(folder.path(), &["run", "crowd.toml", "--out", out, "--quiet", "--set", set]);
    };
    run("fifo", "seed=1");
    run("fair", "link.wan.at.r.queue.fq_codel={}");
    suimon(folder.path(), &["compare", "fifo", "fair", "-o", "page.html"]);
    let (charts, _) = charts(&folder.path().join("page.html"));
    let both = |axis, label| assert_eq!(names(labelled(&charts, axis, label)), ["fifo", "fair"]);
    both("y", "received");
    both("y", "window");
    both("y", "queued");
    both("x", "wait");
    both("x", "goodput of a flow");
}

#[test]
fn goodputs_are_those_of_the_flows_that_were_measured() {
    let folder = crowd();
    // The first ninety have ended when measuring begins: the summary has the last eleven flows of the plan.
    let words =
        ["--set", "flow.web.bytes=1 kB", "--set", "measure.from=3 s", "--out", "run", "--quiet"];
    suimon(folder.path(), &[&["run", "crowd.toml"], &words[..]].concat());
    let summary = fs::read(folder.path().join("run/summary.json")).expect("a summary");
    let summary: Value = serde_json::from_slice(&summary).expect("JSON");
    let flows = summary["flow"].as_object().expect("flows");
    assert_eq!(flows.len(), 11, "{flows:?}");
    let of_bulk = flows.iter().filter(|(name, _)| name.starts_with("bulk"));
    let most = of_bulk.filter_map(|(_, flow)| flow["goodput"].as_f64()).fold(0.0, f64::max);
    let (charts, xs) = charts(&folder.path().join("run/report.html"));
    let distribution = labelled(&charts, "x", "goodput of a flow");
    assert_eq!(names(distribution), ["bulk (10 flows)"]);
    let shown = abscissas(distribution, &xs).into_iter().fold(0.0, f64::max);
    let factors = [1.0, 1e3, 1e6].map(|unit| shown * unit / 8.0 / most);
    assert!(factors.iter().any(|factor| (factor - 1.0).abs() < 1e-3), "{shown}, {most}");
}
