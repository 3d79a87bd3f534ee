//! A queue's counters, kept so that packets taken are those sent, discarded and still queued.

use crate::discipline::Statistics;

/// The counters; each method is one thing that can become of a packet.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tally(Statistics);

impl Tally {
    pub(crate) const fn statistics(&self) -> Statistics {
        self.0
    }

    pub(crate) const fn packets(&self) -> u64 {
        self.0.backlog_packets
    }

    pub(crate) const fn bytes(&self) -> u64 {
        self.0.backlog_bytes
    }

    /// The queue took a packet; [`Tally::peak`] follows once it is known what stays.
    #[inline]
    pub(crate) fn take(&mut self, length: u64) {
        self.0.enqueued_packets += 1;
        self.0.enqueued_bytes += length;
        self.0.backlog_packets += 1;
        self.0.backlog_bytes += length;
    }

    /// Remembers the backlog if it was never longer.
    #[inline]
    pub(crate) fn peak(&mut self) {
        self.0.backlog_bytes_max = self.0.backlog_bytes_max.max(self.0.backlog_bytes);
    }

    /// A packet was refused, and never was in the queue.
    pub(crate) fn refuse(&mut self, length: u64) {
        self.0.dropped_packets += 1;
        self.0.dropped_bytes += length;
    }

    /// A packet that had been taken was discarded.
    pub(crate) fn discard(&mut self, length: u64) {
        self.leave(length);
        self.refuse(length);
    }

    /// A packet went to the wire.
    #[inline]
    pub(crate) fn send(&mut self, length: u64) {
        self.leave(length);
        self.0.sent_packets += 1;
        self.0.sent_bytes += length;
    }

    /// A packet was marked.
    pub(crate) fn mark(&mut self) {
        self.0.marked_packets += 1;
    }

    #[inline]
    fn leave(&mut self, length: u64) {
        self.0.backlog_packets -= 1;
        self.0.backlog_bytes -= length;
    }
}
