//! Where forwarders are measured: a source, the box, and a sink, each a namespace, in a row.

use std::error::Error;
use std::fs;
use std::os::fd::{AsFd, AsRawFd};
use std::process::Command;

use base::PacketId;
use lab::buffers::Buffers;
use lab::device::{Device, Kind};
use lab::{Namespace, sysctl};
use nix::net::if_::if_nametoindex;
use nix::sched::{CpuSet, sched_setaffinity};
use nix::unistd::Pid;
use traffic::Packets;

pub(crate) type Result<T> = std::result::Result<T, Box<dyn Error + Send + Sync>>;

/// The core that forwards.
pub(crate) const FORWARDER: usize = 0;
/// The core that makes frames.
pub(crate) const GENERATOR: usize = 1;
/// Bytes of a frame without FCS: an IP packet of 1500.
const FRAME: usize = 1514;

/// `source` `g0` - `f0` `middle` `f1` - `s0` `sink`.
pub(crate) struct Bed {
    pub(crate) source: Namespace,
    pub(crate) middle: Namespace,
    pub(crate) sink: Namespace,
}

impl Bed {
    pub(crate) fn new() -> Result<Self> {
        let [source, middle, sink] = [Namespace::new()?, Namespace::new()?, Namespace::new()?];
        for namespace in [&source, &middle, &sink] {
            sysctl::set(namespace, "net.ipv6.conf.default.disable_ipv6", "1")?;
        }
        join(&middle, "f0", &source, "g0")?;
        join(&middle, "f1", &sink, "s0")?;
        Ok(Self { source, middle, sink })
    }
}

/// Returns the number of frames that a sink's interface has received. Its kernel drops most of them as another
/// host's.
pub(crate) fn arrived(sink: &Namespace, interface: &str) -> Result<u64> {
    let table = sink.within(|| fs::read_to_string("/proc/thread-self/net/dev"))??;
    let told = |line: &str| {
        let (name, numbers) = line.split_once(':')?;
        let packets = numbers.split_whitespace().nth(1)?;
        (name.trim() == interface).then(|| packets.to_owned())
    };
    Ok(table.lines().find_map(told).ok_or("the sink has no interface")?.parse()?)
}

/// Makes an interface `here` joined to one `there` in the `other` namespace; one packet at a time.
fn join(namespace: &Namespace, here: &str, other: &Namespace, there: &str) -> Result<()> {
    let path = format!("/proc/{}/fd/{}", std::process::id(), other.as_fd().as_raw_fd());
    run(namespace, &format!("ip link add {here} type veth peer name {there} netns {path}"))?;
    // As the lab's hosts have it. The kernel runs a veth interface by NAPI only if its peer's TSO is off.
    run(other, &format!("ethtool -K {there} tso off gso off tx off"))?;
    run(namespace, &format!("ip link set {here} up"))?;
    run(other, &format!("ip link set {there} up"))
}

/// Runs one command line in the namespace.
pub(crate) fn run(namespace: &Namespace, line: &str) -> Result<()> {
    let mut words = line.split_whitespace();
    let mut command = Command::new(words.next().unwrap_or_default());
    command.args(words);
    let output = namespace.within(|| command.output())??;
    if !output.status.success() {
        return Err(format!("{line}: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok(())
}

/// Has a thread, 0 for this one, run on one core only.
pub(crate) fn pin(thread: i32, core: usize) -> Result<()> {
    let mut cores = CpuSet::new();
    cores.set(core)?;
    Ok(sched_setaffinity(Pid::from_raw(thread), &cores)?)
}

/// A device in `namespace`, opened on the interface of that name.
pub(crate) fn device(
    namespace: &Namespace,
    name: &str,
    kind: Kind,
    buffers: &Buffers,
    packets: &mut Packets,
    first: Option<&Device>,
) -> Result<Device> {
    namespace.within(|| {
        let interface = if_nametoindex(name)?;
        Ok(Device::open(interface, kind, buffers, packets, first)?)
    })?
}

/// Makes frames, from the core that calls it.
pub(crate) struct Generator {
    device: Device,
    buffers: Buffers,
    packets: Packets,
    frame: Vec<u8>,
}

impl Generator {
    /// The maximum number of frames per call of `send`.
    const FRAMES: u32 = 2048;

    /// One that sends by an interface of `source`, to the Ethernet address `to`.
    pub(crate) fn new(source: &Namespace, interface: &str, to: [u8; 6]) -> Result<Self> {
        let buffers = Buffers::new(Self::FRAMES, Buffers::size_for(FRAME as u32))?;
        let mut packets = Packets::with_places(Self::FRAMES);
        let kind = Kind::Packet { vnet: false };
        let device = device(source, interface, kind, &buffers, &mut packets, None)?;
        let mut frame = datagram(to);
        frame.resize(FRAME, 0x5a);
        let mut generator = Self { device, buffers, packets, frame };
        // The bytes stay in the buffers from one use to the next.
        let all: Vec<PacketId> = std::iter::from_fn(|| generator.packets.try_alloc()).collect();
        for packet in all {
            generator.buffers.write(packet, &generator.frame);
            generator.packets.release(packet);
        }
        Ok(generator)
    }

    /// Sends `count` frames and returns when they are with the box's interface, or dropped there.
    pub(crate) fn send(&mut self, count: u32) -> Result<()> {
        for _ in 0..count {
            let packet = self.packets.try_alloc().ok_or("fewer frames than buffers")?;
            self.device.send(packet, FRAME as u32);
        }
        Ok(self.device.flush(&mut self.buffers, &mut self.packets)?)
    }
}

/// Headers of a UDP datagram from 10.0.0.2 to 10.0.1.2, port 9 (discard), without checksum.
fn datagram(to: [u8; 6]) -> Vec<u8> {
    let mut frame = Vec::from(to);
    frame.extend([2, 0, 0, 0, 0, 1, 8, 0]);
    let mut header = [0x45, 0, 0x05, 0xdc, 0, 0, 0x40, 0, 64, 17, 0, 0, 10, 0, 0, 2, 10, 0, 1, 2];
    let sum: u32 =
        header.chunks_exact(2).map(|word| u32::from(word[0]) << 8 | u32::from(word[1])).sum();
    let folded = !((sum & 0xffff) + (sum >> 16)) as u16;
    header[10..12].copy_from_slice(&folded.to_be_bytes());
    frame.extend(header);
    frame.extend([0x10, 0, 0, 9, 0x05, 0xc8, 0, 0]);
    frame
}
