//! AF_PACKET: receives frames of an interface by a ring that the kernel fills, and sends frames by system calls, a
//! batch per call (packet(7)).
//!
//! recvmmsg(2) directly into the buffers would save the copy out of the ring, but costs the fabric's core more (0.36
//! million frames per second instead of 0.52): the kernel then copies on that core instead of the sender's, and every
//! poll is a system call. A send ring costs more too (0.46): the kernel copies frames to a host of the same machine
//! once more.

mod cut;
mod reader;
mod ring;

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use base::PacketId;
use traffic::Packets;

use self::reader::{Into, Reader};
use self::ring::Ring;
use super::link::{Failure, Quiet};
use super::{BATCH, Counts, Received, option};
use crate::Error;
use crate::buffers::{Buffers, OFFLOAD};

/// Frames that can wait to be sent.
const SEND: usize = 2048;
/// The send buffer, in bytes of the kernel's accounting: about 2.3 KB for a frame of 1500 bytes.
const UNSENT: i32 = 16 << 20;
/// The receive buffer, for super-frames: about 200 of 64 KB.
const UNREAD: i32 = 16 << 20;
/// Bytes of the offload header, which is received and sent before each frame.
const BEFORE: usize = OFFLOAD as usize;

/// A packet socket.
#[derive(Debug)]
pub(super) struct Socket {
    fd: OwnedFd,
    arrived: Ring,
    reader: Reader,
    /// The packets that wait to be sent, and their lengths.
    waiting: Vec<(PacketId, u32)>,
    /// The packets for which the queue was full, until they are released.
    turned_away: Vec<PacketId>,
    quiet: Quiet,
    counts: Counts,
    /// The kernel's drop count, summed here: the kernel resets it when it is read.
    missed: AtomicU64,
}

/// The arguments of one system call for a batch.
struct Batch {
    parts: [libc::iovec; BATCH],
    messages: [libc::mmsghdr; BATCH],
}

impl Socket {
    pub(super) fn open(interface: u32, vnet: bool, buffers: &Buffers) -> Result<Self, Error> {
        let what = format!("AF_PACKET on interface {interface}");
        let (fd, arrived) = match bound(interface, buffers.room()) {
            Ok(opened) => opened,
            Err(error) if error.raw_os_error() == Some(libc::EPERM) => {
                let help = "run it as root, or on a machine that allows user namespaces";
                return Err(Error::lacking(what, error, help));
            }
            Err(error) => return Err(Error::system(what)(error)),
        };
        Ok(Self {
            fd,
            arrived,
            reader: Reader::new(vnet),
            waiting: Vec::with_capacity(SEND),
            turned_away: Vec::with_capacity(SEND),
            quiet: Quiet::default(),
            counts: Counts::default(),
            missed: AtomicU64::new(0),
        })
    }

    #[inline]
    pub(super) fn receive(
        &mut self,
        buffers: &mut Buffers,
        packets: &mut Packets,
        out: &mut Vec<Received>,
    ) -> Result<(), Failure> {
        let before = out.len();
        while out.len() - before < BATCH {
            let Some(packet) = packets.try_alloc() else { return Ok(()) };
            let Self { fd, arrived, reader, counts, missed, quiet, .. } = self;
            let known = out.len();
            let mut into = Into { buffers: &mut *buffers, packets: &mut *packets, out: &mut *out };
            let lost = arrived.take(BEFORE, |frame| reader.read(fd, &frame, packet, &mut into));
            let Some(lost) = lost else {
                packets.release(packet);
                return if known == before { quiet.check(fd) } else { Ok(()) };
            };
            *missed.get_mut() += lost;
            counts.received += (out.len() - known) as u64;
            quiet.heard();
        }
        Ok(())
    }

    pub(super) fn send(&mut self, packet: PacketId, length: u32) {
        if self.waiting.len() < SEND {
            self.waiting.push((packet, length));
        } else {
            self.turned_away.push(packet);
        }
    }

    /// Adds a packet to those that are released unsent as soon as possible.
    pub(super) fn turn_away(&mut self, packet: PacketId) {
        self.turned_away.push(packet);
    }

    /// The number of frames refused since the last call.
    pub(super) fn take_refused(&mut self) -> u64 {
        std::mem::take(&mut self.counts.refused)
    }

    /// Releases all packets that wait to be sent. Returns their number.
    #[cold]
    pub(super) fn discard(&mut self, packets: &mut Packets) -> u64 {
        let waiting = self.waiting.drain(..).map(|(packet, _)| packet);
        waiting.chain(self.turned_away.drain(..)).fold(0, |count, packet| {
            packets.release(packet);
            count + 1
        })
    }

    pub(super) fn flush(
        &mut self,
        buffers: &mut Buffers,
        packets: &mut Packets,
    ) -> Result<(), Failure> {
        self.counts.refused += self.turned_away.len() as u64;
        for packet in self.turned_away.drain(..) {
            packets.release(packet);
        }
        let mut sent = 0;
        let result = loop {
            let Some(next) = self.waiting.get(sent..).filter(|next| !next.is_empty()) else {
                break Ok(());
            };
            let mut batch = Batch::new();
            for (place, &(packet, length)) in next.iter().take(BATCH).enumerate() {
                batch.add(place, buffers.bytes_mut(packet, length));
            }
            match batch.send(&self.fd, next.len().min(BATCH)) {
                Ok(count) => {
                    self.counts.sent += count as u64;
                    sent += count;
                }
                Err(error) => match error.raw_os_error() {
                    // The send buffer is full; the rest waits for the next flush.
                    Some(libc::EAGAIN) => break Ok(()),
                    Some(libc::ENETDOWN | libc::ENXIO) => break Err(Failure::Interface),
                    // The interface does not accept this frame.
                    Some(libc::ENOBUFS | libc::EMSGSIZE | libc::EINVAL) => {
                        self.counts.refused += 1;
                        sent += 1;
                    }
                    _ => {
                        break Err(Failure::Other(Error::system("sending by AF_PACKET")(error)));
                    }
                },
            }
        };
        for (packet, _) in self.waiting.drain(..sent) {
            packets.release(packet);
        }
        result
    }

    pub(super) fn has_unsent(&self) -> bool {
        !self.waiting.is_empty()
    }

    pub(super) fn counts(&self) -> Counts {
        // SAFETY: one of the kernel's structs of integers.
        let statistics = unsafe {
            option::get::<libc::tpacket_stats>(&self.fd, libc::SOL_PACKET, libc::PACKET_STATISTICS)
        };
        let more = statistics.map_or(0, |statistics| u64::from(statistics.tp_drops));
        let missed = more + self.missed.fetch_add(more, Ordering::Relaxed);
        Counts { missed, ..self.counts }
    }

    pub(super) fn lent(&self) -> usize {
        self.waiting.len() + self.turned_away.len()
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    pub(super) fn close(self, packets: &mut Packets) {
        let waiting = self.waiting.iter().map(|&(packet, _)| packet);
        for packet in waiting.chain(self.turned_away.iter().copied()) {
            packets.release(packet);
        }
    }
}

impl Batch {
    fn new() -> Self {
        // SAFETY: structs of integers and pointers, for which zeros are a value.
        unsafe { MaybeUninit::zeroed().assume_init() }
    }

    /// Sets message `place` to the frame `bytes` and the [`BEFORE`] bytes before it.
    #[inline]
    fn add(&mut self, place: usize, bytes: &mut [u8]) {
        let (Some(part), Some(message)) = (self.parts.get_mut(place), self.messages.get_mut(place))
        else {
            return;
        };
        // The headroom before the frame is longer than that.
        let start = bytes.as_mut_ptr().wrapping_sub(BEFORE);
        *part = libc::iovec { iov_base: start.cast(), iov_len: bytes.len() + BEFORE };
        message.msg_hdr.msg_iov = part;
        message.msg_hdr.msg_iovlen = 1;
    }

    /// Sends the first `count` messages. Returns the number sent.
    #[inline]
    fn send(&mut self, fd: &OwnedFd, count: usize) -> io::Result<usize> {
        let messages = self.messages.as_mut_ptr();
        // SAFETY: as above.
        let result =
            unsafe { libc::sendmmsg(fd.as_raw_fd(), messages, count as u32, libc::MSG_DONTWAIT) };
        usize::try_from(result).map_err(|_| io::Error::last_os_error())
    }
}

/// Opens a socket that receives only the incoming frames of the interface, and its ring.
fn bound(interface: u32, room: u32) -> io::Result<(OwnedFd, Ring)> {
    // SAFETY: no memory is passed. Without a protocol, the socket receives nothing before it is bound.
    let fd = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a descriptor that we have just been given.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    for (name, value) in [
        (libc::PACKET_IGNORE_OUTGOING, 1),
        (libc::PACKET_QDISC_BYPASS, 1),
        (libc::PACKET_VNET_HDR, 1),
    ] {
        option::set(&fd, libc::SOL_PACKET, name, value)?;
    }
    // Only root may exceed the system's limit. Within it, the socket works with less room.
    option::set(&fd, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, UNSENT)
        .or_else(|_| option::set(&fd, libc::SOL_SOCKET, libc::SO_SNDBUF, UNSENT))?;
    option::set(&fd, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, UNREAD)
        .or_else(|_| option::set(&fd, libc::SOL_SOCKET, libc::SO_RCVBUF, UNREAD))?;
    let ring = Ring::map(&fd, room)?;
    // SAFETY: a struct of integers, for which zeros are a value.
    let mut address: libc::sockaddr_ll = unsafe { MaybeUninit::zeroed().assume_init() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = interface as i32;
    let length = size_of_val(&address) as libc::socklen_t;
    // SAFETY: the kernel reads `length` bytes of an address that outlives the call.
    if unsafe { libc::bind(fd.as_raw_fd(), (&raw const address).cast(), length) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok((fd, ring))
}
