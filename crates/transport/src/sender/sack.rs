//! Selective acknowledgements (RFC 2018, 2883).

use base::packet::{SACK_BLOCKS_MAX, Tcp};

use super::Sender;
use super::ack::AckEvent;
use crate::scoreboard::Progress;

impl Sender {
    /// Enters an ACK's SACK blocks into the scoreboard. Returns the queue entries that a stack
    /// which walks from the head to the end of every block would have visited.
    pub(super) fn on_sack(
        &mut self,
        tcp: &Tcp,
        ack: u64,
        event: &mut AckEvent,
        progress: &mut Progress,
    ) -> u32 {
        let mut blocks = [(0, 0); SACK_BLOCKS_MAX];
        let count = usize::from(tcp.sack_len).min(SACK_BLOCKS_MAX);
        for (block, wire) in blocks.iter_mut().zip(&tcp.sack[..count]) {
            *block = (self.space.unwrap(wire.start, ack), self.space.unwrap(wire.end, ack));
        }
        let first = usize::from(self.take_dsack(&blocks[..count], ack, event));
        let delivered_before = progress.delivered;
        let mut walked = 0;
        // In sequence order, for RACK takes its round trip from the last one.
        blocks[first..count].sort_unstable();
        for &(start, end) in &blocks[first..count] {
            walked += self.enter_block(start.max(ack), end, progress);
        }
        self.blocks_before = blocks;
        event.new_sack = progress.delivered != delivered_before;
        walked
    }

    /// RFC 2883, section 4: a first block below the cumulative ACK, or within the second, reports
    /// data received twice.
    fn take_dsack(&mut self, blocks: &[(u64, u64)], ack: u64, event: &mut AckEvent) -> bool {
        let Some(&(start, end)) = blocks.first() else { return false };
        let inside = blocks.get(1).is_some_and(|second| start >= second.0 && end <= second.1);
        if !(end <= ack || inside) || start >= end {
            return false;
        }
        if !self.count_duplicated(end - start, event) {
            return false;
        }
        event.dsack = true;
        self.stats.dsacks += 1;
        event.dsack_of_probe = end == self.probe.high && event.duplicated == 1;
        // A probe is sent by timer, and without reordering nothing was retransmitted too soon.
        self.rack.dsack_seen |= self.repair.reordering_seen && !event.dsack_of_probe;
        if self.undo.marker != 0 && self.undo.retransmissions > 0 && end > self.undo.marker {
            let segments = i32::try_from(event.duplicated).unwrap_or(i32::MAX);
            self.undo.retransmissions = (self.undo.retransmissions - segments).max(0);
        }
        if inside && end > ack {
            let (from, to) = self.board.places(start.max(ack), end, self.agreed.mss);
            if to.wrapping_sub(from) == 1 {
                self.board.clear_retransmitted(from);
            }
        }
        true
    }

    /// A spurious retransmission is delivered as well (Linux's `tcp_dsack_seen`). False if the report
    /// cannot be: more than the peer's window ever was, or than was sent twice.
    fn count_duplicated(&mut self, bytes: u64, event: &mut AckEvent) -> bool {
        if bytes > self.peer.max {
            return false;
        }
        let segments = bytes.div_ceil(u64::from(self.agreed.mss));
        self.stats.duplicated += segments;
        if self.stats.duplicated > self.stats.retransmissions {
            return false;
        }
        event.duplicated = segments as u32;
        true
    }

    /// One block; what the last ACK's blocks said already is skipped, so only news is walked.
    fn enter_block(&mut self, start: u64, end: u64, progress: &mut Progress) -> u32 {
        if start >= end || end > self.nxt {
            return 0;
        }
        let mut fresh = start;
        for &(known_start, known_end) in &self.blocks_before {
            if known_start <= start && start < known_end {
                fresh = fresh.max(known_end);
            }
        }
        if fresh < end {
            let (from, to) = self.board.places(fresh, end, self.agreed.mss);
            self.board.sack(from, to, progress);
            return to.wrapping_sub(self.board.head());
        }
        if !self.config.recovery.walks_queue {
            return 0;
        }
        self.board.find(end, self.agreed.mss).wrapping_sub(self.board.head())
    }

    /// Returns the entries that the 2.4 stack walked for an ACK: `blocks` entries for its SACK blocks; when it marks,
    /// from the head to the highest SACK (`tcp_mark_head_lost`); when it retransmits, from the head to the first
    /// segment it may send (`tcp_xmit_retransmit_queue`); and a head that timed out sends it over the whole queue
    /// (`tcp_update_scoreboard`).
    pub(super) fn walked(&mut self, blocks: u32) -> u32 {
        let mut walked = blocks;
        if matches!(self.state, congestion::State::Recovery | congestion::State::Loss) {
            walked += self.board.forward();
        }
        if self.board.lost() != 0 && self.in_flight() < self.sock.cwnd {
            let next = self.board.next_pending().unwrap_or(self.board.tail());
            walked += next.wrapping_sub(self.board.head());
        }
        self.stats.walked += u64::from(walked);
        walked
    }
}
