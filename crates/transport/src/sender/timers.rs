//! The sender's one timer: retransmission, reordering, tail loss probe or window probe, as in
//! Linux.

use base::{Duration, Instant};
use congestion::State;

use super::Sender;
use super::ack::AckEvent;
use super::parts::Forced;
use crate::config::RtoConfig;
use crate::wheel::expiry;

/// The purpose of the timer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Purpose {
    #[default]
    None,
    Retransmission,
    Reordering,
    TailProbe,
    WindowProbe,
}

/// The timer. Re-arming it is a store; nothing is queued anywhere.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timer {
    at: Instant,
    /// When it was set, or never if `at` is when it goes off: on a tick.
    since: Instant,
    /// When it was last set in a way that transmissions at the same instant do not change.
    armed: Instant,
    purpose: Purpose,
}

impl Default for Timer {
    fn default() -> Self {
        Self {
            at: Instant::NEVER,
            since: Instant::NEVER,
            armed: Instant::NEVER,
            purpose: Purpose::None,
        }
    }
}

impl Timer {
    #[inline]
    fn set(&mut self, purpose: Purpose, at: Instant, now: Instant) {
        (self.purpose, self.at, self.since) = (purpose, at, now);
    }
    /// Returns when it expires: with the wheel every timer expires on a tick, without one only whole timeouts do.
    fn due(&self, config: &RtoConfig) -> Instant {
        let timeout = matches!(self.purpose, Purpose::Retransmission | Purpose::WindowProbe);
        let ticks = config.wheel || timeout;
        if ticks && self.since != Instant::NEVER {
            expiry(self.since, self.at, config)
        } else {
            self.at
        }
    }
    /// RACK looks again once `at` has passed.
    pub(super) fn set_reordering(&mut self, at: Instant, now: Instant) {
        self.set(Purpose::Reordering, at + MARGIN, now);
        self.armed = now;
    }
    #[inline]
    pub(super) fn is_reordering(&self) -> bool {
        self.purpose == Purpose::Reordering
    }
    #[inline]
    pub(super) fn is_probe(&self) -> bool {
        self.purpose == Purpose::WindowProbe
    }
    /// Returns whether the timer is off or waits for a window: sending data restarts it.
    #[inline]
    pub(super) fn is_idle(&self) -> bool {
        matches!(self.purpose, Purpose::None | Purpose::WindowProbe)
    }
}

/// Linux's `TCP_TIMEOUT_MIN_US`: how long a tail probe waits beyond two round trips, and RACK beyond the
/// time at which a segment is overdue.
const MARGIN: Duration = Duration::from_ms(2);

impl Sender {
    /// When the timer fires; on a clock that ticks it may turn out to be later.
    #[inline]
    pub(crate) fn deadline(&self) -> Instant {
        self.timer.at.min(self.burst.wakeup())
    }

    /// Restarts the timer after new data was acknowledged or the window opened (RFC 6298, section 5.3; Linux's
    /// `tcp_set_xmit_timer`).
    #[inline(never)]
    pub(super) fn rearm(&mut self, now: Instant) {
        if self.board.out() == 0 {
            self.timer = Timer::default();
        } else if self.timer.is_reordering() && self.timer.armed == now {
            // RACK is about to decide by this ACK.
        } else {
            // The time that an earlier ACK of this instant set for many packets no longer holds.
            self.timer.armed = Instant::NEVER;
            if !self.arm_tail_probe(now + self.rtt.rto(), now) {
                self.arm_retransmission(now);
            }
        }
    }

    /// Does what [`Self::rearm`] does, on the fast path, after a round trip was sampled.
    #[inline]
    pub(super) fn rearm_fast_path(&mut self, now: Instant) {
        if !self.policy.probes_tail || self.board.out() <= 1 || self.timer.is_reordering() {
            return self.rearm(now);
        }
        debug_assert!(self.rtt.backoff() == 0 && self.rtt.srtt8() != 0);
        self.set_tail_probe(MARGIN, now + self.rtt.rto(), now);
        self.timer.armed = now;
    }

    /// Handles an ACK on the general path: the time that an earlier ACK of this instant set on the fast path does
    /// not hold for what is sent now.
    #[inline]
    pub(super) fn look_again(&mut self) {
        if self.timer.purpose == Purpose::TailProbe {
            self.timer.armed = Instant::NEVER;
        }
    }

    /// Two round trips and `margin` from now, or at the timeout's time if that is earlier: the probe
    /// takes its place.
    #[inline]
    fn set_tail_probe(&mut self, margin: Duration, timeout: Instant, now: Instant) {
        // Two eighths of a microsecond for each of `srtt8`.
        let wait = Duration::from_ps(u64::from(self.rtt.srtt8()) * 250_000) + margin;
        self.timer.set(Purpose::TailProbe, (now + wait).min(timeout), now);
    }

    /// When the head times out, counted from when it was last sent.
    #[inline]
    fn head_timeout(&self) -> Instant {
        self.board.segment(self.board.head()).sent + self.rtt.rto_of_timer()
    }

    /// Returns [`Self::head_timeout`] if that is in the future, else never: a probe does not wait for it.
    #[inline]
    fn head_timeout_ahead(&self, now: Instant) -> Instant {
        let timeout = self.head_timeout();
        if timeout > now { timeout } else { Instant::NEVER }
    }

    /// The retransmission timer, at its full length.
    #[inline]
    pub(super) fn arm_retransmission(&mut self, now: Instant) {
        self.timer.set(Purpose::Retransmission, now + self.rtt.rto(), now);
    }

    /// The retransmission timer, to expire in `wait`.
    pub(super) fn arm_retransmission_in(&mut self, wait: Duration, now: Instant) {
        self.timer.set(Purpose::Retransmission, now + wait, now);
    }

    /// A tail loss probe went out: the next one waits for news of it.
    pub(super) fn arm_after_probe(&mut self, now: Instant) {
        self.arm_retransmission(now);
        self.timer.armed = now;
    }

    /// Arms the retransmission timer in place of a probe or of RACK's timer: the time that these waited is a part of
    /// its time (Linux's `tcp_rearm_rto`).
    pub(super) fn arm_for_head(&mut self, now: Instant) {
        if self.board.out() == 0 {
            self.timer = Timer::default();
        } else {
            // One that has passed is a microsecond away.
            let at = self.head_timeout().max(now + Duration::from_us(1));
            self.timer.set(Purpose::Retransmission, at, now);
        }
    }

    /// Restarts the probe timer after the sender stopped, if it sent at `now`. The time that an ACK of this instant
    /// set for many packets out holds, but not beyond the head's timeout.
    #[inline]
    pub(super) fn arm_tail_probe_after(&mut self, now: Instant) {
        if !self.policy.probes_tail || self.last_sent != now || self.timer.is_reordering() {
            return;
        }
        if self.timer.armed == now {
            // This is mostly far before the timeout, which then need not be rounded.
            let head = self.board.segment(self.board.head()).sent + self.rtt.rto();
            if self.timer.purpose == Purpose::TailProbe && head < self.timer.at {
                self.timer.at = self.timer.at.min(self.head_timeout_ahead(now));
            }
        } else if self.board.out() != 0 {
            let timeout = self.head_timeout_ahead(now);
            if !self.arm_tail_probe(timeout, now) && self.timer.purpose == Purpose::TailProbe {
                self.arm_for_head(now);
            }
        }
    }

    /// RFC 8985, section 7.2: two round trips after the last ACK or transmission, with room for a
    /// delayed ACK when one segment is out, but never after the retransmission `timeout`.
    #[inline(never)]
    fn arm_tail_probe(&mut self, timeout: Instant, now: Instant) -> bool {
        if !self.policy.probes_tail
            || self.board.out() == 0
            || !matches!(self.state, State::Open | State::Cwr)
        {
            return false;
        }
        let margin = match self.board.out() {
            _ if self.rtt.srtt8() == 0 => Duration::from_secs(1),
            1 => self.config.rto.min,
            _ => MARGIN,
        };
        self.set_tail_probe(margin, timeout, now);
        true
    }

    /// A zero window, or nothing that may be sent: probe for news (RFC 9293, section 3.8.6.1).
    pub(super) fn arm_window_probe(&mut self, now: Instant) {
        if self.timer.purpose == Purpose::None {
            self.timer.set(Purpose::WindowProbe, now + self.rtt.rto(), now);
        }
    }

    /// A deadline passed. Nothing is sent for it until the timer expires, which is on a tick: a sender that waits for
    /// more window goes on waiting.
    pub(crate) fn wake(&mut self, now: Instant) {
        if self.burst.wake(now) {
            self.allow_sending();
        }
        if self.timer.at > now {
            return;
        }
        let due = self.timer.due(&self.config.rto);
        if due > now {
            (self.timer.at, self.timer.since) = (due, Instant::NEVER);
            return;
        }
        self.allow_sending();
        match self.timer.purpose {
            Purpose::None => self.timer = Timer::default(),
            Purpose::Retransmission => self.on_timeout(now),
            Purpose::Reordering => {
                self.timer = Timer::default();
                self.on_reordering_timeout(now);
            }
            Purpose::TailProbe => {
                // One probe at a time; sending it restarts the timer.
                if self.probe.high == 0 {
                    self.probe.forced = Some(Forced::TailProbe);
                }
                self.arm_for_head(now);
            }
            Purpose::WindowProbe => self.on_probe_timeout(now),
        }
        self.refresh_fast_path();
    }

    /// RFC 6298, section 5.4 to 5.6.
    fn on_timeout(&mut self, now: Instant) {
        if self.board.out() == 0 {
            self.timer = Timer::default();
            return;
        }
        self.stats.timeouts += 1;
        self.enter_loss(self.board.reneged(), now);
        self.retries += 1;
        self.rtt.back_off();
        self.probe.forced = Some(Forced::Head);
        self.arm_retransmission(now);
    }

    fn on_probe_timeout(&mut self, now: Instant) {
        self.timer = Timer::default();
        if self.board.out() != 0 || !self.has_new_data() {
            return;
        }
        if !self.next_segment_fits() {
            self.probe.forced = Some(Forced::WindowProbe);
            self.retries += 1;
            self.rtt.back_off();
        }
        self.arm_window_probe(now);
    }

    /// The peer lives; if its window opened the backoff is over.
    pub(super) fn answered_probe(&mut self, now: Instant) {
        self.retries = 0;
        if self.peer.end > self.nxt {
            self.rtt.reset_backoff();
        }
        self.rearm(now);
    }

    /// Too many timeouts in a row.
    pub(crate) fn is_hopeless(&self) -> bool {
        self.retries > self.config.rto.retries_max
    }

    /// Handles an ACK for all that was out when the tail probe was sent: it shows whether anything was lost (RFC
    /// 8985, section 7.4).
    pub(super) fn end_tail_probe(&mut self, event: &AckEvent, now: Instant) {
        if self.una < self.probe.high {
            return;
        }
        let past = self.una > self.probe.high;
        if !self.probe.retransmitted || event.dsack_of_probe {
            // New data, or a needless retransmission: nothing was lost.
            self.probe.high = 0;
        } else if past {
            self.probe.high = 0;
            self.reduce_for_tail_loss(now);
        } else if event.duplicate && !event.new_sack {
            self.probe.high = 0;
        }
    }
}
