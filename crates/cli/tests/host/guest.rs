//! Policies on a guest kernel, which has disciplines that this machine's may lack: in virtual time, by the real command.

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use tempfile::TempDir;

use crate::modules::modules;
use crate::typed::{SUIMON, code, json, stderr};

/// Two hosts with kernels. A program of the first one runs as root.
const SCENARIO: &str = r#"
duration = "2 s"
[host.a]
kernel = "linux-6.12"
as = "root"
program = "sh -c 'exec 2>&1; sh FOLDER/script; sleep 1000'"
[host.b]
kernel = "linux-6.12"
[link.wan]
between = ["a", "b"]
rate = "100 Mbit/s"
delay = "5 ms"
[flow.idle]
from = "a"
to = "b"
start = "1900 ms"
"#;

/// The policy. Each discipline takes the place of the queue.
const POLICY: &str = r#"
[host.a]
[host.b]
[link.wan]
between = ["a", "b"]
rate = "100 Mbit/s"
delay = "100 ms"
queue.fifo = {}
[flow.bulk]
from = "a"
to = "b"
congestion = "kernel:reno"
tcp.window.initial = 32
"#;

/// A scenario's queue, or options in place of it, and what tc(8) shows of it.
const QUEUES: [(&str, &[&str]); 7] = [
    (
        "fq_codel={target=\"3 ms\",interval=\"60 ms\",quantum=\"300 B\",flows=77,packets=88}",
        &[
            "fq_codel 5100: root",
            "limit 88p flows 77 quantum 300",
            "target 3ms",
            "interval 60ms",
            "ecn",
        ],
    ),
    ("codel={packets=99,ecn=true}", &["codel 5100: root", "limit 99p target 5ms", "ecn"]),
    ("pie={packets=77,alpha=3}", &["pie 5100: root", "limit 77p target 15ms", "alpha 3 beta 20"]),
    ("fifo={packets=5}", &["pfifo 5100: root", "limit 5p"]),
    ("fifo={bytes=\"90 KB\"}", &["bfifo 5100: root", "limit 90000b"]),
    (
        "tbf={rate=\"20 Mbit/s\",bucket=\"6 KB\",queue.fq_codel={}}",
        &["tbf 5100: root", "rate 20Mbit burst 7", "overhead 4", "fq_codel 5101: parent 5100:1"],
    ),
    (
        "--set link.wan.queue=none --set flow.bulk.tcp.emission.pacing=true",
        &["fq 5100: root", "limit 10000p flow_limit 100p", "quantum 3028b"],
    ),
];

/// Queues of disciplines that only Suimon's module has. tc knows their name, and the module's table shows the rest.
const OF_MODULE: [(&str, &[&str]); 3] = [
    ("psp={rate=\"50 Mbit/s\",gaps=false}", &["suimon 5100: root"]),
    (
        "drr={class={a={quantum=\"3 KB\",match={dscp=46}},b={}},default_class=\"b\"}",
        &["suimon 5100: root"],
    ),
    ("red={threshold_min=15,threshold_max=45}", &["suimon 5100: root"]),
];

/// Loads a module by its system call.
pub(crate) const LOAD: &str = "python3 -c 'import ctypes, os, sys
file = os.open(sys.argv[1], os.O_RDONLY)
sys.exit(ctypes.CDLL(None).syscall(313, file, bytes(1), 0))'";

/// What the guest runs: each discipline is applied, shown, checked and taken back.
fn script(folder: &str, queues: &[(&str, &[&str])]) -> String {
    let host = format!("{SUIMON} host");
    let mut text = "tc -d qdisc show dev eth0\nip route show table all\n".to_owned();
    let shown =
        "(tc -d qdisc show dev eth0; ip route show table all; cat /proc/sys/net/ipv4/tcp_wmem)";
    text.push_str(&format!("{shown} > /tmp/before\n"));
    for (number, (queue, _)) in queues.iter().enumerate() {
        let set = match queue.starts_with("--set") {
            true => (*queue).to_owned(),
            false => format!("--set 'link.wan.queue={{{queue}}}'"),
        };
        text.push_str(&format!(
            "echo case {number}\n\
             {host} apply {folder}/policy.toml a --device eth0 {set} --state /tmp/s || exit\n\
             tc -d qdisc show dev eth0\n\
             {host} status --state /tmp/s && echo settled\n\
             {host} rollback --state /tmp/s\n\
             {shown} > /tmp/after\n\
             cmp /tmp/before /tmp/after && echo restored\n"
        ));
    }
    text + "echo end\n"
}

/// Whether `test` must be skipped: there is no guest kernel.
pub(crate) fn lacks_kernel(test: &str) -> bool {
    if testbed::lacks_programs(test, &["tc", "ip", "setarch", "cmp", "python3"]) {
        return true;
    }
    let status = Command::new(SUIMON).args(["linux", "status", "--json"]).output();
    let missing = json(&status.expect("it starts"))["path"].is_null();
    if missing {
        testbed::unbuilt(test, "no guest kernel is built: make linux");
    }
    missing
}

#[test]
fn each_discipline_that_linux_has_is_set_and_taken_back() {
    if !lacks_kernel("policies on a guest kernel") {
        set_and_taken_back("", &QUEUES);
    }
}

#[test]
fn disciplines_of_the_module_are_set_and_taken_back() {
    const TEST: &str = "policies with the module on a guest kernel";
    if lacks_kernel(TEST) {
        return;
    }
    let Some(module) = module(TEST) else { return };
    // Without the module, the plan says how to get it; with it, a line of the scenario is a table of the module. What the
    // module refuses is refused in its words.
    let within =
        (0..10).fold("fifo={}".to_owned(), |queue, _| format!("tbr={{queue={{{queue}}}}}"));
    // A module of other text is noted.
    let plan = format!(
        "{SUIMON} host plan FOLDER/policy.toml a --device eth0 --set 'link.wan.queue={{psp={{gaps=false,rate=\"9 Mbit/s\"}}}}'"
    );
    let version = "/sys/module/sch_suimon/version";
    let first = format!(
        "{plan}
        cp {} /tmp/module; {LOAD} /tmp/module
        echo version; {plan}
        echo 0.0.9-0 > /tmp/version; mount --bind /tmp/version {version}; echo older; {plan}; echo noted; umount {version}
        {SUIMON} host apply FOLDER/policy.toml a --device eth0 --state /tmp/s --set 'link.wan.queue={{{within}}}'
        echo refused $?\n",
        module.display()
    );
    let log = set_and_taken_back(&first, &OF_MODULE);
    assert!(
        log.contains(
            "(os error 22): sch_suimon: line 4: too many disciplines within one another ("
        ),
        "{log}"
    );
    assert!(log.contains("refused 3"), "{log}");
    assert!(log.contains("this kernel has no qdisc psp by sch_suimon"), "{log}");
    assert!(log.contains("docs/how-to/module.md builds it"), "{log}");
    let between = |from: &str, to: &str| log.split_once(from)?.1.split_once(to).map(|it| it.0);
    let is_noted =
        |text: Option<&str>| text.expect("the plan").contains("not of the text of this program");
    assert!(!is_noted(between("version\n", "older\n")), "{log}");
    assert!(is_noted(between("older\n", "noted\n")), "{log}");
}

#[test]
fn gap_frames_are_tried_before_they_are_relied_on() {
    const TEST: &str = "gap frames of a device in a guest";
    if lacks_kernel(TEST) || testbed::lacks_programs(TEST, &["ethtool"]) {
        return;
    }
    let Some(module) = module(TEST) else { return };
    let folder = folder();
    let place = folder.path().display().to_string();
    let psp = |verb: &str, rate: &str| {
        format!(
            "{SUIMON} host {verb} {place}/policy.toml a --device eth0 --set 'link.wan.rate=\"{rate}\"' \
             --set 'link.wan.queue={{psp={{rate=\"5 Mbit/s\"}}}}'"
        )
    };
    // The wire has 100 Mbit/s, whatever the device claims.
    let log = run(
        &folder,
        &format!(
            "cp {} /tmp/module; {LOAD} /tmp/module
            {} && echo unexpected
            ethtool -s eth0 speed 100 duplex full; {}
            {} --state /tmp/s && echo applied
            tc qdisc show dev eth0; {SUIMON} host rollback --state /tmp/s
            ethtool -s eth0 speed 10 duplex full; {} --state /tmp/s || echo refused $?
            ethtool -s eth0 speed 1000 duplex full; {} --state /tmp/s && echo slow\necho end\n",
            module.display(),
            psp("plan", "100 Mbit/s"),
            psp("plan", "100 Mbit/s"),
            psp("apply", "100 Mbit/s"),
            psp("apply", "10 Mbit/s"),
            psp("apply", "1 Gbit/s"),
        ),
    );
    for told in [
        "eth0 has no line that gap frames could fill",
        "apply sends up to three thousand gap frames by eth0 first",
        "applied\nqdisc suimon 5100: root",
        "eth0 sends gap frames faster than a line of 10 Mbit/s: it drops them, or has no such line",
        "refused 3",
        "slow\n",
    ] {
        assert!(log.contains(told), "{told}: {log}");
    }
    assert!(!log.contains("unexpected"), "{log}");
    // Several frames end at once.
    let times =
        log.split_once("eth0 took ").and_then(|(_, rest)| rest.split_once(" times as long"));
    let times: f64 = times.expect("the note").0.parse().expect("a number");
    assert!((times - 10.0).abs() < 0.2, "{log}");
}

/// The module for the guest kernel. `None` if `test` must be skipped.
pub(crate) fn module(test: &str) -> Option<PathBuf> {
    Some(modules(test)?.join("sch_suimon.ko"))
}

/// Applies a policy with each of the queues in a guest, after the lines `first` of a script. Returns what the script
/// printed.
fn set_and_taken_back(first: &str, queues: &[(&str, &[&str])]) -> String {
    let folder = folder();
    let place = folder.path().display().to_string();
    let log = run(&folder, &(first.replace("FOLDER", &place) + &script(&place, queues)));
    let cases: Vec<&str> = log.split("\ncase ").skip(1).collect();
    assert_eq!(cases.len(), queues.len(), "{log}");
    for (case, (queue, parts)) in cases.iter().zip(queues) {
        for part in parts.iter().chain(&["settled", "restored"]) {
            assert!(case.contains(part), "{queue}: no {part}: {case}");
        }
    }
    log
}

/// A folder that guests see: they have their own /tmp.
pub(crate) fn folder() -> TempDir {
    tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder")
}

/// Runs a script as root in a guest, and returns what it printed. Its last line prints `end`.
pub(crate) fn run(folder: &TempDir, script: &str) -> String {
    let place = folder.path().display().to_string();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).expect("a file");
    write("scenario.toml", &SCENARIO.replace("FOLDER", &place));
    write("policy.toml", POLICY);
    write("script", script);
    let mut suimon = Command::new(SUIMON);
    suimon.args(["run", "-q", "-o"]).arg(folder.path().join("run"));
    let output = suimon.arg(folder.path().join("scenario.toml")).output().expect("it starts");
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let log = fs::read_to_string(folder.path().join("run/programs/a.1.log")).expect("the log");
    assert!(log.contains("\nend\n"), "{log}");
    log
}
