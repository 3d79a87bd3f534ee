//! Finding out what was lost by sequence order, and how far the network reorders.

use congestion::State;

use super::Sender;
use super::ack::AckEvent;
use crate::config::{LossDetection, LostRetransmission, PartialAck};
use base::Instant;

impl Sender {
    /// How this connection detects loss: without SACK by duplicate ACKs; Linux stops counting holes
    /// (FACK) once it saw reordering (2.4's `tcp_update_reordering`).
    pub(super) fn detection(&self) -> LossDetection {
        match self.config.recovery.detection {
            _ if !self.agreed.sack => LossDetection::DuplicateAcks,
            LossDetection::Fack if self.repair.reordering_seen => LossDetection::Sack,
            configured => configured,
        }
    }

    /// Whether lost segments are being repaired: Recovery or Loss.
    pub(super) fn is_repairing(&self) -> bool {
        matches!(self.state, State::Recovery | State::Loss)
    }

    /// The network reordered segments by `distance` places.
    pub(super) fn note_reordering(&mut self, distance: u32) {
        self.repair.reordering_seen = true;
        let limit = self.config.recovery.reordering_max.max(self.config.recovery.dup_threshold);
        self.repair.reordering = self.repair.reordering.max(distance.min(limit));
    }

    /// Marks what this ACK shows to be lost.
    pub(super) fn identify_loss(&mut self, event: &mut AckEvent, now: Instant) {
        let before = self.board.losses();
        match self.detection() {
            LossDetection::Rack => self.detect_by_delivery(now),
            LossDetection::Sack => self.detect_by_sacks(),
            LossDetection::Fack => self.detect_by_forward_ack(),
            LossDetection::DuplicateAcks => self.detect_by_duplicates(event),
        }
        self.detect_lost_retransmissions();
        // Retransmissions that were lost count, too (Linux's `tcp_notify_skb_loss_event`).
        event.newly_lost += self.board.losses().wrapping_sub(before);
    }

    /// RFC 6675's IsLost: all below the segment that has `reordering` - 1 more SACKed above it.
    fn detect_by_sacks(&mut self) {
        if let Some(place) = self.board.nth_sacked(self.repair.reordering) {
            self.board.mark_lost_below(place);
        }
    }

    /// Detects losses by forward acknowledgement (FACK): everything `reordering` places below the highest SACK is
    /// lost.
    fn detect_by_forward_ack(&mut self) {
        let forward = self.board.forward();
        if forward > self.repair.reordering {
            let edge = self.board.head().wrapping_add(forward - self.repair.reordering);
            self.board.mark_lost_below(edge);
        }
    }

    /// RFC 5681: the first segment, at the third duplicate ACK; NewReno: at each partial ACK too.
    fn detect_by_duplicates(&mut self, event: &AckEvent) {
        let partial = self.state == State::Recovery
            && event.advanced
            && self.config.recovery.partial_ack == PartialAck::Retransmits;
        if partial || (!self.is_repairing() && self.enough_duplicates()) {
            self.board.mark_head_lost();
        }
    }

    /// The third duplicate ACK.
    pub(super) fn enough_duplicates(&self) -> bool {
        self.repair.reno_sacked >= self.repair.reordering
    }

    fn detect_lost_retransmissions(&mut self) {
        let rule = self.config.recovery.lost_retransmission;
        if rule == LostRetransmission::NewDataSacked
            && self.state == State::Recovery
            && self.board.retransmitted() != 0
        {
            let fack = self.detection() == LossDetection::Fack;
            self.board.mark_overtaken_retransmissions(if fack {
                0
            } else {
                self.repair.reordering
            });
        }
    }

    /// Counts a duplicate ACK without SACK as a segment received, but never more than are out.
    pub(super) fn count_duplicate(&mut self, event: &mut AckEvent) {
        let most = self.board.out().saturating_sub(self.board.lost().max(1));
        if self.repair.reno_sacked < most {
            self.repair.reno_sacked += 1;
            event.delivered += 1;
            self.count_delivered(1);
        }
    }

    /// Handles a new ACK without SACK: one segment filled the hole, the others were already counted with their
    /// duplicate ACKs (Linux's `tcp_remove_reno_sacks`).
    pub(super) fn uncount_duplicates(&mut self, event: &mut AckEvent) {
        event.delivered = event.acked.saturating_sub(self.repair.reno_sacked).max(1);
        self.repair.reno_sacked -= event.acked.saturating_sub(1).min(self.repair.reno_sacked);
        let most = self.board.out().saturating_sub(self.board.lost());
        self.repair.reno_sacked = self.repair.reno_sacked.min(most);
    }
}
