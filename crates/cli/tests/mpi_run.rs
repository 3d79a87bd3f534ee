//! `suimon mpi run` with the kernel parts of `mpi enable`, as typed.

mod typed;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;
use typed::{SUIMON, code, json, stderr, stdout};

/// Twenty exchanges of all with all, each followed by a message of each rank to its right.
const PROGRAM: &str = r#"
#include <mpi.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	char out[64000] = { 0 }, in[64000];
	int rank, size;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int i = 0; i < 20; i++) {
		MPI_Alltoall(out, 8000, MPI_CHAR, in, 8000, MPI_CHAR, MPI_COMM_WORLD);
		MPI_Sendrecv(out, 8000, MPI_CHAR, (rank + 1) % size, 0, in, 8000, MPI_CHAR,
			     (rank + size - 1) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	if (!rank)
		printf("from the program\n");
	MPI_Finalize();
	return 0;
}
"#;

/// A flow that enters two phases, and the first one again.
const PHASES: &str = r#"
duration = "900 ms"
[host.a]
[host.b]
[link.l]
between = ["a", "b"]
rate = "10 Mbit/s"
[flow.f]
from = "a"
to = "b"
[change.first]
when = "200 ms"
flow = "f"
phase = "wide"
[change.second]
when = "400 ms"
flow = "f"
phase = "narrow"
[change.first-again]
when = "600 ms"
flow = "f"
phase = "wide"
"#;

/// A launcher, its compiler, and the words that have it use TCP alone.
struct Library {
    compiler: &'static str,
    launch: &'static [&'static str],
    variables: &'static [(&'static str, &'static str)],
    ranks: u64,
}

const OPEN_MPI: Library = Library {
    compiler: "mpicc.openmpi",
    launch: &[
        "mpirun.openmpi",
        "--allow-run-as-root",
        "--oversubscribe",
        "--mca",
        "btl",
        "tcp,self",
        "--mca",
        "btl_tcp_if_include",
        "lo",
        "--mca",
        "mpi_yield_when_idle",
        "1",
        "-n",
        "3",
    ],
    variables: &[],
    ranks: 3,
};
// Three ranks of Debian's MPICH hang in MPI_Finalize if UCX has only TCP, with or without suimon.
const MPICH: Library = Library {
    compiler: "mpicc.mpich",
    launch: &["mpirun.mpich", "-n", "2"],
    variables: &[("UCX_TLS", "tcp,self"), ("MPIR_CVAR_NOLOCAL", "1")],
    ranks: 2,
};

/// The program of a library, compiled in a folder, unless something is missing for it.
fn program(test: &str, library: &Library) -> Option<TempDir> {
    if testbed::lacks(test, &[library.launch[0], library.compiler]) {
        return None;
    }
    if !Path::new("/sys/kernel/btf/vmlinux").exists() {
        testbed::skip(test, "it needs a kernel with BTF (CONFIG_DEBUG_INFO_BTF)");
        return None;
    }
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("ranks.c"), PROGRAM).expect("the source");
    let mut compiler = Command::new(library.compiler);
    compiler.args(["ranks.c", "-o", "ranks"]).current_dir(folder.path());
    assert!(compiler.status().expect("the compiler starts").success());
    Some(folder)
}

fn mpi(words: &[&str]) -> Output {
    Command::new(SUIMON).arg("mpi").args(words).output().expect("the program starts")
}

fn run(folder: &Path, library: &Library, options: &[&str]) -> Output {
    let mut command = Command::new(SUIMON);
    command.args(["mpi", "run"]).args(options).arg("--").args(library.launch).arg("./ranks");
    command.envs(library.variables.iter().copied()).current_dir(folder);
    command.output().expect("the program starts")
}

/// Disables `mpi` again when dropped.
struct Enabled;

impl Enabled {
    fn new(words: &[&str]) -> Self {
        assert_eq!(code(&mpi(&["disable"])), 0);
        let output = mpi(&[&["enable"], words].concat());
        assert_eq!(code(&output), 0, "{}", stderr(&output));
        Self
    }
}

impl Drop for Enabled {
    fn drop(&mut self) {
        assert_eq!(stdout(&mpi(&["disable"])), "disabled, and removed from the kernel\n");
    }
}

#[test]
fn ranks_have_what_is_enabled_and_say_so() {
    for (name, library) in [("mpi run, Open MPI", OPEN_MPI), ("mpi run, MPICH", MPICH)] {
        let Some(folder) = program(name, &library) else { continue };
        let _turn = testbed::alone();
        let enabled = Enabled::new(&["--set", "restart=2"]);
        let output = run(folder.path(), &library, &["--phases", "collective", "--json"]);
        assert_eq!(code(&output), 0, "{name}: {}", stderr(&output));
        assert!(stderr(&output).contains("from the program"), "{}", stderr(&output));
        let done = json(&output);
        assert_eq!(done["ranks"], library.ranks, "{name}");
        assert_eq!(done["refused"], serde_json::Value::Null, "{name}");
        // Both ends of each pair have a connection at least; each of twenty exchanges is entered and left.
        let pairs = library.ranks * (library.ranks - 1);
        assert!(done["connections"].as_u64() >= Some(pairs), "{name}: {done}");
        assert!(done["adopted"].as_u64() >= Some(pairs), "{name}: {done}");
        assert!(done["phases_entered"].as_u64() >= Some(20 * pairs), "{name}: {done}");
        let status = mpi(&["status", "--json"]);
        assert_eq!(json(&status)["refused"], 0);
        assert_eq!(
            json(&status)["phases_entered"],
            done["phases_entered"],
            "the kernel counts alike"
        );
        assert_eq!(json(&status)["sockets"], done["adopted"], "nor does it count who only asks");
        // What is not asked for is not done.
        let output = run(folder.path(), &library, &["--no-restart", "--no-short-rto", "--json"]);
        assert_eq!(
            (&json(&output)["adopted"], &json(&output)["phases_entered"]),
            (&0.into(), &0.into())
        );
        drop(enabled);
    }
}

/// Flows of a lab enter phases as programs do; a kernel without phases is reported. What a phase takes up is judged in
/// guest kernels, where no segment is lost that the path does not lose.
#[test]
fn flows_of_a_lab_enter_their_phases() {
    if testbed::lacks("phases in the lab", &["ip"]) {
        return;
    }
    let _turn = testbed::alone();
    let folder = tempfile::tempdir().expect("a folder");
    let lab = |out: &str| {
        fs::write(folder.path().join("phases.toml"), PHASES).expect("a file");
        let mut command = Command::new(SUIMON);
        command.args(["run", "phases.toml", "-q", "--on", "lab", "--out", out]);
        command.current_dir(folder.path()).output().expect("the program starts")
    };
    assert_eq!(code(&mpi(&["disable"])), 0);
    let output = lab("without");
    let told = format!("{}{}", stdout(&output), stderr(&output));
    assert!(told.contains("this kernel has no phases"), "{told}");
    let _enabled = Enabled::new(&[]);
    let output = lab("with");
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let status = json(&mpi(&["status", "--json"]));
    assert_eq!([&status["phases_entered"], &status["refused"]], [3, 0], "{status}");
}

#[test]
fn without_it_the_program_runs_all_the_same() {
    let Some(folder) = program("mpi run without mpi enable", &OPEN_MPI) else { return };
    let _turn = testbed::alone();
    assert_eq!(code(&mpi(&["disable"])), 0);
    let output = run(folder.path(), &OPEN_MPI, &[]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(stdout(&output).contains("from the program"));
    assert!(stderr(&output).contains("sudo suimon mpi enable"), "{}", stderr(&output));
    // Open MPI would warn of a variable that is to be passed on and is not there.
    assert!(!stderr(&output).contains("SUIMON_MPI_COMPUTING"), "{}", stderr(&output));
    let output = mpi(&["status"]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("it is not enabled"), "{}", stderr(&output));
}

#[test]
fn what_cannot_be_enabled_is_reported_with_what_can() {
    for (words, told) in [
        (["--congestion", "cubik"], "suimon list algorithms"),
        (["--set", "restart=9"], "a value from 0 to 4"),
        (["--set", "restarts=1"], "no parameter `restarts`"),
        (["--set", "restart"], "NAME=VALUE"),
    ] {
        let output = mpi(&[&["enable"], &words[..]].concat());
        assert_eq!(code(&output), 2, "{}", stderr(&output));
        assert!(stderr(&output).contains(told), "{}", stderr(&output));
    }
}
