//! Hosts that offload checksums and segmentation to their network cards, which is the default; and frames whose
//! checksums must not be changed.

use std::io::{Read, Write};
use std::net::{TcpListener, UdpSocket};
use std::thread;

use lab::Namespace;
use nix::sys::socket::{setsockopt, sockopt::UdpGsoSegment};
use serde_json::Value;

use crate::frames::Tap;
use crate::machines::{LEFT, LEFT_IPV6, Machines, RIGHT, RIGHT_IPV6, output, run};
use crate::scenarios::plain;
use testbed::{PATIENCE, eventually};

/// Says so and returns true if this machine cannot run `test`.
fn lacks(test: &str) -> bool {
    testbed::lacks(test, &["ip", "ethtool", "iperf3", "curl", "timeout"])
}

/// The report of iperf3 from left to right.
fn iperf3(machines: &Machines, address: &str, words: &str) -> Value {
    let server = format!("timeout 30 iperf3 --server --one-off --bind {address}");
    thread::scope(|scope| {
        let server = scope.spawn(|| run(&machines.right, &server));
        let client = format!("timeout 20 iperf3 --json --client {address} {words}");
        let mut told = Value::Null;
        eventually("iperf3 does its work", || {
            let output = output(&machines.left, &client);
            told = serde_json::from_slice(&output.stdout).unwrap_or_default();
            // iperf3 exits with 0 even if no server is listening yet.
            output.status.success() && told.get("error").is_none()
        });
        server.join().expect("the server");
        told
    })
}

/// Fetches `count` bytes from the right host with curl in the left host.
fn fetch(machines: &Machines, address: &str, count: usize) {
    let page: Vec<u8> = (0..count).map(|n| b'a' + (n % 23) as u8).collect();
    let listener = machines.right.within(|| TcpListener::bind((address, 8000)));
    let listener = listener.expect("there").expect("bind");
    let host = if address.contains(':') { format!("[{address}]") } else { address.to_owned() };
    let fetched = thread::scope(|scope| {
        scope.spawn(|| {
            let (mut stream, _) = listener.accept().expect("a connection");
            stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
            let mut request = [0; 4096];
            assert!(stream.read(&mut request).expect("a request") > 0);
            let head = format!("HTTP/1.0 200 OK\r\nContent-Length: {count}\r\n\r\n");
            stream.write_all(head.as_bytes()).and_then(|()| stream.write_all(&page)).expect("send");
        });
        run(&machines.left, &format!("curl -sS --max-time 20 http://{host}:8000/"))
    });
    assert!(fetched.as_bytes() == page, "{} of {count} bytes came as they were", fetched.len());
}

/// Sends one super-frame of UDP datagrams.
fn burst_of_datagrams(machines: &Machines, [from, to]: [&str; 2]) {
    const SIZE: usize = 1_000;
    let bind = |host: &Namespace, address: &str| {
        let socket = host.within(|| UdpSocket::bind((address, 5010)));
        socket.expect("there").expect("a socket")
    };
    let (from, to) = (bind(&machines.left, from), (bind(&machines.right, to), to));
    setsockopt(&from, UdpGsoSegment, &(SIZE as i32)).expect("the kernel cuts datagrams");
    to.0.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    let sent: Vec<u8> = (0..5 * SIZE + 7).map(|n| (n / 3) as u8).collect();
    from.send_to(&sent, (to.1, 5010)).expect("send");
    let arrived = (0..6).map(|_| {
        let mut datagram = [0; 2_000];
        let length = to.0.recv(&mut datagram).expect("every datagram arrives");
        datagram[..length].to_vec()
    });
    let arrived: Vec<_> = arrived.collect();
    assert!(arrived.iter().take(5).all(|datagram| datagram.len() == SIZE));
    assert!(arrived.concat() == sent);
}

#[test]
fn programs_pass_between_hosts_with_their_offloads_on() {
    if lacks("offloads") {
        return;
    }
    const BYTES: u64 = 8 << 20;
    for port in [&[][..], &["--port", "xdp"], &["--port", "packet"]] {
        let machines = Machines::with_offloads();
        machines.speak_ipv6();
        let features = run(&machines.left, "ethtool -k eth0");
        for feature in ["tx-checksumming: on", "tcp-segmentation-offload: on"] {
            assert!(features.contains(feature), "{features}");
        }
        let router = machines.router(&plain(), port);
        machines.ping(1);
        for [from, to] in [[LEFT, RIGHT], [LEFT_IPV6, RIGHT_IPV6]] {
            let tcp = iperf3(&machines, to, &format!("--bytes {BYTES}"));
            let sent = tcp["end"]["sum_sent"]["bytes"].as_u64();
            assert!(sent >= Some(BYTES), "{port:?} {to}: {tcp}");
            // The receiver counts until the sender says that it is done, and some are under way then.
            let bytes = tcp["end"]["sum_received"]["bytes"].as_u64();
            assert!(bytes > Some(BYTES / 4), "{port:?} {to}: {tcp}");
            let udp = iperf3(&machines, to, "--udp --bitrate 5M --length 1200 --bytes 600K");
            let sum = &udp["end"]["sum"];
            let lost = sum["lost_percent"].as_f64().expect("a share");
            assert!(lost < 10.0 && sum["packets"].as_u64() >= Some(500), "{port:?} {to}: {sum}");
            fetch(&machines, to, 3 << 20);
            burst_of_datagrams(&machines, [from, to]);
        }
        let ended = router.end();
        assert_eq!(ended.code, Some(0), "{}", ended.said);
        // None was let go as a super-frame.
        let out = &ended.summary["port"]["r:out"];
        let mean =
            out["bytes"].as_u64().expect("bytes") / out["packets"].as_u64().expect("packets");
        assert!(mean < 1_600, "{out}");
        // The other end of a veth pair has its offloads again.
        let features = run(&machines.left, "ethtool -k eth0");
        assert!(features.contains("tcp-segmentation-offload: on"), "{features}");
    }
}

/// A frame of TCP or UDP over either version of IP, with this in its checksum field.
fn frame(six: bool, udp: bool, sum: Option<u16>) -> Vec<u8> {
    let (protocol, header, field) = if udp { (17, 8, 6) } else { (6, 20, 16) };
    let mut transport = vec![0; header + 101];
    transport.iter_mut().enumerate().for_each(|(place, byte)| *byte = place as u8);
    let length = transport.len() as u16;
    transport[..4].copy_from_slice(&[0x4e, 0x20, 0x23, 0x28]);
    if udp {
        transport[4..6].copy_from_slice(&length.to_be_bytes());
    } else {
        transport[12..14].copy_from_slice(&[0x50, 0x10]);
    }
    let mut ip = if six {
        let mut ip = vec![0x60, 0, 0, 0, 0, 0, protocol, 64];
        ip[4..6].copy_from_slice(&length.to_be_bytes());
        ip.extend([0xfd; 32]);
        ip
    } else {
        let mut ip =
            vec![0x45, 0, 0, 0, 0, 7, 0x40, 0, 64, protocol, 0, 0, 10, 9, 9, 1, 10, 9, 9, 2];
        ip[2..4].copy_from_slice(&(20 + length).to_be_bytes());
        let sum = ones_complement(&ip);
        ip[10..12].copy_from_slice(&sum.to_be_bytes());
        ip
    };
    transport[field..field + 2].fill(0);
    let addresses = ip[if six { 8 } else { 12 }..].to_vec();
    let pseudo = [addresses, length.to_be_bytes().to_vec(), vec![0, protocol]].concat();
    let right = ones_complement(&[pseudo, transport.clone()].concat());
    transport[field..field + 2].copy_from_slice(&sum.unwrap_or(right).to_be_bytes());
    let kind = if six { [0x86, 0xdd] } else { [0x08, 0x00] };
    let mut frame = vec![0x03, 0, 0, 0, 0, 9, 0x02, 0, 0, 0, 0, 8, kind[0], kind[1]];
    frame.append(&mut ip);
    frame.append(&mut transport);
    frame
}

/// RFC 1071.
fn ones_complement(bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2).map(|w| u32::from(w[0]) << 8 | w.get(1).map_or(0, |&b| b.into()));
    let mut sum: u32 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[test]
fn checksums_that_are_right_or_wrong_on_purpose_pass_as_they_are() {
    if lacks("checksums") {
        return;
    }
    for port in ["xdp", "packet"] {
        let machines = Machines::with_offloads();
        let router = machines.router(&plain(), &["--port", port]);
        let (mut left, mut right) = (Tap::new(&machines.left), Tap::new(&machines.right));
        let mut sent = Vec::new();
        for (six, udp) in [(false, false), (false, true), (true, false), (true, true)] {
            for sum in [None, Some(0), Some(1), Some(0xbad), Some(0xffff)] {
                sent.push(frame(six, udp, sum));
            }
        }
        sent.iter().for_each(|frame| left.send(frame));
        let mut arrived = Vec::new();
        eventually("all have passed", || {
            let ours = |frame: &Vec<u8>| frame[..12] == sent[0][..12];
            arrived.extend(right.receive().into_iter().filter(ours));
            arrived.len() >= sent.len()
        });
        for (arrived, sent) in arrived.iter().zip(&sent) {
            assert!(arrived == sent, "{port}:\n{arrived:x?}\nof\n{sent:x?}");
        }
        assert_eq!(router.end().code, Some(0));
    }
}
