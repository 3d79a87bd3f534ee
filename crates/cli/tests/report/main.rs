//! The report of a run in a browser: it opens, it can be used, and its numbers are those of the summary.
//!
//! Needs Chromium; without it a test says so and passes.

#[path = "../browser/mod.rs"]
#[allow(dead_code, reason = "each test takes what it needs")]
mod browser;
mod curves;
#[path = "../typed/mod.rs"]
mod typed;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use browser::{Browser, CHROMIUM, Window};
use serde_json::Value;
use tempfile::TempDir;
use typed::{SUIMON, code, json, stderr, stdout};

const EXERCISE: &str = include_str!("exercise.js");

/// Connections and datagrams, classes, drops and marks: something of everything that a report shows.
const SCENARIO: &str = r#"
title = "Gold, bulk & <the rest>"
duration = "3 s"
seed = 3

[host.a]
[host.c]
[router.r]
[host.b]

[link.in]
between = ["a", "r"]
rate = "100 Mbit/s"
[link.side]
between = ["c", "r"]
rate = "100 Mbit/s"
[link.out]
between = ["r", "b"]
rate = "10 Mbit/s"
delay = "10 ms"

[link.out.at.r.queue.cbq]
default = "rest"
[link.out.at.r.queue.cbq.class]
gold = { rate = "3 Mbit/s", match = { flow = "gold" } }
rest = { rate = "5 Mbit/s", borrow = true }

[flow]
gold = { from = "c", to = "b", datagrams = { rate = "4 Mbit/s" } }
bulk = { from = "a", to = "b", count = 2 }

[probe.bandwidth.late]
at = "r:out"
from = "1 s"
until = "1.5 s"
bin = "10 ms"

[expect.link.out]
drops = { min = 1 }
[expect.link.out.class]
gold.rate = { min = "2.9 Mbit/s" }
"#;

/// A folder with a run in it.
fn run() -> (TempDir, PathBuf) {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("all.toml"), SCENARIO).expect("the scenario");
    let mut command = Command::new(SUIMON);
    command.current_dir(folder.path()).args(["run", "all.toml", "--json", "--out", "run"]);
    let output = command.output().expect("the program starts");
    assert_eq!(code(&output), 0, "{}{}", stderr(&output), stdout(&output));
    assert!(json(&output).is_object());
    let run = folder.path().join("run");
    (folder, run)
}

fn lacks(test: &str) -> bool {
    testbed::lacks_programs(test, &[CHROMIUM])
}

/// The report in a window of that width, used by a reader.
fn used(run: &Path, width: u32) -> Value {
    let found = Browser::new().exercise(&run.join("report.html"), Window::wide(width), EXERCISE);
    assert_eq!(found["errors"], serde_json::json!([]), "nothing goes wrong, and nothing is loaded");
    assert_eq!(found["requests"], 0);
    found
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

#[test]
fn a_report_can_be_used() {
    if lacks("a_report_can_be_used") {
        return;
    }
    let (_folder, run) = run();
    let found = used(&run, 1100);

    let screen = list(&found["screen"]);
    let titles: Vec<_> = screen.iter().map(|figure| figure["title"].as_str().unwrap()).collect();
    let wanted = [
        "Rate of each flow",
        "Rate of each class",
        "Bandwidth late",
        "Congestion window",
        "Round trip time",
        "Queue length",
        "Queue length of each class",
        "Drops and marks",
        "Queueing delay",
        "Time between packets",
    ];
    assert_eq!(titles, wanted);
    for figure in screen {
        assert_eq!((&figure["svg"], &figure["plot"]), (&"none".into(), &"block".into()));
    }
    assert_eq!(list(&found["print"]).len(), screen.len());
    for figure in list(&found["print"]) {
        assert_eq!(
            (&figure["svg"], &figure["plot"]),
            (&"block".into(), &"none".into()),
            "{figure}"
        );
    }

    // The cursor of every chart over time goes where that of the first one goes, as far as the chart shows
    // that time; those of the distributions stay.
    let moves = [list(&found["moves"][0]), list(&found["moves"][1])];
    for (place, title) in titles.iter().enumerate() {
        let over_time = place < titles.len() - 2;
        let [before, after] = moves.map(|figures| &figures[place]);
        assert_eq!(before["cursor"] != after["cursor"], over_time, "{title}");
        let told = list(&after["values"]).iter().all(|value| {
            let value = value.as_str().unwrap();
            value.starts_with(|c: char| c.is_ascii_digit())
        });
        // At 1.8 s the probe's window is over.
        assert_eq!(told, over_time && *title != "Bandwidth late", "{title}: {after}");
    }
    let time = moves[1][0]["values"][0].as_str().unwrap();
    let seconds: f64 = time.trim_end_matches(" s").parse().unwrap();
    assert!((seconds - 1.8).abs() < 0.02, "{time}");

    let end = list(&found["end"]).iter().map(|y| y.as_f64().unwrap()).fold(f64::MAX, f64::min);
    assert!(end.abs() < 4.0, "the axis of a distribution ends at 100 %, not {end} pixels above");

    let shown: Vec<_> = list(&found["legend"]).iter().map(|s| s["checked"] == "true").collect();
    assert_eq!(
        shown,
        [true, false, true, false, false],
        "click, Enter, space, a key of no meaning"
    );
    for state in list(&found["legend"]) {
        assert_eq!(state["hidden"] == true, state["checked"] == "false");
    }
    assert_eq!(found["key"], true, "an arrow moves the cursor");

    let zoom = list(&found["zoom"]).iter().map(|time| {
        let time = time.as_str().unwrap().trim_end_matches(" s");
        time.parse::<f64>().unwrap()
    });
    let zoom: Vec<f64> = zoom.collect();
    // The time at 0.9 of the whole range; at 0.9 of the range from 0.2 to 0.4; at 0.9 of the whole range again.
    assert_eq!(zoom.len(), 3);
    for (got, wanted) in zoom.iter().zip([2.7, 1.14, 2.7]) {
        assert!((got - wanted).abs() < 0.03, "{zoom:?}");
    }
}

#[test]
fn figures_are_saved_as_svg_png_and_csv() {
    if lacks("figures_are_saved_as_svg_png_and_csv") {
        return;
    }
    let (_folder, run) = run();
    let found = used(&run, 1100);
    let saved = list(&found["saved"]);
    let named = |name: &str| {
        let found = saved.iter().find(|file| file["title"] == name);
        found.unwrap_or_else(|| panic!("{name} is not among {saved:?}"))
    };
    let svg = named("rate-of-each-flow.svg")["text"].as_str().unwrap();
    assert!(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""), "{svg}");
    assert!(svg.contains(">Rate of each flow</text>") && svg.contains("fill=\"#fff\""), "{svg}");
    let png = named("rate-of-each-flow.png");
    assert!(png["type"] == "image/png" && png["size"].as_u64().unwrap() > 10_000, "{png}");
    let mut csv = named("rate-of-each-flow.csv")["text"].as_str().unwrap().lines();
    let head = "time (s),all 3 flows (Mbit/s),gold (Mbit/s),bulk.1 (Mbit/s),bulk.2 (Mbit/s)";
    assert_eq!(csv.next(), Some(head));
    let first = csv.next().unwrap();
    assert!(first.starts_with("0,") && first.split(',').count() == 5, "{first}");
    // The topology is a picture without data.
    let buttons = list(&found["buttons"]);
    let has = |label: &str| buttons.iter().any(|button| button == label);
    assert!(has("Save Topology as SVG") && has("Save Topology as PNG"), "{buttons:?}");
    assert!(!has("Save Topology as CSV"), "{buttons:?}");
}

#[test]
fn a_report_has_the_numbers_of_the_summary() {
    if lacks("a_report_has_the_numbers_of_the_summary") {
        return;
    }
    let (_folder, run) = run();
    let summary = std::fs::read_to_string(run.join("summary.json")).expect("a summary");
    let mut known = BTreeMap::new();
    flatten("", &serde_json::from_str(&summary).expect("JSON"), &mut known);
    let found = used(&run, 1100);
    let numbers = list(&found["numbers"]);
    for number in numbers {
        let (path, text) = (number["path"].as_str().unwrap(), number["text"].as_str().unwrap());
        let value = number["value"].as_f64().expect("a number");
        assert_eq!(known.get(path), Some(&value), "{path}");
        // Four digits and a unit say the same.
        assert!((amount(text) - value).abs() <= 6e-4 * value.abs(), "{path}: {text} for {value}");
    }
    let paths: Vec<_> = numbers.iter().map(|number| number["path"].as_str().unwrap()).collect();
    for path in [
        "run.goodput",
        "run.fairness",
        "run.drops",
        "run.retransmissions",
        "group.bulk.goodput",
        "flow.bulk.1.goodput",
        "flow.gold.datagrams.lost",
        "link.out.forward.class.gold.rate",
        "link.out.forward.sojourn_p99_seconds",
        "link.out.forward.sojourn_p50_seconds",
    ] {
        assert!(paths.contains(&path), "{path} is missing");
    }
}

#[test]
fn a_report_is_dark_for_who_prefers_that() {
    if lacks("a_report_is_dark_for_who_prefers_that") {
        return;
    }
    let (folder, run) = run();
    let [light, dark] = [false, true].map(|dark| {
        let picture = folder.path().join(format!("{dark}.png"));
        let window = Window { dark, ..Window::wide(1100) };
        Browser::new().screenshot(&run.join("report.html"), window, &picture);
        std::fs::read(picture).expect("a picture")
    });
    assert!(light != dark, "both look the same");
}

#[test]
fn a_report_fits_a_phone() {
    if lacks("a_report_fits_a_phone") {
        return;
    }
    let (_folder, run) = run();
    for width in [360, 420] {
        let found = used(&run, width);
        assert_eq!((&found["width"], &found["overflow"]), (&width.into(), &0.into()));
        let first = &found["first"];
        assert!(first["verdict"].as_f64().unwrap() < 400.0, "the verdict is in sight: {first}");
        assert!(first["card"].as_f64().unwrap() < 640.0, "the first number is in sight: {first}");
    }
}

#[test]
fn a_report_begins_with_what_is_looked_for_and_ends_with_the_line_to_type() {
    if lacks("a_report_begins_with_what_is_looked_for_and_ends_with_the_line_to_type") {
        return;
    }
    let (_folder, run) = run();
    let found = used(&run, 1100);
    let wanted = ["Goodput", "RTT under load", "Queueing delay, p99", "Limited by"];
    let cards: Vec<_> = list(&found["first"]["cards"]).iter().take(4).collect();
    assert_eq!(cards, wanted);
    // The page is used in a copy, and names the folder of that.
    let command = found["command"].as_str().unwrap();
    assert!(command.starts_with("suimon run all.toml --out /"), "{command}");
    assert_eq!(found["where"], true, "nothing is left to explain");
    // Without scripts, the page has the same bytes wherever it is.
    let page = std::fs::read_to_string(run.join("report.html")).expect("a page");
    assert!(page.contains("suimon run all.toml --out <span class=\"folder\">FOLDER</span></pre>"));
    assert!(page.contains("FOLDER is the folder of this page."));
    assert!(!page.contains(&run.display().to_string()));
}

#[test]
fn no_chart_is_a_solid_block() {
    if lacks("no_chart_is_a_solid_block") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    // A packet takes 1.2 ms: most bins are empty, in more bins than there are pixels.
    let fine = SCENARIO.replace("bin = \"10 ms\"", "bin = \"200 us\"");
    let fine = fine.replace("from = \"1 s\"\nuntil = \"1.5 s\"\n", "");
    std::fs::write(folder.path().join("all.toml"), fine).expect("the scenario");
    let mut command = Command::new(SUIMON);
    command.current_dir(folder.path()).args(["run", "all.toml", "--quiet", "--out", "run"]);
    assert_eq!(code(&command.output().expect("the program starts")), 0);
    let found = used(&folder.path().join("run"), 1100);
    let ink: Vec<f64> = list(&found["ink"]).iter().map(|ink| ink.as_f64().unwrap()).collect();
    let titles = list(&found["screen"]).iter().map(|figure| figure["title"].as_str().unwrap());
    let bins = titles.zip(&ink).find(|(title, _)| *title == "Bandwidth late").unwrap().1;
    assert!((0.002..0.1).contains(bins), "{bins} of the chart is covered");
    assert!(ink.iter().all(|ink| *ink < 0.2), "{ink:?}");
}

/// Every number below `value` by its path.
fn flatten(path: &str, value: &Value, known: &mut BTreeMap<String, f64>) {
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                let dot = if path.is_empty() { "" } else { "." };
                flatten(&format!("{path}{dot}{key}"), inner, known);
            }
        }
        other => known.extend(other.as_f64().map(|number| (path.to_owned(), number))),
    }
}

/// The value of a text such as `9.4 Mbit/s`, in the summary's units.
fn amount(text: &str) -> f64 {
    const UNITS: [(&str, f64); 14] = [
        ("%", 1e-2),
        ("ns", 1e-9),
        ("us", 1e-6),
        ("ms", 1e-3),
        ("s", 1.0),
        ("bit/s", 0.125),
        ("kbit/s", 125.0),
        ("Mbit/s", 125e3),
        ("B", 1.0),
        ("kB", 1e3),
        ("MB", 1e6),
        ("GB", 1e9),
        ("TB", 1e12),
        ("", 1.0),
    ];
    let plain = text.replace('\u{2009}', "");
    let (number, unit) = plain.split_once(' ').unwrap_or((&plain, ""));
    let unit = UNITS.iter().find(|(name, _)| *name == unit).expect("a unit").1;
    number.parse::<f64>().expect("a number") * unit
}
