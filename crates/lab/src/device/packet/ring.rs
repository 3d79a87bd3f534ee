//! The ring into which the kernel puts received frames (Linux, Documentation/networking/packet_mmap.rst):
//! a slot for each, with a header that says whose it is.
//!
//! It is of version 2: version 3 hands over blocks of frames, a millisecond late where few come.

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
/// Bytes that a ring may have.
const BYTES_MAX: u32 = 32 << 20;
/// Bytes of a block, of which the kernel makes the ring; a longer slot is its own.
const BLOCK: u32 = 1 << 16;
/// What stands in a slot before and after the frame, or less: the header, an address, alignment.
const SLOT_EXTRA: u32 = 128;

/// What a slot holds.
#[derive(Debug)]
pub(super) struct Frame<'a> {
    /// The frame, from its destination address on, and before it what the kernel was asked to put there.
    pub(super) bytes: &'a [u8],
    /// The frame's bytes, of which those that did not fit the slot are lost.
    pub(super) length: u32,
    /// The VLAN tag that the kernel took out of the frame, as on a wire.
    pub(super) tag: Option<[u8; 4]>,
    /// Whether it did not fit the slot, and the whole of it waits in the socket's queue.
    pub(super) is_queued: bool,
}

/// A receive ring.
#[derive(Debug)]
pub(super) struct Ring {
    mapping: Mapping,
    /// How many slots there are, a power of two, and the bytes of each.
    slots: u32,
    slot: u32,
    /// The running number of the slot that is filled next.
    next: u32,
}

impl Ring {
    /// Has the kernel make the socket's ring, for frames of `room` bytes. Longer ones are put into the
    /// socket's queue, as far as its buffer reaches, so that super-frames need no slots of their length.
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

    /// Gives the oldest frame, with `before` bytes before it, to `read`, and its slot back to the kernel.
    /// `None` if none has come.
    #[inline]
    pub(super) fn take<T>(&mut self, before: usize, read: impl FnOnce(Frame) -> T) -> Option<T> {
        let start = (self.next % self.slots) as usize * self.slot as usize;
        let header = self.mapping.at::<libc::tpacket2_hdr>(start)?;
        let status = status(header);
        // SAFETY: the slot begins with a header, whose status both sides use as an atomic.
        let told = unsafe { status.as_ref() }.load(Ordering::Acquire);
        if told & libc::TP_STATUS_USER == 0 {
            return None;
        }
        // SAFETY: the kernel has written the header, and leaves the slot alone until it is given back.
        let header = unsafe { header.read() };
        let at = usize::from(header.tp_mac).saturating_sub(before);
        let length =
            (header.tp_snaplen as usize + before).min((self.slot as usize).saturating_sub(at));
        // SAFETY: within the slot, which is as much ours as the header.
        let bytes = unsafe {
            slice::from_raw_parts(self.mapping.start().byte_add(start + at).as_ptr(), length)
        };
        let is_queued = told & libc::TP_STATUS_COPY != 0;
        let tag = tag(told, &header);
        let result = read(Frame { bytes, length: header.tp_len, tag, is_queued });
        // SAFETY: as above.
        unsafe { status.as_ref() }.store(libc::TP_STATUS_KERNEL, Ordering::Release);
        self.next = self.next.wrapping_add(1);
        Some(result)
    }
}

/// Where a slot's header says whose the slot is.
fn status(header: NonNull<libc::tpacket2_hdr>) -> NonNull<AtomicU32> {
    const { assert!(std::mem::offset_of!(libc::tpacket2_hdr, tp_status) == 0) };
    header.cast()
}

/// The tag of a frame whose slot has that status (IEEE 802.1Q, 9.6).
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
