//! When to acknowledge: at once, or a little later (RFC 5681, section 4.2; Linux's quick ACKs).

use base::{Duration, Instant};

use crate::config::{AckConfig, ReadAck};
use crate::wheel::on_tick;

/// Delayed acknowledgements.
#[derive(Clone, Copy, Debug)]
pub(super) struct DelayedAck {
    config: AckConfig,
    due: bool,
    deadline: Instant,
    /// ACKs still to be sent without delay.
    quick: u32,
    /// Data goes both ways in turn: it carries the ACKs, so quick ones are pointless.
    interactive: bool,
    /// The delay, adapted to the time between segments.
    delay: Duration,
    last: Instant,
    /// Segments since the last ACK that may have been the last of something, such as an answer; 2 means two or more.
    ends: u8,
    /// Data came in order already.
    heard: bool,
    /// This end's own retransmission timeout. After a longer pause the sender restarts.
    pub(super) timeout: Duration,
    quick_most: u32,
    /// The deadline is that of suppressed ACKs. Their timer is not rounded to jiffies.
    compresses: bool,
    compressed: u32,
    /// The position expected when duplicate ACKs were counted last, and how many went out for it.
    expected: u64,
    duplicates: u32,
}

impl DelayedAck {
    pub(super) fn new(config: &AckConfig) -> Self {
        Self {
            config: *config,
            due: false,
            deadline: Instant::NEVER,
            quick: 0,
            interactive: false,
            delay: Duration::ZERO,
            last: Instant::NEVER,
            ends: 0,
            heard: false,
            timeout: config.delay_max,
            quick_most: 0,
            compresses: false,
            compressed: 0,
            expected: 0,
            duplicates: 0,
        }
    }

    /// Starts a connection with as many quick ACKs as half the window has segments, up to the limit (Linux's
    /// `tcp_incr_quickack`; Sarolahti & Kuznetsov 2002, section 5), from the first data on.
    pub(super) fn start(&mut self, window: u64, mss: u32) {
        let half = (window / (2 * u64::from(mss.max(1)))).max(2);
        self.quick_most = u32::try_from(half).unwrap_or(u32::MAX).min(self.config.quick_acks);
    }

    /// Every segment is acknowledged at once.
    #[inline]
    pub(super) fn is_off(&self) -> bool {
        self.config.every == 1
    }

    /// ACKs still to come are quick ones.
    #[inline]
    pub(super) fn is_quick(&self) -> bool {
        self.quick != 0
    }

    /// Handles data in order (Linux's `tcp_event_data_recv`), in a segment that is `full` or not; `pushed` is whether
    /// the peer had no more to send.
    #[inline]
    pub(super) fn arrive(&mut self, full: bool, pushed: bool, now: Instant) {
        self.note_end(full, pushed);
        self.adapt(now);
    }

    /// Follows Linux's `tcp_measure_rcv_mss`, except for what that learns of a peer with only shorter segments.
    #[inline]
    fn note_end(&mut self, full: bool, pushed: bool) {
        self.ends = match self.config.after_read {
            ReadAck::Short if !full => 1,
            ReadAck::Pushed if !full => self.ends.saturating_add(1).min(2),
            ReadAck::Pushed if pushed => self.ends.max(1),
            _ => return,
        };
    }

    /// The program has read all there is (Linux's `tcp_cleanup_rbuf`).
    #[inline]
    pub(super) fn on_all_read(&mut self) {
        if self.ends > 1 || self.ends == 1 && !self.interactive {
            self.due = true;
        }
    }

    /// ACKs are quick from the first data on, whatever came before it, such as the handshake and a request. The delay
    /// follows the time between segments. A pause beyond the retransmission timeout means that the sender restarts,
    /// so quick ACKs help it.
    #[inline]
    fn adapt(&mut self, now: Instant) {
        let last = core::mem::replace(&mut self.last, now);
        if !core::mem::replace(&mut self.heard, true) {
            self.quick = self.quick.max(self.quick_most);
            self.delay = self.config.delay_min;
            return;
        }
        let half = Duration::from_ps(self.config.delay_min.as_ps() / 2);
        let gap = now.since(last);
        let halved = Duration::from_ps(self.delay.as_ps() / 2);
        if gap <= half {
            self.delay = halved + half;
        } else if gap < self.delay {
            self.delay = halved + gap;
        } else if gap > self.timeout {
            self.quick = self.quick.max(self.quick_most);
        }
    }

    /// Data arrived in order. `enough` is whether more of it than may wait is unacknowledged, and the window can
    /// move. `round_trip` is the path's, where that is known.
    #[inline]
    pub(super) fn on_data(&mut self, enough: bool, round_trip: Duration, now: Instant) {
        if enough || self.quick != 0 && !self.interactive {
            self.due = true;
            return;
        }
        let delay = self.delay(round_trip);
        if self.deadline == Instant::NEVER {
            self.deadline = now + delay;
        } else if !self.compresses {
            self.postpone(delay, now);
        }
    }

    /// Returns how long an ACK waits now (Linux's `tcp_send_delayed_ack`): beyond the minimum delay for at most a
    /// round trip, and before the first data not at all. The ACK of a FIN without data thus goes with the next tick.
    #[inline]
    fn delay(&self, round_trip: Duration) -> Duration {
        let AckConfig { delay_min, delay_max, .. } = self.config;
        if self.delay > delay_min && round_trip != Duration::ZERO {
            return self.delay.min(round_trip.max(delay_min)).min(delay_max);
        }
        self.delay.min(delay_max)
    }

    /// An ACK waits already: it waits for at most `delay` from now on. One that is about to go out goes now.
    fn postpone(&mut self, delay: Duration, now: Instant) {
        if self.deadline <= now + Duration::from_ps(delay.as_ps() / 4) {
            self.due = true;
        }
        self.deadline = self.deadline.min(now + delay);
    }

    /// How many segments may wait for their ACK, in bytes.
    #[inline]
    pub(super) fn unacked_max(&self, mss: u32) -> u64 {
        u64::from(self.config.every - 1) * u64::from(mss)
    }

    /// There is little room in the buffer: no ACK is quick (Linux's `__tcp_select_window`).
    #[inline]
    pub(super) fn on_little_room(&mut self) {
        self.quick = 0;
    }

    /// The peer closed: this end's answer is expected to carry the ACK. A stack without quick ACKs has
    /// no such mode and acknowledges at once (4.4BSD's `tcp_input`).
    pub(super) fn expect_reply(&mut self) {
        self.interactive = true;
        self.due |= self.config.quick_acks == 0;
    }

    /// The window opened: one quick ACK at least (Linux's `tcp_grow_window`).
    #[inline]
    pub(super) fn on_opening(&mut self) {
        self.quick |= u32::from(self.quick_most != 0);
    }

    /// Data arrived beyond a hole that starts at `expected`. After three ACKs for that position, further ones are
    /// suppressed for a time, and one goes out for all of them (Linux's `__tcp_ack_snd_check`). The round trip is
    /// zero while unknown.
    pub(super) fn on_disorder(&mut self, expected: u64, round_trip: Duration, now: Instant) {
        /// Duplicate ACKs that start a fast retransmission (RFC 5681, section 3.2).
        const DUPLICATES: u32 = 3;
        let quick = self.quick != 0 && !self.interactive;
        if self.due || quick || self.compressed >= self.config.compression_max {
            self.due = true;
            return;
        }
        if self.expected != expected {
            (self.expected, self.duplicates) = (expected, 0);
        }
        if self.duplicates < DUPLICATES {
            self.duplicates += 1;
            self.due = true;
            return;
        }
        self.compressed += 1;
        if !self.compresses {
            let share = Duration::from_ps(round_trip.as_ps() / 20);
            let delay = self.config.compression_delay.min(share) + self.config.compression_slack;
            (self.deadline, self.compresses) = (self.deadline.min(now + delay), true);
        }
    }

    /// Sends an ACK now if ACKs were suppressed: their blocks might not all fit into one ACK.
    pub(super) fn on_spread(&mut self) {
        self.due |= self.compressed != 0;
    }

    /// A duplicate is acknowledged at once: its sender is in trouble.
    pub(super) fn on_duplicate(&mut self) {
        self.enter_quick_mode(self.quick_most);
    }

    /// Handles the first mark of a round: the sender's window may be so small that it waits for each ACK.
    pub(super) fn on_mark(&mut self) {
        self.enter_quick_mode(self.quick_most.min(2));
    }

    fn enter_quick_mode(&mut self, quick: u32) {
        self.due = true;
        self.interactive = false;
        self.delay = self.config.delay_min;
        self.quick = self.quick.max(quick);
    }

    #[inline]
    pub(super) fn now(&mut self) {
        self.due = true;
    }

    #[inline]
    pub(super) const fn is_due(&self) -> bool {
        self.due
    }

    /// An ACK is due, or delayed.
    pub(super) fn waits(&self) -> bool {
        self.due || self.deadline != Instant::NEVER
    }

    #[inline]
    pub(super) fn deadline(&self) -> Instant {
        self.deadline
    }

    pub(super) fn wake(&mut self, now: Instant) {
        if self.deadline > now {
            return;
        }
        let at = on_tick(self.deadline, self.config.tick);
        if at > now && !self.compresses {
            self.deadline = at;
        } else {
            self.due = true;
            self.deadline = Instant::NEVER;
            self.miss();
        }
    }

    /// No data came to carry the ACK: the exchange is over, and quick ACKs are useful again. Where data goes one way,
    /// the delay doubles (Linux's `tcp_delack_timer_handler`).
    fn miss(&mut self) {
        if self.compresses {
            return;
        }
        if self.interactive {
            self.interactive = false;
            self.delay = self.config.delay_min;
        } else {
            self.delay = self.delay.times(2).min(self.timeout).min(self.config.delay_max);
        }
    }

    /// Data goes out within the delay after data came in: an interactive exchange.
    #[inline]
    pub(super) fn on_data_sent(&mut self, now: Instant) {
        if self.last != Instant::NEVER && now.since(self.last) < self.delay {
            self.interactive = true;
        }
    }

    /// An ACK went out, on its own or on data.
    #[inline]
    pub(super) fn sent(&mut self) {
        self.due = false;
        self.deadline = Instant::NEVER;
        self.ends = 0;
        (self.compresses, self.compressed) = (false, 0);
    }

    /// Counts the ACK as a quick one, if any are left.
    pub(super) fn sent_quickly(&mut self) {
        self.quick = self.quick.saturating_sub(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;

    #[test]
    fn where_data_goes_both_ways_in_turn_one_end_of_a_message_waits_and_two_do_not() {
        let config = Profile::by_name("linux-6").map(|profile| profile.config().ack);
        for (after_read, due) in [(ReadAck::Short, [false; 2]), (ReadAck::Pushed, [false, true])] {
            let mut delayed = DelayedAck::new(&AckConfig { after_read, ..config.unwrap() });
            delayed.interactive = true;
            let found = [(); 2].map(|()| {
                delayed.note_end(false, true);
                delayed.on_all_read();
                delayed.is_due()
            });
            assert_eq!(found, due);
            delayed.sent();
            delayed.interactive = false;
            delayed.on_all_read();
            assert!(!delayed.is_due(), "an ACK has covered them");
        }
    }
}
