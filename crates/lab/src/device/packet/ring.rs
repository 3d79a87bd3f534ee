//! The ring for received frames (Linux, Documentation/networking/packet_mmap.rst): one slot per frame, with a
//! header that says whether the kernel or the program owns the slot.
//!
//! The ring is TPACKET_V2. TPACKET_V3 passes blocks of frames, a millisecond late at low rates.

use std::io;
use std::num::NonZeroUsize;
use std::os::fd::OwnedFd;
use std::ptr::NonNull;
use std::slice;
use std::sync::atomic::{AtomicU32, Ordering};

use super::super::option;
use crate::mapping::Mapping;

/// Slots, where that does not take too much memory: at 0.5 million frames a second those of 2 ms.
const SLOTS: u32 = 1024;
/// The maximum size of a ring, in bytes.
const BYTES_MAX: u32 = 32 << 20;
/// Bytes of a block of the ring; a longer slot has a block of its own.
const BLOCK: u32 = 1 << 16;
/// The maximum bytes in a slot before and after the frame: header, address, alignment.
const SLOT_EXTRA: u32 = 128;

/// The content of a slot.
#[derive(Debug)]
pub(super) struct Frame<'a> {
    /// The frame, from its destination address on, preceded by the bytes that the kernel was asked to put there.
    pub(super) bytes: &'a [u8],
    /// The frame's length in bytes. Bytes that did not fit the slot are not in `bytes`.
    pub(super) length: u32,
    /// The VLAN tag that the kernel removed from the frame, as on the wire.
    pub(super) tag: Option<[u8; 4]>,
    /// Whether the frame did not fit the slot, and the whole frame waits in the socket's queue.
    pub(super) is_queued: bool,
}

/// A receive ring.
#[derive(Debug)]
pub(super) struct Ring {
    mapping: Mapping,
    /// The number of slots, a power of two.
    slots: u32,
    /// Bytes of a slot.
    slot: u32,
    /// The running number of the next slot to read.
    next: u32,
}

impl Ring {
    /// Makes the kernel create the socket's ring, for frames of `room` bytes. Longer frames go into the
    /// socket's queue, up to its buffer size, so that super-frames need no slots of their length.
    pub(super) fn map(socket: &OwnedFd, room: u32) -> io::Result<Self> {
        option::set(socket, libc::SOL_PACKET, libc::PACKET_COPY_THRESH, 1)?;
        let version = libc::tpacket_versions::TPACKET_V2 as i32;
        option::set(socket, libc::SOL_PACKET, libc::PACKET_VERSION, version)?;
        let slot = (room + SLOT_EXTRA).next_power_of_two();
        let slots = SLOTS.min((BYTES_MAX / slot).max(1));
        let block = slot.max(BLOCK);
        let request = libc::tpacket_req {
            tp_block_size: block,
            tp_block_nr: (slots * slot).div_ceil(block),
            tp_frame_size: slot,
            tp_frame_nr: slots,
        };
        option::set(socket, libc::SOL_PACKET, libc::PACKET_RX_RING, request)?;
        let length = NonZeroUsize::new(slots as usize * slot as usize);
        let mapping = Mapping::shared(socket, length.ok_or(io::ErrorKind::InvalidInput)?, 0)?;
        Ok(Self { mapping, slots, slot, next: 0 })
    }

    /// Passes the oldest frame, with `before` bytes before it, to `read`, then returns its slot to the kernel.
    /// `None` if there is no frame.
    #[inline]
    pub(super) fn take<T>(&mut self, before: usize, read: impl FnOnce(Frame) -> T) -> Option<T> {
        let start = (self.next % self.slots) as usize * self.slot as usize;
        let header = self.mapping.at::<libc::tpacket2_hdr>(start)?;
        let status = status(header);
        // SAFETY: the slot begins with a header; both sides access its status as an atomic.
        let bits = unsafe { status.as_ref() }.load(Ordering::Acquire);
        if bits & libc::TP_STATUS_USER == 0 {
            return None;
        }
        // SAFETY: the kernel has written the header and does not touch the slot until it is returned.
        let header = unsafe { header.read() };
        let at = usize::from(header.tp_mac).saturating_sub(before);
        let length =
            (header.tp_snaplen as usize + before).min((self.slot as usize).saturating_sub(at));
        // SAFETY: within the slot, which this side owns, like the header.
        let bytes = unsafe {
            slice::from_raw_parts(self.mapping.start().byte_add(start + at).as_ptr(), length)
        };
        let is_queued = bits & libc::TP_STATUS_COPY != 0;
        let tag = tag(bits, &header);
        let result = read(Frame { bytes, length: header.tp_len, tag, is_queued });
        // SAFETY: as above.
        unsafe { status.as_ref() }.store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = self.next.wrapping_add(1);
        Some(result)
    }
}

/// The status field of a slot's header, which says who owns the slot.
fn status(header: NonNull<libc::tpacket2_hdr>) -> NonNull<AtomicU32> {
    const { assert!(std::mem::offset_of!(libc::tpacket2_hdr, tp_status) == 0) };
    header.cast()
}

/// The VLAN tag of a frame whose slot has the status `status` (IEEE 802.1Q, 9.6).
fn tag(status: u32, header: &libc::tpacket2_hdr) -> Option<[u8; 4]> {
    if status & libc::TP_STATUS_VLAN_VALID == 0 {
        return None;
    }
    let protocol = match status & libc::TP_STATUS_VLAN_TPID_VALID {
        0 => libc::ETH_P_8021Q as u16,
        _ => header.tp_vlan_tpid,
    };
    let ([a, b], [c, d]) = (protocol.to_be_bytes(), header.tp_vlan_tci.to_be_bytes());
    Some([a, b, c, d])
}
