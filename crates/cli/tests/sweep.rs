//! Sweeps: ranges, one table, one report, going on after an interruption; and samples compared.

mod typed;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use parquet::file::reader::{FileReader, SerializedFileReader};
use serde_json::Value;
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
rate = "50 Mbit/s"
delay = "10 ms"
buffer = "64 KiB"

[link.west]
between = ["a", "wan"]
rate = "1 Gbit/s"

[link.east]
between = ["wan", "b"]
rate = "1 Gbit/s"
loss = "0.05 %"

[flow.bulk]
from = "a"
to = "b"
count = 2
"#;

/// A sweep's own files.
const FILES: [&str; 3] = ["sweep.json", "sweep.parquet", "report.html"];

/// The driver of no packets, where only folders matter.
const NO_PACKETS: [&str; 2] = ["--on", "none"];

fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("two.toml"), SCENARIO).expect("the scenario");
    folder
}

fn suimon(folder: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(SUIMON);
    command.current_dir(folder).args(arguments).output().expect("the program starts")
}

/// A sweep that must do well.
fn sweep(folder: &Path, out: &str, more: &[&str]) -> Output {
    let arguments = [&["sweep", "two.toml", "-o", out], more].concat();
    let output = suimon(folder, &arguments);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    output
}

fn bytes(folder: &Path, out: &str) -> Vec<Vec<u8>> {
    let read = |name: &&str| std::fs::read(folder.join(out).join(name)).expect(name);
    FILES.iter().map(read).collect()
}

fn text(folder: &Path, path: &str) -> String {
    std::fs::read_to_string(folder.join(path)).expect(path)
}

/// Every row of `sweep.parquet` as text.
fn rows(folder: &Path, out: &str) -> Vec<String> {
    let file = File::open(folder.join(out).join("sweep.parquet")).expect("the table");
    let reader = SerializedFileReader::new(file).expect("Parquet");
    let rows = reader.get_row_iter(None).expect("rows");
    rows.map(|row| row.expect("a row").to_string()).collect()
}

#[test]
fn a_grid_becomes_one_table_and_one_report_whatever_the_workers() {
    let folder = folder();
    let grid = ["--vary", "emulator.wan.delay=5ms..20ms/2", "--vary", "flow.bulk.cc=cubic,newreno"];
    let of = |out: &str, jobs: &str| {
        let more = [&grid[..], &["--seeds", "1..2", "-j", jobs, "--json"]].concat();
        sweep(folder.path(), out, &more)
    };
    let (one, two) = (of("one", "1"), of("two", "2"));
    assert_eq!(one.stdout, two.stdout);
    assert!(bytes(folder.path(), "one") == bytes(folder.path(), "two"), "files differ");
    assert_eq!(json(&one)["runs"].as_array().map(Vec::len), Some(8));
    // `run` is the same mechanism.
    let run = [&["run", "two.toml", "-o", "run"], &grid[..], &["--seeds", "1..2"]].concat();
    assert_eq!(code(&suimon(folder.path(), &run)), 0);
    assert!(bytes(folder.path(), "run") == bytes(folder.path(), "one"), "`run` differs");

    let rows = rows(folder.path(), "one");
    assert_eq!(rows.len(), 8);
    let wanted = "emulator.wan.delay_seconds: 0.005, flow.bulk.congestion: \"newreno\", seed: 1, verdict: null";
    assert!(rows[2].contains(wanted), "{}", rows[2]);
    let goodput = &json(&one)["runs"][2]["summary"]["run"]["goodput"];
    assert!(
        rows[2].contains(&format!("run.goodput_bytes_per_s: {goodput}")),
        "{goodput}\n{}",
        rows[2]
    );

    let report = text(folder.path(), "one/report.html");
    assert!(report.contains("emulator.wan.delay = 20ms, flow.bulk.congestion = cubic: "));
    let point = json(&one)["runs"][7]["folder"].as_str().expect("a name").to_owned();
    assert!(report.contains(&format!("<a href=\"{point}/\">8</a>")), "{point}");
    // The report of a point is written when asked for.
    let of_point = folder.path().join("one").join(&point).join("report.html");
    assert!(!of_point.exists());
    let rendered = suimon(folder.path(), &["report", &format!("one/{point}")]);
    assert_eq!(code(&rendered), 0, "{}", stderr(&rendered));
    assert!(std::fs::read_to_string(of_point).expect("a page").contains("<svg"));
    assert!(
        report.contains("--vary emulator.wan.delay=5ms..20ms/2"),
        "it tells how to run it again"
    );
}

/// The manifests of points that are there so far.
fn ended(out: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(out).into_iter().flatten().flatten();
    let manifests = entries.map(|entry| entry.path().join("manifest.json"));
    manifests.filter(|manifest| manifest.exists()).collect()
}

#[test]
fn an_interrupted_sweep_goes_on_to_the_same_bytes() {
    let folder = folder();
    let grid =
        ["--vary", "emulator.wan.buffer=32KiB..128KiB/4", "--set", "duration=60 s", "-j", "1"];
    sweep(folder.path(), "whole", &grid);
    let mut command = Command::new(SUIMON);
    command.args(["sweep", "two.toml", "-o", "parts"]).args(grid).current_dir(folder.path());
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn().expect("it starts");
    let parts = folder.path().join("parts");
    eventually("a run has ended", || !ended(&parts).is_empty());
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().expect("kill").success());
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(code(&output), 130, "{}", stderr(&output));
    assert!(stderr(&output).contains("of 4 runs done"), "{}", stderr(&output));
    let sweep_of = |text: &str| serde_json::from_str::<Value>(text).expect("JSON");
    assert_eq!(sweep_of(&text(folder.path(), "parts/sweep.json"))["complete"], false);
    assert!(text(folder.path(), "parts/report.html").contains("Incomplete: "));
    let first = || {
        let mut all = ended(&parts);
        all.sort();
        std::fs::read_to_string(&all[0]).expect("a manifest")
    };
    let before = first();
    assert_eq!(sweep_of(&before)["complete"], true, "the first run was done");

    let again = sweep(folder.path(), "parts", &grid);
    assert!(stderr(&again).contains("already done: "), "{}", stderr(&again));
    assert_eq!(first(), before, "what was done is not run again");
    assert!(bytes(folder.path(), "parts") == bytes(folder.path(), "whole"), "files differ");
}

#[test]
fn only_what_this_program_would_make_again_is_taken_for_done() {
    let folder = folder();
    let grid = ["--seeds", "1..3"];
    let done = |more: &[&str]| {
        let output = sweep(folder.path(), "sweep", &[&grid, more].concat());
        let told = stderr(&output)
            .lines()
            .find(|line| line.starts_with("already done"))
            .map(str::to_owned);
        told.unwrap_or_default()
    };
    assert_eq!(done(&[]), "");
    let before = bytes(folder.path(), "sweep");
    assert!(done(&[]).starts_with("already done: 3 of 3 runs"));
    assert!(bytes(folder.path(), "sweep") == before, "files differ");
    assert_eq!(done(&["--fresh"]), "");
    // The runs of another version are run again, and those of a version's other build.
    let manifest = folder.path().join("sweep/2-seed-2/manifest.json");
    for (line, another) in [("  \"suimon\": \"", "0.0.1"), ("  \"build\": \"", "1-2.3")] {
        let text = std::fs::read_to_string(&manifest).expect("a manifest");
        let (before_it, rest) = text.split_once(line).expect(line);
        let (_, after_it) = rest.split_once('"').expect("a string");
        let text = [before_it, line, another, "\"", after_it].concat();
        std::fs::write(&manifest, text).expect("written");
        assert!(done(&[]).starts_with("already done: 2 of 3 runs"), "{another}");
        assert!(bytes(folder.path(), "sweep") == before, "files differ");
    }
    // So is another scenario's.
    let other = SCENARIO.replace("\"10 ms\"", "\"11 ms\"");
    std::fs::write(folder.path().join("two.toml"), other).expect("the scenario");
    assert_eq!(done(&[]), "");
    assert!(bytes(folder.path(), "sweep") != before, "nothing stale is told");
}

/// The names in a folder, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).expect("a folder").flatten();
    let mut names: Vec<_> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

#[test]
fn a_sweep_can_keep_only_its_table() {
    let folder = folder();
    let grid = ["--vary", "flow.bulk.cc=cubic,newreno", "--seeds", "1..2"];
    let all = ["--set", "probe.flows.every=1ms"];
    let more = [&grid[..], &all].concat();
    let short = [&more[..], &["--keep", "table"]].concat();
    sweep(folder.path(), "whole", &more);
    let output = sweep(folder.path(), "table", &short);
    assert!(!stderr(&output).contains("already done"), "{}", stderr(&output));
    let mut files = FILES.map(str::to_owned);
    files.sort();
    assert_eq!(names(&folder.path().join("table")), files);
    assert!(
        bytes(folder.path(), "table")[1] == bytes(folder.path(), "whole")[1],
        "the table differs"
    );
    let report = text(folder.path(), "table/report.html");
    assert!(!report.contains("<td><a href=") && report.contains("--keep table"));

    // What an earlier sweep left counts, with or without its tables.
    let whole = folder.path().join("whole");
    let names = names(&whole);
    let (first, second) = (whole.join(&names[0]), whole.join(&names[1]));
    for lost in ["queues.parquet", "flows.parquet"] {
        std::fs::remove_file(first.join(lost)).expect(lost);
    }
    std::fs::write(second.join("summary.json"), "{}").expect("a damaged summary");
    std::fs::write(second.join("notes.txt"), "mine").expect("a file of the user");
    let output = sweep(folder.path(), "whole", &short);
    assert!(stderr(&output).contains("already done: 3 of 4 runs"), "{}", stderr(&output));
    assert!(bytes(folder.path(), "whole") == bytes(folder.path(), "table"), "files differ");
    assert!(!first.exists(), "the runs are removed");
    assert_eq!(self::names(&second), ["notes.txt"], "what is not ours stays");

    // What needs the runs says why there are none.
    let refused = |words: &[&str], why: &str| {
        let output = suimon(folder.path(), words);
        assert_eq!(code(&output), 2, "{}", stderr(&output));
        assert!(stderr(&output).contains(why), "{}", stderr(&output));
    };
    refused(&["compare", "table"], "table kept only the table of its runs");
    refused(&["export", "table", "--table", "flows"], "it kept only its own table");
    let other = ["sweep", "two.toml", "-o", "table", "--seeds", "7..8"];
    refused(&other, "contains the runs of another sweep: 1-");
    assert_eq!(code(&suimon(folder.path(), &["export", "table", "--csv"])), 0);
}

#[test]
fn an_interrupted_sweep_keeps_the_results_of_its_runs() {
    let folder = folder();
    let grid = [&NO_PACKETS[..], &["--seeds", "1..2", "--keep", "table"]].concat();
    // The second run's folder contains something else: it cannot be run.
    std::fs::create_dir_all(folder.path().join("parts/2-seed-2")).expect("a folder");
    std::fs::write(folder.path().join("parts/sweep.json"), "{}").expect("a file");
    let foreign = folder.path().join("parts/2-seed-2/notes.txt");
    std::fs::write(&foreign, "mine").expect("a file");
    let words = [&["sweep", "two.toml", "-o", "parts"], &grid[..]].concat();
    let output = suimon(folder.path(), &words);
    assert_eq!(code(&output), 2, "{}", stderr(&output));
    let kept = ["manifest.json", "scenario.lock.toml", "summary.json"];
    assert_eq!(names(&folder.path().join("parts/1-seed-1")), kept);
    std::fs::remove_file(foreign).expect("removed");
    let output = sweep(folder.path(), "parts", &grid);
    assert!(stderr(&output).contains("already done: 1 of 2 runs"), "{}", stderr(&output));
    assert_eq!(names(&folder.path().join("parts")).len(), FILES.len());
}

/// The times of a table's row, which are in milliseconds.
fn milliseconds(row: &str) -> Vec<f64> {
    let words: Vec<&str> = row.split_whitespace().collect();
    let times = words.windows(2).filter(|pair| pair[1] == "ms");
    times.map(|pair| pair[0].parse().expect("a number")).collect()
}

fn near(shown: f64, seconds: &Value) -> bool {
    let exact = 1e3 * seconds.as_f64().expect("a number");
    (shown - exact).abs() <= 1e-3 * exact
}

#[test]
fn the_console_shows_round_trips_and_queueing_delay_under_load() {
    let folder = folder();
    let units = ["--set", "units.time=ms"];
    let words = [&["run", "two.toml", "-o", "one", "--quiet"], &units[..]].concat();
    let run = suimon(folder.path(), &words);
    assert_eq!(code(&run), 0, "{}", stderr(&run));
    let summary: Value =
        serde_json::from_str(&text(folder.path(), "one/summary.json")).expect("JSON");
    let row = |start: &str| {
        let line = stdout(&run).lines().find(|line| line.starts_with(start));
        line.unwrap_or_else(|| panic!("no row {start}: {}", stdout(&run))).to_owned()
    };
    let flows = ["bulk.1", "bulk.2"].map(|name| &summary["flow"][name]);
    let longest = |field: &str| {
        let both = flows.map(|flow| flow[field].as_f64().expect(field));
        Value::from(both[0].max(both[1]))
    };
    assert!(row("flow").contains("min RTT  smoothed RTT"), "{}", row("flow"));
    let [min, end] = milliseconds(&row("bulk (2 flows)"))[..] else { panic!("two RTTs") };
    assert!(min < end && near(end, &longest("srtt_seconds")), "{min} {end}");
    let (queue, shown) = (&summary["link"]["east"]["forward"], milliseconds(&row("wan:east")));
    let fields = ["sojourn_p50_seconds", "sojourn_p99_seconds", "sojourn_max_seconds"];
    assert!(shown.iter().zip(fields).all(|(shown, field)| near(*shown, &queue[field])), "{queue}");
    assert!(shown[0] > 1.0, "the emulator's queue is the bottleneck: {shown:?}");
    let drops = stdout(&run).find("drops at").expect("drops");
    assert!(stdout(&run).find("queue ").is_some_and(|queue| queue < drops));

    // A sweep has the longest of each run, and no column of what was not measured.
    let grid = [&["--seeds", "1..2", "--quiet"], &units[..]].concat();
    let table = sweep(folder.path(), "grid", &grid);
    let lines: Vec<&str> = stdout(&table).lines().collect();
    assert!(lines[0].contains("timeouts  smoothed RTT  sojourn p99"), "{}", lines[0]);
    let [rtt, wait] = milliseconds(lines[1])[..] else { panic!("two delays: {}", lines[1]) };
    assert!(near(rtt, &longest("srtt_seconds")) && near(wait, &queue["sojourn_p99_seconds"]));
    let without = ["--seeds", "1..2", "--quiet", "--set", "probe.automatic=false"];
    let without = sweep(folder.path(), "without", &without);
    assert!(stdout(&without).contains("smoothed RTT") && !stdout(&without).contains("sojourn p99"));
}

#[test]
fn names_of_folders_need_no_quotes() {
    let folder = folder();
    let queue = "link.west.at.a.queue={fifo={packets=500}},{ fq_codel = { target = \"5 ms\" } }";
    let grid = ["--vary", queue, "--vary", "emulator.wan.rate=10Mbit/s", "--seeds", "1..1"];
    sweep(folder.path(), "grid", &[&grid[..], &NO_PACKETS].concat());
    let folders = names(&folder.path().join("grid"));
    let wanted = [
        "1-link.west.at.a.queue-fifo-packets-500_emulator.wan.rate-10Mbit-s_seed-1",
        "2-link.west.at.a.queue-fq_codel-target-5ms_emulator.wan.rate-10Mbit-s_seed-1",
    ];
    assert_eq!(folders[..2], wanted);
    assert!(rows(folder.path(), "grid")[1].contains("queue: \"fq_codel:target=5 ms\""));
}

#[test]
fn seeds_that_change_nothing_are_reported() {
    let folder = folder();
    let told = |out: &str, loss: &str| {
        let more = ["--seeds", "1..2", "--vary", "duration=1s,1500ms", "--set", loss];
        stderr(&sweep(folder.path(), out, &more)).contains("the seeds changed nothing")
    };
    assert!(told("none", "link.east.loss=0"));
    assert!(!told("some", "link.east.loss=1%"));
}

#[test]
fn what_cannot_be_swept_says_what_to_change() {
    let folder = folder();
    let told = |more: &[&str]| {
        let output = suimon(folder.path(), &[&["sweep", "two.toml", "--quiet"], more].concat());
        assert_eq!(code(&output), 2, "{}", stderr(&output));
        stderr(&output).to_owned()
    };
    assert!(told(&[]).contains("two.toml has no grid"));
    let range = told(&["--vary", "emulator.wan.delay=1ms..5ms"]);
    assert!(range.contains("has no number of points"), "{range}");
    let measure = ["--seeds", "1..2", "--set", "duration=100 ms", "--measure", "run.godput"];
    assert!(told(&measure).contains("did you mean `run.goodput`?"));
    let expected = ["--seeds", "1..2", "--set", "expect.flow.bulk.godput.min=1"];
    assert!(told(&expected).contains("godput"));
    assert!(!folder.path().join("runs").exists(), "judged before anything is run");
    let short = ["--seeds", "1..2", "--set", "duration=100 ms"];
    let output = suimon(folder.path(), &[&["sweep", "two.toml"], &short[..]].concat());
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    std::fs::write(folder.path().join("runs/two-sweep/sweep.json"), "{").expect("written");
    let damaged = suimon(folder.path(), &["compare", "runs/two-sweep"]);
    assert!(stderr(&damaged).contains("sweep.json: EOF"), "{}", stderr(&damaged));
}

#[test]
fn a_grid_does_not_take_the_place_of_another_one() {
    let folder = folder();
    let short = [&NO_PACKETS[..], &["--seeds"]].concat();
    sweep(folder.path(), "grid", &[&short[..], &["1..2"]].concat());
    let before = text(folder.path(), "grid/sweep.json");
    let words = [&["sweep", "two.toml", "-o", "grid"], &short[..], &["3..4"]].concat();
    let other = suimon(folder.path(), &words);
    assert_eq!(code(&other), 2);
    assert!(stderr(&other).contains("another sweep: 1-seed-1"), "{}", stderr(&other));
    assert_eq!(text(folder.path(), "grid/sweep.json"), before);
    sweep(folder.path(), "grid", &[&short[..], &["3..4", "--fresh"]].concat());
    assert_ne!(text(folder.path(), "grid/sweep.json"), before);
}

#[test]
fn a_line_of_means_has_its_confidence_and_several_measures_have_a_section_each() {
    let folder = folder();
    let more =
        ["--vary", "emulator.wan.delay=5ms..20ms/3", "--seeds", "1..3", "--set", "duration=500 ms"];
    let measures = ["--measure", "goodput", "--measure", "run.retransmissions"];
    sweep(folder.path(), "lines", &[&more[..], &measures].concat());
    let report = text(folder.path(), "lines/report.html");
    for part in ["<h2>run.goodput</h2>", "<h2>run.retransmissions</h2>", "95 % confidence"] {
        assert!(report.contains(part), "{part}");
    }
    assert!(!report.contains("src=\"http"), "it works offline");
}

#[test]
fn a_real_difference_shows_and_noise_is_quiet() {
    let folder = folder();
    let seeds = |out: &str, range: &str, more: &[&str]| {
        sweep(folder.path(), out, &[&["--seeds", range, "--quiet"], more].concat());
    };
    seeds("full", "1..6", &[]);
    seeds("half", "1..6", &["--set", "emulator.wan.buffer=16KiB"]);
    // The same network under another title, with other seeds.
    let other = SCENARIO.replace("Two flows", "The same two flows");
    std::fs::write(folder.path().join("two.toml"), other).expect("the scenario");
    seeds("other", "7..12", &[]);

    let compare = |more: &[&str]| {
        let output = suimon(folder.path(), &[&["compare"], more].concat());
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        output
    };
    let document = json(&compare(&["full", "half", "--json"]));
    let rows = document["quantities"].as_array().expect("rows");
    let goodput = rows.iter().find(|row| row["path"] == "run.goodput").expect("it differs");
    let difference = &goodput["differences"][0];
    assert!(difference["high"].as_f64() < Some(0.0), "half the buffer carries less: {difference}");
    assert_eq!((&difference["noise"], &goodput["within"]), (&false.into(), &false.into()));

    let page = folder.path().join("page.html");
    let noise = compare(&["full", "other", "-o", "page.html"]);
    assert!(!stdout(&noise).contains("run.goodput"), "{}", stdout(&noise));
    assert!(stdout(&noise).contains("left out as noise"), "{}", stdout(&noise));
    assert!(std::fs::read_to_string(&page).expect("the page").contains("left out as noise"));
    let all = compare(&["full", "other", "--all", "-o", "page.html"]);
    let line = stdout(&all).lines().find(|line| line.starts_with("run.goodput"));
    assert!(line.is_some_and(|line| line.contains("±") && line.ends_with("noise")), "{line:?}");
    assert!(std::fs::read_to_string(&page).expect("the page").contains("<svg"));
}

#[test]
fn a_sweep_is_compared_with_itself_point_by_point() {
    let folder = folder();
    let more = ["--vary", "emulator.wan.buffer=16KiB,64KiB", "--seeds", "1..4"];
    sweep(folder.path(), "grid", &more);
    let document = json(&suimon(folder.path(), &["compare", "grid", "--json"]));
    let names: Vec<&Value> =
        document["groups"].as_array().expect("groups").iter().map(|group| &group["name"]).collect();
    let wanted = ["emulator.wan.buffer=16KiB", "emulator.wan.buffer=64KiB"];
    assert_eq!(names, wanted);
    assert_eq!(document["groups"][0]["folders"].as_array().map(Vec::len), Some(4));
}

#[test]
fn papers_are_drawn_against_what_was_published() {
    let folder = folder();
    for (driver, measured) in [("simulate", 49.0), ("lab", 60.0)] {
        let item = serde_json::json!({
            "item": "T3", "case": "512 KiB", "quantity": "bandwidth", "unit": "MB/s",
            "published": 50.0, "measured": measured, "low": 45.0, "high": 55.0, "ok": measured < 55.0,
        });
        let document = serde_json::json!({ "paper": "p0", "driver": driver, "items": [item] });
        std::fs::create_dir(folder.path().join(driver)).expect("a folder");
        let path = folder.path().join(driver).join("paper.json");
        std::fs::write(path, document.to_string()).expect("a file");
    }
    let output = suimon(folder.path(), &["compare", "simulate", "lab", "-o", "page.html"]);
    assert_eq!(code(&output), 1, "the lab lies beyond: {}", stderr(&output));
    let page = text(folder.path(), "page.html");
    assert_eq!(page.matches("<svg").count(), 2, "a bar for each driver");
    assert!(page.contains("✗ fails") && page.contains("−20 % .. +20 %"), "{page}");
    let one = suimon(folder.path(), &["compare", "lab"]);
    assert_eq!(code(&one), 2);
    assert!(stderr(&one).contains("name another folder"), "{}", stderr(&one));
}

#[test]
fn a_pipe_with_the_name_of_its_table_does_not_stop_a_sweep() {
    let folder = folder();
    std::fs::create_dir(folder.path().join("out")).expect("a folder");
    let pipe = folder.path().join("out/sweep.json");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo").success());
    let output = suimon(folder.path(), &["sweep", "two.toml", "-o", "out", "--seeds", "1..2"]);
    assert_eq!(code(&output), 2, "{}", stderr(&output));
    assert!(stderr(&output).contains("set --out to an empty folder"), "{}", stderr(&output));
}
