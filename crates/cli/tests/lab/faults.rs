//! A lab in which something fails: it reports the failure, keeps its results, and leaves nothing behind.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Output, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::ground::{Ground, MARK, Network, Run};
use crate::remains::{Remains, all_marked_named, marked_named};
use crate::typed::{SUIMON, code, stderr};
use testbed::eventually;

/// The user and group `nobody`.
pub(crate) const NOBODY: u32 = 65_534;

/// A flow of our own, by our own congestion control.
const BULK: &str = r#"
[flow.bulk]
from = "a"
to = "b"
"#;

/// Starts a run and waits until a program of that name is at work in it.
fn start(ground: &Ground, scenario: &str, program: &str) -> (Child, i32) {
    let mut command = ground.command(scenario, &[]);
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("it starts");
    let mut found = None;
    eventually("the program runs", || {
        found = marked_named(program);
        found.is_some()
    });
    (child, found.expect("it runs") as i32)
}

/// The bytes that the interface of a process's host has received and sent.
fn bytes_of_host(pid: i32) -> u64 {
    let counters = fs::read_to_string(format!("/proc/{pid}/net/dev")).unwrap_or_default();
    let fields = counters.lines().find_map(|line| line.trim().strip_prefix("eth0:"));
    let fields: Vec<u64> =
        fields.unwrap_or_default().split_whitespace().flat_map(str::parse).collect();
    // Eight columns of each direction; the first one is bytes (proc_pid_net(5)).
    fields.iter().step_by(8).sum()
}

fn signal(pid: i32, signal: Signal) {
    kill(Pid::from_raw(pid), signal).expect("it is ours");
}

/// A run's error message: on stderr, and in the document of `--json`.
fn error_text(output: &Output) -> String {
    let document: Value = serde_json::from_slice(&output.stdout).unwrap_or_default();
    let mut all = stderr(output).to_owned();
    for error in document["errors"].as_array().into_iter().flatten() {
        let text = |key: &str| error[key].as_str().unwrap_or_default().to_owned();
        all += &format!("error: {}\n  help: {}\n", text("message"), text("help"));
    }
    all
}

fn assert_lacks(output: &Output, words: &[&str]) {
    let text = error_text(output);
    assert_eq!(code(output), 3, "{text}");
    assert!(words.iter().all(|word| text.contains(word)), "{words:?} are not in\n{text}");
}

/// Checks that the results are there, and are marked as incomplete.
fn assert_incomplete(run: &Run) {
    assert_eq!(run.manifest()["complete"], false);
    let summary = run.read("summary.json");
    assert_eq!(summary["run"]["complete"], false);
    let bytes = summary["flow"]["bulk"]["bytes"].as_f64().expect("bytes");
    assert!(bytes > 100_000.0, "{bytes} bytes were sent before");
    assert!(run.folder.join("report.html").exists());
}

#[test]
fn a_killed_fabric_leaves_nothing() {
    let Some(ground) = Ground::take("a killed fabric", &[]) else { return };
    let before = Remains::now();
    let hosts = [r#"program = "sleep 5001""#, r#"program = "sh -c 'sleep 5001 & sleep 5001'""#];
    let network = Network { duration: "60 s", hosts, ..Network::default() };
    let (mut child, program) = start(&ground, &network.with(BULK), "sleep");
    eventually("all three programs run", || all_marked_named("sleep").len() == 3);
    eventually("the flow sends", || bytes_of_host(program) > 1_000_000);
    signal(child.id() as i32, Signal::SIGKILL);
    child.wait().expect("it ends");
    before.check_nothing_more("SIGKILL");
    let run =
        Run { output: child.wait_with_output().expect("it ended"), folder: ground.path("run") };
    assert!(!run.folder.join("manifest.json").exists(), "nothing looks like results");
}

#[test]
fn a_killed_program_ends_its_flow_alone_and_fails_the_run() {
    let Some(ground) = Ground::take("a killed program", &[]) else { return };
    let before = Remains::now();
    let network = Network { duration: "3 s", ..Network::default() };
    let victim = r#"
[flow.victim]
from = "a"
to = "b"
program = "sleep 5002"
"#;
    let (child, pid) = start(&ground, &network.with(&(BULK.to_owned() + victim)), "sleep");
    signal(pid, Signal::SIGKILL);
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(code(&output), 1, "{}", stderr(&output));
    let told = "`sleep 5002` ended with signal: 9";
    assert!(stderr(&output).contains(told), "{}", stderr(&output));
    let run = Run { output, folder: ground.path("run") };
    assert_eq!(run.manifest()["complete"], true);
    assert!(run.failed_programs().contains(told), "{}", run.failed_programs());
    let summary = run.summary();
    assert_eq!(summary["flow"]["victim"]["completed"], false);
    assert!(summary["flow"]["bulk"]["bytes"].as_f64() > Some(1e6), "{}", summary["flow"]);
    before.check_nothing_more("a killed program");
}

#[test]
fn a_program_that_fails_is_reported_with_its_last_output() {
    let Some(ground) = Ground::take("a failing program", &[]) else { return };
    let before = Remains::now();
    let network = Network { duration: "1.5 s", ..Network::default() };
    let client = r#"
[flow.client]
from = "a"
to = "b"
program = "sh -c 'echo once >>wrote; echo fine; echo no route to {to} >&2; sleep 1; exit 4'"
server = "sh -c 'sleep 0.5; echo no such file >&2; exit 5'"
"#;
    let run = ground.attempt(&network.with(client), &[]);
    let told = stderr(&run.output).to_owned();
    assert_eq!(code(&run.output), 1, "{told}");
    for words in ["starts `sh -c", "at a as nobody", "at b as nobody"] {
        assert!(told.contains(words), "{words} is not in\n{told}");
    }
    for words in ["exit status: 4\n    no route to 10.0.0.2", "exit status: 5\n    no such file"] {
        assert!(told.contains(words), "{words} is not in\n{told}");
        assert!(run.failed_programs().contains(words), "{}", run.failed_programs());
    }
    assert_eq!(run.summary()["failed_programs"].as_array().map(Vec::len), Some(2));
    assert_eq!(run.log("client"), "fine\nno route to 10.0.0.2\n");
    // What it wrote is there, and takes the place of what it wrote before.
    let wrote = || fs::read_to_string(run.folder.join("programs/client/wrote")).expect("a file");
    assert_eq!(wrote(), "once\n");
    assert_eq!(code(&ground.attempt(&network.with(client), &[]).output), 1);
    assert_eq!(wrote(), "once\n");
    before.check_nothing_more("a failing program");
}

#[test]
fn what_a_program_says_is_bounded_on_disk() {
    const LIMIT: u64 = 16 << 20;
    let Some(ground) = Ground::take("an output without end", &["head"]) else { return };
    let network = Network { duration: "3 s", ..Network::default() };
    let flow = r#"
[flow.talker]
from = "a"
to = "b"
program = "head -c 20000000 /dev/zero"
"#;
    let run = ground.attempt(&network.with(flow), &[]);
    assert_eq!(code(&run.output), 0, "{}", stderr(&run.output));
    let log = fs::read(run.folder.join("programs/talker.log")).expect("what it said");
    let (kept, end) = log.split_at(LIMIT as usize);
    assert!(kept.iter().all(|&byte| byte == 0));
    assert_eq!(end, b"\n[cut by suimon]\n");
    assert!(run.notes().contains("cut after 16 MiB; it was 20000000 bytes"), "{}", run.notes());
}

#[test]
fn an_interface_that_disappears_ends_the_run() {
    let Some(ground) = Ground::take("a lost interface", &["ip"]) else { return };
    let before = Remains::now();
    let hosts = ["", "program = \"sh -c 'sleep 1.5; ip link del eth0'\"\nas = \"root\""];
    let scenario = Network { duration: "20 s", hosts, ..Network::default() }.with(BULK);
    for port in ["xdp", "packet"] {
        let run = ground.attempt(&scenario, &["--port", port]);
        assert_lacks(&run.output, &["error:", "is gone", "removed"]);
        assert_incomplete(&run);
        before.check_nothing_more("a lost interface");
    }
}

/// Runs a scenario in the lab from within new namespaces, as the last words (`"$@"`) of a script.
fn unshared(ground: &Ground, scenario: &str, namespaces: &[&str], script: &str) -> Output {
    let inner = ground.command(scenario, &[]);
    let mut command = Command::new("unshare");
    command.args(namespaces).args(["sh", "-c", script, "sh"]);
    command.arg(inner.get_program()).args(inner.get_args());
    command.current_dir(ground.path("")).env(MARK, "1").output().expect("unshare")
}

#[test]
fn a_full_disk_is_reported() {
    let Some(ground) = Ground::take("a full disk", &["unshare", "mount"]) else { return };
    let before = Remains::now();
    fs::create_dir(ground.path("run")).expect("a folder");
    let probes = "[probe.capture.east]\nat = \"wan:east\"\n[probe.flows]\nevery = \"1 ms\"\n";
    let network = Network { duration: "2 s", ..Network::default() };
    let scenario = network.with(&(BULK.to_owned() + probes));
    // Without -n, mount also makes a folder in /run.
    let script = r#"mount -n -t tmpfs -o size=128k none run && exec "$@""#;
    let output = unshared(&ground, &scenario, &["--mount"], script);
    assert_lacks(&output, &["error:", "the disk is full", "make room"]);
    before.check_nothing_more("a full disk");
}

/// The program as a user without rights, who may read the scenario and write the run.
pub(crate) fn as_nobody(ground: &Ground, scenario: &str) -> Run {
    let command = ground.command(scenario, &[]);
    let folder = ground.path("");
    let everybody = || fs::Permissions::from_mode(0o777);
    fs::set_permissions(&folder, everybody()).expect("it is ours");
    let _ = fs::remove_dir_all(ground.path("run"));
    let copy = ground.path("suimon");
    fs::copy(SUIMON, &copy).expect("room");
    let mut own = Command::new(&copy);
    own.args(command.get_args()).current_dir(folder).env(MARK, "1").uid(NOBODY).gid(NOBODY);
    Run { output: own.output().expect("it starts"), folder: ground.path("run") }
}

#[test]
fn a_user_runs_it_or_gets_the_command_to_type() {
    let Some(ground) = Ground::take("a user's run", &[]) else { return };
    let before = Remains::now();
    let network = Network { duration: "1.5 s", ..Network::default() };
    let run = as_nobody(&ground, &network.with(BULK));
    if code(&run.output) == 0 {
        let lab = &run.manifest()["lab"];
        assert_eq!(lab["ports"][0]["kind"], "AF_PACKET");
        assert_eq!(lab["kernel_congestion"], serde_json::json!(["cubic"]));
        assert!(run.notes().contains("the kernel's own `cubic`"), "{}", run.notes());
        // What has no like in the kernel needs the right to load it.
        let ours = format!("{BULK}congestion = \"scalable\"\n");
        let refused = as_nobody(&ground, &network.with(&ours));
        assert_lacks(&refused.output, &["load `scalable` into the kernel", "help:", "root"]);
    } else {
        assert_lacks(&run.output, &["help:", "root"]);
    }
    before.check_nothing_more("a user's run");
}

#[test]
fn without_user_namespaces_a_user_gets_the_command_to_type() {
    let programs = ["unshare", "setpriv"];
    let Some(ground) = Ground::take("no user namespaces", &programs) else { return };
    let before = Remains::now();
    let scenario = Network::default().with(BULK);
    // The limit is that of a user namespace of the test's own.
    let script = r#"echo 0 >/proc/sys/user/max_user_namespaces &&
        exec setpriv --bounding-set=-all --inh-caps=-all "$@""#;
    let output = unshared(&ground, &scenario, &["--user", "--map-root-user"], script);
    assert_lacks(&output, &["create a user namespace", "sysctl -w user.max_user_namespaces"]);
    before.check_nothing_more("a refusal");
}

#[test]
fn a_congestion_control_that_the_kernel_lacks_is_reported() {
    let Some(ground) = Ground::take("a missing feature", &[]) else { return };
    let before = Remains::now();
    let scenario = Network::default().with(&format!("{BULK}congestion = \"kernel:nosuch\"\n"));
    let run = ground.attempt(&scenario, &[]);
    assert_lacks(&run.output, &["congestion control `nosuch`", "help: modprobe tcp_nosuch"]);
    before.check_nothing_more("a refusal");
}
