//! The advertised window, and which of its changes is worth an ACK: as in Linux, or as in 4.4BSD.

use super::Receiver;

impl Receiver {
    /// A segment arrived that may open the window. Each that does is acknowledged at once, so that a
    /// sender in slow start learns of the window without delay (Linux's `tcp_grow_window`).
    #[inline]
    pub(super) fn open(&mut self, payload: u32) {
        // This segment counts too: no program has read it yet.
        if self.tuning.may_open(payload) && self.tuning.open(self.free(), self.mss) {
            self.delayed.on_opening();
        }
    }

    /// Returns the room in the buffer.
    #[inline]
    fn free(&self) -> u64 {
        let (unread, early) = (self.nxt - self.read, self.reassembly.held());
        self.tuning.free(if !self.tuning.counts_memory() {
            unread + early
        } else if self.reads_always {
            self.memory.of(unread) + self.memory.of(early)
        } else {
            self.memory.taken() + self.memory.of(early)
        })
    }

    /// Returns the window that Linux would advertise now.
    #[inline]
    fn select_window(&mut self) -> u64 {
        let (window, little) = self.tuning.select(self.free(), self.window_shift, self.mss);
        if little {
            self.delayed.on_little_room();
        }
        window
    }

    /// Where the window's right edge could be now.
    #[inline]
    pub(super) fn candidate_edge(&mut self) -> u64 {
        if self.tuning.opens() {
            return self.nxt + self.select_window();
        }
        self.nxt + self.tuning.room(self.nxt - self.read)
    }

    /// Returns whether an ACK would move the window; in Linux, by everything that came since the last one
    /// (`__tcp_ack_snd_check`).
    #[inline]
    pub(super) fn window_moves(&mut self) -> bool {
        if self.tuning.opens() {
            return self.select_window() >= self.edge - self.acked;
        }
        self.candidate_edge() > self.edge
    }

    /// Moves the right edge, never back: in Linux to the window that it selects (`tcp_select_window`), in a BSD stack
    /// only by a worthwhile step (RFC 9293, section 3.8.6.2.2).
    #[inline]
    pub(super) fn advance_edge(&mut self) {
        let candidate = self.candidate_edge();
        if self.tuning.opens() {
            let kept = self.tuning.rounded(self.edge - self.nxt, self.window_shift);
            self.edge = candidate.max(self.nxt + kept);
            return;
        }
        let worthwhile = u64::from(self.mss).min(self.tuning.window() / 2);
        if candidate >= self.edge + worthwhile
            || candidate > self.edge && self.edge >= self.nxt + worthwhile
        {
            self.edge = candidate;
        }
    }

    /// Returns whether an ACK is due after the program has read: for data not acknowledged for lack of room, or for
    /// the window.
    pub(super) fn opens_by_reading(&mut self) -> bool {
        let window = self.edge.saturating_sub(self.nxt);
        if !self.tuning.opens() {
            let opened = self.candidate_edge().saturating_sub(self.edge);
            let closed = window < u64::from(self.mss);
            return opened >= self.tuning.window() / 2 || closed && opened >= u64::from(self.mss);
        }
        if self.delayed.waits() && self.nxt - self.acked > u64::from(self.mss) {
            return true;
        }
        if self.is_finished() || !self.tuning.is_half_closed(window) {
            return false;
        }
        let selected = self.select_window();
        selected != 0 && selected >= 2 * window
    }
}
