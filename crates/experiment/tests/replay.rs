//! A trace of an MPI program is replayed, and once more from what the run's folder keeps.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use experiment::{DriverChoice, Experiment, Outcome, Steering, compare};
use record::folder::{SCENARIO, TRACES};

/// EP of the NAS Parallel Benchmarks: 16 ranks that compute for 1.3 s and then agree on sums.
fn trace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers/p2/traces/ep.B.16.parquet")
}

fn scenario(trace: &str) -> String {
    format!(
        r#"
title = "EP on sixteen hosts"
duration = "20 s"

[host.node]
count = 16
[switch.s]

[link.wire]
between = ["node", "s"]
rate = "1 Gbit/s"
delay = "10 us"

[flow.job]
from = "node"
to = "node"
mpi = {{ trace = "mpi file:{trace}", computing_scale = "1/2" }}
"#
    )
}

fn run(file: &Path, out: &Path) -> Outcome {
    let interrupted = AtomicBool::new(false);
    let steering = Steering { interrupted: &interrupted, progress: &() };
    let experiment = Experiment::new(file);
    experiment.run(DriverChoice::default(), Some(out.to_owned()), steering).expect("it runs")
}

fn quantity(outcome: &Outcome, path: &str) -> f64 {
    let quantities = outcome.summary.quantities();
    let found = quantities.iter().find(|(known, _)| known == path);
    found.unwrap_or_else(|| panic!("no {path} in {quantities:?}")).1
}

#[test]
fn a_trace_is_replayed_and_kept() {
    let folder = tempfile::tempdir().expect("a folder");
    fs::create_dir(folder.path().join("of")).expect("a folder");
    fs::copy(trace(), folder.path().join("of/ep.parquet")).expect("a copy");
    let file = folder.path().join("ep.toml");
    fs::write(&file, scenario("of/ep.parquet")).expect("a scenario");

    let first = run(&file, &folder.path().join("first"));
    assert_eq!(quantity(&first, "group.job.mpi.finished"), 16.0);
    let (bytes, goodput) =
        (quantity(&first, "group.job.bytes"), quantity(&first, "group.job.goodput"));
    let (took, job) = (bytes / goodput, quantity(&first, "group.job.mpi.time_seconds"));
    assert!(job <= took && took < 1.1 * job, "{took} s of a job of {job} s, not of the run's 20 s");
    let out = folder.path().join("first");
    let compared = compare(&[&out, &out], false).expect("its folder has the trace");
    assert!(compared.ok() && compared.notes.is_empty(), "{:?}", compared.notes);
    let time = quantity(&first, "group.job.mpi.time_seconds");
    assert!((0.6..0.8).contains(&time), "half of 1.3 s of computing, and little else: {time} s");

    // The folder alone is enough.
    fs::remove_dir_all(folder.path().join("of")).expect("what is there");
    let kept = folder.path().join("first");
    assert_eq!(fs::read(kept.join(TRACES).join("ep.parquet")).ok(), fs::read(trace()).ok());
    let again = run(&kept.join(SCENARIO), &folder.path().join("again"));
    assert_eq!(again.summary, first.summary);
}

#[test]
fn what_is_no_trace_is_an_error_with_the_name_of_the_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("x.toml");
    fs::write(&file, scenario("x.parquet")).expect("a scenario");
    let experiment = Experiment::new(&file);
    let told = |experiment: &Experiment| experiment.runs().expect_err("no trace").to_string();
    assert!(told(&experiment).contains("x.parquet"), "{}", told(&experiment));
    let mut changed = fs::read(trace()).expect("a trace");
    let middle = changed.len() / 2;
    changed[middle] ^= 1;
    fs::write(folder.path().join("x.parquet"), changed).expect("a file");
    assert!(told(&experiment).contains("x.parquet"), "{}", told(&experiment));
}
