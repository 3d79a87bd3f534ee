//! `suimon mpi`, as it is typed.

mod typed;

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;
use typed::{SUIMON, code, json, stderr, stdout};

/// Two ranks exchange eight bytes; with an argument they exit with code 7 one second later, because the
/// launcher kills the others once one has failed.
const PROGRAM: &str = r#"
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	double in, out = 1;
	int rank;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Sendrecv(&out, 1, MPI_DOUBLE, 1 - rank, 3, &in, 1, MPI_DOUBLE, 1 - rank, 3, MPI_COMM_WORLD,
		     MPI_STATUS_IGNORE);
	printf("from the program\n");
	MPI_Finalize();
	if (argc > 1)
		sleep(1);
	return argc > 1 ? 7 : 0;
}
"#;
const LAUNCHER: [&str; 6] =
    ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", "2", "./exchange"];

fn record(folder: &Path, options: &[&str], words: &[&str]) -> Output {
    let mut command = Command::new(SUIMON);
    command.args(["mpi", "record"]).args(options).arg("--").args(words);
    command.current_dir(folder).output().expect("the program starts")
}

/// A folder with the program, unless something is missing for it.
fn program(test: &str) -> Option<TempDir> {
    if testbed::lacks_programs(test, &["mpirun.openmpi", "mpicc.openmpi"]) {
        return None;
    }
    let folder = tempfile::tempdir().expect("a folder");
    fs::write(folder.path().join("exchange.c"), PROGRAM).expect("the source");
    let mut compiler = Command::new("mpicc.openmpi");
    compiler.args(["exchange.c", "-o", "exchange"]).current_dir(folder.path());
    assert!(compiler.status().expect("the compiler starts").success());
    Some(folder)
}

#[test]
fn a_program_is_recorded_and_summarized() {
    let Some(folder) = program("a_program_is_recorded_and_summarized") else { return };
    let output = record(folder.path(), &[], &LAUNCHER);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("from the program"), "{text}");
    assert!(text.contains("exchange, 2 ranks, Open MPI"), "{text}");
    assert!(text.contains("exchange.parquet: 8 calls in"), "{text}");
    let trace = fs::read(folder.path().join("exchange.parquet")).expect("the trace");
    assert_eq!(mpi_trace::Trace::read(&trace).expect("a trace").ranks.len(), 2);
}

#[test]
fn with_json_stdout_is_one_document() {
    let Some(folder) = program("with_json_stdout_is_one_document") else { return };
    let options = ["--json", "--out", "other.parquet", "--resolution", "1024 ns"];
    let output = record(folder.path(), &options, &LAUNCHER);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    assert!(stderr(&output).contains("from the program"), "{}", stderr(&output));
    let summary = json(&output);
    assert_eq!(summary["trace"], "other.parquet");
    assert_eq!(summary["operations"]["isend"]["bytes"], 16);
    assert_eq!(summary["operations"]["finalize"]["calls"], 2);
    assert_eq!(summary["ranks"][1]["calls"], 4);
    let trace = fs::read(folder.path().join("other.parquet")).expect("the trace");
    let trace = mpi_trace::Trace::read(&trace).expect("a trace");
    assert!(trace.ranks.iter().flatten().all(|call| call.start % 1024 == 0));
}

#[test]
fn it_ends_as_the_command_does() {
    let Some(folder) = program("it_ends_as_the_command_does") else { return };
    let words = [&LAUNCHER[..], &["fail"]].concat();
    let output = record(folder.path(), &[], &words);
    assert_eq!(code(&output), 7, "{}", stderr(&output));
    assert!(folder.path().join("exchange.parquet").is_file());
}

#[test]
fn a_command_without_mpi_is_reported() {
    let Some(folder) = program("a_command_without_mpi_is_reported") else { return };
    let output =
        record(folder.path(), &[], &["mpirun.openmpi", "--allow-run-as-root", "-n", "1", "true"]);
    assert_eq!(code(&output), 2, "{}", stderr(&output));
    assert!(stderr(&output).contains("nothing was recorded"), "{}", stderr(&output));
    let output = record(folder.path(), &[], &["ls"]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("--library openmpi"), "{}", stderr(&output));
}

#[test]
fn a_launcher_that_fails_is_reported() {
    let Some(folder) = program("a_launcher_that_fails_is_reported") else { return };
    let words = ["mpirun.openmpi", "--allow-run-as-root", "-n", "1", "./no-such-program"];
    let output = record(folder.path(), &[], &words);
    assert!(!output.status.success(), "{}", stderr(&output));
    let told = stderr(&output);
    assert!(told.contains("before a rank called MPI_Init"), "{told}");
    assert!(!told.contains("linked dynamically"), "{told}");
}

/// Another user runs `mpi status` while the options are enabled: in its own namespaces, with a mount at their folder.
#[test]
fn status_as_a_user_says_to_be_root() {
    let place = "mount -t tmpfs tmpfs /run && mkdir -p /run/suimon/mpi && mount -t tmpfs tmpfs /run/suimon/mpi";
    let unshare = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount", "sh", "-c", script, "sh", SUIMON]);
        command.output().expect("util-linux")
    };
    if !unshare(&format!("{place} && unshare --user true")).status.success() {
        return testbed::skip("status_as_a_user_says_to_be_root", "it needs user namespaces");
    }
    let output = unshare(&format!("{place} && unshare --user \"$1\" mpi status"));
    assert_eq!(code(&output), 3, "{}", stderr(&output));
    assert!(stderr(&output).contains("sudo suimon mpi status"), "{}", stderr(&output));
}

/// The launcher is there, and the library's compiler is not.
#[test]
fn a_missing_compiler_is_reported_with_its_package() {
    let folder = tempfile::tempdir().expect("a folder");
    for (launcher, package) in
        [("mpirun.openmpi", "libopenmpi-dev"), ("mpiexec.hydra", "libmpich-dev")]
    {
        let path = folder.path().join(launcher);
        fs::write(&path, "#!/bin/sh\n").expect("the launcher");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("its mode");
        let mut command = Command::new(SUIMON);
        command.args(["mpi", "record", "--", launcher, "./program"]).env("PATH", folder.path());
        let output = command.output().expect("the program starts");
        assert_eq!(code(&output), 3, "{}", stderr(&output));
        assert!(stderr(&output).contains(package), "{}", stderr(&output));
    }
}

#[test]
fn folders_of_a_killed_command_go_with_the_next() {
    let Some(folder) = program("folders_of_a_killed_command_go_with_the_next") else { return };
    let temporary = folder.path().join("tmp");
    fs::create_dir(&temporary).expect("a folder");
    let folders = || {
        let names = fs::read_dir(&temporary).expect("readable").flatten();
        let names = names.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.filter(|name| name.starts_with("suimon-mpi-")).collect::<Vec<_>>()
    };
    let command = |words: &[&str]| {
        let mut command = Command::new(SUIMON);
        command.args(["mpi", "record", "--"]).args(&LAUNCHER[..3]).args(words);
        command.current_dir(folder.path()).env("TMPDIR", &temporary);
        command
    };
    let mut killed = command(&["-n", "1", "sleep", "3"]).spawn().expect("the program starts");
    testbed::eventually("its folder is there", || !folders().is_empty());
    killed.kill().expect("SIGKILL");
    killed.wait().expect("it ended");
    let left = folders();
    assert_eq!(left.len(), 1, "{left:?}");
    let next = command(&["-n", "2", "./exchange"]).output().expect("the program starts");
    assert_eq!(code(&next), 0, "{}", stderr(&next));
    assert_eq!(folders(), Vec::<String>::new());
}
