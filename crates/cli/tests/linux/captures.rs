//! Frames of kernels on their way: what a capture has of them, and what a link's copies of them carry.

use std::fs;
use std::path::Path;

use testbed::lacks_programs;

use crate::scenario::{KERNEL, ground, path, results};

/// The number after `name` in each line of a program's log.
fn numbers(log: &Path, name: &str) -> Vec<f64> {
    let text = fs::read_to_string(log).expect("what a program said");
    let values = text.lines().filter_map(|line| line.split(name).nth(1));
    values.filter_map(|value| value.split([' ', 'm']).next()?.parse().ok()).collect()
}

#[test]
fn copies_carry_what_they_are_copies_of() {
    let Some(ground) = ground("copies of kernels' datagrams") else { return };
    let bottleneck = "rate = \"100 Mbit/s\"\ndelay = \"20 ms\"\nat.r.duplicate = \"50 %\"";
    let flow = "datagrams = { rate = \"1 Mbit/s\", size = \"1000 B\" }";
    let (summary, _) = results(&ground, "copies", &path(5, KERNEL, bottleneck, flow));
    let delay = &summary["flow"]["f"]["datagrams"];
    for value in ["delay_mean_seconds", "delay_max_seconds"] {
        let value = delay[value].as_f64().unwrap_or_else(|| panic!("{summary:#}"));
        assert!((0.02..0.0202).contains(&value), "{delay:#}");
    }
}

#[test]
fn a_capture_has_a_programs_frames_and_ping_keeps_its_interval_from_the_start() {
    let Some(ground) = ground("a capture of ping in a kernel") else { return };
    if lacks_programs("a capture of ping in a kernel", &["ping", "tshark"]) {
        return;
    }
    let bottleneck = "rate = \"10 Mbit/s\"\ndelay = \"10 ms\"";
    let text = path(3, KERNEL, bottleneck, "program = \"ping -i 0.2 -c 10 {to}\"")
        + "[probe.capture.wire]\nat = \"r:bottleneck\"\n";
    let (_, out) = results(&ground, "ping", &text);
    let took = numbers(&out.join("programs/f.log"), ", time ");
    assert!(matches!(took[..], [took] if (1_790.0..1_850.0).contains(&took)), "{took:?} ms");
    let mut tshark = std::process::Command::new("tshark");
    tshark.arg("-r").arg(out.join("capture.pcapng")).args(["-n", "-Y", "icmp.type == 8"]);
    let output = tshark.output().expect("it starts");
    let lines = String::from_utf8(output.stdout).expect("text");
    assert_eq!(lines.lines().count(), 10, "{lines}");
}

#[test]
fn a_handshake_at_the_start_takes_what_the_path_takes() {
    let Some(ground) = ground("a flow that starts at 0 s") else { return };
    let text = path(1, KERNEL, "rate = \"1 Gbit/s\"\ndelay = \"5 ms\"", "bytes = \"1 kB\"");
    let (summary, _) = results(&ground, "start", &text);
    let srtt = summary["flow"]["f"]["srtt_seconds"].as_f64().expect("a sample");
    assert!((0.0100..0.0103).contains(&srtt), "{srtt}");
}
