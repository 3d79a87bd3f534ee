//! The cases of a run folder: refused, in use, damaged, full.

mod typed;

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

use mpi_trace::{Call, Operation, Trace};
use serde_json::Value;
use tempfile::TempDir;
use testbed::eventually;
use typed::{SUIMON, code, json, stderr, stdout};

/// One flow with every series, for 2 s.
const SCENARIO: &str = r#"
duration = "2 s"

[host.a]
[host.b]

[link.wire]
between = ["a", "b"]
rate = "100 Mbit/s"
delay = "5 ms"

[flow.bulk]
from = "a"
to = "b"

[probe.bandwidth.wire]
at = "a:wire"
bin = "1 ms"

[probe.sequence.bulk]
at = "a:wire"
flow = "bulk"
"#;

fn folder() -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("one.toml"), SCENARIO).expect("the scenario");
    folder
}

fn suimon(folder: &Path, words: &[&str]) -> Command {
    let mut command = Command::new(SUIMON);
    command.args(words).current_dir(folder).stdin(Stdio::null());
    command
}

fn output(folder: &Path, words: &[&str]) -> Output {
    suimon(folder, words).output().expect("it starts")
}

fn succeeds(folder: &Path, words: &[&str]) -> Output {
    let output = output(folder, words);
    assert_eq!(code(&output), 0, "{words:?}: {}", stderr(&output));
    output
}

/// Every file below `folder` with its bytes.
fn content(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let (name, path) = (entry.file_name().to_string_lossy().into_owned(), entry.path());
        if path.is_dir() {
            all.extend(content(&path).into_iter().map(|(n, bytes)| (format!("{name}/{n}"), bytes)));
        } else if path.is_file() {
            all.push((name, fs::read(path).expect("readable")));
        }
    }
    all.sort();
    all
}

fn names(folder: &Path) -> Vec<String> {
    content(folder).into_iter().map(|(name, _)| name).collect()
}

/// A run that lasts until it is ended.
struct Endless(Child);

impl Endless {
    fn start(folder: &Path, words: &[&str]) -> Self {
        let words = [words, &["--set", "duration=500 h", "--quiet"]].concat();
        let child = suimon(folder, &words).stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        Self(child.expect("it starts"))
    }
}

impl Drop for Endless {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn a_refused_run_leaves_earlier_results_as_they_were() {
    let folder = folder();
    let kernel = SCENARIO.replace("to = \"b\"", "to = \"b\"\ncongestion = \"kernel:bbr\"");
    fs::write(folder.path().join("kernel.toml"), kernel).expect("written");
    fs::write(folder.path().join("wrong.toml"), "duration = \"1 s\"\n[host.a]\nx = 1\n")
        .expect("written");
    let x = folder.path().join("x");
    succeeds(folder.path(), &["run", "one.toml", "--out", "x"]);
    let before = content(&x);
    for refused in [
        &["run", "wrong.toml"][..],
        &["run", "one.toml", "--set", "expect.flow.bulk.godput.min=1"],
        &["run", "one.toml", "--seeds", "1..2"],
        &["paper", "p0"],
    ] {
        let output = output(folder.path(), &[refused, &["--out", "x"]].concat());
        assert_eq!(code(&output), 2, "{refused:?}: {}", stderr(&output));
        assert!(content(&x) == before, "{refused:?} changed it: {:?}", names(&x));
    }
    // Whatever becomes of it, it does not take the place of what was measured.
    let output = output(folder.path(), &["run", "kernel.toml", "--out", "x"]);
    assert!(content(&x) == before || code(&output) == 0, "{:?}", names(&x));
}

#[test]
fn a_refused_run_leaves_no_folder() {
    let folder = folder();
    let before = names(folder.path());
    let words = ["run", "one.toml", "--set", "expect.flow.bulk.godput.min=1", "--out", "x"];
    assert_eq!(code(&output(folder.path(), &words)), 2);
    assert_eq!(names(folder.path()), before);
    assert!(!folder.path().join("x").exists());
}

#[test]
fn a_second_run_into_a_folder_names_the_first() {
    let folder = folder();
    succeeds(folder.path(), &["run", "one.toml", "--out", "x"]);
    let before = content(&folder.path().join("x"));
    for words in [
        &["run", "one.toml", "--out", "x"][..],
        &["sweep", "one.toml", "--seeds", "1..2", "--out", "s"],
    ] {
        let endless = Endless::start(folder.path(), words);
        let lock = folder.path().join(words[words.len() - 1]).join("run.lock");
        eventually("it has the folder", || {
            fs::read_to_string(&lock).is_ok_and(|text| text.contains("process"))
        });
        let second = output(folder.path(), words);
        let said = stderr(&second);
        assert_eq!((code(&second), stdout(&second)), (3, ""), "{said}");
        let process = format!("(process {}, started ", endless.0.id());
        for part in ["is in use by", words[1], &process, " ago)", "--out"] {
            assert!(said.contains(part), "{part}: {said}");
        }
        drop(endless);
        // Killed, it has it no more.
        succeeds(folder.path(), words);
        assert!(!lock.exists());
    }
    let after = content(&folder.path().join("x"));
    let but_manifest = |all: &[(String, Vec<u8>)]| {
        all.iter().filter(|(name, _)| name != "manifest.json").cloned().collect::<Vec<_>>()
    };
    assert!(but_manifest(&after) == but_manifest(&before), "the same run has the same bytes");
}

#[test]
fn a_symlink_in_a_run_folder_is_never_written_through() {
    let folder = folder();
    let precious = folder.path().join("precious");
    fs::write(&precious, "years of work").expect("written");
    let run = folder.path().join("runs/one-1");
    fs::create_dir_all(&run).expect("made");
    for name in ["manifest.json.partial", "run.lock", "summary.json", "report.html.partial"] {
        std::os::unix::fs::symlink("../../precious", run.join(name)).expect("a symlink");
        let output = output(folder.path(), &["run", "one.toml"]);
        assert_ne!(code(&output), 0, "it is no run's folder: {name}");
        assert_eq!(fs::read_to_string(&precious).expect("there"), "years of work", "{name}");
        fs::remove_file(run.join(name)).expect("removed");
    }
    succeeds(folder.path(), &["sweep", "one.toml", "--seeds", "1..2", "--out", "s"]);
    for name in ["sweep.json.partial", "sweep.parquet", "report.html", "report.html.partial"] {
        let _ = fs::remove_file(folder.path().join("s").join(name));
        std::os::unix::fs::symlink("../precious", folder.path().join("s").join(name))
            .expect("a symlink");
    }
    succeeds(folder.path(), &["sweep", "one.toml", "--seeds", "1..2", "--out", "s"]);
    assert_eq!(fs::read_to_string(&precious).expect("there"), "years of work");
}

#[test]
fn a_resumed_sweep_runs_a_point_again_whose_table_is_truncated() {
    let folder = folder();
    let sweep = ["sweep", "one.toml", "--seeds", "1..3", "--out", "s"];
    succeeds(folder.path(), &sweep);
    let table = folder.path().join("s/2-seed-2/links.parquet");
    let whole = fs::read(&table).expect("a table");
    for damaged in [&whole[..whole.len() / 2], &[], &vec![0; whole.len()][..]] {
        fs::write(&table, damaged).expect("written");
        let again = succeeds(folder.path(), &sweep);
        assert!(stderr(&again).contains("already done: 2 of 3"), "{}", stderr(&again));
        assert!(fs::read(&table).expect("a table") == whole, "the table is whole again");
    }
}

/// Runs `script` as root of a new namespace, with a small file system at `disk`; none if this machine permits
/// no such namespace.
fn on_a_small_disk(test: &str, folder: &Path, kilobytes: u32, script: &str) -> Option<Output> {
    let mounted = format!("mkdir disk && mount -t tmpfs -o size={kilobytes}k none disk && ");
    let unshare = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script]);
        command.current_dir(folder).env("NO_COLOR", "1").output().ok()
    };
    let tried = unshare(&format!("{mounted}true"));
    let _ = fs::remove_dir(folder.join("disk"));
    if tried.is_none_or(|output| !output.status.success()) {
        testbed::skip(test, "it needs a namespace of its own (unshare), with a file system in it");
        return None;
    }
    unshare(&format!("{mounted}{script}"))
}

#[test]
fn what_was_measured_before_the_disk_was_full_is_kept_and_reported() {
    let folder = folder();
    let capture = format!("{SCENARIO}\n[probe.capture.wire]\nat = \"a:wire\"\n");
    fs::write(folder.path().join("full.toml"), capture).expect("written");
    let script = format!(
        "'{SUIMON}' run full.toml --set duration=500h --json --out disk/x > told; code=$?; \
         find disk -type f -size 0 > empty; cp -r disk/x kept; exit $code"
    );
    let Some(output) = on_a_small_disk("a full disk", folder.path(), 8 << 10, &script) else {
        return;
    };
    let said = stderr(&output);
    assert_eq!(code(&output), 3, "{said}");
    assert!(said.contains("the disk is full") && said.contains("free space there"), "{said}");
    assert_eq!(fs::read_to_string(folder.path().join("empty")).expect("a list"), "");
    let read = |name: &str| -> Value {
        serde_json::from_slice(&fs::read(folder.path().join(name)).expect(name)).expect("JSON")
    };
    let (manifest, summary) = (read("kept/manifest.json"), read("kept/summary.json"));
    assert_eq!((&manifest["complete"], &manifest["disk_full"]), (&false.into(), &true.into()));
    assert_eq!(summary["run"]["complete"], false);
    assert!(summary["run"]["seconds"].as_f64() > Some(1.0), "{}", summary["run"]);
    let report = fs::read_to_string(folder.path().join("kept/report.html")).expect("a report");
    assert!(report.contains("Incomplete: "));
    let top = succeeds(folder.path(), &["top", "kept", "--once", "--json"]);
    assert!(json(&top)["seconds"].as_f64() > Some(1.0), "the tables can be read");
    let capture = fs::metadata(folder.path().join("kept/capture.pcapng")).expect("a capture");
    assert!(capture.len() > 1 << 20, "{} bytes", capture.len());
}

#[test]
fn a_disk_that_is_full_from_the_start_is_reported_and_left_unchanged() {
    let folder = folder();
    let script = format!(
        "dd if=/dev/zero of=disk/fill bs=1k 2> /dev/null; '{SUIMON}' run one.toml --out disk/x; code=$?; \
         ls disk > left; exit $code"
    );
    let Some(output) =
        on_a_small_disk("a disk full from the start", folder.path(), 1 << 10, &script)
    else {
        return;
    };
    assert_eq!(code(&output), 3, "{}", stderr(&output));
    assert!(stderr(&output).contains("the disk is full"), "{}", stderr(&output));
    assert_eq!(fs::read_to_string(folder.path().join("left")).expect("a list"), "fill\n");
}

/// Two ranks of a recorded program.
const RANKS: &str = r#"
duration = "1 s"

[host.node]
count = 2

[link.wire]
between = ["node.1", "node.2"]
rate = "1 Gbit/s"
delay = "10 ms"

[flow.job]
from = "node"
to = "node"
mpi = { trace = "mpi file:of/ring.parquet" }
"#;

/// A trace in which one rank computes for 2 ms and sends, and both agree on a sum.
fn trace() -> Vec<u8> {
    let call = |operation, peer, bytes, computing| Call {
        operation,
        peer,
        bytes,
        tag: 7,
        communicator: 0,
        start: 0,
        end: 0,
        computing,
        requests: [].into(),
        counts: [].into(),
    };
    let end = || [call(Operation::Allreduce, None, 8, 0), call(Operation::Finalize, None, 0, 500)];
    let sender = [call(Operation::Send, Some(1), 1_000, 2_000_000)].into_iter().chain(end());
    let receiver = [call(Operation::Recv, Some(0), 1_000, 0)].into_iter().chain(end());
    let trace = Trace {
        program: "ring".into(),
        library: "Open MPI".into(),
        library_version: "4".into(),
        communicators: vec![vec![0, 1]],
        ranks: vec![sender.collect(), receiver.collect()],
    };
    let mut file = Vec::new();
    trace.write(&mut file).expect("memory takes it");
    file
}

/// The folder of a run has all that its report needs, the trace of an MPI program included.
#[test]
fn a_report_of_a_trace_is_rendered_again_to_the_same_bytes() {
    let folder = folder();
    let of = folder.path().join("of");
    fs::create_dir(&of).expect("a folder");
    fs::write(of.join("ring.parquet"), trace()).expect("the trace");
    fs::write(folder.path().join("ranks.toml"), RANKS).expect("the scenario");
    succeeds(folder.path(), &["run", "ranks.toml", "--out", "r"]);
    let run = folder.path().join("r");
    let (before, report) = (content(&run), run.join("report.html"));
    let page = fs::read_to_string(&report).expect("a report");
    assert!(page.contains("What ranks waited for"), "the timeline of the ranks is missing");
    fs::remove_dir_all(&of).expect("removed");
    fs::write(&report, "something shorter").expect("written");
    succeeds(folder.path(), &["report", "r"]);
    assert!(content(&run) == before, "{:?}", names(&run));
}

/// Nodes, links and flows whose order is not that of their names, and more members of a flow than nine.
const UNSORTED: &str = r#"
duration = "1 s"
[host.b]
[host.a]
[router.r]
[link.z]
between = ["b", "r"]
rate = "100 Mbit/s"
[link.y]
between = ["r", "a"]
rate = "50 Mbit/s"
[flow.n]
from = "b"
to = "a"
[flow.m]
from = "b"
to = "a"
count = 11
"#;

#[test]
fn a_report_has_flows_in_the_order_of_the_plan_when_it_is_rendered_again() {
    let folder = folder();
    fs::write(folder.path().join("unsorted.toml"), UNSORTED).expect("the scenario");
    succeeds(folder.path(), &["run", "unsorted.toml", "--out", "r"]);
    let before = content(&folder.path().join("r"));
    succeeds(folder.path(), &["report", "r"]);
    let after = content(&folder.path().join("r"));
    assert!(after == before, "{:?}", names(&folder.path().join("r")));
}

#[test]
fn a_report_is_rendered_again_to_the_same_bytes() {
    let folder = folder();
    let sweep = [
        "sweep",
        "one.toml",
        "--seeds",
        "1..2",
        "--set",
        "expect.flow.bulk.goodput.min=1MB/s",
        "--out",
        "s",
    ];
    succeeds(folder.path(), &sweep);
    let run = folder.path().join("s/2-seed-2");
    // A run of a sweep has no report until one is asked for.
    succeeds(folder.path(), &["report", "s/2-seed-2"]);
    let before = content(&run);
    fs::write(run.join("report.html"), "something shorter").expect("written");
    succeeds(folder.path(), &["report", "s/2-seed-2"]);
    assert!(content(&run) == before, "{:?}", names(&run));
    let again = succeeds(folder.path(), &sweep);
    assert!(stderr(&again).contains("already done: 2 of 2"), "{}", stderr(&again));
    for (wrong, part) in [("s", "holds a sweep"), ("nowhere", "not the folder of a finished run")] {
        let output = output(folder.path(), &["report", wrong]);
        assert_eq!(code(&output), 2);
        assert!(stderr(&output).contains(part), "{}", stderr(&output));
    }
}
