//! Instructions a packet: the program runs itself once under callgrind, which counts within
//! [`carry_packets`] and writes its count down whenever that returns.

use std::io::{ErrorKind, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use serde::Serialize;

use super::case::Case;
use super::walk::{CARRY_PACKETS, Walk, carry_packets};
use super::workload::Workload;
use crate::failure::Failure;

/// Steps that are counted.
const STEPS: u64 = 20_000;

/// Instructions a packet.
#[derive(Clone, Copy, Debug, Serialize)]
pub(crate) struct Instructions {
    /// Of the discipline, drawing and writing the packet included.
    pub(crate) all: f64,
    /// Of a plain FIFO under the same load.
    pub(crate) fifo: f64,
}

/// The half that runs under callgrind: each walk of each case settles, and then takes the steps that
/// count.
pub(crate) fn carry(cases: &[Case]) -> Result<(), Failure> {
    for case in cases {
        let workload = Workload::new(case)?;
        for workload in [workload.plain()?, workload] {
            let mut walk = Walk::new(workload, case.load.backlog);
            let settling = walk.settling();
            carry_packets(&mut walk, settling);
            carry_packets(&mut walk, STEPS);
        }
    }
    Ok(())
}

/// Counts every case; an error says why this machine cannot.
pub(crate) fn count(cases: &[Case]) -> Result<Vec<Instructions>, String> {
    let folder = tempfile::tempdir().map_err(|error| format!("no temporary folder: {error}"))?;
    run(cases, folder.path())?;
    let mut counts = Vec::new();
    for part in 1..=4 * cases.len() {
        let file = folder.path().join(format!("count.{part}"));
        counts.push(total(&file)? as f64 / STEPS as f64);
    }
    // Settling and counted, FIFO and case.
    let per_case = |c: &[f64]| Instructions { fifo: c[1], all: c[3] };
    Ok(counts.chunks_exact(4).map(per_case).collect())
}

fn run(cases: &[Case], folder: &Path) -> Result<(), String> {
    let fault = |error: std::io::Error| match error.kind() {
        ErrorKind::NotFound => "valgrind is not installed".to_owned(),
        _ => format!("valgrind: {error}"),
    };
    let program = std::env::current_exe().map_err(fault)?;
    let mut child = Command::new("valgrind")
        .arg("--tool=callgrind")
        .arg(format!("--toggle-collect={CARRY_PACKETS}"))
        .arg(format!("--dump-after={CARRY_PACKETS}"))
        .arg(format!("--callgrind-out-file={}", folder.join("count").display()))
        .arg(program)
        .args(["cost", "--carry"])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(fault)?;
    let text = serde_json::to_vec(cases).unwrap_or_default();
    let written = child.stdin.take().map_or(Ok(()), |mut stdin| stdin.write_all(&text));
    let done = child.wait_with_output().map_err(fault)?;
    match (done.status.success(), written) {
        (true, Ok(())) => Ok(()),
        _ => Err(format!("valgrind failed: {}", String::from_utf8_lossy(&done.stderr))),
    }
}

/// The instructions that a file of callgrind's holds.
fn total(file: &Path) -> Result<u64, String> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| format!("callgrind wrote no {}: {error}", file.display()))?;
    let total = text.lines().find_map(|line| line.strip_prefix("totals: "));
    total.and_then(|total| total.trim().parse().ok()).ok_or_else(|| "no total in its file".into())
}
