//! The congestion state machine: Open, Disorder, CWR, Recovery, Loss (Sarolahti & Kuznetsov 2002,
//! section 2, as Linux has it).

use base::{Duration, Instant};
use congestion::{Event, INFINITE_SSTHRESH, State};

use super::Sender;
use super::ack::AckEvent;
use super::parts::Forced;
use super::prr::Prr;
use crate::config::{LossDetection, PartialAck, Reduction};

impl Sender {
    /// Whether the state is Open or Disorder: no reduction is under way.
    pub(super) fn is_calm(&self) -> bool {
        matches!(self.state, State::Open | State::Disorder)
    }

    /// An ACK that is not plain progress in Open.
    pub(super) fn handle_unusual_ack(&mut self, event: &mut AckEvent, now: Instant) {
        if event.echo_ce {
            // A reduction that a mark confirms is not undone.
            self.undo.ssthresh = 0;
        }
        if event.advanced && self.board.reneged() {
            return self.await_reneged(event, now);
        }
        if self.state == State::Open {
            self.undo.stamped = false;
        } else if self.una >= self.repair.high_seq && self.leave(event, now) {
            return;
        }
        match self.state {
            State::Recovery => self.in_recovery(event, now),
            State::Loss => self.in_loss(event, now),
            _ => self.in_disorder(event, now),
        }
    }

    /// The cumulative ACK ends at data that a SACK acknowledged. Linux waits for it to be acknowledged as well before it
    /// takes the receiver for one that dropped it (`tcp_check_sack_reneging`), as ACKs of what came out of order may
    /// come in parts.
    fn await_reneged(&mut self, event: &mut AckEvent, now: Instant) {
        let least = self.config.recovery.reneging_delay;
        if least == Duration::ZERO {
            return self.enter_loss(true, now);
        }
        let half = Duration::from_ps(self.rtt.srtt().as_ps() / 2);
        self.arm_retransmission_in(least.max(half), now);
        event.timer_set = true;
    }

    /// Everything out when the state began is acknowledged. True if nothing more is to be done.
    fn leave(&mut self, event: &AckEvent, now: Instant) -> bool {
        match self.state {
            // CWR lasts until something beyond it is acknowledged: reductions are a round trip
            // apart.
            State::Cwr if self.una > self.repair.high_seq => {
                self.end_reduction(now);
                self.set_state(State::Open, now);
            }
            State::Recovery => {
                self.repair.reno_sacked = 0;
                if self.try_undo_recovery(event, now) {
                    return true;
                }
                self.end_reduction(now);
                self.rack.end_recovery();
            }
            _ => {}
        }
        false
    }

    fn in_recovery(&mut self, event: &mut AckEvent, now: Instant) {
        if !event.advanced {
            if !self.agreed.sack && event.duplicate {
                self.count_duplicate(event);
            }
        } else if self.try_undo_partial(event, now) {
            return;
        } else if !self.agreed.sack && self.config.recovery.partial_ack == PartialAck::EndsRecovery
        {
            return self.end_reno_recovery(now);
        }
        if self.try_undo_dsack(now) && self.board.lost() == 0 {
            return self.try_to_open(event, now);
        }
        self.identify_loss(event, now);
        if !self.agreed.sack && event.advanced {
            // RFC 6582, section 3.2, step 5: the hole after a partial ACK goes out at once.
            self.probe.forced = self.board.next_pending().map(|_| Forced::Head);
        }
    }

    /// Reno: the first new ACK deflates the window and recovery is over (RFC 5681, section 3.2, 6).
    fn end_reno_recovery(&mut self, now: Instant) {
        self.repair.reno_sacked = 0;
        self.board.clear_lost();
        self.end_reduction(now);
        self.set_state(State::Open, now);
    }

    fn in_disorder(&mut self, event: &mut AckEvent, now: Instant) {
        if !self.agreed.sack {
            if event.advanced {
                self.repair.reno_sacked = 0;
            } else if event.duplicate {
                self.count_duplicate(event);
            }
        }
        if self.is_calm() {
            self.try_undo_dsack(now);
        }
        self.identify_loss(event, now);
        if !self.time_to_recover() {
            return self.try_to_open(event, now);
        }
        self.enter_recovery(event.echo_ce, now);
    }

    fn time_to_recover(&self) -> bool {
        self.board.lost() != 0
            || (self.detection() == LossDetection::DuplicateAcks && self.enough_duplicates())
    }

    /// Back to Open, or to Disorder while something is out of order.
    fn try_to_open(&mut self, event: &AckEvent, now: Instant) {
        self.undo.stamped &= self.board.retransmitted() != 0;
        if event.echo_ce {
            self.enter_cwr(now);
        }
        if self.state != State::Cwr {
            self.keep_open(now);
            self.moderate(now);
        }
    }

    pub(super) fn keep_open(&mut self, now: Instant) {
        let troubled = self.board.sacked() + self.repair.reno_sacked + self.board.lost() != 0
            || self.board.retransmitted() != 0;
        let state = if troubled { State::Disorder } else { State::Open };
        if self.state != state {
            self.set_state(state, now);
            self.repair.high_seq = self.nxt;
        }
    }

    /// Linux's `tcp_moderate_cwnd`: an ACK that covers much must not let a burst out.
    pub(super) fn moderate(&mut self, now: Instant) {
        let burst = self.config.window.moderate_burst;
        if burst != 0 && self.sock.cwnd > self.in_flight() + burst {
            self.set_cwnd(self.in_flight() + burst, now);
        }
    }

    /// The reduction for loss, a mark or local congestion begins (Linux's
    /// `tcp_init_cwnd_reduction`).
    fn begin_reduction(&mut self, now: Instant) {
        self.repair.high_seq = self.nxt;
        self.probe.high = 0;
        self.prr = Prr::default();
        self.refresh(now);
        self.sock.cwnd_cnt = 0;
        self.sock.prior_cwnd = self.sock.cwnd;
        let threshold = self.algorithm().ssthresh(&mut self.sock);
        self.sock.ssthresh = self.validated_threshold(threshold);
        self.cwr_pending = self.agreed.ecn;
    }

    /// The reduction is complete: the window is at the threshold, or below where rate halving left
    /// it.
    fn end_reduction(&mut self, now: Instant) {
        if self.controls() {
            return;
        }
        let threshold = self.sock.ssthresh;
        if threshold < INFINITE_SSTHRESH && (self.state == State::Cwr || self.undo.marker != 0) {
            let cwnd = match self.config.recovery.reduction {
                Reduction::RateHalving => self.sock.cwnd.min(threshold),
                Reduction::Prr | Reduction::Inflate => threshold,
            };
            self.set_cwnd(cwnd, now);
        }
        self.notify(Event::CompleteCwr, now);
    }

    /// A congestion mark came back, or the interface's queue was full: reduce once a round trip.
    pub(super) fn enter_cwr(&mut self, now: Instant) {
        self.undo.ssthresh = 0;
        if !self.is_calm() {
            return;
        }
        self.undo.marker = 0;
        self.begin_reduction(now);
        self.set_state(State::Cwr, now);
        self.stats.window_reductions += 1;
        if self.inflates() {
            self.set_cwnd(self.sock.ssthresh, now);
        }
    }

    /// A tail loss probe repaired a loss: one reduction, at once (RFC 8985, section 7.4.2).
    pub(super) fn reduce_for_tail_loss(&mut self, now: Instant) {
        if self.is_calm() {
            self.begin_reduction(now);
            self.undo.marker = 0;
            self.set_state(State::Cwr, now);
            self.end_reduction(now);
            self.keep_open(now);
            self.stats.window_reductions += 1;
        }
    }

    pub(super) fn enter_recovery(&mut self, marked: bool, now: Instant) {
        self.undo.ssthresh = 0;
        let fresh = !matches!(self.state, State::Cwr | State::Recovery);
        if fresh && !marked {
            self.undo.ssthresh = self.current_ssthresh();
        }
        self.mark_for_undo();
        if fresh {
            self.begin_reduction(now);
        } else if self.config.recovery.reduction != Reduction::Prr {
            // CWR turns into Recovery: the window is on its way down already. Its end moved with that
            // until Linux 3.7 (tcp_fastretrans_alert), and stays since (684bad110757).
            self.repair.high_seq = self.nxt;
        }
        self.set_state(State::Recovery, now);
        self.stats.fast_recoveries += 1;
        if self.board.lost() == 0 {
            self.board.mark_head_lost();
        }
        if self.inflates() {
            // RFC 5681, section 3.2, step 3: the three duplicates left the network.
            self.set_cwnd(self.sock.ssthresh + self.config.recovery.dup_threshold, now);
        }
        if !self.agreed.sack {
            self.probe.forced = Some(Forced::Head);
        }
    }

    /// The timer expired, or the peer reneged (`forget_sack`): all that is not sacked counts as
    /// lost and the window starts from one segment (RFC 5681, section 3.1).
    pub(super) fn enter_loss(&mut self, forget_sack: bool, now: Instant) {
        let fresh = self.is_calm() || self.state == State::Cwr;
        self.board.mark_all_lost(forget_sack || self.config.recovery.timeout_forgets_sack);
        self.repair.reno_sacked = 0;
        let again = self.state == State::Loss && self.retries == 0;
        if self.is_calm() || self.una >= self.repair.high_seq || again {
            self.undo.ssthresh = self.current_ssthresh();
            self.refresh(now);
            self.sock.prior_cwnd = self.sock.cwnd;
            let threshold = self.algorithm().ssthresh(&mut self.sock);
            self.sock.ssthresh = self.validated_threshold(threshold);
            self.notify(Event::Loss, now);
            self.mark_for_undo();
            self.undo.stamped = false;
        }
        self.sock.cwnd_cnt = 0;
        self.set_cwnd(self.in_flight() + 1, now);
        if self.is_calm() && self.board.sacked() >= self.config.recovery.dup_threshold {
            // The timer fired although duplicates arrived: the reordering was overestimated.
            self.repair.reordering = self.repair.reordering.min(self.config.recovery.dup_threshold);
        }
        self.set_state(State::Loss, now);
        self.repair.high_seq = self.nxt;
        self.probe.high = 0;
        self.cwr_pending = self.agreed.ecn;
        self.repair.send_new_first = false;
        self.repair.frto = self.config.recovery.frto && (fresh || self.retries != 0);
    }

    /// An ACK after a timeout. If it ends the state, or shows a retransmission to be lost, what it says
    /// of losses counts as in Open: one lost again is congestion once more (Linux's `FLAG_LOST_RETRANS`).
    fn in_loss(&mut self, event: &mut AckEvent, now: Instant) {
        self.repair_after_timeout(event, now);
        let retransmitted = self.board.retransmitted();
        if self.detection() == LossDetection::Rack {
            self.identify_loss(event, now);
        }
        if self.state == State::Open || self.board.retransmitted() < retransmitted {
            self.in_disorder(event, now);
        }
    }

    /// F-RTO (RFC 5682, section 3.1), then slow start over the holes.
    fn repair_after_timeout(&mut self, event: &mut AckEvent, now: Instant) {
        let recovered = self.una >= self.repair.high_seq;
        if event.advanced && self.try_undo_loss(false, event, now) {
            return;
        }
        if self.repair.frto && self.detect_spurious_timeout(event, recovered, now) {
            return;
        }
        if recovered {
            self.repair.reno_sacked = 0;
            self.try_undo_recovery(event, now);
            return;
        }
        if !self.agreed.sack {
            if self.nxt > self.repair.high_seq && event.duplicate {
                self.count_duplicate(event);
            } else if event.advanced {
                self.repair.reno_sacked = 0;
            }
        }
    }

    /// F-RTO's steps. True if the ACK is dealt with.
    fn detect_spurious_timeout(&mut self, event: &AckEvent, recovered: bool, now: Instant) -> bool {
        // Step 3b: data that was sent once only is acknowledged, so not all of it was lost.
        if event.original
            && (event.advanced || event.new_sack)
            && self.try_undo_loss(true, event, now)
        {
            return true;
        }
        if self.nxt > self.repair.high_seq {
            // Step 2b sends new data for one ACK; whatever the next one says, holes go first again.
            self.repair.send_new_first = false;
            // Step 3a: the ACK for new data is a duplicate, so the loss was real. One that reports a
            // duplicate answers a retransmission and says nothing of the new data.
            if event.new_sack || event.duplicate && !event.dsack {
                self.repair.frto = false;
            }
        } else if event.advanced && !recovered {
            // Step 2b: new data, if there is any, before anything else is retransmitted.
            self.repair.high_seq = self.nxt;
            if self.has_new_data() && self.peer.end > self.nxt {
                self.repair.send_new_first = true;
                return true;
            }
            self.repair.frto = false;
        }
        false
    }
}
