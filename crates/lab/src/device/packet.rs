//! AF_PACKET: frames between an interface and the buffers by system calls that move a batch each
//! (packet(7); Linux, Documentation/networking/packet_mmap.rst).

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use traffic::{PacketId, Packets};

use super::{BATCH, Counts, Received, option};
use crate::Error;
use crate::buffers::{Buffers, OFFLOAD};

/// Frames that can wait to be sent.
const SEND: usize = 2048;
/// As far as the kernel lets the frames that nobody has read grow, and those unsent, in bytes of its own
/// accounting: some 2.3 KB for a frame of 1500.
const UNREAD: i32 = 8 << 20;
const UNSENT: i32 = 16 << 20;

/// A packet socket.
#[derive(Debug)]
pub(super) struct Socket {
    fd: OwnedFd,
    /// Whether each frame comes and goes with what the kernel says of its segments.
    vnet: bool,
    /// Packets whose buffers are received into next.
    ready: Vec<PacketId>,
    /// What waits to be sent, and how long it is.
    waiting: Vec<(PacketId, u32)>,
    /// Those for which that was full, until they can be released.
    turned_away: Vec<PacketId>,
    counts: Counts,
    /// What the kernel says it dropped; it forgets what it has said.
    missed: AtomicU64,
}

/// The arguments of one system call for a batch.
struct Batch {
    parts: [libc::iovec; BATCH],
    messages: [libc::mmsghdr; BATCH],
}

impl Socket {
    pub(super) fn open(interface: u32, vnet: bool) -> Result<Self, Error> {
        let what = format!("AF_PACKET on interface {interface}");
        let fd = match bound(interface, vnet) {
            Ok(fd) => fd,
            Err(error) if error.raw_os_error() == Some(libc::EPERM) => {
                let help = "run as root, or where user namespaces are allowed";
                return Err(Error::lacking(what, error, help));
            }
            Err(error) => return Err(Error::system(what)(error)),
        };
        Ok(Self {
            fd,
            vnet,
            ready: Vec::with_capacity(BATCH),
            waiting: Vec::with_capacity(SEND),
            turned_away: Vec::with_capacity(SEND),
            counts: Counts::default(),
            missed: AtomicU64::new(0),
        })
    }

    pub(super) fn receive(
        &mut self,
        buffers: &mut Buffers,
        packets: &mut Packets,
        out: &mut Vec<Received>,
    ) -> Result<(), Error> {
        while self.ready.len() < BATCH {
            let Some(packet) = packets.try_claim() else { break };
            self.ready.push(packet);
        }
        let before = self.before();
        let mut batch = Batch::new();
        let room = buffers.room();
        for (place, &packet) in self.ready.iter().enumerate() {
            batch.add(place, buffers.bytes_mut(packet, room), before);
        }
        let count = match batch.receive(&self.fd, self.ready.len()) {
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(()),
            Err(error) => return Err(gone(error)),
        };
        for (message, packet) in batch.messages.iter().zip(self.ready.drain(..count)) {
            if message.msg_hdr.msg_flags & libc::MSG_TRUNC != 0 {
                *self.missed.get_mut() += 1;
                packets.release(packet);
                continue;
            }
            let length = message.msg_len.saturating_sub(before as u32);
            out.push(Received { packet, length, segments: None });
            self.counts.received += 1;
        }
        Ok(())
    }

    /// Bytes before a frame that come and go with it.
    const fn before(&self) -> usize {
        if self.vnet { OFFLOAD as usize } else { 0 }
    }

    pub(super) fn send(&mut self, packet: PacketId, length: u32) {
        if self.waiting.len() < SEND {
            self.waiting.push((packet, length));
        } else {
            self.turned_away.push(packet);
        }
    }

    pub(super) fn flush(
        &mut self,
        buffers: &mut Buffers,
        packets: &mut Packets,
    ) -> Result<(), Error> {
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
                batch.add(place, buffers.bytes_mut(packet, length), self.before());
            }
            match batch.send(&self.fd, next.len().min(BATCH)) {
                Ok(count) => {
                    self.counts.sent += count as u64;
                    sent += count;
                }
                Err(error) => match error.raw_os_error() {
                    // Too much is on its way; the rest waits for the next flush.
                    Some(libc::EAGAIN) => break Ok(()),
                    Some(libc::ENETDOWN | libc::ENXIO) => break Err(gone(error)),
                    // The interface does not take this frame.
                    Some(libc::ENOBUFS | libc::EMSGSIZE | libc::EINVAL) => {
                        self.counts.refused += 1;
                        sent += 1;
                    }
                    _ => break Err(Error::system("sending by AF_PACKET")(error)),
                },
            }
        };
        for (packet, _) in self.waiting.drain(..sent) {
            packets.release(packet);
        }
        result
    }

    pub(super) fn counts(&self) -> Counts {
        // SAFETY: one of the kernel's structs of integers.
        let told = unsafe {
            option::get::<libc::tpacket_stats>(&self.fd, libc::SOL_PACKET, libc::PACKET_STATISTICS)
        };
        let more = told.map_or(0, |told| u64::from(told.tp_drops));
        let missed = more + self.missed.fetch_add(more, Ordering::Relaxed);
        Counts { missed, ..self.counts }
    }

    pub(super) fn lent(&self) -> usize {
        self.ready.len() + self.waiting.len() + self.turned_away.len()
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    pub(super) fn close(self, packets: &mut Packets) {
        let waiting = self.waiting.iter().map(|&(packet, _)| packet);
        for packet in self.ready.into_iter().chain(waiting).chain(self.turned_away) {
            packets.release(packet);
        }
    }
}

impl Batch {
    fn new() -> Self {
        // SAFETY: structs of integers and pointers, for which zeros are a value.
        unsafe { MaybeUninit::zeroed().assume_init() }
    }

    /// Makes the message of that number the frame `bytes` with the `before` bytes before it.
    #[inline]
    fn add(&mut self, place: usize, bytes: &mut [u8], before: usize) {
        let (Some(part), Some(message)) = (self.parts.get_mut(place), self.messages.get_mut(place))
        else {
            return;
        };
        // The headroom before the frame is longer than that.
        let start = bytes.as_mut_ptr().wrapping_sub(before);
        *part = libc::iovec { iov_base: start.cast(), iov_len: bytes.len() + before };
        message.msg_hdr.msg_iov = part;
        message.msg_hdr.msg_iovlen = 1;
    }

    /// Receives into the first `count` messages; how many came.
    #[inline]
    fn receive(&mut self, fd: &OwnedFd, count: usize) -> io::Result<usize> {
        let (fd, count) = (fd.as_raw_fd(), count as u32);
        let messages = self.messages.as_mut_ptr();
        // SAFETY: each message has one part, within its packet's chunk, and `add` made `count` of them.
        let result = unsafe {
            libc::recvmmsg(fd, messages, count, libc::MSG_DONTWAIT, std::ptr::null_mut())
        };
        usize::try_from(result).map_err(|_| io::Error::last_os_error())
    }

    /// Sends the first `count` messages; how many went.
    #[inline]
    fn send(&mut self, fd: &OwnedFd, count: usize) -> io::Result<usize> {
        let messages = self.messages.as_mut_ptr();
        // SAFETY: as above.
        let result =
            unsafe { libc::sendmmsg(fd.as_raw_fd(), messages, count as u32, libc::MSG_DONTWAIT) };
        usize::try_from(result).map_err(|_| io::Error::last_os_error())
    }
}

/// A socket that sees what comes in by the interface, and nothing else.
fn bound(interface: u32, vnet: bool) -> io::Result<OwnedFd> {
    // SAFETY: no memory is passed. With no protocol yet, nothing comes in before it is bound.
    let fd = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a descriptor that we have just been given.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    for (level, name, value) in [
        (libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING, 1),
        (libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, 1),
        (libc::SOL_PACKET, libc::PACKET_VNET_HDR, i32::from(vnet)),
    ] {
        option::set(&fd, level, name, value)?;
    }
    // Only root may go beyond the system's limit; within it the socket works, with less room.
    for (forced, asked, bytes) in [
        (libc::SO_RCVBUFFORCE, libc::SO_RCVBUF, UNREAD),
        (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF, UNSENT),
    ] {
        option::set(&fd, libc::SOL_SOCKET, forced, bytes)
            .or_else(|_| option::set(&fd, libc::SOL_SOCKET, asked, bytes))?;
    }
    // SAFETY: a struct of integers, for which zeros are a value.
    let mut address: libc::sockaddr_ll = unsafe { MaybeUninit::zeroed().assume_init() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
    address.sll_ifindex = interface as i32;
    let length = size_of_val(&address) as libc::socklen_t;
    // SAFETY: the kernel reads so many bytes of an address that outlives the call.
    if unsafe { libc::bind(fd.as_raw_fd(), (&raw const address).cast(), length) } != 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(fd)
}

fn gone(error: io::Error) -> Error {
    Error::system("an interface of the fabric is gone or down")(error)
}
