//! Taking a reduction back: DSACK (RFC 3708) and timestamps (Eifel, RFC 3522), as Linux does.

use base::Instant;
use congestion::State;

use super::Sender;
use super::ack::AckEvent;

/// The state of the reduction that an undo needs.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Undo {
    /// The first position out when the window was reduced; 0 if there is nothing to undo.
    pub(super) marker: u64,
    /// Retransmissions since that no DSACK has shown to be needless; below zero: none was sent yet.
    pub(super) retransmissions: i32,
    /// The threshold to return to; 0 if the reduction was for a reason that no undo revokes.
    pub(super) ssthresh: u32,
    /// Timestamp clock at the first retransmission; meaningful if `stamped`.
    pub(super) stamp: u32,
    /// Whether there was one.
    pub(super) stamped: bool,
}

impl Sender {
    /// Notes where the reduction that begins now starts.
    pub(super) fn mark_for_undo(&mut self) {
        self.undo.marker = self.una;
        // A tail loss probe may be reported too (Linux 6.11 on).
        let probe = self.probe.high != 0 && self.probe.retransmitted;
        let out = self.board.retransmitted() as i32 + i32::from(probe);
        self.undo.retransmissions = if out == 0 { -1 } else { out };
    }

    /// A segment is being retransmitted, at this reading of the timestamp clock.
    pub(super) fn note_retransmission(&mut self, stamp: u32) {
        self.undo.retransmissions = self.undo.retransmissions.max(0) + 1;
        if !self.undo.stamped {
            (self.undo.stamp, self.undo.stamped) = (stamp, true);
        }
    }

    /// The ACK echoes a segment sent before the first retransmission: the original arrived.
    fn answers_original(&self, event: &AckEvent) -> bool {
        self.config.recovery.undo_timestamps
            && self.undo.stamped
            && event.echo.is_some_and(|echo| (echo.wrapping_sub(self.undo.stamp) as i32) < 0)
    }

    fn all_needless(&self) -> bool {
        self.config.recovery.undo_dsack && self.undo.retransmissions == 0
    }

    fn may_undo(&self, event: &AckEvent) -> bool {
        self.undo.marker != 0 && (self.all_needless() || self.answers_original(event))
    }

    /// Back to the window before the reduction.
    fn undo_reduction(&mut self, unmark: bool, now: Instant) {
        if unmark {
            self.board.clear_lost();
        }
        if self.undo.ssthresh != 0 {
            self.refresh(now);
            let cwnd = self.algorithm().undo_cwnd(&mut self.sock);
            self.set_cwnd(cwnd, now);
            self.sock.ssthresh = self.sock.ssthresh.max(self.undo.ssthresh);
            self.cwr_pending = false;
        }
        self.moderate(now);
        self.usage.stamp = now;
        self.undo.marker = 0;
        self.stats.undos += 1;
    }

    /// Everything of the recovery was acknowledged. Returns true if the state is kept for now: without SACK a
    /// duplicate ACK at its very end could start the recovery again (RFC 6582, section 4).
    pub(super) fn try_undo_recovery(&mut self, event: &AckEvent, now: Instant) -> bool {
        if self.may_undo(event) {
            let timeout = self.state == State::Loss;
            self.undo_reduction(false, now);
            self.stats.spurious_timeouts += u64::from(timeout);
        }
        if self.una == self.repair.high_seq && !self.agreed.sack && !self.inflates() {
            self.undo.stamped &= self.board.retransmitted() != 0;
            self.moderate(now);
            return true;
        }
        self.set_state(State::Open, now);
        false
    }

    /// Undoes the reduction if DSACKs showed that no retransmission was needed. Returns whether it did.
    pub(super) fn try_undo_dsack(&mut self, now: Instant) -> bool {
        if self.undo.marker != 0 && self.all_needless() {
            self.undo_reduction(false, now);
            return true;
        }
        false
    }

    /// A timeout turns out to be spurious; `proven` by F-RTO, or by what an undo asks for.
    pub(super) fn try_undo_loss(&mut self, proven: bool, event: &AckEvent, now: Instant) -> bool {
        if !proven && !self.may_undo(event) {
            return false;
        }
        self.undo_reduction(true, now);
        self.stats.spurious_timeouts += 1;
        self.retries = 0;
        if proven || self.agreed.sack {
            self.set_state(State::Open, now);
            self.repair.frto = false;
        }
        true
    }

    /// A partial ACK in recovery answers the original, not its retransmission: reordering, no loss.
    pub(super) fn try_undo_partial(&mut self, event: &AckEvent, now: Instant) -> bool {
        if self.undo.marker == 0 || !self.answers_original(event) {
            return false;
        }
        // From the head before this ACK to the last segment that is SACKed.
        self.note_reordering(self.board.forward() + event.acked);
        // While a retransmission is out nothing more is sent and nothing more is decided.
        if self.board.retransmitted() != 0 {
            return true;
        }
        self.undo.stamped = false;
        self.undo_reduction(true, now);
        self.keep_open(now);
        true
    }
}
