//! The frames themselves: those that pass unchanged, those that are marked, and gap frames.

use lab::Namespace;
use lab::buffers::Buffers;
use lab::device::{Device, Kind, Received};
use traffic::Packets;

use crate::datagrams::{Datagrams, PAYLOAD};
use crate::machines::{Machines, lacks, run};
use crate::scenarios::{plain, scenario};
use testbed::eventually;

/// An interface by its frames.
pub(crate) struct Tap {
    device: Device,
    buffers: Buffers,
    packets: Packets,
    received: Vec<Received>,
}

impl Tap {
    /// Opens a tap at a host.
    pub(crate) fn new(host: &Namespace) -> Self {
        const COUNT: u32 = 4_096;
        let buffers = Buffers::new(COUNT, Buffers::size_for(1_518)).expect("memory");
        let mut packets = Packets::with_places(COUNT);
        let device = host.within(|| {
            let index = nix::net::if_::if_nametoindex("eth0").expect("it is there");
            Device::open(index, Kind::Packet { vnet: false }, &buffers, &mut packets, None)
        });
        let device = device.expect("a namespace").expect("root may");
        Self { device, buffers, packets, received: Vec::new() }
    }

    pub(crate) fn send(&mut self, frame: &[u8]) {
        let packet = self.packets.try_alloc().expect("a free buffer");
        assert!(self.buffers.write(packet, frame), "it fits");
        self.device.send(packet, frame.len() as u32);
        self.device.flush(&mut self.buffers, &mut self.packets).expect("it is up");
    }

    /// The frames received so far.
    pub(crate) fn receive(&mut self) -> Vec<Vec<u8>> {
        let Self { device, buffers, packets, received } = self;
        device.receive(buffers, packets, received).expect("it is there");
        let take = |frame: Received| {
            let bytes = buffers.bytes(frame.packet, frame.length).to_vec();
            packets.release(frame.packet);
            bytes
        };
        received.drain(..).map(take).collect()
    }
}

fn ether_type(frame: &[u8]) -> u16 {
    u16::from_be_bytes([frame[12], frame[13]])
}

/// IEEE 802's EtherType for experiments, MAC control and VLAN tags.
const EXPERIMENT: u16 = 0x88b5;
const MAC_CONTROL: u16 = 0x8808;
const TAG: u16 = 0x8100;

/// A frame of `length` bytes with EtherType `kind`; its payload depends on `mark`.
fn frame(length: usize, kind: u16, mark: u8) -> Vec<u8> {
    let mut frame: Vec<u8> = (0..length).map(|place| place as u8 ^ mark).collect();
    frame[..12].copy_from_slice(&[0x03, 0, 0, 0, 0, 9, 0x02, 0, 0, 0, 0, 8]);
    frame[12..14].copy_from_slice(&kind.to_be_bytes());
    frame
}

#[test]
fn frames_of_any_kind_pass_as_they_are() {
    if lacks("frames") {
        return;
    }
    for port in ["xdp", "packet"] {
        let machines = Machines::new();
        // AF_XDP does not see a VLAN tag that the kernel carries outside the frame.
        run(&machines.left, "ethtool -K eth0 txvlan off");
        let router = machines.router(&plain(), &["--port", port]);
        let (mut left, mut right) = (Tap::new(&machines.left), Tap::new(&machines.right));
        let mut sent = Vec::new();
        for (number, length) in [60, 61, 64, 333, 1_513, 1_514].into_iter().enumerate() {
            sent.push(frame(length, EXPERIMENT, number as u8));
        }
        sent.push(frame(200, TAG, 7));
        // The tag comes in addition to the MTU.
        sent.push(frame(1_518, TAG, 8));
        // No IP header at all, and one that is shorter than it says.
        sent.push(frame(60, 0x0800, 0));
        sent.push(frame(60, 0x0800, 0x4f ^ 14));
        sent.push(frame(60, 0x86dd, 1));
        left.send(&frame(60, MAC_CONTROL, 1));
        sent.iter().for_each(|frame| left.send(frame));
        // Shorter than Ethernet's minimum: only zeros are appended.
        left.send(&frame(20, EXPERIMENT, 9));
        let mut padded = frame(20, EXPERIMENT, 9);
        padded.resize(60, 0);
        sent.push(padded);
        let mut arrived = Vec::new();
        eventually("all have passed", || {
            let ours = |frame: &Vec<u8>| frame[..12] == sent[0][..12];
            arrived.extend(right.receive().into_iter().filter(ours));
            arrived.len() >= sent.len()
        });
        assert!(arrived == sent, "{port}: {arrived:?}\nof {sent:?}");
        let ended = router.end();
        assert_eq!(ended.code, Some(0), "{}", ended.said);
        let control =
            ["r:in", "r:out"].map(|side| &ended.summary["port"][side]["mac_control_frames"]);
        assert!(control == [1, 0], "the PAUSE is counted where it came in: {}", ended.summary);
    }
}

/// A mark for the datagrams.
const MARKS: &str = r#"
[link.in.at.r.conditioner.element.all]
match = { destination_port = "5001" }
green = "mark af11"
"#;

#[test]
fn marks_are_written_with_the_right_checksum() {
    if lacks("marks") {
        return;
    }
    let machines = Machines::new();
    let router = machines.router(&scenario("1 Gbit/s", MARKS), &[]);
    machines.ping(1);
    let mut tap = Tap::new(&machines.right);
    let datagrams = Datagrams::new(&machines, 5001);
    datagrams.burst(1);
    // The kernel drops datagrams with a wrong header checksum.
    assert_eq!(datagrams.receive().expect("it arrives"), PAYLOAD);
    let udp = |frame: &Vec<u8>| ether_type(frame) == 0x0800 && frame[23] == 17;
    let seen = tap.receive().into_iter().find(udp).expect("it was seen");
    assert_eq!(seen[15], 10 << 2, "af11");
    let ended = router.end();
    assert_eq!(ended.summary["port"]["r:in"]["element"]["all"]["green"], 1, "{}", ended.summary);
}

/// Gaps that halve 100 Mbit/s.
const PACED: &str = r#"
[link.out.at.r.queue.psp.class.paced]
rate = "50 Mbit/s"
match = { destination_port = "5001" }
"#;

#[test]
fn gaps_leave_as_pause_frames() {
    if lacks("PAUSE frames") {
        return;
    }
    const SENT: usize = 50;
    let machines = Machines::new();
    let router = machines.router(&scenario("100 Mbit/s", PACED), &[]);
    machines.ping(1);
    let link = run(&machines.middle, "ip link show rb");
    let datagrams = Datagrams::new(&machines, 5001);
    let mut tap = Tap::new(&machines.right);
    datagrams.burst(SENT);
    let mut seen = Vec::new();
    eventually("all have passed", || {
        let wanted = |frame: &Vec<u8>| {
            ether_type(frame) == MAC_CONTROL || ether_type(frame) == 0x0800 && frame[23] == 17
        };
        seen.extend(tap.receive().into_iter().filter(wanted));
        seen.iter().filter(|frame| ether_type(frame) == 0x0800).count() == SENT
    });
    // A frame of 1046 bytes with FCS is due every 2092 bytes on the wire; it takes 1066 with preamble and gap.
    // The PAUSE frame has 20 bytes of its own preamble and gap, which leaves 1006 for it, FCS included.
    let pauses = seen
        .windows(2)
        .filter(|two| ether_type(&two[0]) == 0x0800 && ether_type(&two[1]) == MAC_CONTROL);
    let lengths: Vec<_> = pauses.map(|two| two[1].len() + 4).collect();
    assert!(lengths.len() >= SENT - 2, "{} gaps between {SENT} packets", lengths.len());
    let right = lengths.iter().filter(|&&length| length == 1_006).count();
    assert!(right >= SENT - 3, "{lengths:?}");
    let pause = seen.iter().find(|frame| ether_type(frame) == MAC_CONTROL).expect("there are some");
    let from: Vec<_> = pause[6..12].iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(pause[..6], [0x01, 0x80, 0xc2, 0, 0, 1]);
    assert!(link.contains(&from.join(":")), "from rb itself: {link}");
    assert!(pause[14..18] == [0, 1, 0, 0], "a PAUSE that stops nobody");
    let told = router.statistics();
    let all = seen.iter().filter(|frame| ether_type(frame) == MAC_CONTROL);
    let bytes: usize = all.clone().map(|frame| frame.len() + 4).sum();
    let port = &told["port"]["r:out"];
    assert_eq!(port["gap_frames"].as_u64(), Some(all.count() as u64), "{told}");
    assert_eq!(port["gap_bytes"].as_u64(), Some(bytes as u64), "{told}");
    assert_eq!(router.end().code, Some(0));
}
