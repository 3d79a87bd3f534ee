//! Phases of a program on a host with a kernel.

use std::fs::{self, File};
use std::path::Path;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;

use crate::scenario::{ground, run};
use crate::typed::{code, json, stderr};

/// The example with two phases.
fn scenario() -> String {
    let example = "../../scenarios/workloads/phases.toml";
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join(example);
    fs::read_to_string(example).expect("an example")
}

/// Checks the run in `folder`: each phase ended with a different threshold, and the first one's is restored.
fn assert_taken_up(folder: &Path) {
    let before = threshold(folder, 3_990);
    let (other, again) = (threshold(folder, 7_990), threshold(folder, 8_100));
    assert!(before != other && before == again, "{before}, {other}, {again} packets");
}

/// The threshold in the last sample that is no later than `ms`.
fn threshold(folder: &Path, ms: u64) -> u64 {
    let file = File::open(folder.join("flows.parquet")).expect("the table");
    let reader = SerializedFileReader::new(file).expect("Parquet");
    let rows = reader.get_row_iter(None).expect("rows").map(|row| row.expect("a row"));
    let number = |field: &Field| match *field {
        Field::Long(number) => u64::try_from(number).ok(),
        _ => None,
    };
    let samples = rows.map(|row| {
        let of = |name: &str| {
            let field = row.get_column_iter().find(|(column, _)| *column == name);
            number(field.expect("a column").1)
        };
        (of("time_ns").expect("a time"), of("ssthresh_packets"))
    });
    let until = samples.take_while(|&(ns, _)| ns <= ms * 1_000_000 + 999_999);
    until.last().and_then(|(_, threshold)| threshold).expect("a threshold")
}

#[test]
fn a_phase_takes_up_the_threshold_that_it_ended_with_by_model_and_by_kernel() {
    let Some(ground) = ground("phases of a kernel's flow") else { return };
    for (name, on) in [("model", &[][..]), ("kernel", &["--on", "linux-6.12"])] {
        let (output, out) = run(&ground, name, &scenario(), on);
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        assert_taken_up(&out);
    }
}

/// An exchange that shares a narrow buffer, and a message that has the path to itself. Their durations are
/// chaotic by kernel and by model: the segments that the exchange loses decide the threshold with which a
/// message begins.
#[test]
fn a_job_with_phases_ends_on_kernels() {
    let Some(ground) = ground("an MPI job with phases on kernels") else { return };
    let text = "duration = \"10 s\"\n[host.node]\ncount = 8\n[router.west]\n[router.east]\n[link.left]\n\
                between = [\"node.1..4\", \"west\"]\nrate = \"1 Gbit/s\"\n[link.right]\n\
                between = [\"node.5..8\", \"east\"]\nrate = \"1 Gbit/s\"\n[link.wan]\nbetween = [\"west\", \"east\"]\n\
                rate = \"200 Mbit/s\"\ndelay = \"10 ms\"\nqueue.fifo.bytes = \"128 KiB\"\n[flow.job]\nfrom = \"node\"\n\
                to = \"node\"\nmpi = { steps = \"alltoall 32 KiB, transfer 2 MB\", iterations = 2, phases = \"each\" }\n";
    let (output, _) = run(&ground, "job", text, &["--on", "linux-6.12"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let job = json(&output)["group"]["job"]["mpi"].clone();
    assert_eq!(job["finished"], 8, "{job:#}");
}
