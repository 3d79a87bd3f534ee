//! MPI programs at the hosts of a scenario: in the lab, and by kernels in virtual time, where they are charged for computing.

mod typed;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;
use typed::{SUIMON, code, json, stderr, stdout};

/// Thirty steps: a loop, a message to the rank of the other cluster, and a sum of all.
const PROGRAM: &str = r#"
#include <mpi.h>

int main(int argc, char **argv)
{
	static char out[40000], in[40000];
	double part = 1, sum;
	int rank, size;

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &size);
	for (int i = 0; i < 30; i++) {
		for (volatile long work = 0; work < 3000000; work++)
			;
		MPI_Sendrecv(out, sizeof(out), MPI_CHAR, (rank + size / 2) % size, 0, in, sizeof(in),
			     MPI_CHAR, (rank + size / 2) % size, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
		MPI_Allreduce(&part, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	}
	MPI_Finalize();
	return 0;
}
"#;

/// A folder that guests can see, too, which have their own `/tmp`.
fn folder(test: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(test);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

fn compile(compiler: &str, folder: &Path) {
    fs::write(folder.join("steps.c"), PROGRAM).expect("the source");
    let mut command = Command::new(compiler);
    command.args(["-O1", "steps.c", "-o", "steps"]).current_dir(folder);
    assert!(command.status().expect("the compiler starts").success());
}

/// Two hosts on each side of a WAN, each with the lines `host`, and the flow `job`.
fn clusters(host: &str, job: &str) -> String {
    format!(
        r#"
duration = "16 s"
[host.node]
count = 4
{host}
[router.west]
[router.east]
[link.west]
between = ["node.1..2", "west"]
rate = "100 Mbit/s"
[link.wan]
between = ["west", "east"]
rate = "50 Mbit/s"
delay = "10 ms"
[link.east]
between = ["node.3..4", "east"]
rate = "100 Mbit/s"
[flow.job]
{job}
"#
    )
}

fn serving() -> String {
    format!("program = \"{SUIMON} mpi serve\"\nas = \"root\"")
}

fn launched(folder: &Path, verb: &str, launch: &str) -> String {
    let program = folder.join("steps");
    format!(
        "from = \"node.1\"\nto = \"node.2\"\nas = \"root\"\n\
         program = \"{SUIMON} mpi {verb} --json --hosts node.1..4 -- {launch} {}\"",
        program.display()
    )
}

fn run(folder: &Path, name: &str, text: &str, words: &[&str]) -> (Value, PathBuf) {
    let (file, out) = (folder.join("scenario.toml"), folder.join(name));
    fs::write(&file, text).expect("a file");
    let mut command = Command::new(SUIMON);
    command.args(["run", "--json", "-q", "-o"]).args([&out, &file]).args(words);
    let output = command.output().expect("it starts");
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    (json(&output), out)
}

/// The JSON document that `mpi run` printed in the run in folder `out`.
fn printed(out: &Path) -> Value {
    let log = fs::read_to_string(out.join("programs/job.log")).expect("what the program said");
    let document = log.rfind("\n{").or_else(|| log.starts_with('{').then_some(0));
    let document = document.unwrap_or_else(|| panic!("no document: {log}"));
    serde_json::from_str(&log[document..]).unwrap_or_else(|error| panic!("{error}: {log}"))
}

fn seconds(value: &Value) -> f64 {
    value.as_f64().unwrap_or_else(|| panic!("{value:#}"))
}

/// 30 steps over the WAN and back take at least 0.6 s: in each step, a message is sent only after one has
/// arrived.
#[test]
fn ranks_run_at_the_hosts_of_a_lab() {
    if testbed::lacks("MPI in the lab", &["mpicc.openmpi", "mpirun.openmpi"]) {
        return;
    }
    let _turn = testbed::alone();
    let folder = folder("lab");
    compile("mpicc.openmpi", &folder);
    let job = |verb: &str| clusters(&serving(), &launched(&folder, verb, "mpirun.openmpi -n 4"));
    let (_, out) = run(&folder, "run", &job("run"), &["--on", "lab"]);
    let done = printed(&out);
    assert_eq!(done["ranks"], 4, "{done}");
    assert!(seconds(&done["time_seconds"]) >= 0.6, "{done}");

    let trace = folder.join("steps.parquet");
    let record = format!("record -o {}", trace.display());
    run(&folder, "record", &job(&record), &["--on", "lab"]);
    let trace = mpi_trace::Trace::read(&fs::read(trace).expect("a trace")).expect("it reads");
    assert_eq!(trace.ranks.len(), 4);
    assert!(trace.inconsistencies(1).is_empty(), "{:?}", trace.inconsistencies(1));
}

/// Runs a command instead of an MPI program: over TCP alone, Debian's MPICH sometimes hangs, with or without
/// suimon. A command that exits at once may do so before the launcher has written to all it started; the
/// launcher then dies by SIGPIPE.
#[test]
fn the_launcher_of_mpich_starts_commands_at_the_hosts_of_a_lab() {
    if testbed::lacks("MPICH's launcher in the lab", &["mpicc.mpich", "mpirun.mpich"]) {
        return;
    }
    let _turn = testbed::alone();
    let folder = folder("mpich");
    let job = format!(
        "from = \"node.1\"\nto = \"node.2\"\nas = \"root\"\n\
         program = \"{SUIMON} mpi run --hosts node.1..4 -- mpirun.mpich -n 4 sh -c 'sleep 1; hostname'\""
    );
    let (_, out) = run(&folder, "run", &clusters(&serving(), &job), &["--on", "lab"]);
    let log = fs::read_to_string(out.join("programs/job.log")).expect("what it said");
    let mut hosts: Vec<&str> = log.lines().filter(|line| line.starts_with("node.")).collect();
    hosts.sort_unstable();
    assert_eq!(hosts, ["node.1", "node.2", "node.3", "node.4"], "{log}");
}

/// A program on real TCP in virtual time takes as long as a replay of its trace, except for the connections
/// that the library makes at their first use; and each run takes the same time.
#[test]
fn a_program_in_virtual_time_takes_what_its_replay_takes() {
    let test = "MPI in virtual time";
    if testbed::lacks_programs(test, &["mpicc.openmpi", "mpirun.openmpi", "setarch"]) {
        return;
    }
    let status = Command::new(SUIMON).args(["linux", "status", "--json"]).output();
    if json(&status.expect("it starts"))["path"].is_null() {
        return testbed::unbuilt(test, "no guest kernel is built: make linux");
    }
    let _turn = testbed::alone();
    let folder = folder("virtual");
    compile("mpicc.openmpi", &folder);
    let mut record = Command::new(SUIMON);
    record.args(["mpi", "record", "-o", "steps.parquet", "--", "mpirun.openmpi"]);
    record.args(["--allow-run-as-root", "--oversubscribe", "-n", "4", "./steps"]);
    let output = record.current_dir(&folder).output().expect("it starts");
    assert_eq!(code(&output), 0, "{}", stderr(&output));

    let trace = folder.join("steps.parquet");
    let charged = format!("run --computing {} --computing-scale 2/1", trace.display());
    let text = clusters(
        &format!("{}\nmemory = \"512 MiB\"", serving()),
        &launched(&folder, &charged, "mpirun.openmpi -n 4"),
    );
    let kernel = ["--on", "linux-6.12"];
    let (summary, out) = run(&folder, "first", &text, &kernel);
    let done = printed(&out);
    assert_eq!(done["ranks"], 4, "{done}");
    let (again, second) = run(&folder, "second", &text, &kernel);
    let again = (&again["flow"], &again["queue"], &printed(&second));
    assert_eq!(
        (&summary["flow"], &summary["queue"], &done),
        again,
        "it is no other the second time"
    );

    let replay = "from = \"node\"\nto = \"node\"\n\
                  mpi = { trace = \"mpi file:steps.parquet\", computing_scale = \"2/1\" }";
    let (replayed, _) = run(&folder, "replay", &clusters("", replay), &[]);
    let replayed = seconds(&replayed["group"]["job"]["mpi"]["time_seconds"]);
    let time = seconds(&done["time_seconds"]);
    assert!((0.95..1.15).contains(&(time / replayed)), "{time} s, and {replayed} s by replay");

    // The guest's kernel has phases, which are entered around each of the 30 operations.
    let text = clusters(
        &format!("{}\nmemory = \"512 MiB\"", serving()),
        &launched(&folder, "run --phases each", "mpirun.openmpi -n 4"),
    );
    let (_, out) = run(&folder, "phases", &text, &kernel);
    let done = printed(&out);
    assert!(done["phases_entered"].as_u64() >= Some(30), "{done}");
    assert_eq!((&done["adopted"], &done["refused"]), (&0.into(), &Value::Null), "{done}");
}

#[test]
fn serve_runs_on_hosts_of_a_scenario_only() {
    let mut command = Command::new(SUIMON);
    let output = command.args(["mpi", "serve"]).env_remove("SUIMON_HOST").output();
    let output = output.expect("it starts");
    assert_eq!((code(&output), stdout(&output)), (2, ""));
    assert!(stderr(&output).contains("only on a host of a scenario"), "{}", stderr(&output));
}
