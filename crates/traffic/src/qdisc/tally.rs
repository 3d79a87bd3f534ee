//! A queue's counters: the packets taken are always those sent, discarded and still queued.

use crate::discipline::Statistics;

/// Packets, and their bytes.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    packets: u64,
    bytes: u64,
}

impl Count {
    #[inline]
    fn add(&mut self, length: u64) {
        self.packets += 1;
        self.bytes += length;
    }
}

/// The counters. Each method records one outcome for a packet. Derivable numbers are not stored, and the
/// fields that each packet changes come first.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub(crate) struct Tally {
    taken: Count,
    /// The taken packets that were sent or discarded.
    left: Count,
    bytes_max: u64,
    discarded: Count,
    /// Packets never taken.
    refused: Count,
    marked: u64,
}

impl Tally {
    pub(crate) const fn statistics(&self) -> Statistics {
        let Self { taken, left, bytes_max, discarded, refused, marked } = *self;
        Statistics {
            backlog_packets: self.packets(),
            backlog_bytes: self.bytes(),
            backlog_bytes_max: bytes_max,
            enqueued_packets: taken.packets,
            enqueued_bytes: taken.bytes,
            sent_packets: left.packets - discarded.packets,
            sent_bytes: left.bytes - discarded.bytes,
            dropped_packets: discarded.packets + refused.packets,
            dropped_bytes: discarded.bytes + refused.bytes,
            marked_packets: marked,
            gap_frames: 0,
            gap_bytes: 0,
        }
    }

    /// Packets queued.
    #[inline]
    pub(crate) const fn packets(&self) -> u64 {
        self.taken.packets - self.left.packets
    }

    /// Bytes queued.
    #[inline]
    pub(crate) const fn bytes(&self) -> u64 {
        self.taken.bytes - self.left.bytes
    }

    /// Records a packet that the queue took; call [`Tally::peak`] once it is known which packets stay.
    #[inline]
    pub(crate) fn take(&mut self, length: u64) {
        self.taken.add(length);
    }

    /// Updates the greatest backlog.
    #[inline]
    pub(crate) fn peak(&mut self) {
        self.bytes_max = self.bytes_max.max(self.bytes());
    }

    /// A packet was refused, and never was in the queue.
    pub(crate) fn refuse(&mut self, length: u64) {
        self.refused.add(length);
    }

    /// Records the discard of a packet that was taken before.
    pub(crate) fn discard(&mut self, length: u64) {
        self.left.add(length);
        self.discarded.add(length);
    }

    /// A packet went to the wire.
    #[inline]
    pub(crate) fn send(&mut self, length: u64) {
        self.left.add(length);
    }

    /// A packet was marked.
    pub(crate) fn mark(&mut self) {
        self.marked += 1;
    }
}
