//! The frame buffers of a run: one region of memory, divided into chunks, that all ports share.
//!
//! A packet's handle is its buffer's number: chunk `n` holds the frame of `PacketId::at(n)`. So a frame received
//! at one port is sent at another without a copy.

use std::num::NonZeroUsize;
use std::ptr::NonNull;
use std::slice;

use base::{PacketId, packet};

use crate::Error;
use crate::mapping::Mapping;

/// The offset of a frame in its chunk, in bytes. XDP reserves this headroom before a received frame
/// (`XDP_PACKET_HEADROOM`). For other frames, [`OFFLOAD`] bytes of it are used.
pub const HEADROOM: u32 = 256;

/// Bytes before a frame for its segmentation and checksum offload: `struct virtio_net_hdr`, ten bytes. If all
/// are zero, the frame is unsegmented and its checksum complete.
pub const OFFLOAD: u32 = 10;

/// Chunk sizes that AF_XDP accepts for aligned chunks: powers of two, from 2048 to a page.
pub(crate) const XDP_SIZES: [u32; 2] = [2048, 4096];

/// The buffers of a run's packets.
#[derive(Debug)]
pub struct Buffers {
    mapping: Mapping,
    count: u32,
    size: u32,
}

impl Buffers {
    /// Allocates `count` chunks of `size` bytes each, [`HEADROOM`] included. [`Buffers::size_for`] returns a
    /// suitable size.
    ///
    /// # Errors
    /// If `count` is zero, if a chunk would not hold the shortest frame or ends within a cache line, or if the
    /// machine does not have enough memory.
    pub fn new(count: u32, size: u32) -> Result<Self, Error> {
        let least = HEADROOM + packet::FRAME_MIN;
        if size < least || !size.is_multiple_of(64) {
            return Err(Error::unfit(
                format!("buffers of {size} bytes"),
                format!("use a multiple of 64, at least {least}"),
            ));
        }
        let length = NonZeroUsize::new(count as usize * size as usize)
            .ok_or_else(|| Error::unfit("no buffers", "use at least one"))?;
        let mapping = Mapping::anonymous(length).map_err(|error| {
            let megabytes = length.get() >> 20;
            Error::lacking(
                format!("{count} buffers of {size} bytes"),
                error.into(),
                format!("free {megabytes} MB of memory, or use shorter queues"),
            )
        })?;
        Ok(Self { mapping, count, size })
    }

    /// The smallest chunk size for frames of `length` bytes (without FCS) that every kind of device accepts.
    /// Beyond the limit of AF_XDP, whole pages.
    pub const fn size_for(length: u32) -> u32 {
        let needed = HEADROOM.saturating_add(length);
        let [small, large] = XDP_SIZES;
        if needed <= small { small } else { needed.div_ceil(large).saturating_mul(large) }
    }

    /// The number of chunks.
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// Bytes of a chunk.
    pub const fn size(&self) -> u32 {
        self.size
    }

    /// The longest frame that a chunk holds, in bytes without FCS.
    pub const fn room(&self) -> u32 {
        self.size - HEADROOM
    }

    /// The first `length` bytes of a packet's frame, from its destination address on. While a device holds
    /// the packet, the kernel owns them, and their content is undefined.
    ///
    /// # Panics
    /// If there is no such packet, or its chunk is too short.
    #[inline]
    pub fn bytes(&self, packet: PacketId, length: u32) -> &[u8] {
        let start = self.frame(packet, length);
        // SAFETY: `length` bytes from `start` are within one chunk of the mapping, which outlives this borrow
        // and is written through `&mut self` only.
        unsafe { slice::from_raw_parts(start.as_ptr(), length as usize) }
    }

    /// Returns the bytes of [`Buffers::bytes`] for writing.
    ///
    /// # Panics
    /// As [`Buffers::bytes`].
    #[inline]
    pub fn bytes_mut(&mut self, packet: PacketId, length: u32) -> &mut [u8] {
        let start = self.frame(packet, length);
        // SAFETY: as in `bytes`, and the borrow is the only one.
        unsafe { slice::from_raw_parts_mut(start.as_ptr(), length as usize) }
    }

    /// Writes `frame` as the packet's frame, unsegmented and with complete checksums, for a driver that creates
    /// frames. Returns false and writes nothing if a chunk is too short.
    pub fn write(&mut self, packet: PacketId, frame: &[u8]) -> bool {
        let Some(length) = u32::try_from(frame.len()).ok().filter(|&length| length <= self.room())
        else {
            return false;
        };
        self.bytes_mut(packet, length).copy_from_slice(frame);
        self.offload_mut(packet).fill(0);
        true
    }

    /// Copies the frame of packet `from` to packet `to`, with its offload header.
    ///
    /// # Panics
    /// If there is no such packet.
    pub(crate) fn copy(&mut self, from: PacketId, to: PacketId) {
        let (room, offload) = (self.room(), *self.offload(from));
        *self.offload_mut(to) = offload;
        let (from, to) = (self.frame(from, room), self.frame(to, room));
        if from != to {
            // SAFETY: both are within the mapping, each in a chunk of its own, and the borrow is the only one.
            unsafe { from.copy_to_nonoverlapping(to, room as usize) };
        }
    }

    /// The bytes before a packet's frame, see [`OFFLOAD`].
    ///
    /// # Panics
    /// If there is no such packet.
    #[inline]
    pub fn offload(&self, packet: PacketId) -> &[u8; OFFLOAD as usize] {
        let before = self.frame(packet, 0).as_ptr().wrapping_sub(OFFLOAD as usize).cast();
        // SAFETY: the headroom before the frame is longer, and borrowed as in `bytes`.
        unsafe { &*before }
    }

    /// Whether a packet's checksum is complete, with no part left to a card.
    #[inline]
    pub fn is_summed(&self, packet: PacketId) -> bool {
        self.offload(packet).iter().all(|&byte| byte == 0)
    }

    /// Returns the bytes of [`Buffers::offload`] for writing.
    ///
    /// # Panics
    /// As [`Buffers::offload`].
    #[inline]
    pub fn offload_mut(&mut self, packet: PacketId) -> &mut [u8; OFFLOAD as usize] {
        let before = self.frame(packet, 0).as_ptr().wrapping_sub(OFFLOAD as usize).cast();
        // SAFETY: as in `offload`, and the borrow is the only one.
        unsafe { &mut *before }
    }

    /// The start of a packet's frame of at most `length` bytes.
    #[inline]
    fn frame(&self, packet: PacketId, length: u32) -> NonNull<u8> {
        assert!(packet.place() < self.count, "a packet has a buffer");
        assert!(length <= self.room(), "a frame fits its buffer");
        let offset = packet.place() as usize * self.size as usize + HEADROOM as usize;
        // SAFETY: the chunks are contiguous in the mapping, and there are more than `place` of them.
        unsafe { self.mapping.start().byte_add(offset) }
    }

    /// The whole region, as registered with the kernel.
    pub(crate) fn region(&self) -> (NonNull<u8>, usize) {
        (self.mapping.start(), self.mapping.length())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_do_not_touch_each_other() {
        let mut buffers = Buffers::new(3, 2048).expect("6 KB");
        let room = buffers.room();
        for place in 0..3 {
            let packet = PacketId::at(place);
            buffers.bytes_mut(packet, room).fill(place as u8 + 1);
            buffers.offload_mut(packet).fill(place as u8 + 11);
        }
        for place in 0..3 {
            let packet = PacketId::at(place);
            assert!(buffers.bytes(packet, room).iter().all(|&byte| byte == place as u8 + 1));
            assert_eq!(buffers.offload(packet), &[place as u8 + 11; 10]);
        }
    }

    #[test]
    fn a_frame_of_ones_own_is_whole() {
        let mut buffers = Buffers::new(1, 2048).expect("2 KB");
        let packet = PacketId::at(0);
        buffers.offload_mut(packet).fill(7);
        assert!(buffers.write(packet, &[1, 2, 3]));
        assert_eq!((buffers.bytes(packet, 3), buffers.offload(packet)), (&[1, 2, 3][..], &[0; 10]));
        assert!(!buffers.write(packet, &[0; 1793]), "1792 bytes are left of 2048");
    }

    #[test]
    #[should_panic(expected = "a frame fits its buffer")]
    fn no_read_goes_beyond_a_chunk() {
        let buffers = Buffers::new(2, 2048).expect("4 KB");
        let _ = buffers.bytes(PacketId::at(0), 1793);
    }

    #[test]
    #[should_panic(expected = "a packet has a buffer")]
    fn no_read_goes_beyond_the_last_chunk() {
        let buffers = Buffers::new(2, 2048).expect("4 KB");
        let _ = buffers.bytes(PacketId::at(2), 0);
    }

    #[test]
    fn a_size_fits_its_frames() {
        let sizes = [1514, 1792, 1793, 3840, 9014, 65_549].map(Buffers::size_for);
        assert_eq!(sizes, [2048, 2048, 4096, 4096, 12_288, 69_632]);
    }

    #[test]
    fn what_cannot_be_is_refused() {
        for (count, size) in [(0, 2048), (1, 0), (1, 256), (1, 2000)] {
            assert!(
                matches!(Buffers::new(count, size), Err(Error::Unfit { .. })),
                "{count} x {size}"
            );
        }
        assert!(matches!(Buffers::new(u32::MAX, 1 << 31), Err(Error::Lacking { .. })));
    }
}
