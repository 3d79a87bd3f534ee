//! Captures as tshark sees them.

use crate::scene;
use std::path::Path;
use std::process::Command;

use crate::scene::{
    ACCESS, BACK, WAN, at_us, back, data, datagram, packet, sack, syn, totals_until,
};
use base::header::Header;
use base::packet::{ecn, flags};
use base::{Bytes, DropReason, Duration, Instant, Packet, Priorities};
use network::PortId;
use record::Recorder;
use traffic::{Control, Pause};

/// The length of a payload of zeros that makes the checksum over the scene's addresses, ports and lengths zero.
const SUMS_TO_ZERO: u32 = 15_688;

/// A connection's start on the access link, with a gap, datagrams, a loss at the emulator, and SACKs back.
fn capture(folder: &Path) {
    let mut recorder = Recorder::new(&scene::plan(), Some(folder)).unwrap();
    let mut sent = |port, packet: &Packet, us| {
        recorder.transmitted(port, packet, at_us(us), at_us(us + 12));
    };
    sent(ACCESS, &packet(0, syn(0xffff_ff00)), 1);
    let mut reply = syn(5_000);
    (reply.flags, reply.ack) = (flags::SYN | flags::ACK, 0xffff_ff01);
    sent(BACK, &back(packet(0, reply)), 2);
    let mut established = data(0xffff_ff01, 5_001);
    established.payload = 0;
    sent(ACCESS, &packet(0, established), 3);
    sent(ACCESS, &packet(0, data(0xffff_ff01, 5_001)), 4);
    let mut marked = packet(0, data(0x0000_04a9, 5_001));
    marked.tos = 0x28 | ecn::CE;
    sent(ACCESS, &marked, 30);
    sent(BACK, &back(packet(0, sack(5_001, 0xffff_ff01, 0x0000_04a9))), 50);
    recorder.gap(ACCESS, Bytes(1_490), Instant::from_ps(20_000_123_456), at_us(20_012));
    recorder.gap(ACCESS, Bytes(64), at_us(20_013), at_us(20_014));
    let mut sent = |flow, payload, us| {
        recorder.transmitted(ACCESS, &datagram(flow, payload), at_us(us), at_us(us + 12));
    };
    sent(2, 1_472, 20_015);
    sent(2, 1, 20_016);
    sent(2, SUMS_TO_ZERO, 20_017);
    let lost = packet(0, data(0xffff_ff01, 5_001));
    recorder.dropped(WAN, &lost, DropReason::QueueBytes, at_us(20_020));
    recorder.finish(&totals_until(at_us(30_000))).unwrap();
}

/// The output of tshark, or `None` (with a message) if there is no tshark.
fn tshark(folder: &Path, arguments: &[&str]) -> Option<String> {
    let file = folder.join(record::capture::FILE);
    let mut command = Command::new("tshark");
    for protocol in ["ip", "tcp", "udp"] {
        command.args(["-o", &format!("{protocol}.check_checksum:TRUE")]);
    }
    command.arg("-n");
    let Ok(output) = command.arg("-r").arg(&file).args(arguments).output() else {
        eprintln!("SKIPPED: no tshark here; apt-get install tshark");
        return None;
    };
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Some(String::from_utf8(output.stdout).unwrap())
}

fn fields(folder: &Path, filter: &str, names: &[&str]) -> Option<Vec<Vec<String>>> {
    let mut arguments = vec!["-Y", filter, "-T", "fields"];
    names.iter().for_each(|&name| arguments.extend(["-e", name]));
    let text = tshark(folder, &arguments)?;
    Some(text.lines().map(|line| line.split('\t').map(String::from).collect()).collect())
}

#[test]
fn nothing_is_malformed_and_every_checksum_is_good() {
    let folder = tempfile::tempdir().unwrap();
    capture(folder.path());
    // A datagram without its payload is "short" to tshark, as after `tcpdump -s`.
    let bad = "_ws.malformed || (_ws.short && !udp) || ip.checksum.status == 0 || tcp.checksum.status == 0 \
               || udp.checksum.status == 0 || udp.checksum == 0 || eth.fcs.status == 0 || (_ws.expert.severity >= 6291456 && !tcp.analysis)";
    let Some(text) = tshark(folder.path(), &["-Y", bad]) else { return };
    assert_eq!(text, "");
    let all = tshark(folder.path(), &["-T", "fields", "-e", "frame.number"]).unwrap();
    assert_eq!(all.lines().count(), 12);
    let whole = "tcp.len == 0 && tcp.checksum.status == 1 && ip.checksum.status == 1";
    let checked = tshark(folder.path(), &["-Y", whole]).unwrap();
    assert_eq!(checked.lines().count(), 4, "SYN, SYN-ACK and two ACKs are kept whole");
}

#[test]
fn a_segment_reads_as_it_was_sent() {
    let folder = tempfile::tempdir().unwrap();
    capture(folder.path());
    let names = [
        "frame.len",
        "frame.time_epoch",
        "eth.src",
        "eth.dst",
        "ip.src",
        "ip.dst",
        "ip.len",
        "ip.dsfield.dscp",
        "ip.dsfield.ecn",
        "tcp.srcport",
        "tcp.dstport",
        "tcp.seq_raw",
        "tcp.len",
        "tcp.window_size_value",
        "tcp.options.timestamp.tsval",
        "tcp.options.timestamp.tsecr",
        "frame.interface_name",
    ];
    let Some(rows) = fields(folder.path(), "ip.dsfield.ecn == 3", &names) else { return };
    let expected = [
        "1514",
        "0.000030000",
        "02:00:00:00:00:01",
        "02:00:00:00:00:02",
        "10.0.0.1",
        "10.0.0.3",
        "1500",
        "10",
        "3",
        "20000",
        "9000",
        "1193",
        "1448",
        "502",
        "1001",
        "2000",
        "access",
    ];
    assert_eq!(rows, [expected]);
}

#[test]
fn a_datagram_reads_as_it_was_sent() {
    let folder = tempfile::tempdir().unwrap();
    capture(folder.path());
    let names = [
        "frame.len",
        "ip.src",
        "ip.dst",
        "ip.len",
        "ip.proto",
        "udp.srcport",
        "udp.dstport",
        "udp.length",
    ];
    let Some(rows) = fields(folder.path(), "udp", &names) else { return };
    let full = ["1514", "10.0.0.1", "10.0.0.3", "1500", "17", "20002", "9000", "1480"];
    let byte = ["60", "10.0.0.1", "10.0.0.3", "29", "17", "20002", "9000", "9"];
    assert_eq!(rows[..2], [full, byte]);
    let checked = tshark(folder.path(), &["-Y", "udp.checksum.status == 1"]).unwrap();
    assert_eq!(checked.lines().count(), 1, "what fits the frame's least length is kept whole");
    let names = ["udp.checksum"];
    let rows = fields(folder.path(), "udp.checksum == 0xffff", &names).unwrap();
    assert_eq!(rows.len(), 1, "a sum of zero is written as all ones (RFC 768)");
}

#[test]
fn options_read_as_they_were_sent() {
    let folder = tempfile::tempdir().unwrap();
    capture(folder.path());
    let names = [
        "tcp.hdr_len",
        "tcp.options.mss_val",
        "tcp.options.wscale.shift",
        "tcp.options.sack_perm",
        "ip.src",
        "tcp.srcport",
    ];
    let Some(rows) = fields(folder.path(), "tcp.flags.syn == 1", &names) else { return };
    let from = |host: &str, port: &str| {
        ["40", "1460", "7", "04:02", host, port].map(String::from).to_vec()
    };
    let rows: Vec<Vec<String>> = rows;
    assert_eq!(rows[0][..3], from("", "")[..3]);
    assert_eq!(rows[0][4..], from("10.0.0.1", "20000")[4..]);
    assert_eq!(rows[1][4..], from("10.0.0.3", "9000")[4..]);
    assert!(rows.iter().all(|row| !row[3].is_empty()));
    let names = ["tcp.ack_raw", "tcp.options.sack_le", "tcp.options.sack_re"];
    let rows = fields(folder.path(), "tcp.options.sack_le", &names).unwrap();
    assert_eq!(rows.len(), 1);
    assert_eq!(rows[0][0], "4294967041");
    // Relative to the initial sequence number 0xffffff00.
    assert_eq!(rows[0][1..], ["1449,5793", "2897,7241"]);
}

#[test]
fn gaps_are_pause_frames_of_their_true_length() {
    let folder = tempfile::tempdir().unwrap();
    capture(folder.path());
    let names = ["frame.len", "frame.time_epoch", "eth.dst", "macc.opcode", "macc.pause_time"];
    let Some(rows) = fields(folder.path(), "eth.type == 0x8808", &names) else { return };
    let to = "01:80:c2:00:00:01";
    // 20.000123456 ms is written to the nanosecond.
    assert_eq!(rows[0], ["1486", "0.020000123", to, "0x0001", "0"]);
    assert_eq!(rows[1], ["60", "0.020013000", to, "0x0001", "0"]);
}

/// 802.1Qbb: the vector has a bit for each priority, and of those without one the time is zero.
#[test]
fn pause_frames_read_as_they_were_sent() {
    let folder = tempfile::tempdir().unwrap();
    let mut recorder = Recorder::new(&scene::plan(), Some(folder.path())).unwrap();
    let mut several = Pause::priority(7, 300);
    several.enabled = Priorities::of(0b1000_0010);
    several.quanta[1] = 0;
    let said = [Pause::priority(3, u16::MAX), Pause::priority(3, 0), several]
        .into_iter()
        .chain([Pause::port(513), Pause::port(0)]);
    for (us, pause) in (1..).zip(said) {
        recorder.control(BACK, &Control::Pause(pause), at_us(us));
    }
    // What is not captured.
    recorder.control(PortId(1), &Control::Pause(Pause::port(1)), at_us(9));
    recorder.finish(&totals_until(at_us(30))).unwrap();

    let bad = "_ws.malformed || _ws.expert.severity >= 6291456";
    let Some(text) = tshark(folder.path(), &["-Y", bad]) else { return };
    assert_eq!(text, "");
    let names =
        ["frame.len", "frame.time_epoch", "eth.src", "eth.dst", "macc.opcode", "macc.pause_time"];
    let times = (0..8).map(|priority| format!("macc.cbfc.pause_time.c{priority}"));
    let times: Vec<String> = times.collect();
    let names: Vec<&str> = names
        .into_iter()
        .chain(["macc.cbfc.enbv"])
        .chain(times.iter().map(String::as_str))
        .collect();
    let rows = fields(folder.path(), "macc", &names).unwrap();
    let row = |us: u64, opcode: &str, said: &str| {
        let head = format!("60 0.{:09} 02:00:00:00:00:03 01:80:c2:00:00:01 {opcode}", 1_000 * us);
        format!("{head} {said}")
    };
    let expected = [
        row(1, "0x0101", "- 0x0008 0 0 0 65535 0 0 0 0"),
        row(2, "0x0101", "- 0x0008 0 0 0 0 0 0 0 0"),
        row(3, "0x0101", "- 0x0082 0 0 0 0 0 0 0 300"),
        row(4, "0x0001", "513 - - - - - - - - -"),
        row(5, "0x0001", "0 - - - - - - - - -"),
    ];
    let shown = |row: &Vec<String>| {
        let cells = row.iter().map(|cell| if cell.is_empty() { "-" } else { cell });
        cells.collect::<Vec<_>>().join(" ")
    };
    assert_eq!(rows.iter().map(shown).collect::<Vec<_>>(), expected);
}

#[test]
fn drops_are_commented() {
    let folder = tempfile::tempdir().unwrap();
    capture(folder.path());
    let names = ["frame.comment", "frame.interface_name", "tcp.seq_raw"];
    let Some(rows) = fields(folder.path(), "frame.comment", &names) else { return };
    assert_eq!(rows, [["dropped: queue_bytes at gnet", "wan", "4294967041"]]);
}

#[test]
fn a_window_bounds_the_capture() {
    let folder = tempfile::tempdir().unwrap();
    let mut plan = scene::plan();
    plan.probes.captures.truncate(1);
    plan.probes.captures[0].window.from = at_us(10);
    plan.probes.captures[0].window.until = at_us(20);
    let mut recorder = Recorder::new(&plan, Some(folder.path())).unwrap();
    for us in [9, 10, 19, 20] {
        let start = at_us(us);
        recorder.transmitted(ACCESS, &packet(0, data(1, 1)), start, start + Duration::from_us(1));
    }
    recorder.finish(&totals_until(at_us(30))).unwrap();
    let Some(rows) = fields(folder.path(), "tcp", &["frame.time_epoch"]) else { return };
    assert_eq!(rows, [["0.000010000"], ["0.000019000"]]);
}

/// A segment's frame over IPv6 is 20 bytes longer.
#[test]
fn ipv6_reads_as_it_was_sent() {
    let folder = tempfile::tempdir().unwrap();
    let mut plan = scene::plan();
    let addresses = ["2001:db8::1", "2001:db8::2"].map(|text| text.parse().unwrap());
    for flow in &mut plan.flows {
        let ports = flow.header.ports.unwrap();
        let header = Header::between(addresses[0], addresses[1], flow.header.protocol, ports);
        flow.header = Header { flow_label: 0x12345, ..header };
    }
    let mut recorder = Recorder::new(&plan, Some(folder.path())).unwrap();
    let mut established = data(7, 9);
    established.payload = 0;
    let longer = |packet: Packet| Packet { length: packet.length + 20, ..packet };
    let segment = longer(packet(0, established));
    let reply = Packet { tos: 0x28, ..longer(back(packet(0, established))) };
    recorder.transmitted(ACCESS, &segment, at_us(1), at_us(2));
    recorder.transmitted(BACK, &reply, at_us(3), at_us(4));
    recorder.transmitted(ACCESS, &longer(datagram(2, 100)), at_us(5), at_us(6));
    recorder.finish(&totals_until(at_us(30_000))).unwrap();

    let names = ["ipv6.src", "ipv6.dst", "ipv6.tclass.dscp", "ipv6.flow", "ipv6.plen"];
    let Some(rows) = fields(folder.path(), "ipv6 && !_ws.malformed", &names) else { return };
    assert_eq!(rows[0], ["2001:db8::1", "2001:db8::2", "0", "0x012345", "32"]);
    assert_eq!(rows[1], ["2001:db8::2", "2001:db8::1", "10", "0x012345", "32"]);
    assert_eq!(rows[2], ["2001:db8::1", "2001:db8::2", "0", "0x012345", "108"]);
    let good = tshark(folder.path(), &["-Y", "tcp.checksum.status == 1"]).unwrap();
    assert_eq!(good.lines().count(), 2);
}

#[test]
fn a_packet_that_its_wire_loses_is_there_once() {
    let folder = tempfile::tempdir().unwrap();
    let mut recorder = Recorder::new(&scene::plan(), Some(folder.path())).unwrap();
    for (number, us) in [(0, 10), (1, 40)] {
        let sent = packet(0, data(9_001 + number * 1_448, 5_001));
        recorder.transmitted(WAN, &sent, at_us(us), at_us(us + 12));
        recorder.dropped(WAN, &sent, DropReason::LinkLoss, at_us(us));
    }
    recorder.finish(&totals_until(at_us(30_000))).unwrap();
    let names = ["frame.time_epoch", "frame.comment"];
    let Some(rows) = fields(folder.path(), "tcp", &names) else { return };
    let lost = "dropped: link_loss at gnet";
    assert_eq!(rows, [["0.000010000", lost], ["0.000040000", lost]]);
}
