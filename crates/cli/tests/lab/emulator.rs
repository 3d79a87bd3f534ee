//! The emulator's accuracy: its rate, delay and buffer as dumpcap captures them at the hosts, judged by
//! `truth.py`, which does not depend on the fabric.

use std::process::Command;
use std::time::Duration;

use crate::ground::{Ground, Network, Run, beside};
use crate::typed::{code, stderr, stdout};
use testbed::say;

/// Programs that the witness needs.
const WITNESS: [&str; 2] = ["dumpcap", "python3"];

/// A host's program that captures its own interface; the capture has the host's name.
fn witness(ground: &Ground, host: &str) -> String {
    let file = ground.path(&format!("{host}.pcapng"));
    // The headers and the datagram's number; 64 MiB of frames may wait for the file.
    let program = format!("dumpcap -q -i eth0 -f udp -s 64 -B 64 -w {}", file.display());
    format!("program = {program:?}\nas = \"root\"")
}

/// A flow of numbered datagrams, in bursts of these sizes.
fn datagrams(bursts: u32, pause: &str, sizes: &[u32]) -> String {
    let sizes: Vec<_> = sizes.iter().map(u32::to_string).collect();
    format!(
        r#"
[flow.datagrams]
from = "a"
to = "b"
program = "python3 {script} send {{to}} {{port}} 2 {bursts} {pause} {sizes}"
server = "python3 {script} sink {{port}}"
as = "root"
"#,
        script = beside("datagrams.py"),
        sizes = sizes.join(" "),
    )
}

/// The output of `truth.py`, and its exit code.
fn judge(ground: &Ground, verb: &str, captures: &[&str], figures: &[String]) -> (String, i32) {
    let captures = captures.iter().map(|host| ground.path(&format!("{host}.pcapng")));
    let mut command = Command::new("python3");
    command.arg(beside("truth.py")).arg(verb).args(captures).args(figures);
    let output = command.output().expect("python3");
    assert!(output.stderr.is_empty(), "{}", stderr(&output));
    (stdout(&output).trim().to_owned(), code(&output))
}

/// Runs `scenario` until machine and captures permit a judgement, and reports it.
fn check(
    ground: &Ground,
    test: &str,
    scenario: &str,
    fits: impl Fn(&Run) -> bool,
    truth: impl Fn() -> (String, i32),
) {
    let judged = |run: &Run| fits(run) && truth().1 != 3;
    let Some(run) = ground.measure(test, scenario, &[], judged) else { return };
    let (found, code) = truth();
    say(&format!("{test}: {found}; {}", run.manifest()["lab"]["lateness"]));
    assert_eq!(code, 0, "{test}: {found}");
}

#[test]
fn the_rate_is_right_to_a_thousandth() {
    let test = "the emulator's rate";
    let Some(ground) = Ground::take(test, &WITNESS) else { return };
    let network = Network {
        duration: "12.5 s",
        rate: "100 Mbit/s",
        hosts: ["", &witness(&ground, "b")],
        ..Network::default()
    };
    let load = r#"
[flow.load]
from = "a"
to = "b"
start = "1.5 s"
stop = "12 s"
datagrams = { rate = "150 Mbit/s" }
"#;
    let truth = || judge(&ground, "rate", &["b"], &["100e6".into()]);
    check(&ground, test, &network.with(load), |_| true, truth);
}

#[test]
fn the_delay_is_right_to_microseconds() {
    let test = "the emulator's delay";
    let Some(ground) = Ground::take(test, &WITNESS) else { return };
    let network = Network {
        duration: "7 s",
        delay: "10 ms",
        hosts: [&witness(&ground, "a"), &witness(&ground, "b")],
        ..Network::default()
    };
    // Without the microseconds of its timer a pause is 2 ms.
    let scenario = network.with(&datagrams(2_000, "0.0019", &[1_000]));
    let figures = ["1e9", "200e6", "0.010"].map(String::from);
    let truth = || judge(&ground, "delay", &["a", "b"], &figures);
    // The bounds of the judge are those of a quiet machine. Runs that report a larger lateness do not count,
    // nor those with hosts stalled for 1 % of the sending time, which would reach the p99. The p50 of lateness
    // may use 12 of the 20 us: the hosts' stacks and links add about 6.
    let quiet = |run: &Run| {
        let (lab, sending_ns) = (&run.manifest()["lab"], 3_800_000_000);
        lab["lateness"]["p99_ns"].as_u64().is_some_and(|p99| p99 < 200_000)
            && lab["lateness"]["p50_ns"].as_u64().is_some_and(|p50| p50 < 12_000)
            && lab["host_stalls"]["sum_ns"].as_u64().is_some_and(|sum| sum < sending_ns / 100)
    };
    check(&ground, test, &scenario, quiet, truth);
}

/// The datagrams that the emulator passed to host `b`, by its own count.
fn carried(run: &Run) -> Option<u64> {
    run.summary()["flow"]["datagrams"]["program"]["forward"]["received"].as_u64()
}

/// The datagrams that host `b` captured, as the judge counts them.
fn captured(found: &str) -> Option<u64> {
    serde_json::from_str::<serde_json::Value>(found).ok()?["arrived"].as_u64()
}

#[test]
fn the_buffer_holds_what_it_says_to_the_byte() {
    let test = "the emulator's buffer";
    let Some(ground) = Ground::take(test, &WITNESS) else { return };
    let full: Vec<u32> = vec![1_472; 40];
    // A frame of 1518 bytes, one of 246 and the shortest, which may pass when the longer does not.
    let mixed: Vec<u32> = [1_472, 200, 8, 1_472].repeat(10);
    let room = 20 * 1_518;
    for (sizes, buffer) in
        [(&full, room), (&full, room - 1), (&mixed, 10 * 1_518 + 100), (&mixed, 9_000)]
    {
        let network = Network {
            duration: "4 s",
            rate: "1 Mbit/s",
            buffer: &format!("{buffer} B"),
            hosts: [&witness(&ground, "a"), &witness(&ground, "b")],
            ..Network::default()
        };
        let scenario = network.with(&datagrams(3, "0.4", sizes));
        let truth = || judge(&ground, "drops", &["a", "b"], &["1e6".into(), buffer.to_string()]);
        // In 12 ms the first frame of a burst leaves: a machine that pauses for that long within a burst makes room for
        // others. A capture that lacks frames which the emulator passed on decides nothing.
        let fits = |run: &Run| {
            run.longest_stall() < Duration::from_millis(10) && carried(run) == captured(&truth().0)
        };
        check(&ground, &format!("{test} of {buffer} bytes"), &scenario, fits, truth);
    }
}
