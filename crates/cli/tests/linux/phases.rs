//! Phases of a program on a host with a kernel.

use crate::scenario::{ground, run};
use crate::thresholds::{assert_taken_up, scenario};
use crate::typed::{code, json, stderr};

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
