//! Retransmissions on the scoreboard: segments retransmitted, lost again, all lost, not lost after all.

use base::Instant;

use super::{
    EVER_RETRANSMITTED, FATE, LOST, RETRANSMITTED, Retransmission, SACKED, Scoreboard, Segment,
};

impl Scoreboard {
    /// Notes that the segment at `index` was retransmitted.
    pub(crate) fn retransmit(&mut self, index: u32, now: Instant, delivered: u32) {
        self.probe(index, now, delivered);
        let segment = self.segment_mut(index);
        let again = segment.flags & RETRANSMITTED != 0;
        segment.flags |= RETRANSMITTED;
        self.retransmitted += u32::from(!again);
        self.pending.clear(index);
    }

    /// Notes a tail loss probe: the segment at `index` was retransmitted, but is not counted in flight once more.
    pub(crate) fn probe(&mut self, index: u32, now: Instant, delivered: u32) {
        self.step();
        self.begin_marks();
        let next_new = self.tail;
        self.retransmissions.push_back(Retransmission { index, sent: now, next_new });
        let segment = self.segment_mut(index);
        segment.flags |= EVER_RETRANSMITTED;
        (segment.sent, segment.delivered) = (now, delivered);
        self.settled.set(index);
    }

    /// Returns the oldest retransmission that is not known to be delivered or lost.
    pub(crate) fn oldest_retransmission(&mut self) -> Option<(u32, Segment)> {
        while let Some(&Retransmission { index, sent, .. }) = self.retransmissions.front() {
            if self.is_out(index) {
                let segment = *self.segment(index);
                let waits = segment.flags & (LOST | RETRANSMITTED) == LOST;
                if segment.flags & SACKED == 0 && !waits && segment.sent == sent {
                    return Some((index, segment));
                }
            }
            self.retransmissions.pop_front();
            self.step();
        }
        None
    }

    /// Takes retransmissions for lost when data first sent after them was selectively acknowledged,
    /// `margin` segments beyond: Linux's rule for FACK (see `LostRetransmission::NewDataSacked`).
    pub(crate) fn mark_overtaken_retransmissions(&mut self, margin: u32) -> u32 {
        let mut found = 0;
        while self.oldest_retransmission().is_some() {
            let Some(&Retransmission { index, next_new, .. }) = self.retransmissions.front() else {
                break;
            };
            let reach = next_new.wrapping_add(margin).wrapping_sub(self.head);
            if self.sacked == 0 || self.forward() <= reach {
                break;
            }
            self.retransmissions.pop_front();
            self.mark_lost(index);
            found += 1;
        }
        found
    }

    /// Marks every segment that is not sacked as lost after a timeout, its retransmission too. With `forget_sack`,
    /// sacked segments are marked as well (the receiver may have dropped them, RFC 2018, section 8).
    ///
    /// This visits each segment out; the cost is amortised over the window that the timeout ends.
    pub(crate) fn mark_all_lost(&mut self, forget_sack: bool) {
        self.retransmissions.clear();
        let head = self.head;
        for index in (0..self.out()).map(|n| head.wrapping_add(n)) {
            let segment = self.segment_mut(index);
            segment.flags &= !(RETRANSMITTED | LOST);
            if forget_sack {
                segment.flags &= !SACKED;
            }
            if segment.flags & SACKED == 0 {
                segment.flags |= LOST;
                self.settled.set(index);
                self.pending.set(index);
            }
        }
        if forget_sack {
            self.sacked_map.clear_range(self.head, self.tail);
            (self.sacked, self.top) = (0, self.head);
        }
        (self.lost, self.retransmitted) = (self.out() - self.sacked, 0);
        (self.pending_hint, self.settled_hint) = (self.head, self.head);
        self.marked = true;
    }

    /// Clears all loss marks: the reduction was spurious.
    pub(crate) fn clear_lost(&mut self) {
        let mut at = self.head;
        // Lost segments are among the settled ones; the cost of the undo is amortised over their marking.
        while let Some(index) = self.settled.next_set(at, self.tail) {
            let segment = self.segment_mut(index);
            segment.flags &= !LOST;
            if segment.flags & FATE == 0 {
                self.settled.clear(index);
            }
            self.pending.clear(index);
            at = index.wrapping_add(1);
        }
        self.lost = 0;
        self.settled_hint = self.head;
    }

    /// Clears the retransmission of the segment at `index`, which was needless or never left. Returns false if none
    /// was outstanding, as after a tail loss probe.
    pub(crate) fn clear_retransmitted(&mut self, index: u32) -> bool {
        let segment = self.segment_mut(index);
        if segment.flags & RETRANSMITTED == 0 {
            return false;
        }
        segment.flags &= !RETRANSMITTED;
        let flags = segment.flags;
        self.retransmitted -= 1;
        if flags & (LOST | SACKED) == LOST {
            self.pending.set(index);
            self.pending_hint = self.head;
        }
        true
    }
}
