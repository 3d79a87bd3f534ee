//! `suimon demo`: the table of a run, a picture, two lines of words, and the report.

use std::path::Path;
use std::process::{Command, Output};

use crate::typed::{SUIMON, code, stderr, stdout};

fn demo(folder: &Path, locale: &str) -> Output {
    let mut command = Command::new(SUIMON);
    command.args(["demo", "--out", "demo"]).current_dir(folder).env("LC_ALL", locale);
    command.output().expect("it starts")
}

#[test]
fn the_demo_is_what_the_readme_shows() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = demo(folder.path(), "C.UTF-8");
    assert_eq!((code(&output), stderr(&output)), (0, ""));
    let text = stdout(&output);
    assert!(!text.contains('\x1b'), "{text}");
    assert!(text.ends_with("report: demo/report.html\n"), "{text}");
    assert!(folder.path().join("demo/report.html").is_file());

    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../README.md");
    let readme = std::fs::read_to_string(readme).expect("the README");
    let shown = readme.split_once("$ make demo\n").and_then(|(_, rest)| rest.split_once("```"));
    let shown = shown.map(|(shown, _)| shown).expect("what `make demo` prints");
    // The README leaves out the lines between table and verdict.
    let text = text.replace("demo/report", "runs/demo/report");
    let missing = shown.lines().find(|line| *line != "…" && !text.lines().any(|it| it == *line));
    assert_eq!(missing, None, "README.md, Set-up");
    assert!(shown.lines().count() > 8, "{shown}");
}

#[test]
fn without_unicode_it_is_plain_ascii() {
    let folder = tempfile::tempdir().expect("a folder");
    let output = demo(folder.path(), "C");
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.is_ascii(), "{text}");
    assert!(text.contains("stock |") && text.contains("paced |"), "{text}");
}
