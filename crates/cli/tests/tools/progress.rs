//! The progress bar: on a terminal it shows the remaining time, elsewhere it is not drawn.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::typed::{SUIMON, code, json, stderr, stdout};
use tempfile::TempDir;

/// Longer than the second after which work has a bar.
const SCENARIO: &str = r#"
title = "A run of some seconds"
duration = "DURATION"

[host.a]
[host.b]

[link.wire]
between = ["a", "b"]
rate = "10 Gbit/s"
delay = "1 ms"

[flow.bulk]
from = "a"
to = "b"
"#;

fn folder(duration: &str) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let text = SCENARIO.replace("DURATION", duration);
    fs::write(folder.path().join("long.toml"), text).expect("the scenario");
    folder
}

/// A scenario long enough to take this machine some seconds, by the program's own measurement.
fn some_seconds() -> TempDir {
    for seconds in [1, 4, 16, 64] {
        let folder = folder(&format!("{seconds} s"));
        let mut command = Command::new(SUIMON);
        command.args(["run", "long.toml", "--json"]).current_dir(&folder);
        let output = command.output().expect("it starts");
        assert_eq!(
            (code(&output), stderr(&output)),
            (0, ""),
            "nothing is drawn where nobody looks"
        );
        let took = json(&output)["engine"]["wall_seconds"].as_f64().expect("a time");
        if took > 2.5 {
            return folder;
        }
    }
    panic!("64 s of 10 Gbit/s in no time");
}

/// The output on a terminal of 100 columns.
fn on_a_terminal(folder: &Path, words: &str) -> Option<String> {
    // script(1) of util-linux: the command's streams are a terminal of its own.
    let line = format!("stty cols 100; '{SUIMON}' {words}");
    let mut command = Command::new("script");
    command.args(["--quiet", "--return", "--command", &line, "/dev/null"]);
    command.current_dir(folder).env("TERM", "xterm").stdin(Stdio::null());
    let output = match command.output() {
        Ok(output) if output.status.success() => output,
        other => {
            testbed::skip("a terminal", &format!("script(1): {other:?}"));
            return None;
        }
    };
    Some(stdout(&output).to_owned())
}

#[test]
fn a_terminal_shows_the_time_that_is_left() {
    let folder = some_seconds();
    let Some(seen) = on_a_terminal(folder.path(), "run long.toml") else { return };
    assert!(seen.contains("simulating") && seen.contains(" s left"), "{seen:?}");
    assert!(seen.contains('█') || seen.contains('#'), "a bar: {seen:?}");
    let Some(seen) = on_a_terminal(folder.path(), "run long.toml --quiet") else { return };
    assert!(!seen.contains("left"), "{seen:?}");
}
