//! Copies frames from the kernel's ring into packets' buffers, and completes them to frames as on a physical link.

use std::os::fd::{AsRawFd, OwnedFd};

use base::PacketId;
use traffic::Packets;

use super::super::{Received, Segments, segments};
use super::cut::Cut;
use super::ring::Frame;
use crate::buffers::{Buffers, OFFLOAD};
use frames::checksum;

/// Bytes of the longest super-frame, with the header that the kernel puts before it: an IP datagram of 64 KB after an
/// Ethernet header and a VLAN tag.
const SUPER_FRAME: usize = OFFLOAD as usize + 18 + 65_535;
/// The offset of a VLAN tag in a frame: after two addresses.
const ADDRESSES: usize = 12;
/// `VIRTIO_NET_HDR_F_NEEDS_CSUM`: the checksum is pending.
const NEEDS_CHECKSUM: u8 = 1;

/// Reads frames.
#[derive(Debug)]
pub(super) struct Reader {
    /// Whether frames stay as in the kernel, each after its offload header.
    vnet: bool,
    /// A frame that was too long for the ring, with the bytes before it.
    long: Vec<u8>,
    /// A super-frame with its tag inserted.
    tagged: Vec<u8>,
}

/// The destination of frames: free packets, and the list of received frames.
pub(super) struct Into<'a> {
    pub(super) buffers: &'a mut Buffers,
    pub(super) packets: &'a mut Packets,
    pub(super) out: &'a mut Vec<Received>,
}

impl Reader {
    pub(super) const fn new(vnet: bool) -> Self {
        Self { vnet, long: Vec::new(), tagged: Vec::new() }
    }

    /// Copies a frame into a packet's buffer, or the frames of a super-frame into the buffers of several packets.
    /// Returns the number of frames lost because there was no room.
    #[inline]
    pub(super) fn read(
        &mut self,
        socket: &OwnedFd,
        frame: &Frame,
        packet: PacketId,
        into: &mut Into<'_>,
    ) -> u64 {
        let Self { vnet, long, tagged } = self;
        let bytes = if frame.is_queued { queued(socket, long) } else { frame.bytes };
        let Some((offload, bytes)) = bytes
            .split_first_chunk()
            .filter(|(_, bytes)| bytes.len() == frame.length as usize && bytes.len() >= ADDRESSES)
        else {
            into.packets.release(packet);
            return 1;
        };
        let tag = frame.tag.as_ref().map_or(&[][..], |tag| tag);
        let offload = segments::moved(*offload, tag.len() as u16);
        if *vnet || offload[1] == 0 {
            return one(*vnet, &offload, bytes, tag, packet, into);
        }
        tagged.clear();
        tagged.extend_from_slice(&bytes[..ADDRESSES]);
        tagged.extend_from_slice(tag);
        tagged.extend_from_slice(&bytes[ADDRESSES..]);
        let cut = Segments::of(&offload, tagged);
        match cut.and_then(|segments| Cut::new(&offload, segments, tagged)) {
            Some(cut) => several(&cut, packet, into),
            None => {
                into.packets.release(packet);
                1
            }
        }
    }
}

/// Reads the frame at the head of the socket's queue, which did not fit the ring, with the bytes before it.
#[cold]
fn queued<'a>(socket: &OwnedFd, long: &'a mut Vec<u8>) -> &'a [u8] {
    long.resize(SUPER_FRAME, 0);
    // SAFETY: the kernel writes at most `long.len()` bytes of the vector.
    let length = unsafe {
        libc::recv(socket.as_raw_fd(), long.as_mut_ptr().cast(), long.len(), libc::MSG_DONTWAIT)
    };
    // A longer frame is truncated; the caller detects that by its length.
    usize::try_from(length).ok().and_then(|length| long.get(..length)).unwrap_or(&[])
}

/// Copies a frame that is not cut.
#[inline]
fn one(
    vnet: bool,
    offload: &[u8; OFFLOAD as usize],
    bytes: &[u8],
    tag: &[u8],
    packet: PacketId,
    into: &mut Into<'_>,
) -> u64 {
    let Into { buffers, packets, out } = into;
    let length = bytes.len() + tag.len();
    if length > buffers.room() as usize {
        packets.release(packet);
        return 1;
    }
    let length = length as u32;
    let frame = buffers.bytes_mut(packet, length);
    let (addresses, rest) = frame.split_at_mut(ADDRESSES);
    let (to_tag, to_rest) = rest.split_at_mut(tag.len());
    addresses.copy_from_slice(&bytes[..ADDRESSES]);
    to_tag.copy_from_slice(tag);
    to_rest.copy_from_slice(&bytes[ADDRESSES..]);
    if vnet {
        let segments = Segments::of(offload, frame);
        *buffers.offload_mut(packet) = *offload;
        out.push(Received { packet, length, segments });
        return 0;
    }
    let &[flags, _, _, _, _, _, start0, start1, field0, field1] = offload;
    if flags & NEEDS_CHECKSUM != 0 {
        let [start, field] = [[start0, start1], [field0, field1]].map(u16::from_ne_bytes);
        // A checksum field beyond the frame is ignored.
        let _ = checksum::finish(frame, start.into(), field.into());
    }
    buffers.offload_mut(packet).fill(0);
    out.push(Received { packet, length, segments: None });
    0
}

/// Copies the frames of a super-frame, the first into `packet`.
#[cold]
fn several(cut: &Cut<'_>, packet: PacketId, into: &mut Into<'_>) -> u64 {
    let Into { buffers, packets, out } = into;
    let mut free = Some(packet);
    let mut lost = 0;
    for number in 0..cut.count() {
        let length = cut.length(number);
        let Some(packet) = free.take().or_else(|| packets.try_alloc()) else {
            lost += 1;
            continue;
        };
        let fits = length <= buffers.room();
        if !fits || cut.write(number, buffers.bytes_mut(packet, length)).is_none() {
            lost += 1;
            free = Some(packet);
            continue;
        }
        buffers.offload_mut(packet).fill(0);
        out.push(Received { packet, length, segments: None });
    }
    if let Some(packet) = free {
        packets.release(packet);
    }
    lost
}
