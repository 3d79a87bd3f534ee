//! Captures of a lab's run, as tshark sees them.

use std::path::Path;

use crate::ground::{Ground, Network, output};

/// A filter for bad frames. A datagram whose payload is not kept is "short", as after `tcpdump -s`; findings of
/// TCP's analysis are caused by the network; and Linux writes a TCP checksum of 0 as 0xffff, which tshark
/// marks.
const BAD: &str = "_ws.malformed || (_ws.short && !udp) || eth.fcs.status == 0 \
    || ip.checksum.status == 0 || udp.checksum.status == 0 \
    || ((tcp.checksum.status == 0 || (_ws.expert.severity >= 6291456 && !tcp.analysis)) \
        && !(tcp.checksum == 0xffff))";

/// Bytes on the wire per frame that are not captured: FCS, preamble and gap.
const BESIDE: u64 = 24;

/// The output of tshark for a file; fails if tshark complains.
fn tshark(file: &Path, words: &[&str]) -> String {
    let checks = ["ip", "tcp", "udp"].map(|name| format!("{name}.check_checksum:TRUE"));
    let mut all = vec!["-n", "-r", file.to_str().expect("a path")];
    checks.iter().for_each(|check| all.extend(["-o", check]));
    all.extend(words);
    output("tshark", &all)
}

/// Columns of the frames that pass a filter.
fn rows(file: &Path, filter: &str, names: &[&str]) -> Vec<Vec<String>> {
    let mut words = vec!["-Y", filter, "-T", "fields"];
    names.iter().for_each(|&name| words.extend(["-e", name]));
    let text = tshark(file, &words);
    text.lines().map(|line| line.split('\t').map(String::from).collect()).collect()
}

fn count(file: &Path, filter: &str) -> u64 {
    rows(file, filter, &["frame.number"]).len() as u64
}

#[test]
fn a_capture_is_well_formed_and_has_the_drops() {
    let Some(ground) = Ground::take("captures", &["tshark"]) else { return };
    let network =
        Network { duration: "2 s", rate: "50 Mbit/s", buffer: "32 KiB", ..Network::default() };
    let run = ground.run(
        &network.with(
            r#"
[flow.bulk]
from = "a"
to = "b"
[flow.load]
from = "a"
to = "b"
start = "1 s"
stop = "1.5 s"
datagrams = { rate = "60 Mbit/s", size = "500 B" }
[probe.capture.east]
at = "wan:east"
[probe.capture.back]
at = "b:east"
"#,
        ),
        &[],
    );
    let file = run.folder.join("capture.pcapng");
    assert_eq!(tshark(&file, &["-Y", BAD]), "");
    // Checksums are looked at where frames are kept whole: both SYNs, and every plain ACK.
    let whole = "tcp.len == 0 && tcp.checksum.status == 1 && ip.checksum.status == 1";
    assert!(count(&file, whole) > 100, "{whole}");
    let east = &run.summary()["link"]["east"]["forward"];
    let drops = east["drops_by_reason"].as_object().expect("reasons");
    let mut commented = 0;
    for (reason, packets) in drops {
        let packets = packets.as_u64().expect("a count");
        let comment = format!(r#"frame.comment == "dropped: {reason} at wan""#);
        assert_eq!(count(&file, &comment), packets, "{reason}");
        commented += packets;
    }
    assert!(commented > 0, "the buffer was too small: {east}");
    assert_eq!(count(&file, "frame.comment"), commented);
}

/// A router that paces its traffic to `b` below the line rate, with gaps between.
const PACED: &str = r#"
title = "A router that paces"
duration = "3 s"
[host.a]
[host.b]
HOST
[router.r]
[link.in]
between = ["a", "r"]
rate = "1 Gbit/s"
[link.out]
between = ["r", "b"]
rate = "100 Mbit/s"
wire = "WIRE"
[link.out.at.r.queue.psp.class.path]
rate = "40 Mbit/s"
match = { to = "b" }
[flow.load]
from = "a"
to = "b"
start = "1 s"
stop = "2.5 s"
datagrams = { rate = "60 Mbit/s" }
[probe.capture.out]
at = "r:out"
"#;

/// For each frame that the wire carried (dropped frames have a comment): its length without FCS, its start time
/// in nanoseconds, and whether it is a gap.
fn frames(file: &Path) -> Vec<(u64, u64, bool)> {
    let names = ["frame.len", "frame.time_epoch", "eth.type"];
    let all = rows(file, "(udp || macc) && !frame.comment", &names);
    let number = |text: &str| text.replace('.', "").parse().expect("a number");
    all.iter().map(|row| (number(&row[0]), number(&row[1]), row[2] == "0x8808")).collect()
}

#[test]
fn gaps_take_the_wire_for_as_long_as_they_say() {
    let Some(ground) = Ground::take("gap frames", &["tshark"]) else { return };
    let run = ground.run(&PACED.replace("HOST", "").replace("WIRE", "time"), &[]);
    let file = run.folder.join("capture.pcapng");
    assert_eq!(tshark(&file, &["-Y", BAD]), "");
    let frames = frames(&file);
    let gaps = frames.iter().filter(|frame| frame.2).count();
    assert!(gaps > 1_000, "{gaps} gaps");
    let (mut back_to_back, mut spans) = (0, Vec::new());
    let mut data_before: Option<u64> = None;
    for pair in frames.windows(2) {
        let [(length, at, is_gap), (_, next, _)] = pair else { continue };
        // 10 ns carry a bit at 100 Mbit/s; the stamps are cut to nanoseconds.
        let ends = at + (length + BESIDE) * 80;
        assert!(*next + 1 >= ends, "a frame begins before the one before it ends");
        if !is_gap {
            spans.extend(data_before.map(|before| at - before));
            data_before = Some(*at);
        }
        if *next > ends + 1 {
            data_before = None;
        } else {
            back_to_back += 1;
        }
    }
    assert!(back_to_back > frames.len() * 9 / 10, "the wire is full of data and gaps");
    // 1518 bytes at 40 Mbit/s.
    spans.sort_unstable();
    let half = spans[spans.len() / 2];
    assert!(half.abs_diff(303_600) <= 80, "{half} ns from datagram to datagram, not 303600");
}

#[test]
fn gaps_arrive_as_pause_frames_of_the_right_sizes() {
    let programs = ["tshark", "dumpcap"];
    let Some(ground) = Ground::take("PAUSE frames", &programs) else { return };
    let file = ground.path("b.pcapng");
    let host =
        format!("program = \"dumpcap -q -i eth0 -s 128 -w {}\"\nas = \"root\"", file.display());
    let run = ground.run(&PACED.replace("HOST", &host).replace("WIRE", "frames"), &[]);
    assert_eq!(tshark(&file, &["-Y", BAD]), "");
    let sizes = |frames: Vec<(u64, u64, bool)>| -> Vec<(u64, bool)> {
        frames.into_iter().map(|(length, _, is_gap)| (length, is_gap)).collect()
    };
    let seen = sizes(frames(&file));
    let sent = sizes(frames(&run.folder.join("capture.pcapng")));
    assert!(seen.iter().filter(|frame| frame.1).count() > 1_000, "{} frames arrived", seen.len());
    assert!(seen.len() + 4 >= sent.len(), "{} of {} frames arrived", seen.len(), sent.len());
    assert!(sent.starts_with(&seen), "frames arrive in the sizes in which they were sent");
    let pause = "macc.opcode == 0x0001 && eth.dst == 01:80:c2:00:00:01";
    let gaps = seen.iter().filter(|frame| frame.1).count() as u64;
    assert_eq!(count(&file, pause), gaps);
}
