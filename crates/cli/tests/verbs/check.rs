//! `check` and `init`: errors, the scenarios that are accepted, and templates to begin with.

use serde_json::Value;

use crate::typed::{code, json, stderr, stdout};
use crate::{SCENARIO, folder, read, suimon};

#[test]
fn a_mistake_in_a_line_of_megabytes_shows_only_what_is_around_it() {
    let folder = folder();
    let long = "x".repeat(2_000_000);
    let text = SCENARIO.replace("loss = \"0.01 %\"", &format!("loss = \"{long}\""));
    std::fs::write(folder.path().join("long.toml"), text).expect("a scenario");
    let inline = SCENARIO.replace("bin = \"10 ms\"", &format!("bni = \"10 ms\" # {long} end"));
    std::fs::write(folder.path().join("comment.toml"), inline).expect("a scenario");
    for (file, place) in [("long.toml", "long.toml:20"), ("comment.toml", "comment.toml:29")] {
        let output = suimon(folder.path(), &["check", file]);
        assert_eq!(code(&output), 2);
        let told = stderr(&output);
        assert!(told.len() < 8_000, "{} bytes", told.len());
        assert!(told.contains(place) && told.contains("help:"), "{told}");
    }
}

#[test]
fn check_points_at_what_is_wrong() {
    let folder = folder();
    let broken = SCENARIO
        .replace("\"100 Mbit/s\"", "\"100\"")
        .replace("count = 2", "congestion = \"scaleable\"");
    std::fs::write(folder.path().join("broken.toml"), broken).expect("a file");

    let output = suimon(folder.path(), &["check", "broken.toml"]);
    assert_eq!((code(&output), stdout(&output)), (2, ""));
    let text = stderr(&output);
    for words in ["broken.toml:9:8", "has no unit", "\"100 Mbit/s\"", "`scalable`"] {
        assert!(text.contains(words), "{words} is not in\n{text}");
    }
    let output = suimon(folder.path(), &["check", "broken.toml", "--json"]);
    let report = json(&output);
    assert_eq!((code(&output), &report["ok"]), (2, &Value::Bool(false)));
    assert_eq!(
        (&report["errors"][0]["line"], &report["errors"][0]["column"]),
        (&9.into(), &8.into())
    );
}

#[test]
fn check_of_a_right_file_says_what_it_is() {
    let folder = folder();
    let output = suimon(folder.path(), &["check", "two.toml", "--vary", "seed=1,2,3"]);
    assert_eq!(code(&output), 0);
    let wanted = "two.toml: ok: 2 hosts, 1 emulator, 2 links, 2 flows, 2 s; 3 runs\n  \
                  for --on simulator, linux-6.12 or lab\n";
    assert_eq!(stdout(&output), wanted);
    assert!(!stderr(&output).contains("cannot run it"), "{}", stderr(&output));
}

#[test]
fn check_reports_that_seeds_change_nothing() {
    let folder = folder();
    let fixed = ["--set", "link.east.loss=none"];
    let check = |more: &[&str]| {
        let output = suimon(folder.path(), &[&["check", "two.toml"], &fixed[..], more].concat());
        assert_eq!(code(&output), 0);
        stderr(&output).to_owned()
    };
    let told = check(&["--seeds", "1..3"]);
    assert!(told.contains("3 seeds give one result"), "{told}");
    assert!(!check(&["--seed", "2"]).contains("one result"));
    let jitter = check(&["--seeds", "1..3", "--set", "link.east.jitter=1ms"]);
    assert!(!jitter.contains("one result"), "{jitter}");
    // It is so: what the runs measure does not differ.
    let sweep = [&["sweep", "two.toml", "--seeds", "1..3"], &fixed[..]].concat();
    let output = suimon(folder.path(), &sweep);
    assert!(stderr(&output).contains("the seeds changed nothing"), "{}", stderr(&output));
}

#[test]
fn check_reports_what_needs_real_packets() {
    let folder = folder();
    let kernel = "flow.bulk.congestion=kernel:bbr";
    let output = suimon(folder.path(), &["check", "two.toml", "--set", kernel]);
    assert_eq!(code(&output), 0);
    assert!(
        stderr(&output).contains("the simulator cannot run it: flow `bulk.1`"),
        "{}",
        stderr(&output)
    );
    let drivers = |more: &[&str]| {
        let output = suimon(folder.path(), &[&["check", "two.toml", "--json"], more].concat());
        json(&output)["drivers"].clone()
    };
    assert_eq!(drivers(&[]), serde_json::json!(["simulate", "lab"]));
    assert_eq!(drivers(&["--set", kernel]), serde_json::json!(["lab"]));
    assert!(stdout(&output).ends_with("  for --on linux-6.12 or lab\n"), "{}", stdout(&output));
    let said = json(&suimon(folder.path(), &["check", "two.toml", "--json"]));
    assert_eq!(said["on"], serde_json::json!(["simulator", "linux-6.12", "lab"]));
}

#[test]
fn a_scenario_with_a_program_is_simulated_without_it() {
    let folder = folder();
    let program = "[flow.ping]\nfrom = \"a\"\nto = \"b\"\nprogram = \"ping {to}\"\n";
    std::fs::write(folder.path().join("mixed.toml"), SCENARIO.to_owned() + program)
        .expect("a file");
    let what = "flow `ping` runs a program";
    let checked = suimon(folder.path(), &["check", "mixed.toml", "--json"]);
    assert_eq!(json(&checked)["drivers"], serde_json::json!(["simulate", "lab"]));
    assert_eq!(json(&checked)["left_out"], serde_json::json!([what]));
    let output = suimon(folder.path(), &["run", "mixed.toml", "--json"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(stderr(&output).contains(&format!("left out of the simulation: {what}")));
    let results = json(&output);
    assert_eq!(results["left_out"], serde_json::json!([what]));
    assert!(results["group"]["bulk"]["goodput"].as_f64().is_some_and(|rate| rate > 1e6));
    assert!(results["flow"].get("ping").is_none(), "nothing is known of it: {}", results["flow"]);
    let run = folder.path().join("runs/mixed-1");
    assert_eq!(read(&run.join("manifest.json"))["left_out"], serde_json::json!([what]));
    let report = std::fs::read_to_string(run.join("report.html")).expect("a report");
    assert!(report.contains("Left out of the simulation"));
    // The lock still has all of it, for the lab.
    let lock = std::fs::read_to_string(run.join("scenario.lock.toml")).expect("a lock");
    assert!(lock.contains("ping {to}") || lock.contains("ping 10.0.0.2"), "{lock}");
}

#[test]
fn check_lists_the_lab_only_where_the_lab_takes_the_scenario() {
    let folder = folder();
    let flow = |settings: &str| format!("[flow.other]\nfrom = \"a\"\nto = \"b\"\n{settings}\n");
    let six = SCENARIO
        .replace("[host.a]", "[host.a]\naddress = \"fd00::a\"")
        .replace("[host.b]", "[host.b]\naddress = \"fd00::b\"")
        .replace("between = [\"a\"", "mtu = \"1000 B\"\nbetween = [\"a\"");
    let cases = [
        (
            SCENARIO.to_owned() + &flow("tcp.segment.sack = false"),
            "flows `bulk.1` and `other` have different TCP options at host `a`, but its kernel has one \
             setting for all flows: segment.sack",
        ),
        (six, "link `west`: an MTU of 1000 bytes at a host with address fd00::a"),
        (
            SCENARIO.to_owned() + &flow("source_port = 20000"),
            "flows `bulk.1` and `other` both go from 10.0.0.1:20000 to 10.0.0.2:9000",
        ),
    ];
    for (text, why) in cases {
        std::fs::write(folder.path().join("odd.toml"), text).expect("a file");
        let checked = suimon(folder.path(), &["check", "odd.toml"]);
        assert_eq!(code(&checked), 0, "{}", stderr(&checked));
        assert!(
            stderr(&checked).contains(&format!("the lab cannot run it: {why}")),
            "{}",
            stderr(&checked)
        );
        let drivers = json(&suimon(folder.path(), &["check", "odd.toml", "--json"]));
        assert_eq!(drivers["drivers"], serde_json::json!(["simulate"]), "{why}");
        assert_eq!(drivers["on"], serde_json::json!(["simulator"]), "guests have one kernel too");
        // If the lab does not accept the user or the machine, it reports that first.
        let run = suimon(folder.path(), &["run", "odd.toml", "--on", "lab"]);
        assert!(code(&run) == 3 || stderr(&run).contains(why), "{}", stderr(&run));
        assert!(!folder.path().join("runs").exists(), "refused before anything is written");
    }
}

#[test]
fn every_template_is_a_right_scenario_and_is_never_written_over() {
    let folder = folder();
    let templates = [
        "long-fat-pipe",
        "two-bottlenecks",
        "office-line",
        "aqm-comparison",
        "lossy-wan",
        "many-flows",
        "link-sharing",
        "incast",
        "incast-lossless",
        "daq",
        "mpi-over-wan",
    ];
    let list = suimon(folder.path(), &["init"]);
    assert_eq!(code(&list), 0, "{}", stderr(&list));
    let listed = stdout(&list).lines().skip(1).take_while(|line| !line.is_empty());
    let listed: Vec<_> = listed.filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(listed, templates);
    for template in templates {
        let file = format!("{template}.toml");
        assert_eq!(code(&suimon(folder.path(), &["init", template])), 0);
        assert_eq!(code(&suimon(folder.path(), &["check", &file])), 0);
        let again = suimon(folder.path(), &["init", template, &file]);
        assert_eq!(code(&again), 2);
        assert!(stderr(&again).contains("already exists"));
    }
    let unknown = suimon(folder.path(), &["init", "no-such"]);
    assert_eq!(code(&unknown), 2);
    assert!(stderr(&unknown).contains("long-fat-pipe"));
}

/// A path and a load out of files: the first line of the sizes is their mean, as steps.
const FROM_FILES: &str = r#"
title = "Out of files"
duration = "2 s"
[host.a]
[host.b]
[link.path]
between = ["a", "b"]
rate = "10 Mbit/s"
delay = "5 ms"
jitter = "distribution 10 ms 2 ms file:skewed.dist"
[link.path.at.a]
trace = "mbit file:cell.csv"
[flow.web]
from = "a"
to = "b"
count = 3
bytes = "cdf file:sizes.txt"
"#;

#[test]
fn means_of_files_are_shown_kept_and_held_against_what_the_files_say() {
    let folder = folder();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text);
    write("files.toml", FROM_FILES).expect("the scenario");
    write("sizes.txt", "14500\n1000 0.5\n10000 0.9\n100000 1\n").expect("sizes");
    write("skewed.dist", "# a table\n-4096 -4096\n-4096 24576 # four\n").expect("a table");
    write("cell.csv", "s,Mbit/s\n0,12\n1,6\n").expect("a trace");

    let checked = suimon(folder.path(), &["check", "files.toml"]);
    let wanted = "files.toml: ok: 2 hosts, 1 link, 3 flows, 2 s\n  for --on simulator, linux-6.12 or lab\n  \
                  flow.web.bytes: mean 8.2 kB\n  \
                  link.path.at.a.jitter: mean 10.75 ms\n  link.path.at.a.trace: mean 9 Mbit/s\n  \
                  link.path.at.b.jitter: mean 10.75 ms\n";
    // Three in four are 1 ms below 10 ms, and one 6 ms above.
    assert_eq!(stdout(&checked), wanted, "{}", stderr(&checked));
    let warning = "warning: flow.web.bytes: the first line of `sizes.txt` states a mean of 0.0145 MB, but its \
                   points have a mean of 0.0082 MB: write \"steps file:sizes.txt\", which has that mean";
    assert!(stderr(&checked).contains(warning), "{}", stderr(&checked));

    let steps = "flow.web.bytes=steps file:sizes.txt";
    let checked = suimon(folder.path(), &["check", "files.toml", "--json", "--set", steps]);
    let report = json(&checked);
    assert_eq!(report["warnings"], serde_json::json!([]));
    let run = suimon(folder.path(), &["run", "files.toml", "--out", "one", "--set", steps]);
    assert_eq!(code(&run), 0, "{}", stderr(&run));
    let summary = read(&folder.path().join("one/summary.json"));
    assert_eq!(summary["input"], report["inputs"]);
    let inputs = &summary["input"];
    assert_eq!(inputs["flow.web.bytes"], serde_json::json!({ "mean_bytes": 14_500 }));
    assert_eq!(inputs["link.path.at.a.trace"], serde_json::json!({ "mean_rate": 1_125_000.0 }));
    // What the table's draws added, beyond which a trace waits for its milliseconds.
    let back = &summary["link"]["path"]["reverse"]["impairments"];
    assert_eq!(back["added_delay_max_seconds"], 0.016);
    // The lock file has what was in them.
    let again = suimon(folder.path(), &["run", "one/scenario.lock.toml", "--out", "two"]);
    assert_eq!(code(&again), 0, "{}", stderr(&again));
    assert_eq!(read(&folder.path().join("two/summary.json")), summary);
}

#[test]
fn mistakes_in_a_table_are_reported_with_file_and_line() {
    let folder = folder();
    std::fs::write(folder.path().join("files.toml"), FROM_FILES).expect("the scenario");
    let set = ["--set", "flow.web.bytes=1 MB", "--set", "link.path.at.a.trace=mahimahi 1"];
    std::fs::write(folder.path().join("sizes.txt"), "1000 1\n").expect("sizes");
    std::fs::write(folder.path().join("cell.csv"), "0,12\n").expect("a trace");
    std::fs::write(folder.path().join("skewed.dist"), "1 2\n3 40000\n").expect("a table");
    let checked = suimon(folder.path(), &[&["check", "files.toml"], &set[..]].concat());
    assert_eq!(code(&checked), 2);
    let told = stderr(&checked);
    for words in ["`skewed.dist`, line 2: `40000` is not a number of a table", "-32768 to 32767"] {
        assert!(told.contains(words), "{words} is not in\n{told}");
    }
}
