//! How each kind of report looks, for the pages.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::browser::{Browser, CHROMIUM, Window};
use crate::pages::repository;
use testbed::lacks;

/// A picture of this size with nothing on it takes a tenth of this.
const LEAST_BYTES: u64 = 30_000;

/// Types a command in `folder`.
fn typed(folder: &Path, arguments: &[&str]) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_suimon"));
    let output = command.current_dir(folder).args(arguments).output();
    let output = output.expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// Runs a command that leaves a folder with a report, and looks at that.
fn picture(name: &str, height: u32, arguments: &[&str]) {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join(name);
    typed(&repository(), &[arguments, &["--quiet", "--out", &out.to_string_lossy()]].concat());
    look(name, height, &out.join("report.html"));
}

/// Takes the picture of a page that the docs show by this name.
fn look(name: &str, height: u32, page: &Path) {
    let folder = tempfile::tempdir().expect("a folder");
    let updated = std::env::var_os("UPDATE_DOCS").is_some();
    let images = if updated { repository().join("docs/images") } else { folder.path().to_owned() };
    let picture: PathBuf = images.join(format!("report-{name}.png"));
    let window = Window { width: 1100, height, dark: false };
    Browser::new().screenshot(page, window, &picture);
    assert!(bytes(&picture) > LEAST_BYTES, "{name}: the page is blank");
}

fn bytes(file: &Path) -> u64 {
    std::fs::metadata(file).expect("a picture").len()
}

fn lacks_browser(test: &str) -> bool {
    testbed::lacks_programs(test, &[CHROMIUM])
}

#[test]
fn a_runs_report() {
    if !lacks_browser("the picture of a run's report") {
        let scenario = "scenarios/two-bottlenecks.toml";
        picture("run", 1300, &["run", scenario, "--set", "duration=10s", "--set", "expect={}"]);
    }
}

#[test]
fn a_lab_runs_report() {
    const TEST: &str = "the picture of a lab run's report";
    if !lacks_browser(TEST) && !lacks(TEST, &["ip"]) {
        let scenario = "scenarios/disciplines/cbq.toml";
        let short = ["--set", "duration=3s", "--set", "expect={}"];
        picture("lab", 1300, &[&["run", scenario, "--on", "lab", "--sleep"], &short[..]].concat());
    }
}

#[test]
fn a_sweeps_report_and_that_of_its_comparison() {
    if lacks_browser("the pictures of a sweep's report and of a comparison's") {
        return;
    }
    let folder = tempfile::tempdir().expect("a folder");
    let [buffers, losses] = ["buffers", "losses"].map(|name| folder.path().join(name));
    let sweep = |grid: &[&str], out: &Path| {
        let scenario = ["sweep", "scenarios/long-fat-pipe.toml", "--set", "expect={}"];
        typed(
            &repository(),
            &[&scenario[..], grid, &["--quiet", "--out", &out.to_string_lossy()]].concat(),
        );
    };
    let unpaced = ["--set", "duration=10s", "--set", "link.access.at.sender.queue={ fifo = {} }"];
    let algorithms = ["--vary", "flow.bulk.cc=newreno,scalable,highspeed,bic,cubic"];
    let sizes = ["--vary", "emulator.wan.buffer=256KiB..16MiB/7log"];
    sweep(&[&unpaced[..], &algorithms, &sizes].concat(), &buffers);
    look("sweep", 1150, &buffers.join("report.html"));
    let lossy = ["--set", "duration=30s", "--set", "link.access.loss=0.005 %"];
    let seeds = ["--vary", "flow.bulk.cc=newreno,cubic", "--seeds", "1..6"];
    sweep(&[&lossy[..], &seeds].concat(), &losses);
    typed(folder.path(), &["compare", "losses", "-o", "compare.html"]);
    look("compare", 850, &folder.path().join("compare.html"));
}

#[test]
fn a_papers_report() {
    if !lacks_browser("the picture of a paper's report") {
        picture("paper", 1800, &["paper", "p1", "--only", "F8"]);
    }
}
