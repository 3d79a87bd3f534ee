//! The program as it is typed: every verb, its output and its exit code.

mod typed;

use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json as object};
use tempfile::TempDir;
use testbed::eventually;
use typed::{SUIMON, code, json, stderr, stdout};

/// Two flows that lose packets on the way, so that seeds and buffers show.
const SCENARIO: &str = r#"
title = "Two flows through a small buffer"
duration = "2 s"

[host.a]
[host.b]

[emulator.wan]
rate = "100 Mbit/s"
delay = "10 ms"
buffer = "64 KiB"

[link.west]
between = ["a", "wan"]
rate = "1 Gbit/s"

[link.east]
between = ["wan", "b"]
rate = "1 Gbit/s"
loss = "0.01 %"

[flow.bulk]
from = "a"
to = "b"
count = 2

[probe.bandwidth.east]
at = "wan:east"
bin = "10 ms"
"#;

fn suimon(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(SUIMON);
    command.current_dir(folder).args(arguments).output().expect("the program starts")
}

/// A folder with the scenario in it.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("two.toml"), SCENARIO).expect("the scenario");
    folder
}

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
fn list_prints_every_registry() {
    let folder = folder();
    let output = suimon(folder.path(), &["list"]);
    assert_eq!(code(&output), 0);
    let text = stdout(&output);
    for name in ["cubic", "psp", "linux-2.4-web100", "p0", "long-fat-pipe", "sequence"] {
        assert!(text.contains(&format!("\n  {name}  ")), "{name} is not in\n{text}");
    }
    assert!(!text.contains('\x1b'), "no colour when not on a terminal");

    let lists = json(&suimon(folder.path(), &["list", "--json"]));
    let algorithms = congestion_names(&lists["algorithms"]);
    let all = [
        "bbr",
        "bbr3",
        "bic",
        "cubic",
        "cubic-rfc9438",
        "dctcp",
        "highspeed",
        "illinois",
        "newreno",
        "scalable",
        "scalable50",
        "sluice",
        "vegas",
    ];
    assert_eq!(algorithms, all);
    let one = json(&suimon(folder.path(), &["list", "profiles", "--json"]));
    assert_eq!(one["profiles"], lists["profiles"]);
    assert_eq!(one.as_object().map(serde_json::Map::len), Some(1));
}

#[test]
fn a_discipline_has_a_page() {
    let folder = folder();
    let page = suimon(folder.path(), &["list", "disciplines", "codel"]);
    assert_eq!(code(&page), 0, "{}", stderr(&page));
    let text = stdout(&page);
    for words in
        ["# codel\n", "`target` (time, more than 0 s; default `\"5 ms\"`)", "RFC 8289", "[expect"]
    {
        assert!(text.contains(words), "{words} is not in\n{text}");
    }

    let page = json(&suimon(folder.path(), &["list", "disciplines", "drr", "--json"]));
    assert_eq!(page["class"][0]["name"], "quantum");
    assert_eq!(page["class"][0]["takes"], "size");
    // The example is a file that runs as it is.
    let example = page["example"]["text"].as_str().expect("a scenario");
    std::fs::write(folder.path().join("drr.toml"), example).expect("a file");
    let run = suimon(folder.path(), &["run", "drr.toml"]);
    assert_eq!(code(&run), 0, "{}", stdout(&run));
    assert!(stdout(&run).contains("link.out.class.heavy.rate  7.356 Mbit/s"), "{}", stdout(&run));

    let unknown = suimon(folder.path(), &["list", "disciplines", "ddr"]);
    assert_eq!(code(&unknown), 2);
    assert!(stderr(&unknown).contains("did you mean `drr`?"), "{}", stderr(&unknown));
    assert_eq!(code(&suimon(folder.path(), &["list", "profiles", "lan"])), 2);
}

#[test]
fn an_algorithm_has_a_page() {
    let folder = folder();
    let page = suimon(folder.path(), &["list", "algorithms", "vegas"]);
    assert_eq!(code(&page), 0, "{}", stderr(&page));
    let text = stdout(&page);
    for words in ["# vegas\n", "`alpha`", "Brakmo", "[expect"] {
        assert!(text.contains(words), "{words} is not in\n{text}");
    }

    let unknown = suimon(folder.path(), &["list", "algorithms", "vegsa"]);
    assert_eq!(code(&unknown), 2);
    assert!(stderr(&unknown).contains("did you mean `vegas`?"), "{}", stderr(&unknown));
}

fn congestion_names(list: &Value) -> Vec<&str> {
    list.as_array().expect("a list").iter().filter_map(|entry| entry["name"].as_str()).collect()
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
    let wanted = "two.toml: fine: 2 hosts, 1 emulator, 2 links, 2 flows, 2 s; 3 runs\n";
    assert_eq!(stdout(&output), wanted);
}

#[test]
fn check_tells_what_takes_real_packets() {
    let folder = folder();
    let kernel = "flow.bulk.congestion=kernel:bbr";
    let output = suimon(folder.path(), &["check", "two.toml", "--set", kernel]);
    assert_eq!(code(&output), 0);
    assert!(
        stderr(&output).contains("not for the simulator: flow `bulk.1`"),
        "{}",
        stderr(&output)
    );
    let drivers = |more: &[&str]| {
        let output = suimon(folder.path(), &[&["check", "two.toml", "--json"], more].concat());
        json(&output)["drivers"].clone()
    };
    assert_eq!(drivers(&[]), serde_json::json!(["simulate", "lab"]));
    assert_eq!(drivers(&["--set", kernel]), serde_json::json!(["lab"]));
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
            "flows `bulk.1` and `other` have different TCP options at host `a`, where one kernel has one \
             setting for all: segment.sack",
        ),
        (six, "link `west`: an MTU of 1000 bytes at a host of address fd00::a"),
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
            stderr(&checked).contains(&format!("not for the lab: {why}")),
            "{}",
            stderr(&checked)
        );
        let drivers = json(&suimon(folder.path(), &["check", "odd.toml", "--json"]));
        assert_eq!(drivers["drivers"], serde_json::json!(["simulate"]), "{why}");
        // A user or machine that the lab does not take hears of that first.
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
        assert!(stderr(&again).contains("is there already"));
    }
    let unknown = suimon(folder.path(), &["init", "no-such"]);
    assert_eq!(code(&unknown), 2);
    assert!(stderr(&unknown).contains("long-fat-pipe"));
}

#[test]
fn run_fills_a_folder_and_tells_in_json() {
    let folder = folder();
    let output = suimon(folder.path(), &["run", "two.toml", "--json"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let results = json(&output);
    assert_eq!(results["run"]["complete"], true);
    assert!(results["group"]["bulk"]["goodput"].as_f64().is_some_and(|rate| rate > 1e6));
    for key in ["packet_hops", "events", "peak_rss_bytes"] {
        assert!(results["engine"][key].as_u64().is_some_and(|n| n > 1000), "engine.{key}");
    }
    assert!(results["engine"]["cpu_seconds"].as_f64().is_some_and(|s| s > 0.0));

    let run = folder.path().join("runs/two-1");
    assert_eq!(results["folder"], "runs/two-1");
    for file in ["manifest.json", "scenario.lock.toml", "links.parquet", "report.html"] {
        assert!(run.join(file).is_file(), "{file}");
    }
    let mut summary = read(&run.join("summary.json"));
    summary["expectations"] = results["expectations"].clone();
    summary["folder"] = results["folder"].clone();
    summary["engine"] = results["engine"].clone();
    assert_eq!(summary, results, "the document is the summary with the cost");
}

#[test]
fn a_seed_is_an_option_and_what_goes_on_is_told_where_asked_for() {
    let folder = folder();
    let run = |words: &[&str]| {
        let output = suimon(folder.path(), &[&["run", "two.toml"], words].concat());
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        output
    };
    let told = run(&["--seed", "7", "-v", "--out", "a"]);
    for part in ["a: simulating 2 s, seed 7, suimon ", " packet-hops in ", "of processor time"] {
        assert!(stderr(&told).contains(part), "{part}: {}", stderr(&told));
    }
    let quiet = run(&["--set", "seed=7", "-q", "--out", "b"]);
    assert_eq!(stderr(&quiet), "");
    let summary = |run: &str| read(&folder.path().join(run).join("summary.json"));
    assert_eq!((summary("a"), &summary("a")["run"]["seed"]), (summary("b"), &7.into()));
    let manifest = read(&folder.path().join("a/manifest.json"));
    assert_eq!(manifest["command"], object!(["suimon", "run", "two.toml", "--seed", "7"]));
    assert_eq!(code(&suimon(folder.path(), &["run", "two.toml", "--seed", "x"])), 2);
    assert_eq!(code(&suimon(folder.path(), &["run", "two.toml", "-q", "-v"])), 2);
}

#[test]
fn a_run_that_is_refused_says_so_in_json_too() {
    let folder = folder();
    let errors = |words: &[&str], exit: i32| {
        let output = suimon(folder.path(), &[words, &["--json"]].concat());
        assert_eq!(code(&output), exit, "{}", stderr(&output));
        let document = json(&output);
        assert_eq!(document["ok"], false);
        document["errors"][0].clone()
    };
    let unknown = errors(&["run", "two.toml", "--set", "flow.bulk.colour=1"], 2);
    assert!(unknown["message"].as_str().is_some_and(|text| text.contains("colour")), "{unknown}");
    assert!(unknown["line"].as_u64().is_some(), "{unknown}");
    let absent = errors(&["run", "absent.toml"], 2);
    assert!(absent["message"].as_str().is_some_and(|text| text.starts_with("absent.toml: ")));
    assert!(absent["help"].as_str().is_some_and(|text| text.starts_with("check the name")));
    let taken = errors(&["run", "two.toml", "--out", "two.toml/below"], 3);
    assert!(taken["message"].as_str().is_some_and(|text| text.contains("--out")), "{taken}");
    let grid = errors(&["sweep", "two.toml"], 2);
    assert!(grid["help"].as_str().is_some_and(|text| text.contains("--vary")), "{grid}");
}

#[test]
fn what_has_no_end_is_refused() {
    let folder = folder();
    for device in ["/dev/urandom", "/dev/zero", "/dev/null"] {
        let output = suimon(folder.path(), &["run", device]);
        assert_eq!(code(&output), 2);
        assert!(stderr(&output).contains("it is a device: name a file"), "{}", stderr(&output));
    }
    assert_eq!(code(&suimon(folder.path(), &["run", "."])), 2);
    let through = |script: &str| {
        let mut command = Command::new("bash");
        command.args(["-c", script]).current_dir(folder.path()).output().expect("a shell")
    };
    let stdin = through(&format!("'{SUIMON}' run - < /dev/zero"));
    assert_eq!(code(&stdin), 2);
    assert!(stderr(&stdin).contains("longer than 64 MiB"), "{}", stderr(&stdin));
    for script in [
        "run - --out a < two.toml",
        "run <(cat two.toml) --out b",
        "run /dev/stdin --out c < two.toml",
    ] {
        let output = through(&format!("'{SUIMON}' {script}"));
        assert_eq!(code(&output), 0, "{script}: {}", stderr(&output));
    }
}

#[test]
fn no_name_reaches_the_terminal_as_a_command_to_it() {
    let folder = folder();
    let is_obeyed = |c: char| {
        (c.is_control() && c != '\n' && c != '\t')
            || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
    };
    let assert_plain = |output: &Output, words: &[&str]| {
        for text in [stdout(output), stderr(output)] {
            assert!(!text.chars().any(is_obeyed), "{words:?}: {text:?}");
        }
    };
    // A title that clears the screen, one that renames the window, one that reads backwards.
    let bad = "\u{9b}2J\u{9d}0;x\u{9c}\u{202e}\u{2066}";
    let title = "title = \"\\u009b2J\\u009d0;x\\u009c\\u202e\\u2066\\u001b[8m\"";
    let scenario = SCENARIO.replace("title = \"Two flows through a small buffer\"", title);
    let named = scenario.replace("[flow.bulk]", "[flow.\"b\\u009b\"]");
    std::fs::write(folder.path().join("named.toml"), named).expect("a file");
    let file = format!("{bad}.toml");
    std::fs::write(folder.path().join(&file), &scenario).expect("a file");
    let wrong = format!("[host.a]\n# {bad}\x1b[2J\ncolour = \"{bad}\"\n");
    std::fs::write(folder.path().join("wrong.toml"), wrong).expect("a file");
    for words in [
        &["run", &file, "--out", "x", "-v"][..],
        &["run", &file, "--out", "y", "--json"],
        &["run", &file, "--seeds", "1..2", "--out", "s"],
        &["check", &file],
        &["check", &file, "--json"],
        &["check", "named.toml"],
        &["check", "wrong.toml"],
        &["check", "wrong.toml", "--json"],
        &["run", &format!("{bad}-absent.toml")],
        &["run", &file, "--set", &format!("{bad}=1")],
        &["run", &file, "--on", bad],
        &[bad],
        &["list", "disciplines", bad],
        &["compare", bad, bad],
        &["compare", "x", "y"],
        &["top", bad, "--once"],
    ] {
        assert_plain(&suimon(folder.path(), words), words);
    }
    let told = json(&suimon(folder.path(), &["run", &file, "--out", "y", "--json"]));
    assert_eq!(told["run"]["title"], format!("{bad}\u{1b}[8m"), "JSON is of the same value");
}

#[test]
fn a_profile_has_a_page() {
    let folder = folder();
    let page = suimon(folder.path(), &["list", "profiles", "linux-6"]);
    assert_eq!(code(&page), 0, "{}", stderr(&page));
    for part in ["linux-6: ", "congestion control: cubic", "window.initial", "RFC 6928"] {
        assert!(stdout(&page).contains(part), "{part}: {}", stdout(&page));
    }
    let page = json(&suimon(folder.path(), &["list", "profiles", "freebsd-2.2.8", "--json"]));
    assert!(page["settings"].as_array().is_some_and(|all| all.len() > 5), "{page}");
    let unknown = suimon(folder.path(), &["list", "profiles", "beos"]);
    assert_eq!(code(&unknown), 2);
    assert!(stderr(&unknown).contains("linux-2.6.9"), "{}", stderr(&unknown));
    assert_eq!(code(&suimon(folder.path(), &["list", "papers", "p0"])), 2);
}

fn read(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).expect("the file")).expect("JSON")
}

#[test]
fn the_lock_runs_to_the_same_results() {
    let folder = folder();
    let out = |arguments: &[&str]| assert_eq!(code(&suimon(folder.path(), arguments)), 0);
    out(&["run", "two.toml", "--out", "a", "--set", "seed=7"]);
    out(&["run", "a/scenario.lock.toml", "--out", "b"]);
    let summary = |run: &str| read(&folder.path().join(run).join("summary.json"));
    assert_eq!(summary("a"), summary("b"));
}

#[test]
fn expectations_decide_the_exit_code() {
    let folder = folder();
    for (limit, wanted) in [("min = \"1 MB/s\"", 0), ("min = \"99 MB/s\"", 1)] {
        let text = format!("{SCENARIO}\n[expect.flow.bulk]\ngoodput = {{ {limit} }}\n");
        std::fs::write(folder.path().join("expect.toml"), text).expect("a file");
        let output = suimon(folder.path(), &["run", "expect.toml"]);
        assert_eq!(code(&output), wanted, "{}", stdout(&output));
        assert_eq!(stdout(&output).contains("FAILED"), wanted == 1);
    }
}

#[test]
fn a_sweep_has_the_same_bytes_whatever_the_workers() {
    let folder = folder();
    let sweep = |jobs: &str, out: &str| {
        let vary = "emulator.wan.buffer=64 KiB,128 KiB";
        let output = suimon(
            folder.path(),
            &[
                "run", "two.toml", "--vary", vary, "--seeds", "1..3", "-j", jobs, "-o", out,
                "--json",
            ],
        );
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        output
    };
    let (one, two) = (sweep("1", "one"), sweep("2", "two"));
    assert_eq!(one.stdout, two.stdout);
    let document = json(&one);
    let runs = document["runs"].as_array().expect("runs");
    assert_eq!(runs.len(), 6);
    let goodputs: Vec<_> = runs.iter().map(|run| &run["summary"]["run"]["goodput"]).collect();
    assert!(goodputs.windows(2).any(|pair| pair[0] != pair[1]), "the runs differ");
    for run in runs {
        let name = run["folder"].as_str().expect("a folder");
        for file in ["summary.json", "links.parquet", "scenario.lock.toml", "report.html"] {
            let bytes = |out: &str| std::fs::read(folder.path().join(out).join(name).join(file));
            assert_eq!(bytes("one").expect(file), bytes("two").expect(file), "{name}/{file}");
        }
    }
}

#[test]
fn an_interruption_keeps_what_was_measured() {
    let folder = folder();
    let mut command = Command::new(SUIMON);
    // Far longer than any test waits.
    command.args(["run", "two.toml", "--set", "duration=500 h", "--out", "long"]);
    let child = command.current_dir(folder.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = child.spawn().expect("the program starts");
    let manifest = folder.path().join("long/manifest.json");
    eventually("the run has begun", || {
        folder.path().join("long/run.partial/manifest.json").exists()
    });
    std::thread::sleep(std::time::Duration::from_millis(300));
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().expect("kill").success());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(code(&output), 130);
    assert!(stderr(&output).contains("interrupted after"), "{}", stderr(&output));
    assert_eq!(read(&manifest)["complete"], false);
    let summary = read(&folder.path().join("long/summary.json"));
    assert!(summary["group"]["bulk"]["bytes"].as_u64().is_some_and(|bytes| bytes > 0));
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    // The reader is gone before anything is written.
    let script = format!("{{ sleep 0.2; '{SUIMON}' list; echo $? >&2; }} | true");
    let output = Command::new("sh").args(["-c", &script]).output().expect("a shell");
    assert_eq!(stderr(&output), "0\n");
}

#[test]
fn wrong_usage_is_told_apart_from_a_machine_that_lacks_something() {
    let folder = folder();
    let exit = |arguments: &[&str]| code(&suimon(folder.path(), arguments));
    assert_eq!(exit(&["run", "no-such.toml"]), 2);
    assert_eq!(exit(&["run", "two.toml", "--set", "flow.bulk.start"]), 2);
    assert_eq!(exit(&["run", "two.toml", "--seeds", "8..1"]), 2);
    assert_eq!(exit(&["fly"]), 2);
    assert_eq!(exit(&["run", "two.toml", "--out", "two.toml/below"]), 3);
    assert_eq!(exit(&["init", "incast", "no-such-folder/a.toml"]), 3);
    assert_eq!(exit(&["schema", "no-such-folder/scenario.schema.json"]), 3);
    let script = format!("'{SUIMON}' list > /dev/full");
    let full = Command::new("sh").args(["-c", &script]).output().expect("a shell");
    assert_eq!(code(&full), 3);
    assert!(stderr(&full).contains("make room there"), "{}", stderr(&full));
    assert_eq!(exit(&["run", "two.toml", "--out", "."]), 2, "a folder with other files in it");
    assert!(folder.path().join("two.toml").exists());
}

#[test]
fn an_item_of_the_paper_alone() {
    let folder = folder();
    let unknown = suimon(folder.path(), &["paper", "p0", "--only", "T99"]);
    assert_eq!(code(&unknown), 2);
    assert!(stderr(&unknown).contains("T3"), "{}", stderr(&unknown));
    assert_eq!(code(&suimon(folder.path(), &["paper", "p99"])), 2);

    let output = suimon(folder.path(), &["paper", "p0", "--only", "f7", "--json"]);
    let results = json(&output);
    assert_eq!(results["paper"], "p0");
    let items = results["items"].as_array().expect("items");
    assert!(items.iter().all(|item| item["item"] == "F7") && !items.is_empty());
    let keys: Vec<_> = items[0].as_object().expect("an object").keys().cloned().collect();
    let mut wanted = [
        "item",
        "calibrated",
        "case",
        "quantity",
        "unit",
        "published",
        "measured",
        "low",
        "high",
        "ok",
    ];
    wanted.sort_unstable();
    assert_eq!(keys, wanted);
    assert_eq!(code(&output), i32::from(!items.iter().all(|item| item["ok"] == true)));
    let report = std::fs::read_to_string(folder.path().join("runs/p0/report.html"));
    assert!(report.expect("the report").contains("<svg"));
}

#[test]
fn what_a_discipline_costs() {
    let folder = folder();
    let output = suimon(folder.path(), &["cost", "--rounds", "2", "--json", "fifo", "drr"]);
    assert_eq!(code(&output), 0);
    let costs = json(&output);
    let [fifo, drr] = costs["cases"].as_array().expect("cases").as_slice() else {
        panic!("two cases: {costs}");
    };
    assert_eq!((&fifo["queue"], &fifo["classes"]), (&"fifo".into(), &0.into()));
    assert_eq!((&drr["queue"], &drr["classes"]), (&"drr".into(), &5.into()));
    assert!(drr["nanoseconds"]["best"].as_f64() > Some(0.0), "{drr}");
    if costs["not_counted"] == "valgrind is not installed" {
        assert!(drr["instructions"].is_null());
    } else {
        assert!(fifo["instructions"]["count"].as_f64() > Some(10.0), "{costs}");
        assert_eq!(fifo["instructions"]["over_fifo"], 0.0);
        assert!(drr["instructions"]["over_fifo"].as_f64() > Some(10.0), "{costs}");
    }

    let unknown = suimon(folder.path(), &["cost", "dr"]);
    assert_eq!(code(&unknown), 2);
    assert!(stderr(&unknown).contains("did you mean `drr`?"), "{}", stderr(&unknown));
    assert_eq!(code(&suimon(folder.path(), &["cost", "priq", "--classes", "17"])), 2);
}

/// The scenario of two flows with tolerances of its own: two runs, whose seeds differ in goodput.
fn compared(folder: &Path, tolerances: &str) {
    let text = format!("{SCENARIO}\n{tolerances}");
    std::fs::write(folder.join("two.toml"), text).expect("the scenario");
    for (name, seed) in [("1", "1"), ("2", "3")] {
        let run = ["run", "two.toml", "--quiet", "-o", name, "--set", &format!("seed={seed}")];
        assert_eq!(code(&suimon(folder, &run)), 0);
    }
}

#[test]
fn compare_shows_what_differs_and_judges_what_is_named() {
    let folder = folder();
    compared(folder.path(), "[compare]\ntolerance = \"7 %\"\n");
    let output = suimon(folder.path(), &["compare", "1", "2"]);
    assert_eq!(code(&output), 0, "nothing is named\n{}", stdout(&output));
    let text = stdout(&output);
    let head: Vec<&str> = text.lines().next().unwrap_or_default().split_whitespace().collect();
    assert_eq!(head, ["quantity", "1", "2", "difference", "allowed"], "one driver needs no name");
    let row = |path: &str| text.lines().find(|line| line.split_whitespace().next() == Some(path));
    assert!(row("flow.bulk.goodput").is_some_and(|row| row.contains("7 %")), "{text}");
    assert!(row("flow.bulk.1.goodput").is_none(), "members stand together");
    assert!(row("flow.bulk.timeouts").is_none(), "equal ones are left out");
    assert!(text.contains("are equal in all; --all shows what is"), "{text}");
    assert!(stderr(&output).contains("their scenarios differ in seed"), "{}", stderr(&output));

    let all = suimon(folder.path(), &["compare", "1", "1", "--all"]);
    assert!(stdout(&all).lines().any(|line| line.starts_with("flow.bulk.1.goodput")));
    assert_eq!((stderr(&all), code(&all)), ("", 0));
    let same = suimon(folder.path(), &["compare", "1", "1"]);
    assert!(stdout(&same).contains("equal in all"), "{}", stdout(&same));
    assert!(!stdout(&same).contains("goodput"));
    std::fs::write(
        folder.path().join("judged.toml"),
        format!("{SCENARIO}\n[compare.flow.bulk]\ngoodput = \"1 %\"\n"),
    )
    .expect("the scenario");
    assert_eq!(code(&suimon(folder.path(), &["run", "judged.toml", "--quiet", "-o", "3"])), 0);
    let judged = suimon(folder.path(), &["compare", "3", "3"]);
    let shown = stdout(&judged).lines().any(|line| line.starts_with("flow.bulk.goodput"));
    assert!(shown, "what is judged is shown though equal: {}", stdout(&judged));
}

#[test]
fn compare_fails_where_a_named_quantity_is_out_of_tolerance() {
    let folder = folder();
    compared(folder.path(), "[compare.flow.bulk]\ngoodput = \"1 B/s\"\ndrops = \"100 %\"\n");
    let output = suimon(folder.path(), &["compare", "1", "2"]);
    assert_eq!(code(&output), 1, "{}", stdout(&output));
    let document = json(&suimon(folder.path(), &["compare", "1", "2", "--json"]));
    assert_eq!(document["ok"], false);
    let quantities = document["quantities"].as_array().expect("a list");
    let of = |path: &str| quantities.iter().find(|row| row["path"] == path).expect("a row");
    let goodput = of("flow.bulk.goodput");
    assert_eq!((&goodput["named"], &goodput["within"]), (&true.into(), &false.into()));
    let values: Vec<f64> =
        goodput["values"].as_array().expect("two").iter().filter_map(Value::as_f64).collect();
    let share = (values[1] - values[0]) / values[0];
    assert!((goodput["difference"].as_f64().expect("a share") - share).abs() < 1e-12);
    assert_eq!(of("flow.bulk.drops")["allowed"], "100 %");
    // The order decides what is held against what, not whether they lie apart.
    assert_eq!(code(&suimon(folder.path(), &["compare", "2", "1"])), 1);
}

#[test]
fn compare_refuses_what_cannot_be_compared() {
    let folder = folder();
    compared(folder.path(), "");
    let told = |arguments: &[&str]| {
        let output = suimon(folder.path(), arguments);
        assert_eq!(code(&output), 2);
        stderr(&output).to_owned()
    };
    let none = told(&["compare", "1", "."]);
    assert!(none.contains(". is no folder of a finished run: it has no manifest.json"), "{none}");
    let other = SCENARIO.replace("[flow.bulk]", "[flow.mass]");
    std::fs::write(folder.path().join("other.toml"), other).expect("the scenario");
    assert_eq!(code(&suimon(folder.path(), &["run", "other.toml", "--quiet", "-o", "3"])), 0);
    let other = told(&["compare", "1", "3"]);
    let wanted = "3 belongs to another scenario: it has flow `mass.1` from `a` to `b`";
    assert!(other.contains(wanted), "{other}");
    std::fs::create_dir(folder.path().join("paper")).expect("a folder");
    std::fs::write(folder.path().join("paper/paper.json"), "{}").expect("a file");
    let mixed = told(&["compare", "1", "paper"]);
    assert!(mixed.contains("paper holds a paper, 1 does not"), "{mixed}");
    let damaged = told(&["compare", "paper", "paper"]);
    assert!(damaged.contains("paper/paper.json: missing field"), "{damaged}");
}

/// A paper's folder with one item.
fn paper(folder: &Path, driver: &str, measured: f64, ok: bool) {
    let item = object!({
        "item": "T3", "case": "512 KiB", "quantity": "bandwidth", "unit": "MB/s",
        "published": 50.0, "measured": measured, "low": 45.0, "high": null, "ok": ok,
    });
    let path = folder.join(driver);
    std::fs::create_dir_all(&path).expect("a folder");
    let document = object!({ "paper": "p0", "driver": driver, "items": [item] });
    std::fs::write(path.join("paper.json"), document.to_string()).expect("a file");
}

#[test]
fn papers_compare_item_by_item() {
    let folder = folder();
    paper(folder.path(), "simulate", 55.0, true);
    paper(folder.path(), "lab", 52.25, true);
    let output = suimon(folder.path(), &["compare", "simulate", "lab"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let lines: Vec<Vec<&str>> =
        stdout(&output).lines().map(|line| line.split_whitespace().collect()).collect();
    assert_eq!(
        lines[0].join(" "),
        "item case published simulate lab lab/simulate simulate/published lab/published allowed verdict"
    );
    assert_eq!(
        lines[1].join(" "),
        "T3 bandwidth (MB/s) 512 KiB 50 55 52.25 -5.00 % +10.0 % +4.50 % at least 45 ok"
    );
    paper(folder.path(), "lab", 40.0, false);
    let output = suimon(folder.path(), &["compare", "simulate", "lab", "--json"]);
    assert_eq!(code(&output), 1);
    assert_eq!(json(&output)["items"][0]["from_published"][1], -0.2);
}
