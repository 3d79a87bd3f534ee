//! Real programs over the lab find the network that the scenario describes.

use std::fs;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;

use crate::ground::{Ground, Network, Run, output};
use crate::typed::{code, stderr};
use testbed::say;

/// The emulator's rate in these tests. Windows (`-w`) are chosen so that its buffer is never empty or full, and
/// the rate is the emulator's and not that of TCP's recovery.
const RATE: f64 = 200e6;
/// A host that stalls for longer empties a path whose window is 20 ms.
const STALL: Duration = Duration::from_millis(20);
/// The tolerance of a program's figure: iperf3 counts whole blocks of 128 KiB, by its own clock.
const NEAR: f64 = 0.01;

/// A flow of iperf3 with these options.
fn iperf3(name: &str, start: &str, options: &str) -> String {
    format!(
        r#"
[flow.{name}]
from = "a"
to = "b"
start = "{start}"
program = "iperf3 -c {{to}} -p {{port}} {options} -J -i 0.25 --get-server-output"
server = "iperf3 -s -1 -J -p {{port}}"
"#
    )
}

/// The JSON report of iperf3 for a flow.
fn iperf3_report(run: &Run, flow: &str) -> Value {
    let report: Value = serde_json::from_str(&run.log(flow)).expect("JSON");
    assert!(report.get("error").is_none(), "{flow}: {}", report["error"]);
    report
}

/// The payload rate in half of the receiver's intervals must be the emulator's rate for frames that hold
/// `payload` of `frame` bytes. (iperf3's totals are wrong by the data in flight at the end of the omitted
/// time.)
fn check_rate(run: &Run, flow: &str, payload: f64, frame: f64) {
    let report = iperf3_report(run, flow);
    let is_reverse = report["start"]["test_start"]["reverse"] == 1;
    let receiver = if is_reverse { &report } else { &report["server_output_json"] };
    let intervals = receiver["intervals"].as_array().expect("a list").iter();
    let mut rates: Vec<_> = intervals
        .filter(|interval| interval["sum"]["omitted"] == false)
        .map(|interval| interval["sum"]["bits_per_second"].as_f64().expect("a rate"))
        .collect();
    rates.sort_by(f64::total_cmp);
    let (half, wanted) = (rates[rates.len() / 2], RATE * payload / frame);
    assert!((half / wanted - 1.0).abs() < NEAR, "{flow}: {rates:?} bit/s, not {wanted}");
}

#[test]
fn iperf3_gets_the_emulators_rate() {
    let test = "iperf3";
    let Some(ground) = Ground::take(test, &["iperf3"]) else { return };
    let flows = [
        iperf3("tcp", "0 s", "-t 2 -O 1 -w 512K"),
        iperf3("reverse", "3.5 s", "-t 2 -O 1 -w 512K -R"),
        iperf3("parallel", "7 s", "-t 2 -O 1 -w 128K -P 4"),
    ];
    let scenario = Network { duration: "10.5 s", ..Network::default() }.with(&flows.concat());
    let hosts_went_on = |run: &Run| run.longest_stall() < STALL;
    let Some(run) = ground.measure(test, &scenario, &[], hosts_went_on) else { return };
    for flow in ["tcp", "reverse", "parallel"] {
        check_rate(&run, flow, 1448.0, 1518.0);
    }
}

#[test]
fn a_programs_flow_has_its_packets_and_bytes() {
    let test = "a program's packets";
    let Some(ground) = Ground::take(test, &["iperf3", "ping"]) else { return };
    let flows = [
        iperf3("there", "0 s", "-t 1 -w 512K"),
        iperf3("back", "2 s", "-t 1 -w 512K -R"),
        "[flow.ping]\nfrom = \"b\"\nto = \"a\"\nstart = \"4 s\"\n\
         program = \"ping -c 5 -i 0.1 -s 100 {to}\"\n"
            .into(),
        "[flow.own]\nfrom = \"a\"\nto = \"b\"\nstart = \"0 s\"\nbytes = \"100 kB\"\n".into(),
    ];
    let network = Network { duration: "5 s", ..Network::default() };
    let run = ground.run(&network.with(&flows.concat()), &[]);
    let summary = run.summary();
    let carried = |flow: &str, way: &str, what: &str| {
        let value = &summary["flow"][flow]["program"][way][what];
        value.as_f64().unwrap_or_else(|| panic!("{flow} {way} {what}: {}", summary["flow"][flow]))
    };
    for (flow, data, acks) in [("there", "forward", "reverse"), ("back", "reverse", "forward")] {
        let end = &iperf3_report(&run, flow)["end"];
        let received = end["sum_received"]["bytes"].as_f64().expect("bytes");
        // Beside the data: what iperf3 says of itself, and segments that were sent twice.
        let share = carried(flow, data, "bytes") / received;
        assert!((0.99..1.05).contains(&share), "{flow}: {share} of {received} bytes");
        assert!(carried(flow, data, "received") * 1_448.0 >= received, "{flow}");
        assert!(carried(flow, acks, "received") > 100.0, "{flow}");
        assert!(carried(flow, acks, "bytes") < 100e3, "{flow}: its ACKs have no payload");
        assert!(summary["flow"][flow]["goodput"].as_f64().expect("a rate") > 1e6, "{flow}");
    }
    for way in ["forward", "reverse"] {
        assert_eq!((carried("ping", way, "sent"), carried("ping", way, "received")), (5.0, 5.0));
    }
    assert!(summary["flow"]["own"].get("program").is_none(), "{}", summary["flow"]["own"]);
    assert_eq!(summary["flow"]["own"]["bytes"], 100_000);
}

/// At a tenth of that rate, a receiver has room for some 90 datagrams, which arrive within 54 ms. At the full
/// rate, a receiver that gets no CPU for 5 ms would lose datagrams that the network did not.
#[test]
fn iperf3_loses_the_datagrams_that_the_emulator_has_no_room_for() {
    const RATE: f64 = 20e6;
    const BUFFER: f64 = (128 << 10) as f64;
    let test = "iperf3's datagrams";
    let Some(ground) = Ground::take(test, &["iperf3"]) else { return };
    let flows = [
        iperf3("within", "0 s", "-t 1 -u -l 1448 -b 10M"),
        iperf3("beyond", "1.5 s", "-t 2 -u -l 1448 -b 30M"),
    ];
    let network = Network { duration: "4 s", rate: "20 Mbit/s", ..Network::default() };
    let scenario = Network { buffer: "128 KiB", ..network }.with(&flows.concat());
    let hosts_went_on = |run: &Run| run.longest_stall() < STALL;
    let Some(run) = ground.measure(test, &scenario, &[], hosts_went_on) else { return };
    let end = &iperf3_report(&run, "within")["end"]["sum"];
    assert_eq!(end["lost_packets"], 0, "{end}");
    let end = &iperf3_report(&run, "beyond")["end"]["sum"];
    let lost = end["lost_percent"].as_f64().expect("a share");
    // Frames are 46 bytes longer: headers of 8 and 20 bytes, Ethernet's 18. The buffer fills only once.
    let (sent, passed) = (30e6 * 2.0 / 8.0 * 1494.0 / 1448.0, RATE * 2.0 / 8.0 + BUFFER);
    let wanted = 100.0 * (1.0 - passed / sent);
    assert!((lost - wanted).abs() < 1.0, "{lost} % lost, not {wanted}");
}

#[test]
fn ping_shows_the_configured_round_trip() {
    let test = "ping";
    let Some(ground) = Ground::take(test, &["ping"]) else { return };
    let network = Network { duration: "10 s", delay: "10 ms", ..Network::default() };
    let scenario = network.with(&pings("ping", ""));
    let Some(run) = ground.measure(test, &scenario, &[], |_| true) else { return };
    check_round_trips(&run, 0.020);
}

/// 100 round trips by `command` over the network with its delay, and as many beside it over one without.
fn pings(command: &str, address: &str) -> String {
    let flow = |name: &str, to: &str| {
        format!(
            r#"
[flow.{name}]
from = "a"
to = "{to}"
program = "{command} -i 0.02 -c 100 -W 1 {{to}}"
"#
        )
    };
    let near = format!(
        r#"
[host.c]
{address}
[emulator.near]
rate = "200 Mbit/s"
buffer = "1 MiB"
[link.south]
between = ["a", "near"]
rate = "1 Gbit/s"
[link.north]
between = ["near", "c"]
rate = "1 Gbit/s"
"#
    );
    flow("delayed", "b") + &flow("near", "c") + &near
}

/// The delay must add the configured round trip within 0.2 ms and 1 % to half of them. What the round trips without
/// it take is the machine's: a virtual CPU may need 60 us to wake up, four times in each.
fn check_round_trips(run: &Run, configured: f64) {
    let half = |flow| {
        let log = run.log(flow);
        let shown = log.lines().filter_map(|line| line.split_once("time=")?.1.strip_suffix(" ms"));
        let mut times: Vec<f64> = shown.map(|time| time.parse().expect("a time")).collect();
        times.sort_by(f64::total_cmp);
        assert_eq!(times.len(), 100, "every one is answered:\n{log}");
        say(&format!("{flow}: {} ms (half), {} ms at most", times[50], times[99]));
        times[50] * 1e-3
    };
    let (near, added) = (0.2e-3 + 0.01 * configured, half("delayed") - half("near"));
    assert!((added - configured).abs() < near, "{added} s, not {configured}");
}

#[test]
fn ipv6_works_by_itself() {
    let test = "IPv6";
    let Some(ground) = Ground::take(test, &["iperf3", "ping"]) else { return };
    let hosts = [r#"address = "fd00::a""#, r#"address = "fd00::b""#];
    let network = Network { duration: "6 s", hosts, ..Network::default() };
    let flows = iperf3("tcp", "2.4 s", "-6 -t 2 -O 1 -w 512K")
        + &pings("ping -6", r#"address = "fd00::c""#);
    let Some(run) = ground.measure(test, &network.with(&flows), &[], |_| true) else { return };
    check_round_trips(&run, 0.004);
    check_rate(&run, "tcp", 1428.0, 1518.0);
}

#[test]
fn frames_of_9000_bytes_pass() {
    let test = "MTU 9000";
    let Some(ground) = Ground::take(test, &["iperf3", "ping"]) else { return };
    let network = Network { duration: "4.5 s", mtu: "9000 B", ..Network::default() };
    let ping = |name: &str, size: u32| {
        format!(
            r#"
[flow.{name}]
from = "a"
to = "b"
program = "ping -M do -i 0.05 -c 5 -W 1 -s {size} {{to}}"
"#
        )
    };
    let flows =
        ping("fits", 8972) + &ping("exceeds", 8973) + &iperf3("tcp", "1 s", "-t 2 -O 1 -w 512K");
    let run = ground.attempt(&network.with(&flows), &[]);
    assert_eq!(code(&run.output), 1, "one fails: {}", stderr(&run.output));
    assert!(run.log("fits").contains("5 received"), "{}", run.log("fits"));
    let exceeds = run.log("exceeds");
    assert!(exceeds.contains("message too long") && exceeds.contains("0 received"), "{exceeds}");
    assert!(run.failed_programs().contains("-s 8973"), "{}", run.failed_programs());
    if run.manifest()["lab"]["kept_up"] == true {
        check_rate(&run, "tcp", 8948.0, 9018.0);
    }
}

#[test]
fn a_large_file_arrives_whole() {
    /// Megabytes; a release is tested with 1000.
    const VARIABLE: &str = "SUIMON_TEST_TRANSFER_MB";
    let Some(ground) = Ground::take("a transfer", &["curl", "python3", "sha256sum"]) else {
        return;
    };
    let megabytes: u64 = std::env::var(VARIABLE).ok().and_then(|n| n.parse().ok()).unwrap_or(256);
    let made = Command::new("dd")
        .args(["if=/dev/urandom", "bs=1M", "status=none"])
        .args([format!("count={megabytes}"), format!("of={}", ground.path("sent").display())])
        .status();
    assert!(made.expect("coreutils").success());
    let server = format!(
        "program = \"python3 -m http.server 80 --directory {}\"\nas = \"root\"",
        ground.path("").display()
    );
    let network =
        Network { rate: "1 Gbit/s", buffer: "4 MiB", hosts: ["", &server], ..Network::default() };
    // The server listens without any name lookup.
    let words = ["curl", "-sS", "-m", "60", "-o", "received", "http://b/sent"];
    let fetched = ground.exec(&network.with(""), &[], "a", &words);
    assert!(fetched.status.success(), "{}", stderr(&fetched));
    let sum = |name| output("sha256sum", &[ground.path(name)]);
    let (sent, received) = (sum("sent"), sum("received"));
    assert_eq!(sent.split(' ').next(), received.split(' ').next());
    let length = fs::metadata(ground.path("received")).expect("a file").len();
    assert_eq!(length, megabytes << 20);
}

#[test]
fn every_kind_of_port_carries_programs() {
    let test = "kinds of ports";
    let Some(ground) = Ground::take(test, &["iperf3"]) else { return };
    // Long enough that a dozen milliseconds without a CPU are less than a percent of it.
    let scenario = Network { duration: "5.5 s", ..Network::default() };
    let scenario = scenario.with(&iperf3("tcp", "0 s", "-t 3 -O 1 -w 512K"));
    for (port, name) in
        [("xdp", "AF_XDP, generic"), ("xdp-native", "AF_XDP, native"), ("packet", "AF_PACKET")]
    {
        let test = format!("{test}: {port}");
        let Some(run) = ground.measure(&test, &scenario, &["--port", port], |_| true) else {
            continue;
        };
        let ports = run.manifest()["lab"]["ports"].clone();
        let kinds: Vec<_> = ports.as_array().expect("a list").iter().map(|p| &p["kind"]).collect();
        assert_eq!(kinds, [name, name]);
        let command = run.manifest()["command"].clone();
        let words: Vec<_> = command.as_array().expect("words").iter().rev().take(4).collect();
        assert_eq!(words, [port, "--port", "lab", "--on"], "what it takes to run it again");
        check_rate(&run, "tcp", 1448.0, 1518.0);
    }
}

/// A program that binds to no address sends over the link that its flow names; if the flow names none, over
/// `near`.
#[test]
fn a_program_sends_by_the_link_that_its_flow_names() {
    let Some(ground) = Ground::take("a program's link", &["iperf3"]) else { return };
    let scenario = r#"
duration = "3 s"
[host.a]
[host.b]
[router.r]
[link.near]
between = ["a", "r"]
rate = "20 Mbit/s"
[link.far]
between = ["a", "r"]
rate = "10 Mbit/s"
[link.out]
between = ["r", "b"]
rate = "100 Mbit/s"
[flow.far]
from = "a:far"
to = "b"
program = "iperf3 -c {to} -p {port} -n 1M"
server = "iperf3 -s -1 -p {port}"
[flow.any]
from = "a"
to = "b"
program = "iperf3 -c {to} -p {port} -n 500K"
server = "iperf3 -s -1 -p {port}"
"#;
    let summary = ground.run(scenario, &[]).summary();
    let sent = |link: &str| summary["link"][link]["forward"]["bytes"].as_f64().expect("bytes");
    // iperf3 may end before its last blocks are sent.
    let by = [sent("near"), sent("far")];
    assert!((0.3e6..0.7e6).contains(&by[0]) && (0.8e6..1.3e6).contains(&by[1]), "{by:?}");
}

#[test]
fn a_run_of_programs_ends_with_them() {
    let Some(ground) = Ground::take("a run's end", &[]) else { return };
    let network = Network { duration: "60 s", ..Network::default() };
    let program = "[flow.brief]\nfrom = \"a\"\nto = \"b\"\nprogram = \"ping -c 2 -i 0.2 {to}\"\nserver = \"sleep 60\"\n";
    let run = ground.run(&network.with(program), &[]);
    let summary = run.summary();
    let seconds = summary["run"]["seconds"].as_f64().expect("a number");
    assert!(seconds < 20.0, "{seconds} s");
    assert_eq!(
        (&summary["run"]["complete"], &summary["flow"]["brief"]["completed"]),
        (&true.into(), &true.into())
    );
    assert!(
        run.summary()["run"]["bytes"].as_u64() > Some(0),
        "what programs move is in the run's sum"
    );
}
