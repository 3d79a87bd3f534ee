//! RACK: loss by time rather than by sequence (RFC 8985, section 6).

use base::{Duration, Instant};
use congestion::State;

use super::Sender;
use super::ack::AckEvent;
use crate::scoreboard::Recent;

/// Recoveries for which a widened reordering window stays (RFC 8985, section 6.2, step 4).
const PERSIST: u8 = 16;

/// The state of RACK.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rack {
    /// The segment sent last of those delivered: when it was sent, and its end.
    sent: Instant,
    end: u64,
    /// The round trip of the segment that the last ACK delivered last.
    rtt: Duration,
    /// Something was delivered since losses were last looked for.
    advanced: bool,
    /// The reordering window in quarters of the minimum RTT, and how long that holds.
    steps: u8,
    persist: u8,
    /// A DSACK arrived since the window was last adapted.
    pub(super) dsack_seen: bool,
    /// The window is adapted again when this many segments were delivered.
    adapt_after: u32,
}

impl Default for Rack {
    fn default() -> Self {
        Self {
            sent: Instant::ZERO,
            end: 0,
            rtt: Duration::ZERO,
            advanced: false,
            steps: 1,
            persist: 0,
            dsack_seen: false,
            adapt_after: 0,
        }
    }
}

impl Rack {
    /// Segments were delivered (section 6.2, step 2).
    #[inline]
    pub(super) fn advance(&mut self, recent: &Recent, now: Instant) {
        let Some(sent) = recent.last_sent else { return };
        self.advanced = true;
        self.rtt = now.since(sent);
        if recent.newest > (self.sent, self.end) {
            (self.sent, self.end) = recent.newest;
        }
    }

    /// A segment that was never retransmitted was delivered in order.
    #[inline]
    pub(super) fn advance_plain(&mut self, sent: Instant, end: u64, now: Instant) {
        self.advanced = true;
        self.rtt = now.since(sent);
        if sent > self.sent || sent == self.sent && end > self.end {
            (self.sent, self.end) = (sent, end);
        }
    }

    /// The round trip of the segment that the last ACK delivered last.
    #[inline]
    pub(super) const fn rtt(&self) -> Duration {
        self.rtt
    }

    /// Whether the segment was sent before the one delivered.
    fn sent_before(&self, sent: Instant, end: u64) -> bool {
        (sent, end) < (self.sent, self.end)
    }

    /// Section 6.2, step 4: a DSACK widens the window by a quarter of the minimum RTT, at most once a round trip;
    /// sixteen recoveries without one bring it back.
    fn adapt(&mut self, delivered: u32, packets_out: u32) {
        if self.dsack_seen && delivered.wrapping_sub(self.adapt_after) as i32 >= 0 {
            self.steps = self.steps.saturating_add(1);
            self.persist = PERSIST;
            self.adapt_after = delivered.wrapping_add(packets_out);
        }
        self.dsack_seen = false;
    }

    /// A recovery ended.
    pub(super) fn end_recovery(&mut self) {
        self.persist = self.persist.saturating_sub(1);
        if self.persist == 0 {
            self.steps = 1;
        }
    }
}

impl Sender {
    /// Returns the reordering window (section 6.2, step 4): none while no reordering was ever seen and enough SACKs
    /// or a recovery indicate loss; else a quarter of the minimum RTT, at most SRTT.
    fn reordering_window(&self) -> Duration {
        let sure = self.state == State::Recovery
            || self.state == State::Loss
            || self.board.sacked() >= self.repair.reordering;
        if !self.repair.reordering_seen && sure {
            return Duration::ZERO;
        }
        let quarters = u64::from(self.rtt.min_us()) / 4 * u64::from(self.rack.steps);
        Duration::from_us(quarters.min(u64::from(self.rtt.srtt8() >> 3)))
    }

    /// Retransmissions sent after this cannot have been answered yet: the round trip would be below the
    /// least ever seen (section 6.2, step 2).
    pub(super) fn answerable(&self, now: Instant) -> Instant {
        let least = Duration::from_us(u64::from(self.rtt.min_us()));
        Instant::from_ps(now.as_ps().saturating_sub(least.as_ps()))
    }

    /// Does what [`Self::answerable`] does, for retransmissions that a cumulative ACK covers: one sent after the
    /// segment with the echoed timestamp cannot have been answered either (section 6.2, step 2; Linux's
    /// `tcp_skb_spurious_retrans`).
    pub(super) fn answerable_by(&self, event: &AckEvent, now: Instant) -> Instant {
        let answerable = self.answerable(now);
        let Some(echo) = event.echo else { return answerable };
        // The clock reads one more than the ticks since the start; see `TimestampClock`.
        let tick = self.config.segment.timestamp_tick.as_ps();
        let next_tick = Instant::from_ps(u64::from(echo).saturating_mul(tick));
        answerable.min(Instant::from_ps(next_tick.as_ps() - 1))
    }

    /// An ACK arrived: what it delivered may show others to be lost, whether or not any segment is
    /// marked still.
    pub(super) fn detect_by_delivery(&mut self, now: Instant) {
        self.rack.adapt(self.delivered, self.board.out());
        if core::mem::take(&mut self.rack.advanced) {
            self.detect_by_time(now);
        }
    }

    /// Marks what was sent before the segment delivered by more than the reordering window, and
    /// waits for the rest (section 6.2, step 5).
    ///
    /// Originals were sent in sequence order and retransmissions are kept in order of transmission, so both are
    /// scanned from where the last scan ended to the first that is too recent.
    fn detect_by_time(&mut self, now: Instant) {
        if self.rtt.min_us() == u32::MAX {
            return;
        }
        let timeout = self.rack.rtt + self.reordering_window();
        let waits = self.mark_originals(timeout, now) | self.mark_retransmissions(timeout, now);
        if waits {
            // By then all that was sent before the segment delivered is overdue.
            let overdue = self.rack.sent + timeout;
            self.timer.set_reordering(overdue.max(now), now);
        }
    }

    fn mark_originals(&mut self, timeout: Duration, now: Instant) -> bool {
        while let Some(index) = self.board.next_unsettled(self.board.tail()) {
            let segment = *self.board.segment(index);
            if !self.rack.sent_before(segment.sent, segment.end) {
                return false;
            }
            if segment.sent + timeout > now {
                return true;
            }
            self.board.mark_lost(index);
        }
        false
    }

    fn mark_retransmissions(&mut self, timeout: Duration, now: Instant) -> bool {
        while let Some((index, segment)) = self.board.oldest_retransmission() {
            if !self.rack.sent_before(segment.sent, segment.end) {
                return false;
            }
            if segment.sent + timeout > now {
                return true;
            }
            self.board.mark_lost(index);
        }
        false
    }

    /// The reordering window passed.
    pub(super) fn on_reordering_timeout(&mut self, now: Instant) {
        let in_flight = self.in_flight();
        self.detect_by_time(now);
        if self.in_flight() != in_flight && self.state != State::Recovery {
            self.enter_recovery(false, now);
            if self.config.recovery.reduction != crate::config::Reduction::Prr {
                self.set_cwnd(self.sock.ssthresh.max(1), now);
            } else {
                // The first retransmission goes out at once, for one delivered (tcp_rack_reo_timeout).
                let event = AckEvent { delivered: 1, newly_lost: 1, ..AckEvent::default() };
                self.reduce_window(&event, now);
            }
        }
        if !self.timer.is_reordering() {
            self.arm_for_head(now);
        }
    }
}
