//! The application reads: what that does to the buffer, the window and the ACKs.

use traffic::Instant;

use super::{AckContent, Receiver};

impl Receiver {
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

    /// The application reads whatever arrives.
    pub(crate) fn read_always(&mut self, now: Instant) {
        self.reads_always = true;
        self.read(u64::MAX, now);
    }

    /// An application that reads whatever arrives reads what filled a hole. An ACK of it goes before the application
    /// runs, when all of it still takes room in the buffer, so it has the window from before. If reading reopens the window,
    /// which takes a second ACK in Linux, the one ACK tells of that.
    pub(super) fn read_filled(&mut self, now: Instant) {
        self.edge_is_set = self.delayed.is_due();
        if self.edge_is_set {
            self.advance_edge();
        }
        self.reads_always = true;
        self.read(u64::MAX, now);
        self.edge_is_set &= !self.reopens();
    }
}
