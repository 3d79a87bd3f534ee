//! What the program reads, and when: by calls, or whatever arrives.

use base::Instant;

use super::{AckContent, Receiver};
use crate::seq::ORIGIN;

impl Receiver {
    /// Payload bytes that the application may read.
    pub(crate) fn readable(&self) -> u64 {
        (self.bytes() + ORIGIN + 1).saturating_sub(self.read)
    }

    /// Payload bytes that it read.
    pub(crate) fn bytes_read(&self) -> u64 {
        self.bytes().min(self.read - ORIGIN - 1)
    }

    /// Returns the payload bytes that the application has read, and when it last read.
    pub(crate) fn read_progress(&self) -> (u64, Instant) {
        (self.bytes_read(), self.read_at)
    }

    /// Reads up to `bytes` bytes for the application and returns how many. A window that doubles by that is
    /// advertised at once (Linux's `tcp_cleanup_rbuf`); a BSD stack advertises one that opens by half the buffer.
    pub(crate) fn read(&mut self, bytes: u64, now: Instant) -> u64 {
        let taken = bytes.min(self.readable());
        self.ack_content = self.ack_content.max(AckContent::Progress);
        // Linux measures at the first segment that is copied. After a hole was filled, that is not all of the data.
        let first = self.read + taken.min(u64::from(self.mss));
        if taken > 0 {
            (self.read, self.read_at) = (self.read + taken, now);
        }
        self.tuning.on_read(first, self.nxt - first, self.mss, now);
        if taken > 0 && self.read == self.nxt && self.reassembly.is_empty() {
            self.delayed.on_all_read();
        }
        self.memory.read(self.read);
        if taken > 0 && !self.delayed.is_due() && self.opens_by_reading() {
            self.delayed.now();
        }
        taken
    }

    /// An application that reads whatever arrives does so when [`Self::read_always`] is called again. Returns whether
    /// it is such an application.
    pub(crate) fn defer_reading(&mut self) -> bool {
        core::mem::take(&mut self.reads_always)
    }

    /// The application reads whatever arrives.
    pub(crate) fn read_always(&mut self, now: Instant) {
        self.reads_always = true;
        self.read(u64::MAX, now);
    }
}
