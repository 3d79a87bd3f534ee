//! The program as typed: every verb, its output and its exit code.

mod check;
mod compare;
mod drivers;
mod export;
mod list;
mod paper;
mod run;
#[path = "../typed/mod.rs"]
mod typed;

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;
use typed::SUIMON;

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

fn read(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).expect("the file")).expect("JSON")
}
