//! Two machines with the kernel's own TCP and UDP, and a box of two devices between them.

use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use base::Random;
use lab::Namespace;
use lab::buffers::Buffers;
use lab::device::{Device, Kind, Received};
use lab::veth::{self, Routes, Segmentation, Settings};
use traffic::Packets;

use crate::wire::{index, namespace, within};
use crate::{VNET, kinds};

/// The machines' addresses.
const LEFT: &str = "10.78.0.1";
const RIGHT: &str = "10.78.0.2";
/// The timeout of socket calls, longer than anything here takes.
const IO_TIMEOUT: Duration = Duration::from_secs(10);

/// A machine, the box, and a machine.
struct Machines {
    left: Namespace,
    middle: Namespace,
    right: Namespace,
}

/// The frames that the box saw.
#[derive(Debug, Default)]
struct Seen {
    frames: u64,
    /// Frames that were still to be segmented, and the segments they were to become.
    to_cut: u64,
    segments: u64,
    /// The most bytes in a frame.
    longest: u32,
}

impl Machines {
    /// Creates machines; `segmentation` decides which side segments frames and computes checksums.
    fn new(segmentation: Segmentation) -> Self {
        let machines = Self { left: namespace(), middle: namespace(), right: namespace() };
        let Self { left, middle, right } = &machines;
        for (machine, name, address) in [(left, "f0", LEFT), (right, "f1", RIGHT)] {
            let settings = Settings {
                interface: 0,
                fabric_interface: name,
                mac: if name == "f0" { [2, 0, 0, 0, 0, 1] } else { [2, 0, 0, 0, 0, 2] },
                mtu: 1500,
                address: address.parse().expect("an address"),
                own_address: None,
                own_ports: &[],
                routes: Routes::Everything,
                line: None,
                qdisc: None,
                segmentation,
                receive_cpus: &[],
            };
            veth::lay(machine, middle, &settings).expect("a cable");
        }
        machines
    }

    /// Connects the machines by a box with devices of kind `kind` while `work` runs.
    fn joined(&self, kind: Kind, work: impl FnOnce(&Self)) -> Seen {
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let boxed = scope.spawn(|| self.forward(kind, &stop));
            let stop = Stop(&stop);
            work(self);
            drop(stop);
            boxed.join().expect("the box forwards")
        })
    }

    /// Forwards both ways until `stop` is set; afterwards all buffers are free again.
    fn forward(&self, kind: Kind, stop: &AtomicBool) -> Seen {
        const COUNT: u32 = 4096;
        let frame = if kind == VNET { 65_549 } else { 1514 };
        let mut buffers = Buffers::new(COUNT, Buffers::size_for(frame)).expect("memory");
        let mut packets = Packets::with_places(COUNT);
        let mut ends = within(&self.middle, || {
            let first = Device::open(index("f0"), kind, &buffers, &mut packets, None)
                .expect("the first device");
            let second = Device::open(index("f1"), kind, &buffers, &mut packets, Some(&first))
                .expect("a device beside it");
            [first, second]
        });
        let (mut seen, mut received) = (Seen::default(), Vec::new());
        while !stop.load(Ordering::Relaxed) {
            for (from, to) in [(0, 1), (1, 0)] {
                ends[from].receive(&mut buffers, &mut packets, &mut received).expect("receive");
                for frame in received.drain(..) {
                    seen.add(&frame);
                    ends[to].send(frame.packet, frame.length);
                }
                ends[to].flush(&mut buffers, &mut packets).expect("send");
            }
            assert_eq!(packets.live(), ends[0].lent() + ends[1].lent(), "free or lent");
        }
        for end in ends {
            // Some may be missed where the machine is busy elsewhere: TCP sends them again.
            assert_eq!(end.counts().refused, 0, "{kind:?}");
            end.close(&mut packets);
        }
        assert_eq!(packets.live(), 0, "every place is free");
        seen
    }
}

/// Stops the box, even if it is dropped by a panic.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl Seen {
    fn add(&mut self, frame: &Received) {
        self.frames += 1;
        self.longest = self.longest.max(frame.length);
        if let Some(segments) = frame.segments {
            self.to_cut += 1;
            self.segments += u64::from(segments.count);
            let payload = frame.length - u32::from(segments.headers);
            assert_eq!(payload.div_ceil(segments.size.into()), u32::from(segments.count));
        }
    }
}

/// Random bytes, the same every time.
fn bytes(count: usize) -> Vec<u8> {
    let mut random = Random::from_seed(21);
    (0..count / 8).flat_map(|_| random.next_u64().to_ne_bytes()).collect()
}

/// Sends `count` bytes over one TCP connection and checks that they arrive unchanged.
fn transfer(machines: &Machines, count: usize) {
    let sent = bytes(count);
    let listener = within(&machines.right, || TcpListener::bind((RIGHT, 7000))).expect("bind");
    let arrived = thread::scope(|scope| {
        let receiver = scope.spawn(|| {
            let (mut stream, _) = listener.accept().expect("a connection");
            stream.set_read_timeout(Some(IO_TIMEOUT)).expect("a timeout");
            let mut arrived = Vec::new();
            stream.read_to_end(&mut arrived).expect("all of it");
            arrived
        });
        let address = format!("{RIGHT}:7000").parse().expect("an address");
        let stream = within(&machines.left, || TcpStream::connect_timeout(&address, IO_TIMEOUT));
        let mut stream = stream.expect("connect");
        stream.set_write_timeout(Some(IO_TIMEOUT)).expect("a timeout");
        stream.write_all(&sent).expect("send");
        drop(stream);
        receiver.join().expect("the receiver")
    });
    assert!(arrived == sent, "{} of {} bytes arrived as they were", arrived.len(), sent.len());
}

/// Sends datagrams of many sizes there, one after the other, and has them sent back.
fn echo(machines: &Machines) {
    let there = within(&machines.right, || UdpSocket::bind((RIGHT, 7001))).expect("bind");
    let here = within(&machines.left, || UdpSocket::bind((LEFT, 7001))).expect("bind");
    let all = bytes(1472);
    let mut buffer = [0; 2048];
    for socket in [&here, &there] {
        socket.set_read_timeout(Some(IO_TIMEOUT)).expect("a timeout");
    }
    for size in (0..=1472).step_by(16) {
        here.send_to(&all[..size], (RIGHT, 7001)).expect("send");
        let (length, from) = next(&there, &mut buffer);
        there.send_to(&buffer[..length], from).expect("send back");
        let (length, _) = next(&here, &mut buffer);
        assert_eq!(&buffer[..length], &all[..size]);
    }
}

/// The next datagram; retries after a signal, as of a stopped and continued process.
fn next(socket: &UdpSocket, buffer: &mut [u8]) -> (usize, SocketAddr) {
    loop {
        match socket.recv_from(buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            told => return told.expect("a datagram"),
        }
    }
}

pub(crate) fn tcp_and_udp_pass_a_box() {
    for kind in kinds() {
        let seen = Machines::new(Segmentation::Tcp).joined(kind, |machines| {
            echo(machines);
            transfer(machines, 16 << 20);
        });
        assert_eq!(seen.to_cut, 0, "{kind:?}: the machines cut");
        assert_eq!(seen.longest, 1514, "{kind:?}");
        assert!(seen.frames > (16 << 20) / 1448, "{kind:?}: {seen:?}");
    }
}

pub(crate) fn super_frames_pass_whole() {
    const BYTES: usize = 64 << 20;
    let seen = Machines::new(Segmentation::Reader).joined(VNET, |machines| {
        echo(machines);
        transfer(machines, BYTES);
    });
    assert!(seen.longest > 30_000, "{seen:?}");
    assert!(seen.segments > 10 * seen.to_cut, "{seen:?}");
    // All data is in their segments, except for a few short frames.
    let needed = BYTES as u64 / 1448;
    assert!((needed * 9 / 10..needed * 12 / 10).contains(&seen.segments), "{seen:?}");
}
