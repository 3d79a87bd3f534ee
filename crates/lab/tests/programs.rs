//! Foreign programs at a host: they see the host, and leave nothing behind.
//!
//! Needs root, iproute2 and iperf3; without them each test says so and passes.

mod pair;

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use lab::clock::Clock;
use lab::congestion::Congestion;
use lab::program::{Output, Program, Rights, Site};
use lab::{Error, Namespace};
use pair::{Pair, eventually, gone_from_kernel, known_to_kernel, lacks, plan};

/// The names that programs know.
fn hosts() -> Vec<(String, IpAddr)> {
    [("alpha", [10, 0, 0, 1]), ("beta", [10, 0, 0, 2])]
        .map(|(n, a)| (n.to_owned(), a.into()))
        .into()
}

fn words(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}

fn shell(script: &str) -> Vec<String> {
    ["sh", "-c", script].map(str::to_owned).into()
}

/// A log file that no other process writes.
fn log(name: &str) -> PathBuf {
    std::env::temp_dir().join(format!("lab-{}-{name}.log", std::process::id()))
}

/// Starts a program with its output in a file; returns it with the file's path.
fn spawn(host: &Namespace, name: &str, words: &[String]) -> (Program, PathBuf) {
    let path = log(name);
    let file = File::create(&path).expect("a temporary file");
    (start(host, words, Output::Log(file), Rights::Own).expect("it starts"), path)
}

/// Starts a program at the host `alpha`.
fn start(
    namespace: &Namespace,
    words: &[String],
    output: Output,
    rights: Rights<'_>,
) -> Result<Program, Error> {
    let names = hosts();
    Program::spawn(
        &Site { namespace, host: "alpha", names: &names, holder: None },
        words,
        output,
        rights,
    )
}

/// Runs a program to its end; returns its status and output.
fn output(host: &Namespace, name: &str, words: &[String]) -> (Option<i32>, String) {
    let (mut program, path) = spawn(host, name, words);
    let status = program.wait().expect("it ends");
    let text = fs::read_to_string(&path).expect("the log");
    fs::remove_file(path).expect("it is ours");
    (status.code(), text)
}

#[test]
fn a_program_sees_its_host_and_returns_its_status() {
    if lacks("a program's view") {
        return;
    }
    let pair = Pair::new("200mbit");
    let script = "ls /sys/class/net; echo $$; ls -d /proc/[0-9]*; getent hosts beta; exit 7";
    let (code, text) = output(pair.host(0), "view", &shell(script));
    assert_eq!(code, Some(7), "{text}");
    let lines: Vec<_> = text.lines().collect();
    assert!(lines.contains(&"eth0") && lines.contains(&"lo"), "{text}");
    // Its own processes only: the first of the namespace, and itself.
    let numbers: Vec<_> = lines.iter().filter(|line| line.starts_with("/proc/")).collect();
    assert_eq!(numbers, [&"/proc/1", &"/proc/2"], "{text}");
    assert!(lines.contains(&"2"), "{text}");
    assert!(text.contains("10.0.0.2") && text.contains("beta"), "{text}");
    // This process's own are as they were.
    assert!(!fs::read_to_string("/etc/hosts").unwrap_or_default().contains("10.0.0.2 beta"));
    let (code, _) = output(pair.host(0), "signal", &shell("kill -9 $$"));
    assert_eq!(code, None);
}

#[test]
fn programs_reach_each_other_by_name() {
    if testbed::lacks("iperf3", &["ip", "tc", "iperf3"]) {
        return;
    }
    let pair = Pair::new("200mbit");
    let (mut server, path) = spawn(pair.host(1), "server", &words("iperf3 -s -1"));
    while !pair::run(pair.host(1), "ss -Htln").contains("5201") {
        thread::sleep(Duration::from_millis(10));
    }
    let (code, text) = output(pair.host(0), "client", &words("iperf3 -c beta -t 1 -J"));
    assert_eq!(code, Some(0), "{text}");
    let sum = text.split("\"sum_received\"").nth(1).expect("a result");
    let rate = sum.split("\"bits_per_second\":").nth(1).expect("a rate").trim_start();
    let rate: f64 = rate.split(',').next().unwrap_or_default().parse().expect("a number");
    assert!(rate > 120e6 && rate < 200e6, "{rate} bit/s");
    assert!(server.wait().expect("it ends").success());
    fs::remove_file(path).expect("it is ours");
}

#[test]
fn what_is_missing_is_named() {
    if lacks("a missing program") {
        return;
    }
    let host = Namespace::new().expect("root may");
    let file = || Output::Log(File::open("/dev/null").expect("it is there"));
    let missing = start(&host, &words("no-such-program -x"), file(), Rights::Own);
    let Err(error @ Error::Lacking { .. }) = missing else { panic!("{missing:?}") };
    assert!(error.to_string().contains("no-such-program"), "{error}");
    // Executable by its mode, but no program.
    let path = log("nonsense");
    fs::write(&path, [0xff; 64]).expect("a temporary file");
    let mode = std::os::unix::fs::PermissionsExt::from_mode(0o755);
    fs::set_permissions(&path, mode).expect("it is ours");
    let broken = start(&host, &[path.display().to_string()], file(), Rights::Own);
    fs::remove_file(&path).expect("it is ours");
    let Err(error @ Error::Lacking { .. }) = broken else { panic!("{broken:?}") };
    assert!(error.to_string().contains("nonsense"), "{error}");
    assert!(matches!(start(&host, &[], file(), Rights::Own), Err(Error::Unfit { .. })));
}

/// In `/proc/sys/net` a host would have the machine's address for names; what is nowhere is unknown at once.
#[test]
fn a_host_has_a_name_and_no_resolver() {
    if lacks("a host's names") {
        return;
    }
    let pair = Pair::new("200mbit");
    let script = "uname -n; grep -c nameserver /etc/resolv.conf; grep hosts: /etc/nsswitch.conf; \
                  getent hosts $(uname -n); getent hosts nobody.example || echo unknown";
    let (code, text) = output(pair.host(0), "names", &shell(script));
    assert_eq!(code, Some(0), "{text}");
    let lines: Vec<_> =
        text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>()).collect();
    let wanted = [
        vec!["alpha"],
        vec!["0"],
        vec!["hosts:", "files"],
        vec!["10.0.0.1", "alpha"],
        vec!["unknown"],
    ];
    assert_eq!(lines, wanted, "{text}");
}

#[test]
fn nobody_writes_to_its_own_folder_only() {
    if lacks("nobody's program") {
        return;
    }
    let host = Namespace::new().expect("root may");
    let (folder, path) = (log("nobody-folder"), log("nobody"));
    let outside = Path::new("/var/tmp").join(format!("suimon-test-{}", std::process::id()));
    fs::write(&outside, "as it was").expect("a file");
    fs::set_permissions(&outside, std::os::unix::fs::PermissionsExt::from_mode(0o666))
        .expect("ours");
    // Anybody may write that file and that folder of the machine.
    let script = format!(
        "id -u; pwd; echo kept >file && echo kept >/tmp/other; \
         echo no >{0}; echo no >{0}-new; ls -A /run; grep CapEff /proc/self/status; \
         ip link add x type dummy; exit 0",
        outside.display()
    );
    for kind in [Some(folder.as_path()), None] {
        let file = File::create(&path).expect("a temporary file");
        let mut program = start(&host, &shell(&script), Output::Log(file), Rights::Nobody(kind))
            .expect("it starts");
        assert!(program.wait().expect("it ends").success());
        let text = fs::read_to_string(&path).expect("the log");
        assert!(text.starts_with("65534\n/tmp\n"), "{text}");
        assert!(text.contains("CapEff:\t0000000000000000"), "{text}");
        assert_eq!(text.matches("Read-only file system").count(), 2, "{text}");
        assert!(text.contains("Operation not permitted"), "{text}");
        assert_eq!(fs::read_to_string(&outside).expect("it is there"), "as it was");
        program.end().expect("it can be ended");
    }
    for name in ["file", "other"] {
        assert_eq!(fs::read_to_string(folder.join(name)).expect("it was written"), "kept\n");
    }
    for file in [&path, &outside] {
        fs::remove_file(file).expect("it is ours");
    }
    fs::remove_dir_all(folder).expect("it is ours");
}

#[test]
fn a_daemon_lives_until_the_end_and_no_longer() {
    if lacks("a daemon") {
        return;
    }
    let host = Namespace::new().expect("root may");
    let mark = "86311.25";
    let (mut program, path) = spawn(&host, "daemon", &shell(&daemon(mark)));
    assert!(program.wait().expect("it ends").success());
    assert!(eventually(|| count(mark) == 1));
    program.end().expect("it can be ended");
    assert_eq!(count(mark), 0);
    // One that ignores the request, and one that is ended by being dropped.
    let deaf = shell(&format!("trap '' TERM; sleep {mark}; sleep {mark}"));
    let (mut program, other) = spawn(&host, "deaf", &deaf);
    assert!(eventually(|| count(mark) == 1));
    assert!(program.try_wait().expect("it runs").is_none());
    drop(program);
    assert_eq!(count(mark), 0);
    let _ = [path, other].map(fs::remove_file);
}

#[test]
fn nothing_outlives_a_lab_that_is_killed() {
    if lacks("a killed lab") {
        return;
    }
    let mark = "86322.25";
    let (mut lab, words) = as_lab(mark);
    let [congestion, namespace] = words.as_slice() else { panic!("{words:?}") };
    assert!(eventually(|| count(mark) == 2), "{} of 2 run", count(mark));
    assert!(known_to_kernel(congestion), "{congestion}");
    assert!(in_namespace(namespace) >= 2, "the lab's programs are in {namespace}");
    lab.kill().expect("it is ours");
    lab.wait().expect("it is ours");
    assert!(eventually(|| count(mark) == 0), "{} still run", count(mark));
    assert!(congestion == "cubic" || gone_from_kernel(congestion), "{congestion} is still known");
    assert!(eventually(|| in_namespace(namespace) == 0), "someone is still in {namespace}");
}

/// A script that leaves a process in the background, in its own session.
fn daemon(mark: &str) -> String {
    format!("setsid sh -c 'sleep {mark} & ' </dev/null >/dev/null 2>&1; exit 0")
}

/// The number of processes that `sleep` for that time.
fn count(mark: &str) -> usize {
    let processes = fs::read_dir("/proc").expect("/proc is mounted").flatten();
    let command = |entry: fs::DirEntry| fs::read(entry.path().join("cmdline")).unwrap_or_default();
    processes.map(command).filter(|line| *line == format!("sleep\0{mark}\0").as_bytes()).count()
}

/// The number of processes in a network namespace, given by its link in /proc.
fn in_namespace(namespace: &str) -> usize {
    let processes = fs::read_dir("/proc").expect("/proc is mounted").flatten();
    let theirs = processes.filter_map(|entry| fs::read_link(entry.path().join("ns/net")).ok());
    theirs.filter(|theirs| theirs.as_os_str() == namespace).count()
}

/// Starts this test program again as the lab to be killed, and waits until it is running; returns its output.
fn as_lab(mark: &str) -> (Child, Vec<String>) {
    let mut lab = Command::new(std::env::current_exe().expect("this program"))
        .args(["--exact", "the_lab", "--ignored", "--nocapture"])
        .env("LAB_MARK", mark)
        .stdout(Stdio::piped())
        .spawn()
        .expect("this program runs");
    let lines = BufReader::new(lab.stdout.take().expect("a pipe")).lines();
    let said = lines.map_while(Result::ok).find_map(|line| {
        line.split_once("at work: ").map(|(_, said)| said.split(' ').map(str::to_owned).collect())
    });
    (lab, said.expect("the lab comes to work"))
}

#[test]
#[ignore = "another test runs it as the lab that it kills"]
fn the_lab() {
    let Ok(mark) = std::env::var("LAB_MARK") else { return };
    let pair = Pair::new("200mbit");
    let (first, path) = spawn(pair.host(0), "killed-daemon", &shell(&daemon(&mark)));
    let (second, other) = spawn(pair.host(0), "killed", &words(&format!("sleep {mark}")));
    let _ = [path, other].map(fs::remove_file);
    let plan = plan("60 s", "[flow.one]\nfrom = \"a\"\nto = \"b\"\ncongestion = \"cubic\"");
    let modules = Congestion::load(&plan).expect("cubic, ours or the kernel's");
    let agents = pair.start(&plan, &modules, Clock::starting_in(Duration::ZERO), |_| {});
    let tcp = plan.flows[0].tcp().expect("a connection");
    let namespace = pair.host(0).within(|| fs::read_link("/proc/thread-self/ns/net"));
    let namespace = namespace.expect("a namespace").expect("/proc is mounted");
    println!("at work: {} {}", modules.name_for(tcp, &tcp.sender), namespace.display());
    thread::sleep(Duration::from_secs(60));
    drop((first, second, agents));
}
