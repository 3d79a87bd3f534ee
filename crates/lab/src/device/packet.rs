//! AF_PACKET: frames from an interface by a ring that the kernel fills, and to it by system calls that take
//! a batch each (packet(7)).
//!
//! Receiving by recvmmsg(2) straight into the buffers would save the copy out of the ring, and yet costs
//! the fabric's core more (0.36 million frames a second against 0.52): the kernel then copies on that core
//! instead of the sender's, and every look for frames is a system call. A ring to send by costs more too
//! (0.46): the kernel copies what a host of the same machine is to read once more.

mod ring;

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::sync::atomic::{AtomicU64, Ordering};

use traffic::{PacketId, Packets};

use self::ring::{Frame, Ring};
use super::alive::{Watch, gone};
use super::{BATCH, Counts, Received, Segments, option, segments};
use crate::Error;
use crate::buffers::{Buffers, OFFLOAD};

/// Frames that can wait to be sent.
const SEND: usize = 2048;
/// As far as the kernel lets unsent frames grow, in bytes of its own accounting: some 2.3 KB for one of 1500.
const UNSENT: i32 = 16 << 20;
/// Bytes before which a VLAN tag stands in a frame: two addresses.
const ADDRESSES: usize = 12;

/// A packet socket.
#[derive(Debug)]
pub(super) struct Socket {
    fd: OwnedFd,
    /// Whether each frame comes and goes with what the kernel says of its segments.
    vnet: bool,
    arrived: Ring,
    /// What waits to be sent, and how long it is.
    waiting: Vec<(PacketId, u32)>,
    /// Those for which that was full, until they can be released.
    turned_away: Vec<PacketId>,
    watch: Watch,
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
    pub(super) fn open(interface: u32, vnet: bool, buffers: &Buffers) -> Result<Self, Error> {
        let what = format!("AF_PACKET on interface {interface}");
        let (fd, arrived) = match bound(interface, vnet, buffers.room()) {
            Ok(opened) => opened,
            Err(error) if error.raw_os_error() == Some(libc::EPERM) => {
                let help = "run as root, or where user namespaces are allowed";
                return Err(Error::lacking(what, error, help));
            }
            Err(error) => return Err(Error::system(what)(error)),
        };
        Ok(Self {
            fd,
            vnet,
            arrived,
            waiting: Vec::with_capacity(SEND),
            turned_away: Vec::with_capacity(SEND),
            watch: Watch::default(),
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
    ) -> Result<(), Error> {
        for turn in 0..BATCH {
            let Some(packet) = packets.try_claim() else { return Ok(()) };
            let before = self.before();
            let vnet = self.vnet;
            let taken = self.arrived.take(before, |frame| copy(&frame, vnet, buffers, packet));
            match taken {
                Some(Some(received)) => {
                    self.counts.received += 1;
                    out.push(received);
                }
                Some(None) => {
                    *self.missed.get_mut() += 1;
                    packets.release(packet);
                }
                None => {
                    packets.release(packet);
                    return if turn == 0 { self.watch.quiet(&self.fd) } else { Ok(()) };
                }
            }
            self.watch.heard();
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

    pub(super) fn has_unsent(&self) -> bool {
        !self.waiting.is_empty()
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

/// Puts a frame, and what came before it, into a packet's buffer. `None` if it is too long.
#[inline]
fn copy(frame: &Frame, vnet: bool, buffers: &mut Buffers, packet: PacketId) -> Option<Received> {
    let (before, bytes) = frame.bytes.split_at_checked(if vnet { OFFLOAD as usize } else { 0 })?;
    let tag = frame.tag.as_ref().map_or(&[][..], |tag| tag);
    let length = frame.length.checked_add(tag.len() as u32)?;
    if bytes.len() < frame.length as usize || length > buffers.room() {
        return None;
    }
    let (addresses, rest) = bytes.split_at_checked(ADDRESSES)?;
    let (to_addresses, to_rest) = buffers.bytes_mut(packet, length).split_at_mut(ADDRESSES);
    let (to_tag, to_rest) = to_rest.split_at_mut(tag.len());
    to_addresses.copy_from_slice(addresses);
    to_tag.copy_from_slice(tag);
    to_rest.copy_from_slice(rest);
    if let Some(offload) = before.first_chunk() {
        *buffers.offload_mut(packet) = segments::moved(*offload, tag.len() as u16);
    }
    let segments = Segments::of(buffers.offload(packet), buffers.bytes(packet, length));
    Some(Received { packet, length, segments: segments.filter(|_| vnet) })
}

/// A socket that sees what comes in by the interface and nothing else, and its ring.
fn bound(interface: u32, vnet: bool, room: u32) -> io::Result<(OwnedFd, Ring)> {
    // SAFETY: no memory is passed. With no protocol yet, nothing comes in before it is bound.
    let fd = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: a descriptor that we have just been given.
    let fd = unsafe { OwnedFd::from_raw_fd(fd) };
    for (name, value) in [
        (libc::PACKET_IGNORE_OUTGOING, 1),
        (libc::PACKET_QDISC_BYPASS, 1),
        (libc::PACKET_VNET_HDR, i32::from(vnet)),
    ] {
        option::set(&fd, libc::SOL_PACKET, name, value)?;
    }
    // Only root may go beyond the system's limit; within it the socket works, with less room.
    option::set(&fd, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, UNSENT)
        .or_else(|_| option::set(&fd, libc::SOL_SOCKET, libc::SO_SNDBUF, UNSENT))?;
    let ring = Ring::map(&fd, room)?;
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
    Ok((fd, ring))
}
