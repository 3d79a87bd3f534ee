//! The run folder and its report.

use crate::scene;
use std::path::Path;

use record::manifest::Environment;
use record::summary::Summary;
use record::{
    Cost, Ending, Error, HostStalls, LabPort, LabReport, Lateness, Manifest, Recorder, RunFolder,
    StoredRun, Totals, Verdict, judge,
};
use report::RunReport;
use report::run::Lab;
use scenario::plan::Expectation;

fn manifest() -> Manifest {
    let words = ["suimon", "run", "two bursts.toml", "--seed", "7"].map(String::from).to_vec();
    Manifest {
        run: String::new(),
        build: String::new(),
        driver: "simulate".into(),
        seed: 7,
        command: words.clone(),
        arguments: words,
        left_out: vec!["flow `ping` runs a program".into()],
        guest_notes: vec!["a guest had too little memory".into()],
        guest_kernel: None,
        lab: None,
        disk_full: false,
    }
}

fn verdicts(summary: &Summary) -> Vec<Verdict> {
    let path = "flow.solo.goodput".into();
    let asked = [Expectation { path, low: Some(1e6), high: None }];
    judge(&asked, summary).unwrap()
}

fn run(path: &Path, totals: &Totals, cost: Cost) -> String {
    run_with(path, totals, cost, None)
}

fn run_with(path: &Path, totals: &Totals, cost: Cost, lab: Option<LabReport>) -> String {
    let plan = scene::plan();
    let mut folder = RunFolder::create(path, manifest(), "# the scenario\n").unwrap();
    let mut recorder = Recorder::in_folder(&plan, folder.files()).unwrap();
    scene::drive(&mut recorder);
    let recording = recorder.finish(totals).unwrap();
    let summary = Summary::new(&plan, totals);
    let environment = Environment { kernel: "6.1.0-test".into(), ..Environment::default() };
    let report = RunReport {
        plan: &plan,
        summary: &summary,
        verdicts: &verdicts(&summary),
        recording: Some(&recording),
        command: &folder.manifest().command,
        left_out: &folder.manifest().left_out,
        guest_notes: &folder.manifest().guest_notes,
        lab: lab.as_ref().map(|report| Lab { report, environment: &environment, cost }),
    };
    let report = report.to_html().unwrap();
    if let Some(lab) = lab {
        folder.set_lab(lab);
    }
    folder.finish(&summary, Some(&report), totals.ending, cost).unwrap();
    report
}

fn json(path: &Path) -> serde_json::Value {
    serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn names(folder: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(folder).unwrap();
    let mut names: Vec<_> =
        entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn a_complete_run_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    run(&path, &scene::totals(), Cost { cpu_seconds: 1.5, ..Cost::default() });
    let manifest = json(&path.join("manifest.json"));
    assert_eq!(manifest["complete"], true);
    assert_eq!(manifest["simulated_seconds"], 0.01);
    assert_eq!(manifest["engine"]["cpu_seconds"], 1.5);
    assert_eq!(manifest["seed"], 7);
    assert_eq!(json(&path.join("summary.json"))["flow"]["solo"]["bytes"], 200_000);
    let all = [
        "capture.pcapng",
        "flows.parquet",
        "links.parquet",
        "manifest.json",
        "queues.parquet",
        "report.html",
        "scenario.lock.toml",
        "sequences.parquet",
        "summary.json",
    ];
    assert_eq!(names(&path), all);
    let page = std::fs::read_to_string(path.join("report.html")).unwrap();
    assert!(page.contains("a guest had too little memory"));
}

#[test]
fn a_run_that_did_not_keep_up_says_so_first() {
    let folder = tempfile::tempdir().unwrap();
    let port = LabPort { port: "sender:access".into(), kind: "AF_XDP".into() };
    let lab = LabReport {
        kept_up: false,
        lateness: Lateness { p50_ns: 900, p99_ns: 2_000_000, max_ns: 7_000_000 },
        host_stalls: Some(HostStalls { longest_ns: 20_000_000, sum_ns: 300_000_000 }),
        spoiled: Vec::new(),
        missed_frames: 3,
        ports: vec![port],
        kernel_congestion: vec!["bbr".into()],
        substitutions: vec!["programs in hosts use `reno`".into()],
        notes: vec!["no TBF".into()],
        failed_programs: vec!["`ping b` ended with exit status: 2".into()],
    };
    let report = run_with(folder.path(), &scene::totals(), Cost::default(), Some(lab.clone()));
    let banner = report.find("class=\"banner").map(|at| &report[at..]).unwrap_or_default();
    let first =
        "banner bad\">The machine did not keep up (packets late by 900 ns (p50), 2 ms (p99)";
    assert!(banner.starts_with(&format!("class=\"{first}")), "{banner}");
    for words in [
        "on real packets",
        "Warning: programs in hosts use",
        "AF_XDP",
        "bbr",
        "no TBF",
        "A program failed: `ping b` ended",
        "6.1.0-test",
    ] {
        assert!(report.contains(words), "{words} is missing");
    }
    assert!(!report.contains("The same seed gives the same bytes"));
    assert_eq!(json(&folder.path().join("manifest.json"))["lab"]["lateness"]["p99_ns"], 2_000_000);
    assert_eq!(StoredRun::read(folder.path()).unwrap().lab, Some(lab));
}

#[test]
fn a_run_reads_back() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), &scene::totals(), Cost::default());
    let stored = StoredRun::read(folder.path()).unwrap();
    assert_eq!((stored.driver.as_str(), stored.complete), ("simulate", true));
    assert_eq!(stored.scenario, "# the scenario\n");
    assert_eq!(stored.quantities(), Summary::new(&scene::plan(), &scene::totals()).quantities());
    std::fs::remove_file(folder.path().join("summary.json")).unwrap();
    let lost = StoredRun::read(folder.path()).unwrap_err().to_string();
    assert!(
        lost.ends_with("is not the folder of a finished run: it has no summary.json"),
        "{lost}"
    );
}

#[test]
fn an_interrupted_run_stays_readable_and_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let mut totals = scene::totals();
    totals.ending = Ending { at: scene::at_us(4_000), complete: false };
    let report = run(folder.path(), &totals, Cost::default());
    assert_eq!(json(&folder.path().join("manifest.json"))["complete"], false);
    assert_eq!(json(&folder.path().join("manifest.json"))["simulated_seconds"], 0.004);
    assert_eq!(json(&folder.path().join("summary.json"))["run"]["complete"], false);
    assert!(report.contains("Incomplete: interrupted after 4 ms of 10 ms."));
}

/// Every file of a folder, with its bytes.
fn content(folder: &Path) -> Vec<(String, Vec<u8>)> {
    let files = names(folder).into_iter().filter(|name| folder.join(name).is_file());
    files.map(|name| (name.clone(), std::fs::read(folder.join(name)).unwrap())).collect()
}

/// A run into `path` that never completes; the caller may drop it or not.
fn begin(path: &Path) -> (RunFolder, Recorder) {
    let next = RunFolder::create(path, manifest(), "# another scenario\n").unwrap();
    let mut recorder = Recorder::in_folder(&scene::plan(), next.files()).unwrap();
    scene::drive(&mut recorder);
    (next, recorder)
}

#[test]
fn a_run_that_does_not_come_to_its_end_leaves_what_was_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("run");
    drop(begin(&path));
    assert!(!path.exists(), "a folder that was made for nothing goes");
    run(&path, &scene::totals(), Cost::default());
    let before = content(&path);
    let next = begin(&path);
    let mut during = content(&path);
    during.retain(|(name, _)| name != "run.lock");
    assert!(during == before, "untouched while it goes on");
    drop(next);
    assert!(content(&path) == before, "untouched by one that is refused");
    assert_eq!(names(&path).len(), before.len(), "{:?}", names(&path));
}

#[test]
fn a_killed_run_leaves_nothing_that_looks_complete() {
    let folder = tempfile::tempdir().unwrap();
    // As after SIGKILL: what a killed run has begun stays.
    let (next, recorder) = begin(&folder.path().join("killed"));
    let remains = next.files().path().to_owned();
    std::fs::create_dir_all(folder.path().join("run")).unwrap();
    std::fs::rename(remains, folder.path().join("run/run.partial")).unwrap();
    drop((recorder, next));
    let path = folder.path().join("run");
    assert_eq!(names(&path), ["run.partial"]);
    let read = StoredRun::read(&path).unwrap_err().to_string();
    assert!(read.contains("not the folder of a finished run"), "{read}");
    run(&path, &scene::totals(), Cost::default());
    assert!(!path.join("run.partial").exists(), "the next run clears it away");
}

#[test]
fn nothing_of_an_earlier_run_stays_beside_a_later_one() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), &scene::totals(), Cost::default());
    let totals = scene::totals();
    let plan = scene::plan();
    let summary = Summary::new(&plan, &totals);
    let programs = folder.path().join("programs");
    std::fs::create_dir(&programs).unwrap();
    std::fs::write(programs.join("old.log"), "old").unwrap();
    std::fs::write(folder.path().join("notes.txt"), "mine").unwrap();
    // A run without probes has no tables.
    let next = RunFolder::create(folder.path(), manifest(), "").unwrap();
    let printed = next.files().path().join("programs");
    std::fs::create_dir(&printed).unwrap();
    std::fs::write(printed.join("new.log"), "new").unwrap();
    next.finish(&summary, Some("<html>"), totals.ending, Cost::default()).unwrap();
    let left = [
        "manifest.json",
        "notes.txt",
        "programs",
        "report.html",
        "scenario.lock.toml",
        "summary.json",
    ];
    assert_eq!(names(folder.path()), left);
    assert_eq!(names(&programs), ["new.log"]);
    assert!(StoredRun::read(folder.path()).unwrap().is_whole());
}

#[test]
fn no_file_is_written_through_a_symlink() {
    let folder = tempfile::tempdir().unwrap();
    let precious = folder.path().join("precious");
    std::fs::write(&precious, "years of work").unwrap();
    let path = folder.path().join("run");
    run(&path, &scene::totals(), Cost::default());
    for name in names(&path) {
        for name in [format!("{name}.partial"), name] {
            let _ = std::fs::remove_file(path.join(&name));
            // The manifest itself must be one for the folder to be a run's.
            if name != "manifest.json" {
                std::os::unix::fs::symlink(&precious, path.join(&name)).unwrap();
            }
        }
    }
    std::fs::write(path.join("manifest.json"), MANIFEST).unwrap();
    let outside = folder.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("kept.log"), "years of work").unwrap();
    for name in ["run.partial", "programs"] {
        std::os::unix::fs::symlink(&outside, path.join(name)).unwrap();
    }
    run(&path, &scene::totals(), Cost::default());
    assert_eq!(std::fs::read_to_string(&precious).unwrap(), "years of work");
    assert_eq!(names(&outside), ["kept.log"]);
    assert!(StoredRun::read(&path).unwrap().is_whole());
    assert!(
        names(&path)
            .iter()
            .filter(|name| *name != "programs")
            .all(|name| { std::fs::symlink_metadata(path.join(name)).unwrap().is_file() })
    );
    record::folder::write(&path.join("page.html"), "a").unwrap();
    std::fs::remove_file(path.join("page.html")).unwrap();
    std::os::unix::fs::symlink(&precious, path.join("page.html")).unwrap();
    record::folder::write(&path.join("page.html"), "b").unwrap();
    assert_eq!(std::fs::read_to_string(&precious).unwrap(), "years of work");
}

/// The minimum that makes a folder a run's.
const MANIFEST: &str =
    r#"{"suimon": "0.1.0", "schema": 1, "driver": "simulate", "command": [], "complete": true}"#;

#[test]
fn a_truncated_or_damaged_file_is_seen() {
    let folder = tempfile::tempdir().unwrap();
    run(folder.path(), &scene::totals(), Cost::default());
    let whole = || StoredRun::read(folder.path()).unwrap().is_whole();
    assert!(whole());
    let path = folder.path().join("flows.parquet");
    let bytes = std::fs::read(&path).unwrap();
    for damaged in [&bytes[..bytes.len() / 2], &[], &vec![0; bytes.len()][..]] {
        std::fs::write(&path, damaged).unwrap();
        assert!(!whole(), "{} bytes", damaged.len());
    }
    std::fs::remove_file(&path).unwrap();
    assert!(!whole());
    std::fs::write(&path, bytes).unwrap();
    assert!(whole());
}

#[test]
fn others_files_are_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("thesis.tex"), "years of work").unwrap();
    let refused = RunFolder::create(folder.path(), manifest(), "").unwrap_err();
    assert!(matches!(refused, Error::Foreign { .. }), "{refused}");
    assert_eq!(names(folder.path()), ["thesis.tex"]);
    // Nor does another program's manifest make the folder ours.
    std::fs::write(folder.path().join("manifest.json"), "{\"name\": \"extension\"}").unwrap();
    let refused = RunFolder::create(folder.path(), manifest(), "").unwrap_err();
    assert!(matches!(refused, Error::Foreign { .. }), "{refused}");
}

#[test]
fn the_report_is_one_file_with_the_summarys_numbers() {
    let folder = tempfile::tempdir().unwrap();
    let report = run(folder.path(), &scene::totals(), Cost::default());
    assert!(report.contains("Two bursts &amp; a &lt;long&gt; pipe"));
    assert!(report.contains("suimon run 'two bursts.toml' --seed 7 --out <span"));
    for number in [
        "240 Mbit/s",
        "80 Mbit/s",
        "160 Mbit/s",
        "0.3 MB",
        "205 ms",
        "queue_bytes 5",
        "61.3 %",
        "95.94 %",
    ] {
        assert!(report.contains(number), "{number} is missing");
    }
    assert!(report.contains("The expectation holds."));
    let figures = report.matches("<figure class=\"chart\">").count();
    assert_eq!(figures, 7, "a chart of each other kind");
    assert_eq!(report.matches("<svg xmlns").count(), figures + 1, "as SVG, and the topology");
    let (body, scripts) = report.split_once("<script").unwrap();
    // Nothing is fetched: no link, script, image or style from elsewhere.
    let foreign = body.replace("http://www.w3.org/2000/svg", "");
    for outside in ["http:", "https:", "src=", "href=", "<link", "@import", "url("] {
        assert!(!foreign.contains(outside), "{outside} reaches out");
    }
    assert!(!scripts.contains("<script src") && !scripts.contains("import("));
    assert!(!body.contains("NaN") && !body.contains("inf"), "every coordinate is a number");
    let order =
        ["At a glance", "Expectations", "Over time", "Topology", "Run it again", "Environment"];
    let places = order.map(|heading| body.find(&format!("<h2>{heading}</h2>")).unwrap());
    assert!(places.is_sorted(), "{places:?}");
}

#[test]
fn cost_changes_the_manifest_alone() {
    let folders = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    for (folder, cpu_seconds) in folders.iter().zip([1.0, 2.0]) {
        run(folder.path(), &scene::totals(), Cost { cpu_seconds, ..Cost::default() });
    }
    for name in names(folders[0].path()) {
        let [a, b] = [0, 1].map(|place| std::fs::read(folders[place].path().join(&name)).unwrap());
        assert_eq!(a == b, name != "manifest.json", "{name}");
    }
}
