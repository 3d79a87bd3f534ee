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

/// Queues with classes, and RED, without the module: what tc(8) shows of Linux' own disciplines, and of the filters.
const OF_CLASSES: [(&str, &[&str]); 6] = [
    (
        "priq={class={call={priority=2,match={dscp=46}},rest={queue={fifo={bytes=\"40 KB\"}}}}}",
        &[
            "prio 5100: root refcnt 2 bands 2 priomap 1 1 1",
            "pfifo 5101: parent 5100:1 limit 50p",
            "bfifo 5102: parent 5100:2 limit 40000b",
            "pref 1 flower chain 0 handle 0x1 classid 5100:1",
            "eth_type ipv6",
            "ip_tos 184/0xfc",
            "skip_hw",
        ],
    ),
    (
        "ets={class={first={match={destination_port=\"80\"}},big={percent=60,match={protocol=\"udp\",source_port=\"5000-5999\"}},rest={percent=30}}}",
        &[
            "ets 5100: root refcnt 2 bands 3 strict 1 quanta 91080 45540 priomap 2 2 2",
            "src_port 5000-5999",
            "dst_port 80",
        ],
    ),
    (
        "drr={class={a={weight=3,match={source=\"10.0.0.0/8\"}},b={queue={fq_codel={}}}}}",
        &[
            "drr 5100: root",
            "class drr 5100:10 root leaf 5101: quantum 4554b",
            "class drr 5100:11 root leaf 5102: quantum 1518b",
            "fq_codel 5102: parent 5100:11",
            "src_ip 10.0.0.0/8",
            "filter parent 5100: protocol all pref 2 flower",
        ],
    ),
    (
        "cbq={default=\"rest\",class={site={rate=\"50 Mbit/s\",borrow=true},gold={parent=\"site\",rate=\"30 Mbit/s\",priority=5,match={dscp=46}},rest={parent=\"site\",share=\"10 %\",borrow=true}}}",
        &[
            "htb 5100: root refcnt 2 r2q 10 default 0x12",
            "class htb 5100:1 root rate 100Mbit overhead 24 ceil 100Mbit",
            "class htb 5100:10 parent 5100:1 rate 50Mbit overhead 4 ceil 100Mbit",
            "class htb 5100:11 parent 5100:10 leaf 5102: prio 2 quantum 4554 rate 30Mbit overhead 4 ceil 30Mbit",
            "class htb 5100:12 parent 5100:10 leaf 5103: prio 6 quantum 1518 rate 10Mbit overhead 4 ceil 100Mbit",
            "burst 2428",
        ],
    ),
    (
        "hfsc={default_class=\"low\",class={call={real_time_m1=\"8 Mbit/s\",real_time_d=\"5 ms\",real_time_m2=\"800 kbit/s\",match={dscp=46}},low={link_share_m2=\"1 Mbit/s\",upper_limit_m2=\"9 Mbit/s\"}}}",
        &[
            "hfsc 5100: root refcnt 2 default 11",
            "class hfsc 5100:10 parent 5100: leaf 5101: rt m1 8Mbit d 5ms m2 800Kbit",
            "class hfsc 5100:11 parent 5100: leaf 5102: ls m1 0bit d 0us m2 1Mbit ul m1 0bit d 0us m2 9Mbit",
        ],
    ),
    (
        "red={in_bytes=true,gentle=false,ecn=true,packets=70,threshold_min=10,threshold_max=30}",
        &[
            "red 5100: root refcnt 2 limit 0b min 10000b max 30000b ecn harddrop",
            "ewma 9 probability 0.1",
            "pfifo 6100: parent 5100:1 limit 70p",
        ],
    ),
];

/// Loads a module by its system call.
pub(crate) const LOAD: &str = "python3 -c 'import ctypes, os, sys
file = os.open(sys.argv[1], os.O_RDONLY)
sys.exit(ctypes.CDLL(None).syscall(313, file, bytes(1), 0))'";

/// What the guest runs: each discipline is applied, shown, checked and taken back.
fn script(folder: &str, queues: &[(&str, &[&str])]) -> String {
    let host = format!("{SUIMON} host");
    let mut text = "tc -d qdisc show dev eth0\nip route show table all\n".to_owned();
    let queues_shown =
        "tc -d qdisc show dev eth0; tc -d class show dev eth0; tc filter show dev eth0";
    let shown =
        format!("({queues_shown}; ip route show table all; cat /proc/sys/net/ipv4/tcp_wmem)");
    text.push_str(&format!("{shown} > /tmp/before\n"));
    for (number, (queue, _)) in queues.iter().enumerate() {
        let set = match queue.starts_with("--set") {
            true => (*queue).to_owned(),
            false => format!("--set 'link.wan.queue={{{queue}}}'"),
        };
        text.push_str(&format!(
            "echo case {number}\n\
             {host} apply {folder}/policy.toml a --device eth0 {set} --state /tmp/s || exit\n\
             {queues_shown}\n\
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
fn classes_that_linux_has_are_set_and_taken_back() {
    if !lacks_kernel("policies with classes on a guest kernel") {
        set_and_taken_back("", &OF_CLASSES);
    }
}

#[test]
fn packets_take_the_class_that_a_filter_leads_to() {
    const TEST: &str = "classes of a policy on a guest kernel";
    if lacks_kernel(TEST) {
        return;
    }
    let folder = folder();
    let place = folder.path().display().to_string();
    let host = format!("{SUIMON} host");
    // Of ten datagrams, three have the code point, of both versions of IP; two go to the port.
    let send = "python3 -c 'import socket
def send(to, port, tos, count):
    family = socket.AF_INET6 if \":\" in to else socket.AF_INET
    out = socket.socket(family, socket.SOCK_DGRAM)
    if family == socket.AF_INET: out.setsockopt(socket.IPPROTO_IP, socket.IP_TOS, tos)
    else: out.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_TCLASS, tos)
    for _ in range(count): out.sendto(bytes(100), (to, port))
send(\"10.0.0.2\", 9, 0xb8, 2); send(\"fd99::2\", 9, 0xb8, 1)
send(\"10.0.0.2\", 4444, 0, 2); send(\"10.0.0.2\", 9, 0, 5)'";
    let cbq = "cbq={default=\"rest\",class={call={rate=\"9 Mbit/s\",match={dscp=46}},port={rate=\"9 Mbit/s\",\
               match={destination_port=\"4000-5000\"}},rest={rate=\"9 Mbit/s\",borrow=true}}}";
    let log = run(
        &folder,
        &format!(
            "ip -6 addr add fd99::1/64 dev eth0 nodad; ip -6 neigh add fd99::2 lladdr 02:00:00:00:00:09 dev eth0
            ip neigh replace 10.0.0.2 lladdr 02:00:00:00:00:09 dev eth0
            {host} plan {place}/policy.toml a --device eth0 --set 'link.wan.queue={{{cbq}}}'
            {host} apply {place}/policy.toml a --device eth0 --set 'link.wan.queue={{{cbq}}}' --state /tmp/s
            sleep 0.1; {send}; sleep 0.1
            tc -s class show dev eth0
            tc class change dev eth0 parent 5100:1 classid 5100:10 htb rate 2mbit; echo changed
            {host} status --state /tmp/s; tc filter del dev eth0 parent 5100: pref 1; {host} status --state /tmp/s
            {host} rollback --force --state /tmp/s && tc qdisc show dev eth0\necho end\n"
        ),
    );
    let sent = |class: &str| {
        let of = log.split_once(&format!("class htb 5100:{class} parent")).expect(&log).1;
        let packets = of.split_once(" bytes ").expect(&log).1.split_once(" pkt").expect(&log).0;
        packets.parse::<u32>().expect("a number")
    };
    // Besides, there are packets of IPv6 that this kernel sends by itself.
    assert_eq!((sent("10"), sent("11")), (3, 2), "{log}");
    assert!(sent("12") >= 5, "{log}");
    for told in [
        "htb: call 9 Mbit/s, port 9 Mbit/s, rest 9 Mbit/s ceil 100 Mbit/s, 8 filters",
        "(the kernel's own: its rates are token buckets",
        "htb: rate 9 Mbit/s, ceil 9 Mbit/s",
        "htb: rate 2 Mbit/s, ceil 2 Mbit/s",
        "7 filters",
        "qdisc tbf 1: root",
    ] {
        assert!(log.contains(told), "{told}: {log}");
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
