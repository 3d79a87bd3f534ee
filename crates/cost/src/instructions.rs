//! Instructions per packet: the program runs itself once under callgrind, which counts within [`carry_packets`]
//! and writes its count whenever that returns.

use std::io::{ErrorKind, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use base::Fault;
use record::folder::TemporaryFolder;
use serde::Serialize;

use crate::case::Case;
use crate::drive::{CARRY_PACKETS, Walk, carry_packets};
use crate::workload::Workload;

/// Number of steps that are counted.
const STEPS: u64 = 20_000;

/// Prefix of callgrind's files; each dump has a number after it.
const FILE: &str = "count";

/// Instructions per packet, without those of the walk itself.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Instructions {
    /// Instructions of the discipline.
    pub count: f64,
    /// The excess over a plain FIFO under the same load.
    pub over_fifo: f64,
}

/// Prefix of the folder of valgrind's files.
const FOLDER: &str = "suimon-cost-";
/// Dumps of a case: three walks, each with a settling and a counted part.
const DUMPS: usize = 6;

/// The part that runs under callgrind: each walk of each case settles, then takes the counted steps.
pub fn carry(cases: &[Case]) -> Result<(), Fault> {
    for case in cases {
        for workload in Workload::new(case)?.compared()? {
            let mut walk = Walk::new(workload, case.load.backlog);
            for steps in [walk.settling(), STEPS] {
                carry_packets(&mut walk, steps);
            }
        }
    }
    Ok(())
}

/// Counts every case; `words` are the arguments with which this program calls [`carry`] for the cases on its standard input.
///
/// # Errors
/// Why this machine cannot count.
pub fn count(cases: &[Case], words: &[&str]) -> Result<Vec<Instructions>, String> {
    let folder = TemporaryFolder::new_in(&std::env::temp_dir(), FOLDER);
    let folder = folder.map_err(|error| format!("no temporary folder: {error}"))?;
    run(cases, folder.path(), words)?;
    let dump = |number| total(&folder.path().join(format!("{FILE}.{number}")));
    let each = |case: usize| {
        let counted = |walk| Ok::<_, String>(dump(DUMPS * case + walk)? as f64 / STEPS as f64);
        let (bare, fifo, own) = (counted(2)?, counted(4)?, counted(6)?);
        Ok(Instructions { count: own - bare, over_fifo: own - fifo })
    };
    (0..cases.len()).map(each).collect()
}

fn run(cases: &[Case], folder: &Path, words: &[&str]) -> Result<(), String> {
    let fault = |error: std::io::Error| match error.kind() {
        ErrorKind::NotFound => "valgrind is not installed".to_owned(),
        _ => format!("valgrind: {error}"),
    };
    let program = std::env::current_exe().map_err(fault)?;
    let mut child = Command::new("valgrind")
        .arg("--tool=callgrind")
        .arg(format!("--toggle-collect={CARRY_PACKETS}"))
        .arg(format!("--dump-after={CARRY_PACKETS}"))
        .arg(format!("--callgrind-out-file={}", folder.join(FILE).display()))
        .arg(program)
        .args(words)
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
        _ => Err(format!("valgrind failed: {}", said(&done.stderr))),
    }
}

/// The text on stderr, without valgrind's usual output.
fn said(stderr: &[u8]) -> String {
    let text = String::from_utf8_lossy(stderr);
    let lines = text.lines().filter(|line| !line.starts_with("==") && !line.is_empty());
    lines.collect::<Vec<_>>().join("; ")
}

/// The number of instructions in a file of callgrind.
fn total(file: &Path) -> Result<u64, String> {
    let text = std::fs::read_to_string(file)
        .map_err(|error| format!("callgrind wrote no {}: {error}", file.display()))?;
    let total = text.lines().find_map(|line| line.strip_prefix("totals: "));
    total
        .and_then(|total| total.trim().parse().ok())
        .ok_or_else(|| "callgrind's file has no total".into())
}
