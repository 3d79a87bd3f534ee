//! Scenarios of two hosts and a bottleneck, and what comes of a run.

use std::fs;
use std::path::PathBuf;
use std::process::{Command, Output};

use serde_json::Value;
use tempfile::TempDir;

use crate::kernel;
use crate::typed::{SUIMON, code, json, stderr};

/// The setting for a host on the guest kernel.
pub(crate) const KERNEL: &str = "kernel = \"linux-6.12\"";

/// Hosts `a` and `b`, each with the line `host`, and a router between them; `bottleneck` is what the link from the
/// router to `b` is, and `flow` what the flow `f` from `a` to `b` is.
pub(crate) fn path(seconds: u64, host: &str, bottleneck: &str, flow: &str) -> String {
    format!(
        r#"
duration = "{seconds} s"
[host.a]
{host}
[host.b]
{host}
[router.r]
[link.access]
between = ["a", "r"]
rate = "1 Gbit/s"
[link.bottleneck]
between = ["r", "b"]
{bottleneck}
[flow.f]
from = "a"
to = "b"
{flow}
"#
    )
}

/// A folder for scenarios and their runs; `None`, and `test` is skipped, where no kernel is built.
pub(crate) fn ground(test: &str) -> Option<TempDir> {
    kernel(test, &["setarch"])?;
    Some(tempfile::tempdir().expect("a folder"))
}

/// Runs the scenario `text` into the folder `name`, with the additional arguments `words`.
pub(crate) fn run(ground: &TempDir, name: &str, text: &str, words: &[&str]) -> (Output, PathBuf) {
    let (file, out) = (ground.path().join("scenario.toml"), ground.path().join(name));
    let _ = fs::remove_dir_all(&out);
    fs::write(&file, text).expect("a file");
    let mut suimon = Command::new(SUIMON);
    suimon.args(["run", "--json", "-q", "-o"]).args([&out, &file]).args(words);
    (suimon.output().expect("it starts"), out)
}

/// The summary and the folder of a run that must be complete.
pub(crate) fn results(ground: &TempDir, name: &str, text: &str) -> (Value, PathBuf) {
    let (output, out) = run(ground, name, text, &[]);
    assert_eq!(code(&output), 0, "{}\n{text}", stderr(&output));
    (json(&output), out)
}

/// The goodput of the flow `flow`, bit/s.
pub(crate) fn goodput(summary: &Value, flow: &str) -> f64 {
    8.0 * summary["flow"][flow]["goodput"].as_f64().unwrap_or_else(|| panic!("{summary:#}"))
}
