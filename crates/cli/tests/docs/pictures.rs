//! How each kind of report looks, for the pages.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::browser::{Browser, CHROMIUM, Window};
use crate::needs::{lacks, say};
use crate::pages::repository;

/// A picture of this size with nothing on it takes a tenth of this.
const LEAST_BYTES: u64 = 30_000;

/// Runs a command that leaves a report, and looks at it.
fn picture(name: &str, arguments: &[&str]) {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join(name);
    let mut command = Command::new(env!("CARGO_BIN_EXE_suimon"));
    command.current_dir(repository()).args(arguments).arg("--quiet").arg("--out").arg(&out);
    let output = command.output().expect("the program starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let updated = std::env::var_os("UPDATE_DOCS").is_some();
    let images = if updated { repository().join("docs/images") } else { folder.path().to_owned() };
    let picture: PathBuf = images.join(format!("report-{name}.png"));
    let window = Window { width: 1100, height: 1300, dark: false };
    Browser::new().screenshot(&out.join("report.html"), window, &picture);
    assert!(bytes(&picture) > LEAST_BYTES, "{name}: the page is blank");
}

fn bytes(file: &Path) -> u64 {
    std::fs::metadata(file).expect("a picture").len()
}

fn lacks_browser(test: &str) -> bool {
    let places = std::env::var_os("PATH").unwrap_or_default();
    let found = std::env::split_paths(&places).any(|place| place.join(CHROMIUM).is_file());
    if !found {
        say(&format!("skipped: {test} needs {CHROMIUM}"));
    }
    !found
}

#[test]
fn a_runs_report() {
    if !lacks_browser("the picture of a run's report") {
        let scenario = "scenarios/two-bottlenecks.toml";
        picture("run", &["run", scenario, "--set", "duration=10s", "--set", "expect={}"]);
    }
}

#[test]
fn a_lab_runs_report() {
    const TEST: &str = "the picture of a lab run's report";
    if !lacks_browser(TEST) && !lacks(TEST, &["ip"]) {
        let scenario = "scenarios/disciplines/cbq.toml";
        let short = ["--set", "duration=3s", "--set", "expect={}"];
        picture("lab", &[&["run", scenario, "--on", "lab", "--sleep"], &short[..]].concat());
    }
}
