//! `run` and `sweep`: what a folder holds, exit codes, and what ends a run.

use std::process::{Command, Output, Stdio};

use serde_json::json as object;
use testbed::eventually;

use crate::typed::{SUIMON, code, json, stderr, stdout};
use crate::{SCENARIO, folder, read, suimon};

#[test]
fn run_fills_a_folder_and_prints_json() {
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
fn a_seed_is_an_option_and_progress_is_shown_on_request() {
    let folder = folder();
    let run = |words: &[&str]| {
        let output = suimon(folder.path(), &[&["run", "two.toml"], words].concat());
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        output
    };
    let told = run(&["--seed", "7", "-v", "--out", "a"]);
    for part in ["a: simulating 2 s, seed 7, suimon ", " packet-hops in ", "of CPU time"] {
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
        for file in ["summary.json", "links.parquet", "scenario.lock.toml"] {
            let bytes = |out: &str| std::fs::read(folder.path().join(out).join(name).join(file));
            assert_eq!(bytes("one").expect(file), bytes("two").expect(file), "{name}/{file}");
        }
    }
}

#[test]
fn an_interruption_keeps_what_was_measured() {
    let folder = folder();
    let mut command = Command::new(SUIMON);
    // Far longer than any test waits. Many samples, so that a part of their table is soon written to its file.
    command.args(["run", "two.toml", "--set", "duration=500 h", "--out", "long"]);
    command.args(["--set", "probe.bandwidth.east.bin=5 us"]);
    let child = command.current_dir(folder.path()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let child = child.spawn().expect("the program starts");
    let manifest = folder.path().join("long/manifest.json");
    let samples = folder.path().join("long/run.partial/links.parquet");
    eventually("the run writes samples", || {
        std::fs::metadata(&samples).is_ok_and(|file| file.len() > 0)
    });
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
fn wrong_usage_is_distinguished_from_a_machine_that_lacks_something() {
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

/// A hundred thousand flows, for which the limit of the address space is too low.
#[test]
fn a_run_without_memory_says_so() {
    if testbed::lacks_programs("a run without memory", &["bash"]) {
        return;
    }
    let folder = folder();
    let many = SCENARIO.replace("count = 2", "count = 100000");
    std::fs::write(folder.path().join("many.toml"), many).expect("the scenario");
    let mut command = Command::new("bash");
    command.args(["-c", "ulimit -v 200000 && exec \"$0\" \"$@\"", SUIMON]);
    command.args(["run", "many.toml", "-q"]);
    let output = command.current_dir(folder.path()).output().expect("it starts");
    // No signal: the standard library would abort.
    assert_eq!(output.status.code(), Some(3), "{}: {}", output.status, stderr(&output));
    let told = stderr(&output);
    assert!(told.contains("error: out of memory: the system refuses "), "{told}");
    assert!(told.contains("\n  help: free memory"), "{told}");
}
