//! Network namespaces joined by veth pairs, and what holds a device's end of one.
//!
//! Namespaces have no name: the kernel drops them, and all in them, with the last file that holds them.

use std::fs::File;
use std::os::fd::AsRawFd;
use std::process::Command;
use std::thread;
use std::time::Duration;

use lab::Error;
use lab::buffers::Buffers;
use lab::device::{Device, Kind, Received};
use nix::net::if_::if_nametoindex;
use nix::sched::{CloneFlags, setns, unshare};
use traffic::Packets;

/// Whether the tests can run; says why if not.
pub(crate) fn is_possible() -> bool {
    let root = nix::unistd::Uid::effective().is_root();
    if !root {
        eprintln!("skipped: network namespaces and AF_XDP need root");
    }
    root
}

/// A network namespace, as long as this lives.
pub(crate) struct Namespace(File);

impl Namespace {
    pub(crate) fn new() -> Self {
        let made = thread::spawn(|| {
            unshare(CloneFlags::CLONE_NEWNET).expect("root may make a namespace");
            File::open("/proc/thread-self/ns/net").expect("the new namespace")
        });
        let namespace = Self(made.join().expect("the thread that made the namespace"));
        // No frames but the tests' own: neighbours are not looked for by IPv6.
        namespace.run("sysctl -q net.ipv6.conf.default.disable_ipv6=1");
        namespace
    }

    /// Runs `work` in this namespace, on a thread of its own.
    pub(crate) fn within<T: Send>(&self, work: impl FnOnce() -> T + Send) -> T {
        thread::scope(|scope| {
            let inside = scope.spawn(|| {
                setns(&self.0, CloneFlags::CLONE_NEWNET).expect("root may enter a namespace");
                work()
            });
            inside.join().expect("the work inside the namespace")
        })
    }

    /// Runs one command line; it must succeed.
    pub(crate) fn run(&self, line: &str) {
        let mut words = line.split_whitespace();
        let mut command = Command::new(words.next().expect("a command"));
        command.args(words);
        let output = self.within(|| command.output()).expect("the command starts");
        assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
    }

    /// Makes an interface `here` joined to one `there` in the `other` namespace.
    pub(crate) fn join(&self, here: &str, other: &Self, there: &str, mtu: u32) {
        let path = format!("/proc/{}/fd/{}", std::process::id(), other.0.as_raw_fd());
        let queues = "numtxqueues 1 numrxqueues 1";
        self.run(&format!(
            "ip link add {here} mtu {mtu} {queues} type veth peer name {there} mtu {mtu} {queues} netns {path}"
        ));
        self.run(&format!("ip link set {here} up"));
        other.run(&format!("ip link set {there} up"));
    }
}

/// A device with buffers of its own.
pub(crate) struct Side {
    pub(crate) device: Device,
    pub(crate) buffers: Buffers,
    pub(crate) packets: Packets,
    pub(crate) received: Vec<Received>,
}

impl Side {
    pub(crate) fn open(
        namespace: &Namespace,
        name: &str,
        kind: Kind,
        frame: u32,
    ) -> Result<Self, Error> {
        const COUNT: u32 = 4096;
        let buffers = Buffers::new(COUNT, Buffers::size_for(frame))?;
        let mut packets = Packets::with_places(COUNT);
        let device = namespace.within(|| {
            let interface = if_nametoindex(name).expect("the interface");
            Device::open(interface, kind, &buffers, &mut packets, None)
        })?;
        Ok(Self { device, buffers, packets, received: Vec::new() })
    }

    /// Queues a frame to be sent.
    pub(crate) fn send(&mut self, frame: &[u8]) {
        let packet = self.packets.try_claim().expect("a free buffer");
        assert!(self.buffers.write(packet, frame), "the frame fits");
        self.device.send(packet, frame.len() as u32);
    }

    pub(crate) fn flush(&mut self) -> Result<(), Error> {
        self.device.flush(&mut self.buffers, &mut self.packets)
    }

    /// The frames that have come in, oldest first.
    pub(crate) fn receive(&mut self) -> Result<Vec<Vec<u8>>, Error> {
        self.device.receive(&mut self.buffers, &mut self.packets, &mut self.received)?;
        let mut frames = Vec::new();
        for received in self.received.drain(..) {
            frames.push(self.buffers.bytes(received.packet, received.length).to_vec());
            self.packets.release(received.packet);
        }
        Ok(frames)
    }

    /// Receives until `count` frames have come, or nothing has for a while.
    pub(crate) fn collect(&mut self, count: usize) -> Vec<Vec<u8>> {
        let mut frames = Vec::new();
        let mut quiet = 0;
        while frames.len() < count && quiet < 200 {
            let more = self.receive().expect("the interface is there");
            if more.is_empty() {
                quiet += 1;
                thread::sleep(Duration::from_millis(1));
            } else {
                quiet = 0;
            }
            frames.extend(more);
        }
        frames
    }

    /// Every buffer is free, or the device has it.
    pub(crate) fn assert_conserved(&self) {
        assert_eq!(self.packets.live(), self.device.lent(), "every place is free or lent");
    }

    /// Closes the device; then every buffer is free.
    pub(crate) fn close(mut self) {
        self.assert_conserved();
        self.device.close(&mut self.packets);
        assert_eq!(self.packets.live(), 0, "every place is free");
    }
}
