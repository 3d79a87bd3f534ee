//! Network namespaces joined by veth pairs, and devices on their ends.

use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;
use std::process::Command;
use std::thread;
use std::time::Duration;

use lab::buffers::Buffers;
use lab::device::{Device, Kind, Received};
use lab::{Error, Namespace, sysctl};
use nix::net::if_::if_nametoindex;
use traffic::Packets;

/// A namespace with no traffic but that of the tests.
pub(crate) fn namespace() -> Namespace {
    let namespace = Namespace::new().expect("a namespace");
    if Path::new("/proc/sys/net/ipv6").exists() {
        // Or neighbours would be looked for.
        let name = "net.ipv6.conf.default.disable_ipv6";
        sysctl::set(&namespace, name, "1").expect("a setting of ours");
    }
    namespace
}

/// Does `work` inside a namespace.
pub(crate) fn within<T: Send>(namespace: &Namespace, work: impl FnOnce() -> T + Send) -> T {
    namespace.within(work).expect("the namespace")
}

/// Runs one command line in a namespace; it must succeed.
pub(crate) fn run(namespace: &Namespace, line: &str) {
    let mut words = line.split_whitespace();
    let mut command = Command::new(words.next().expect("a command"));
    command.args(words);
    let output = within(namespace, || command.output()).expect("the command starts");
    assert!(output.status.success(), "{line}: {}", String::from_utf8_lossy(&output.stderr));
}

/// Makes an interface `here` joined to one `there` in another namespace, each with one queue.
pub(crate) fn join(
    (namespace, here): (&Namespace, &str),
    (other, there): (&Namespace, &str),
    mtu: u32,
) {
    let path = format!("/proc/{}/fd/{}", std::process::id(), other.as_fd().as_raw_fd());
    let as_said = format!("mtu {mtu} numtxqueues 1 numrxqueues 1");
    let peer = format!("peer name {there} {as_said} netns {path}");
    run(namespace, &format!("ip link add {here} {as_said} type veth {peer}"));
    run(namespace, &format!("ip link set {here} up"));
    run(other, &format!("ip link set {there} up"));
}

/// The index of the interface of that name, in the calling thread's namespace.
pub(crate) fn index(name: &str) -> u32 {
    if_nametoindex(name).expect("the interface")
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
        let device =
            within(namespace, || Device::open(index(name), kind, &buffers, &mut packets, None))?;
        Ok(Self { device, buffers, packets, received: Vec::new() })
    }

    /// Queues a frame for transmission.
    pub(crate) fn send(&mut self, frame: &[u8]) {
        let packet = self.packets.try_alloc().expect("a free buffer");
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
