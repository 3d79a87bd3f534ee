//! The output keeps the units of the scenario: Mbit/s stays Mbit/s in tables, charts, pages and on the screen.

#[allow(dead_code, reason = "each test takes what it needs")]
mod typed;

use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;
use typed::{SUIMON, code, stderr, stdout};

/// Every unit of rates that a text may have.
const RATES: [&str; 9] =
    ["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s", "B/s", "kB/s", "MB/s", "GB/s"];

/// 50, 50 and 10 Mbit/s, with classes, a warning, connections and datagrams, in a unit of `bits` per second.
fn scenario(unit: &str, bits: f64, delay: &str) -> String {
    let rate = |megabits: f64| format!("\"{} {unit}\"", megabits * 1e6 / bits);
    let [fast, slow, gold, rest, offered, least] = [50.0, 10.0, 3.0, 5.0, 12.0, 2.5].map(rate);
    format!(
        r#"
title = "Rates in one unit"
duration = "3 s"
host = {{ a = {{}}, b = {{}}, c = {{}} }}
router.r = {{}}

[link.in]
between = ["a", "r"]
rate = {fast}
[link.side]
between = ["c", "r"]
rate = {fast}
[link.out]
between = ["r", "b"]
rate = {slow}
delay = "{delay}"

[link.out.at.r.queue.cbq]
default = "rest"
[link.out.at.r.queue.cbq.class]
gold = {{ rate = {gold}, match = {{ flow = "gold" }} }}
rest = {{ rate = {rest}, borrow = true }}

[flow]
gold = {{ from = "c", to = "b", datagrams = {{ rate = {offered} }} }}
bulk = {{ from = "a", to = "b", count = 2 }}

[probe.bandwidth.late]
at = "r:out"
from = "1 s"
until = "1.5 s"
bin = "10 ms"

[expect.link.out.class]
gold.rate = {{ min = {least} }}
[compare.flow.bulk]
goodput = {least}
"#
    )
}

/// The three ways of writing it that are tested, by the unit.
const WRITTEN: [(&str, f64); 3] = [("Mbit/s", 1e6), ("MB/s", 8e6), ("kbit/s", 1e3)];

fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (unit, bits) in WRITTEN {
        let path = folder.path().join(name(unit)).with_extension("toml");
        std::fs::write(path, scenario(unit, bits, "10 ms")).expect("the scenario");
    }
    folder
}

fn name(unit: &str) -> String {
    unit.replace('/', "")
}

/// The output of a command that must succeed.
fn suimon(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(SUIMON);
    let output = command.current_dir(folder).args(arguments).output().expect("the program starts");
    assert_eq!(code(&output), 0, "{arguments:?}: {}{}", stderr(&output), stdout(&output));
    output
}

fn run(folder: &Path, unit: &str) -> Output {
    let file = format!("{}.toml", name(unit));
    suimon(folder, &["run", &file, "--out", &name(unit), "--quiet"])
}

fn page(folder: &Path, path: &str) -> String {
    std::fs::read_to_string(folder.join(path)).expect("a page")
}

/// The units of rates that a text has, each once.
fn units(text: &str) -> Vec<&str> {
    let words = text.split(|c: char| !c.is_ascii_alphabetic() && c != '/');
    let mut found: Vec<&str> = words.filter(|word| RATES.contains(word)).collect();
    found.sort_unstable();
    found.dedup();
    found
}

#[test]
fn console_report_and_top_have_no_other_rates_than_the_scenario() {
    let folder = folder();
    for (unit, _) in WRITTEN {
        let file = format!("{}.toml", name(unit));
        let check = suimon(folder.path(), &["check", &file]);
        assert_eq!(units(stderr(&check)), [unit], "{}", stderr(&check));
        let run = run(folder.path(), unit);
        assert_eq!(units(stdout(&run)), [unit], "{}", stdout(&run));
        let report = page(folder.path(), &format!("{}/report.html", name(unit)));
        assert_eq!(units(&report), [unit], "the report");
        for label in ["received", "sent", "bandwidth"] {
            assert!(report.contains(&format!("\"label\":\"{label} ({unit})\"")), "{label}");
        }
        let top = suimon(folder.path(), &["top", &name(unit), "--once"]);
        assert_eq!(units(stdout(&top)), [unit], "{}", stdout(&top));
    }
}

#[test]
fn of_compared_runs_the_first_says_the_unit() {
    let folder = folder();
    WRITTEN.iter().for_each(|(unit, _)| drop(run(folder.path(), unit)));
    for (first, other) in [("Mbit/s", "MB/s"), ("MB/s", "kbit/s"), ("kbit/s", "Mbit/s")] {
        let names = [name(first), name(other)];
        let arguments = ["compare", &names[0], &names[1], "--all", "-o", "page.html"];
        let compared = suimon(folder.path(), &arguments);
        assert_eq!(units(stdout(&compared)), [first], "{}", stdout(&compared));
        assert_eq!(units(&page(folder.path(), "page.html")), [first], "the page");
    }
}

#[test]
fn a_sweep_has_the_scenarios_unit_and_each_axis_that_of_its_range() {
    let folder = folder();
    let vary = ["--vary", "link.out.rate=8000kbit..9000kbit/3", "--seeds", "1..2"];
    let arguments = [&["sweep", "Mbits.toml", "-o", "s", "--quiet"][..], &vary].concat();
    let swept = suimon(folder.path(), &arguments);
    assert_eq!(units(stdout(&swept)), ["Mbit/s"], "{}", stdout(&swept));
    let report = page(folder.path(), "s/report.html");
    assert!(report.contains("\"label\":\"link.out.rate (kbit/s)\""), "the unit that was typed");
    assert!(report.contains("\"label\":\"run.goodput (Mbit/s)\""));
    let one = name("Mbit/s") + "/report.html";
    let compared = suimon(folder.path(), &["compare", "s", "--all"]);
    assert_eq!(units(stdout(&compared)), ["Mbit/s"], "{}", stdout(&compared));
    assert!(!folder.path().join(one).exists());
}

#[test]
fn delays_keep_the_unit_of_the_paths() {
    let folder = folder();
    for (delay, unit) in [("10 ms", "ms"), ("10000 us", "us"), ("0.01 s", "s")] {
        // What is offered fits, so that a delay is that of the path and readable in any of them.
        let text = scenario("Mbit/s", 1e6, delay).replace("\"12 Mbit/s\"", "\"2 Mbit/s\"");
        let text = text.replace("\"2.5 Mbit/s\"", "\"1 Mbit/s\"");
        std::fs::write(folder.path().join("delay.toml"), text).expect("the scenario");
        let run = suimon(folder.path(), &["run", "delay.toml", "--out", "delay", "--quiet"]);
        let line = stdout(&run).lines().find(|line| line.starts_with("gold ")).expect("datagrams");
        assert!(line.contains(&format!(" {unit} ")), "{line}");
        let report = page(folder.path(), "delay/report.html");
        assert!(report.contains(&format!("\"label\":\"smoothed RTT ({unit})\"")), "{unit}");
        assert!(
            report.contains("\"label\":\"time (s)\""),
            "the run's own time is that of its duration"
        );
    }
}

/// Run folders now record units; earlier ones recorded only unit families.
#[test]
fn a_folder_of_before_units_had_prefixes_is_rendered_in_its_family() {
    let folder = folder();
    run(folder.path(), "MB/s");
    let path = folder.path().join("MBs/scenario.lock.toml");
    let lock = std::fs::read_to_string(&path).expect("a scenario");
    assert!(lock.contains("units.rate = \"MB/s\"\n"), "{lock}");
    let ours = |line: &&str| !line.starts_with("units.time") && !line.starts_with("units.duration");
    let kept: Vec<&str> = lock.lines().filter(ours).collect();
    let earlier = kept.join("\n").replace("units.rate = \"MB/s\"", "units.rate = \"B/s\"");
    std::fs::write(&path, earlier + "\n").expect("the scenario");
    suimon(folder.path(), &["report", "MBs"]);
    let report = page(folder.path(), "MBs/report.html");
    assert!(report.contains("\"label\":\"received (MB/s)\""), "a prefix that suits");
    assert!(units(&report).iter().all(|unit| unit.ends_with("B/s")), "{:?}", units(&report));
}
