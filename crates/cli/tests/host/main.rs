//! `suimon host` in network namespaces of the test's own.
//!
//! Needs root, iproute2 and ethtool; without, the tests say so and pass. Only settings that each namespace has of its
//! own are changed.

mod faults;
mod guest;
mod lines;
mod machine;
mod metrics;
#[path = "../typed/modules.rs"]
mod modules;
#[path = "../prometheus/mod.rs"]
mod prometheus;
#[path = "../typed/mod.rs"]
mod typed;

use std::process::Output;

use machine::{Machine, lacks};
use serde_json::Value;
use typed::{code, json, stderr, stdout};

/// A host whose policy has a part of every kind.
const EVERYTHING: &str = r#"
[host.a]
[host.b]
[link.wan]
between = ["a", "b"]
rate = "1 Gbit/s"
delay = "50 ms"
[link.wan.at.a]
queue.tbf = { rate = "200 Mbit/s", queue.fifo.bytes = "200 KB" }
[flow.bulk]
from = "a"
to = "b"
congestion = "newreno"
[flow.bulk.tcp]
window.initial = 20
window.idle_restart = "keep"
rto.min = "50 ms"
emission.tso = false
[flow.bulk.receiver_tcp.segment]
ecn = true
"#;

/// Whether a `plan --json` changes anything.
fn changes(plan: &Value) -> bool {
    let settings = plan["settings"].as_array().expect("a list");
    assert!(settings.len() > 5, "{plan:#}");
    settings.iter().any(|row| row["changes"] != false)
}

fn assert_code(output: &Output, wanted: i32) {
    assert_eq!(code(output), wanted, "{}{}", stdout(output), stderr(output));
}

#[test]
fn a_policy_is_planned_applied_and_restored_to_the_byte() {
    if lacks("a policy on a machine") {
        return;
    }
    let machine = Machine::new(EVERYTHING);
    let before = machine.state();
    let plan = machine.host(&["plan", "a", "--json"]);
    assert_code(&plan, 0);
    assert_eq!(machine.state(), before, "a plan changes nothing");
    let (plan, file) = (json(&plan), machine.file());
    let wanted = |name: &str, will: &str, line: &str| {
        let rows = plan["settings"].as_array().expect("a list");
        let row = rows.iter().find(|row| row["setting"] == name);
        let row = row.unwrap_or_else(|| panic!("no {name}: {plan:#}"));
        assert_eq!(row["will_be"], will, "{row}");
        let why = row["why"].as_str().expect("a reason");
        assert!(why.contains(&line.replace("FILE", &file)), "{why}");
    };
    wanted("net.ipv4.tcp_congestion_control", "reno", "FILE:13: flow.bulk.congestion");
    wanted("net.ipv4.tcp_slow_start_after_idle", "0", "FILE:16: flow.bulk.tcp.window.idle_restart");
    wanted(
        "route default via 10.79.1.2",
        "initcwnd 20 rto_min 50 ms",
        "FILE:15: flow.bulk.tcp.window",
    );
    wanted("eth0 tx-tcp-segmentation", "off", "FILE:18: flow.bulk.tcp.emission.tso");
    wanted(
        "eth0 qdisc",
        "tbf 200 Mbit/s burst 13518, bfifo limit 200000b",
        "FILE:9: link.wan.at.a.queue",
    );
    // Two products of 1 Gbit/s and 100 ms.
    wanted("net.ipv4.tcp_wmem", "4096 16384 25000000", "2 BDPs of 1 Gbit/s");

    let applied = machine.host(&["apply", "a"]);
    assert_code(&applied, 0);
    assert_ne!(machine.state(), before);
    let queues = machine.run("tc -j qdisc show dev eth0");
    assert!(
        queues.contains("\"kind\":\"tbf\"") && queues.contains("\"rate\":25000000"),
        "{queues}"
    );
    assert!(
        queues.contains("\"kind\":\"bfifo\"") && queues.contains("\"limit\":200000"),
        "{queues}"
    );
    let routes = machine.run("ip route show default");
    assert!(routes.contains("initcwnd 20") && routes.contains("rto_min lock 50ms"), "{routes}");
    let features = machine.run("ethtool -k eth0");
    assert!(features.contains("tx-tcp-segmentation: off"), "{features}");
    machine.transfer(1 << 20);
    let status = machine.host(&["status", "--json"]);
    assert_code(&status, 0);
    assert_eq!(json(&status)["drift"], Value::Array(Vec::new()));
    let again = json(&machine.host(&["plan", "a", "--json"]));
    assert!(!changes(&again), "nothing is left to change: {again:#}");
    let twice = machine.host(&["apply", "a"]);
    assert_code(&twice, 2);
    assert!(stderr(&twice).contains("applied already") && stderr(&twice).contains("rollback"));

    assert_code(&machine.host(&["rollback"]), 0);
    assert_eq!(machine.state(), before);
    assert_code(&machine.host(&["status"]), 0);
    assert_code(&machine.host(&["rollback"]), 2);
    let journal = std::fs::metadata(machine.journals()).expect("the folder");
    assert_eq!(std::os::unix::fs::MetadataExt::mode(&journal) & 0o777, 0o700);
}

#[test]
fn routes_that_could_not_be_restored_are_left_alone() {
    if lacks("a route that expires") {
        return;
    }
    let machine = Machine::new(EVERYTHING);
    machine.run("ip -6 route add fd84::/64 via fd79:1::2 dev eth0 expires 4000");
    assert_code(&machine.host(&["apply", "a"]), 0);
    let route = machine.run("ip -6 route show fd84::/64");
    assert!(route.contains("expires") && !route.contains("initcwnd"), "{route}");
    let route = machine.run("ip route show 10.83.0.0/16");
    assert!(route.contains("nhid 5") && !route.contains("initcwnd"), "{route}");
    let route = machine.run("ip route show 10.82.0.0/16");
    assert!(route.contains("onlink") && route.contains("initcwnd 20"), "{route}");
    assert_code(&machine.host(&["rollback"]), 0);
}

#[test]
fn longer_frames_than_the_scenarios_pass_the_burst() {
    if lacks("a policy of a device with long frames") {
        return;
    }
    // A bucket of one packet.
    let text = EVERYTHING.replace("200 Mbit/s\",", "200 Mbit/s\", bucket = \"1500 B\",");
    let machine = Machine::new(&text);
    machine.run("ip link set eth0 mtu 9000");
    let plan = json(&machine.host(&["plan", "a", "--json"]));
    let notes = plan["notes"].to_string();
    assert!(
        notes.contains("eth0 has an MTU of 9000, its link in the scenario one of 1500"),
        "{notes}"
    );
    assert_code(&machine.host(&["apply", "a"]), 0);
    // A frame that tbf cannot send is dropped as it arrives, and its sender gets an error.
    let sent = machine.within(|| {
        let socket = std::net::UdpSocket::bind("10.79.1.1:0").expect("bind");
        socket.send_to(&[0; 6_000], "10.79.1.2:9")
    });
    assert_eq!(sent.ok(), Some(6_000));
    let queues = machine.run("tc -s -j qdisc show dev eth0");
    let queues: Value = serde_json::from_str(&queues).expect("tc prints JSON");
    assert_eq!(queues[0]["drops"], 0, "{queues}");
    assert_code(&machine.host(&["rollback"]), 0);
}

#[test]
fn an_administrators_own_qdisc_comes_back() {
    if lacks("a policy in place of a qdisc") {
        return;
    }
    for commands in [
        &["tc qdisc add dev eth0 root handle 7: tbf rate 5mbit burst 20000 limit 90000"][..],
        &["tc qdisc add dev eth0 root handle 1: bfifo limit 77777"],
        &[
            "tc qdisc add dev eth0 root handle 1: htb default 20 r2q 5",
            "tc class add dev eth0 parent 1: classid 1:1 htb rate 90mbit burst 15k",
            "tc class add dev eth0 parent 1:1 classid 1:20 htb rate 6gbit ceil 8gbit prio 2",
            "tc class add dev eth0 parent 1:1 classid 1:10 htb rate 1mbit quantum 1514",
            "tc qdisc add dev eth0 parent 1:20 handle 20: pfifo limit 17",
        ],
    ] {
        let machine = Machine::new(EVERYTHING);
        commands.iter().for_each(|command| drop(machine.run(command)));
        let before = machine.state();
        assert_code(&machine.host(&["apply", "a"]), 0);
        machine.transfer(1 << 16);
        assert_code(&machine.host(&["rollback"]), 0);
        assert_eq!(machine.state(), before, "{commands:?}");
    }
    // What could not be restored is not touched.
    let machine = Machine::new(EVERYTHING);
    machine.run("tc qdisc add dev eth0 root handle 1: htb");
    machine.run("tc class add dev eth0 parent 1: classid 1:1 htb rate 90mbit");
    machine.run("tc filter add dev eth0 parent 1: protocol ip prio 1 u32 match ip dport 80 0xffff flowid 1:1");
    let before = machine.state();
    let refused = machine.host(&["apply", "a"]);
    assert_code(&refused, 3);
    assert!(stderr(&refused).contains("tc qdisc del dev eth0 root"), "{}", stderr(&refused));
    assert_eq!(machine.state(), before);
}

#[test]
fn our_algorithms_are_loaded_until_they_are_taken_back() {
    if lacks("an algorithm of a policy") {
        return;
    }
    let _alone = testbed::alone();
    let text = EVERYTHING.replace("congestion = \"newreno\"", "congestion = \"highspeed\"");
    let machine = Machine::new(&text);
    let plan = machine.host(&["plan", "a"]);
    if code(&plan) == 3 && stdout(&plan).contains("cannot be loaded as BPF") {
        return testbed::skip("an algorithm of a policy", "this kernel loads no struct_ops");
    }
    let before = machine.state();
    assert_code(&machine.host(&["apply", "a"]), 0);
    // This namespace is not the machine's first one: the algorithm is that of the routes.
    let routes = machine.run("ip route show default");
    assert!(routes.contains("congctl sui_highspeed"), "{routes}");
    machine.transfer(1 << 20);
    assert_code(&machine.host(&["rollback"]), 0);
    assert_eq!(machine.state(), before);
    let known = machine.run("sysctl net.ipv4.tcp_available_congestion_control");
    assert!(!known.contains("sui_highspeed"), "{known}");
    assert!(!std::path::Path::new("/run/suimon/host").exists(), "its file system is unmounted");
}

#[test]
fn options_of_mpi_programs_are_enabled_until_they_are_taken_back() {
    const JOB: &str = r#"
[host.a]
[host.b]
[link.wan]
between = ["a", "b"]
rate = "1 Gbit/s"
delay = "5 ms"
[flow.job]
from = "a"
to = "b"
congestion = { cubic = { restart = 1 } }
tcp.rto.min = "12 ms"
mpi = { steps = "alltoall 32 KiB", phases = "collective" }
"#;
    if lacks("options of MPI programs") {
        return;
    }
    let _alone = testbed::alone();
    let mpi = |verb: &str| {
        let output = std::process::Command::new(typed::SUIMON).args(["mpi", verb]).output();
        output.expect("it starts")
    };
    let machine = Machine::new(JOB);
    let plan = machine.host(&["plan", "a"]);
    if code(&plan) == 3 && stdout(&plan).contains("cannot be loaded as BPF") {
        return testbed::skip("options of MPI programs", "this kernel loads no struct_ops");
    }
    for part in [
        "options of MPI programs",
        "phases, cubic restart 1 rto_min 12 ms",
        "suimon mpi run --phases collective -- mpirun",
        "flow.job.mpi.phases",
    ] {
        assert!(stdout(&plan).contains(part), "{part}: {}", stdout(&plan));
    }
    let before = machine.state();
    assert_code(&machine.host(&["apply", "a"]), 0);
    assert!(stdout(&mpi("status")).starts_with("enabled\n"));
    assert_code(&machine.host(&["status"]), 0);
    // Somebody disables them.
    assert_code(&mpi("disable"), 0);
    let drift = machine.host(&["status"]);
    assert_code(&drift, 1);
    assert!(stdout(&drift).contains("options of MPI programs"), "{}", stdout(&drift));
    assert_code(&machine.host(&["rollback"]), 0);
    assert_eq!(machine.state(), before);
    // Somebody has enabled others.
    assert_code(&mpi("enable"), 0);
    let refused = machine.host(&["apply", "a"]);
    assert_code(&mpi("disable"), 0);
    assert_code(&refused, 3);
    assert!(stderr(&refused).contains("sudo suimon mpi disable"), "{}", stderr(&refused));
    assert_code(&machine.host(&["apply", "a"]), 0);
    assert_code(&machine.host(&["rollback"]), 0);
    assert!(!std::path::Path::new("/run/suimon/mpi").exists(), "its file system is unmounted");
}

#[test]
fn what_the_machine_lacks_is_told_before_anything_changes() {
    if lacks("what a machine lacks") {
        return;
    }
    let refused = |text: &str, words: &[&str], wanted: i32, parts: &[&str]| {
        let machine = Machine::new(text);
        let before = machine.state();
        for verb in ["plan", "apply"] {
            let output = machine.host(&[&[verb], words].concat());
            assert_code(&output, wanted);
            let said = [stdout(&output), stderr(&output)].concat();
            parts.iter().for_each(|part| assert!(said.contains(part), "{part}: {said}"));
        }
        assert_eq!(machine.state(), before);
        assert!(!machine.journals().join("journal.json").exists());
    };
    let queue = |queue: &str| EVERYTHING.replace("queue.tbf = {", &format!("{queue}\nx = {{"));
    let of = |text: &str| {
        let cut = queue(text);
        let lines = cut.lines().filter(|line| !line.starts_with("x = ")).collect::<Vec<_>>();
        lines.join("\n")
    };
    refused(EVERYTHING, &["c"], 2, &["no host `c`", "choose one of: a, b"]);
    refused(EVERYTHING, &["a", "--device", "eth9"], 3, &["no network device `eth9`", "eth0"]);
    refused(EVERYTHING, &["a", "--device", "lan=eth0"], 2, &["no link `lan`", "--device wan=eth0"]);
    let twice = ["a", "--device", "wan=eth0", "--device", "eth1"];
    refused(EVERYTHING, &twice, 2, &["link `wan` is given two devices: eth0 and eth1"]);
    let psp = of("queue.psp = { rate = \"500 Mbit/s\" }");
    refused(&psp, &["a"], 3, &["no line that gap frames", "gaps = false", "link.wan.at.a.queue"]);
    let timed = of("queue.psp = { rate = \"500 Mbit/s\", gaps = false }");
    let module = ["modprobe -a sch_suimon", "docs/how-to/module.md builds it"];
    refused(&timed, &["a"], 3, &["no qdisc psp by sch_suimon", module[0], module[1]]);
    let both = of("queue.fifo = { packets = 10, bytes = \"20 KB\" }");
    refused(&both, &["a"], 3, &["no qdisc fifo by sch_suimon", module[0]]);
    let other = of("queue.drr = { class.x.match.to = \"b\", class.y = {}, default_class = \"y\" }");
    refused(&other, &["a"], 3, &["the class `x` is matched by a host or a flow of the scenario"]);
    let second =
        "[flow.second]\nfrom = \"a\"\nto = \"b\"\ntcp.window.initial = 40\ntcp.rto.min = \"50 ms\"";
    let metrics = format!("{EVERYTHING}{second}");
    let both = ["the routes of eth0 cannot have initcwnd 40", "and initcwnd 20", "flow.bulk.tcp"];
    refused(&metrics, &["a"], 3, &both);
    let kernels = EVERYTHING.replace("\"newreno\"", "\"kernel:nonesuch\"");
    refused(&kernels, &["a"], 3, &["no congestion control `nonesuch`", "modprobe tcp_nonesuch"]);
    let buffer = EVERYTHING.replace("[link.wan.at.a]", "[link.wan.at.a]\ndevice_buffer = \"9 KB\"");
    refused(&buffer, &["a"], 3, &["no limit on its transmit queue", "byte_queue_limits"]);
}

#[test]
fn keys_that_only_a_run_uses_are_noted() {
    if lacks("keys of runs") {
        return;
    }
    let text = EVERYTHING.replacen(
        "[host.a]",
        "[host.a]\nprogram = \"true\"\ncoalesce.delay = \"1 us\"",
        1,
    );
    let machine = Machine::new(&text);
    let plan = json(&machine.host(&["plan", "a", "--json"]));
    let notes = plan["notes"].to_string();
    for (key, why) in
        [("host.a.program", "it starts none"), ("host.a.coalesce", "the machine takes the time")]
    {
        assert!(notes.contains(&format!(": {key} ({why}")), "{key}: {notes}");
    }
    assert!(!notes.contains("host.b"), "that is another machine: {notes}");
}

#[test]
fn keys_that_nothing_sets_are_noted() {
    if lacks("keys without a setting") {
        return;
    }
    let text = EVERYTHING.replace("\"keep\"", "\"rfc7661\"").replace(
        "rto.min = \"50 ms\"",
        "rto = { min = \"50 ms\", initial = \"2 s\" }\nemission.pacing = true",
    );
    let machine = Machine::new(&text);
    let plan = json(&machine.host(&["plan", "a", "--json"]));
    let notes: Vec<&str> =
        plan["notes"].as_array().expect("a list").iter().filter_map(Value::as_str).collect();
    let file = machine.file();
    let unset = ["17: flow.bulk.tcp.rto.initial", "18: flow.bulk.tcp.emission.pacing"];
    for note in unset.map(|place| format!("not set on a host: {file}:{place}")) {
        assert!(notes.contains(&note.as_str()), "{note}: {notes:#?}");
    }
    let count = notes.iter().filter(|note| note.starts_with("not set")).count();
    assert_eq!(count, unset.len(), "{notes:#?}");
    let restart = "on or off only, and on is rfc2861, not rfc7661";
    assert!(notes.iter().any(|note| note.contains(restart)), "{notes:#?}");
}

#[test]
fn the_maximum_timeout_is_set_where_linux_has_one() {
    if lacks("the maximum retransmission timeout") {
        return;
    }
    let set =
        |max: &str| EVERYTHING.replace("rto.min = ", &format!("rto.max = \"{max}\"\nrto.min = "));
    let machine = Machine::new(&set("9 s"));
    let plan = json(&machine.host(&["plan", "a", "--json"]));
    let rows = plan["settings"].as_array().expect("a list");
    let row = rows.iter().find(|row| row["setting"] == "net.ipv4.tcp_rto_max_ms");
    let note = "flow.bulk.tcp.rto.max (net.ipv4.tcp_rto_max_ms: Linux has it from 6.15 on)";
    let has = machine.run("sysctl -eN net.ipv4.tcp_rto_max_ms").contains("rto_max");
    assert_eq!(row.map(|row| &row["will_be"]), has.then_some(&Value::from("9000")), "{plan:#}");
    assert_eq!(plan["notes"].to_string().contains(note), !has, "{plan:#}");
    if !has {
        return testbed::unbuilt("the maximum timeout is set", "this kernel is older than 6.15");
    }
    let before = machine.state();
    assert_code(&machine.host(&["apply", "a"]), 0);
    assert_eq!(machine.run("sysctl -n net.ipv4.tcp_rto_max_ms").trim(), "9000");
    assert_code(&machine.host(&["rollback"]), 0);
    assert_eq!(machine.state(), before);
    let long = Machine::new(&set("200 s"));
    let plan = stdout(&long.host(&["plan", "a"])).to_owned();
    assert!(plan.contains("(net.ipv4.tcp_rto_max_ms: Linux has 1 s to 120 s)"), "{plan}");
}

/// Only the first namespace may change it: kernel/module/qemu.guest does.
#[test]
fn a_limit_of_the_whole_machine_is_noted() {
    if lacks("the limit of buffers that programs request") {
        return;
    }
    let plan = |size: &str| {
        let row = format!("buffers.send = \"{size}\"\nrto.min = ");
        let machine = Machine::new(&EVERYTHING.replace("rto.min = ", &row));
        json(&machine.host(&["plan", "a", "--json"]))["notes"].to_string()
    };
    let typed = "sudo sysctl -w net.core.wmem_max=500000000 (";
    let notes = plan("1 GB");
    assert!(notes.contains(typed) && notes.contains("flow.bulk.tcp.buffers.send"), "{notes}");
    let notes = plan("20 KB");
    assert!(!notes.contains("wmem_max"), "{notes}");
}

#[test]
fn a_user_without_rights_is_told() {
    if lacks("a user's policy") {
        return;
    }
    let machine = Machine::new(EVERYTHING);
    for verb in [&["plan", "a"][..], &["apply", "a"], &["rollback"], &["status"]] {
        let output = machine.as_nobody(verb);
        if let Some(output) = output {
            assert_code(&output, 3);
            let said = [stdout(&output), stderr(&output)].concat();
            assert!(said.contains("requires root") && said.contains("sudo suimon host"), "{said}");
        }
    }
}

#[test]
fn a_host_of_each_template_has_a_plan() {
    if lacks("plans of the templates") {
        return;
    }
    for template in scenario::TEMPLATES {
        let machine = Machine::new(template.text());
        let before = machine.state();
        let plan = scenario::Document::parse("t", template.text()).expect("TOML");
        let plan = plan.plan().expect("a plan");
        let is_host =
            |node: &&scenario::plan::Node| matches!(node.kind, scenario::plan::NodeKind::Host(_));
        let host = plan.nodes.iter().find(is_host).expect("a host");
        let number = plan.nodes.iter().position(|node| node.name == host.name);
        let links =
            plan.links.iter().filter(|link| link.ends.iter().any(|end| Some(end.node) == number));
        let devices: Vec<String> =
            links.map(|link| format!("--device={}=eth0", link.name)).collect();
        let words: Vec<&str> =
            ["plan", &host.name].into_iter().chain(devices.iter().map(String::as_str)).collect();
        let output = machine.host(&words);
        // 3: a discipline that needs the module.
        let told = code(&output) == 3 && stdout(&output).contains("missing: ");
        assert!(
            code(&output) == 0 || told,
            "{}: {}{}",
            template.name,
            stdout(&output),
            stderr(&output)
        );
        assert_eq!(machine.state(), before, "{}", template.name);
    }
}

#[test]
fn transmit_queues_are_limited_as_the_device_buffer() {
    if lacks("the limit of a transmit queue") {
        return;
    }
    let text = EVERYTHING.replace("[link.wan.at.a]", "[link.wan.at.a]\ndevice_buffer = \"9 KB\"");
    let machine = Machine::new(&text);
    machine.run("ip link add card type ifb");
    let limit = |machine: &Machine| {
        machine.in_sysfs("cat /sys/class/net/card/queues/tx-0/byte_queue_limits/limit_max")
    };
    let Some(before) = limit(&machine) else {
        return testbed::skip("the limit of a transmit queue", "this kernel's ifb has none");
    };
    let host = |words: &str| {
        machine.in_sysfs(&format!(
            "{} host {words} --state {}",
            typed::SUIMON,
            machine.journals().display()
        ))
    };
    let file = machine.file();
    let words = format!("apply {file} a --device card --set flow.bulk.tcp=none");
    assert!(host(&words).is_some_and(|said| said.contains("settings changed")));
    assert_eq!(limit(&machine).as_deref(), Some("9000\n"));
    assert!(host("rollback").is_some());
    assert_eq!(limit(&machine), Some(before));
}

#[test]
fn a_unit_applies_the_policy_at_boot() {
    if lacks("a policy at boot") {
        return;
    }
    let machine = Machine::new(EVERYTHING);
    let units = machine.folder().join("units");
    std::fs::create_dir(&units).expect("a folder");
    let at = format!("--units={}", units.display());
    assert_code(
        &machine.run_host(&["enable", &machine.file(), "a", "--device", "wan=eth0", &at]),
        0,
    );
    let unit = std::fs::read_to_string(units.join("suimon-host.service")).expect("the unit");
    let start = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).expect("a command");
    assert!(unit.contains("Type=oneshot\nRemainAfterExit=yes\nRestart=on-failure\n"), "{unit}");
    assert!(unit.contains("WantedBy=multi-user.target"), "{unit}");
    assert_valid(&units.join("suimon-host.service"));
    // The unit's own command works.
    let before = machine.state();
    machine.run(
        &start.replace(" apply ", &format!(" apply --state {} ", machine.journals().display())),
    );
    assert_code(&machine.host(&["status"]), 0);
    assert_code(&machine.host(&["rollback"]), 0);
    assert_eq!(machine.state(), before);
    assert_code(&machine.run_host(&["disable", &at]), 0);
    assert!(!units.join("suimon-host.service").exists());
}

/// systemd itself reads the unit, where it is installed.
fn assert_valid(unit: &std::path::Path) {
    if !testbed::is_installed("systemd-analyze") {
        return testbed::unbuilt("systemd reads the unit", "systemd-analyze is not installed");
    }
    let mut verify = std::process::Command::new("systemd-analyze");
    let words = ["verify", "--man=no", "--recursive-errors=no"];
    let said = verify.args(words).arg(unit).output().expect("it runs");
    assert_code(&said, 0);
    assert_eq!(stderr(&said), "");
}
