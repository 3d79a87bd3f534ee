//! The receiving half's part of a connection's snapshot.

use super::Receiver;
use crate::Info;

impl Receiver {
    /// Fills in the receiver's fields.
    pub(crate) fn fill(&self, info: &mut Info) {
        info.bytes_received = self.bytes();
        info.bytes_read = self.bytes_read();
        info.bytes_duplicate = self.stats.bytes_duplicate;
        info.data_segments_received = self.stats.segments;
        (info.dsacks_sent, info.ecn_marks) = (self.stats.dsacks, self.stats.marks);
        info.receive_window = self.edge.saturating_sub(self.nxt);
        info.receive_buffer = self.tuning.buffer();
        info.out_of_order = self.reassembly.held();
    }
}
