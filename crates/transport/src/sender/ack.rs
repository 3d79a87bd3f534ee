//! What an ACK does to the sender.

use base::Instant;
use base::packet::{Tcp, flags};
use congestion::{AckSample, State};

use super::Sender;
use super::idle::Growth;
use crate::scoreboard::Progress;

/// The content of an ACK, beyond what the scoreboard keeps.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct AckEvent {
    /// The cumulative ACK moved.
    pub(super) advanced: bool,
    /// Nothing was out when the ACK came: it may report a duplicate, but no progress.
    pub(super) nothing_out: bool,
    /// Data was selectively acknowledged for the first time.
    pub(super) new_sack: bool,
    /// The ACK reports a duplicate.
    pub(super) dsack: bool,
    /// The duplicate is the tail loss probe: probe and original arrived.
    pub(super) dsack_of_probe: bool,
    /// The ACK echoes a congestion mark.
    pub(super) echo_ce: bool,
    /// It set the timer to a time that its progress does not change.
    pub(super) timer_set: bool,
    /// A duplicate ACK by RFC 5681's definition.
    pub(super) duplicate: bool,
    /// Data never retransmitted, and sent before the recovery began, was delivered.
    pub(super) original: bool,
    /// Segments acknowledged cumulatively.
    pub(super) acked: u32,
    /// Segments delivered that were not known to be, and those that it reports as duplicates.
    pub(super) delivered: u32,
    /// Segments that it reports as duplicates.
    pub(super) duplicated: u32,
    /// Segments taken for lost because of it.
    pub(super) newly_lost: u32,
    /// Packets in flight before it.
    pub(super) in_flight_before: u32,
    /// The timestamp it echoes.
    pub(super) echo: Option<u32>,
}

impl Sender {
    /// Whether the ACK is within what was sent, and not older than a window (RFC 5961, section 5.2).
    pub(crate) fn accepts(&self, tcp: &Tcp) -> bool {
        let ack = self.space.unwrap(tcp.ack, self.una);
        ack <= self.nxt && ack + self.peer.max >= self.una
    }

    /// Whether it acknowledges what was never sent.
    pub(crate) fn acks_unsent(&self, tcp: &Tcp) -> bool {
        self.space.unwrap(tcp.ack, self.una) > self.nxt
    }

    /// An acceptable segment with the ACK flag arrived. Returns the retransmission queue entries
    /// that a stack without a SACK cache would have walked.
    pub(crate) fn on_ack(&mut self, tcp: &Tcp, now: Instant) -> u32 {
        let ack = self.space.unwrap(tcp.ack, self.una);
        self.allow_sending();
        if tcp.sack_len == 0 && tcp.flags & flags::ECE == 0 && self.fast_path {
            if ack == self.una && self.nxt == ack && !self.timer.is_probe() {
                // Nothing is out: the ACK on data that only comes in.
                self.update_window(ack, tcp);
                return 0;
            }
            if ack > self.una {
                self.on_plain_ack(ack, tcp, now);
                return 0;
            }
        }
        self.look_again();
        let walked = self.on_any_ack(ack, tcp, now);
        self.refresh_fast_path();
        walked
    }

    /// Header prediction (Jacobson 1990) where data is sent. Returns what an ACK without blocks or echo newly
    /// acknowledges on the fast path; [`Self::on_plain_ack`] then handles it.
    #[inline]
    pub(crate) fn predicts_ack(&self, tcp: &Tcp) -> Option<u64> {
        let distance = tcp.ack.wrapping_sub(self.space.wire(self.una)) as i32;
        let ack = self.una.wrapping_add_signed(i64::from(distance));
        if distance <= 0 || ack > self.nxt || !self.fast_path {
            return None;
        }
        debug_assert!(self.is_fast_path());
        Some(ack)
    }

    /// Header prediction where data only comes in. Returns true if the ACK on it is the one expected.
    #[inline]
    pub(crate) fn on_predicted_data(&mut self, tcp: &Tcp) -> bool {
        if tcp.ack != self.space.wire(self.una)
            || self.nxt != self.una
            || self.nxt != self.supplied
            || !self.fast_path
            || self.closing
        {
            return false;
        }
        self.update_window(self.una, tcp);
        true
    }

    /// Handles new data acknowledged in order, with nothing marked and nothing wrong: the common case, with the
    /// result that [`Self::on_any_ack`] would have.
    #[inline]
    pub(crate) fn on_plain_ack(&mut self, ack: u64, tcp: &Tcp, now: Instant) {
        let in_flight = self.board.out();
        self.allow_sending();
        self.peer.from = tcp.seq;
        let window = u64::from(tcp.window) << self.agreed.window_shift;
        self.peer.end = ack + window;
        self.peer.max = self.peer.max.max(window);
        self.una = ack;
        self.retries = 0;
        self.fill_buffer();
        let (acked, first, last) = self.board.acknowledge_plain(ack);
        if acked != 0 {
            self.count_delivered(acked);
            self.stats.sample_from = (last.sent, last.delivered);
            self.stats.sample_to = (now, self.delivered);
            self.rtt.sample(first, now, self.una, self.nxt);
            self.rtt.reset_backoff();
            self.rack.advance_plain(last.sent, last.end, now);
            if self.algorithm().observes_acks(self.sock.paced) {
                let rtt_ns = now.since(last.sent).as_ns() as i64;
                let in_flight = self.delivered.wrapping_sub(last.delivered);
                self.refresh(now);
                let sample = AckSample { rtt_ns, acked, in_flight };
                self.algorithm().pkts_acked(&mut self.sock, &sample);
                self.own_pacing();
            }
            self.rearm_fast_path(now);
        } else {
            self.rearm(now);
        }
        self.grow_window(acked, acked, in_flight, now);
        debug_assert!(self.board.recount(), "the scoreboard's counters drifted");
    }

    /// The general case.
    fn on_any_ack(&mut self, ack: u64, tcp: &Tcp, now: Instant) -> u32 {
        let mut event = AckEvent {
            advanced: ack > self.una,
            nothing_out: self.board.out() == 0,
            echo_ce: self.agreed.ecn && tcp.flags & flags::ECE != 0,
            in_flight_before: self.in_flight(),
            echo: self.echo_of(tcp),
            ..AckEvent::default()
        };
        let moved = ack >= self.una && self.update_window(ack, tcp);
        let mut progress = Progress::default();
        progress.rack.answerable = self.answerable(now);
        let top = self.board.head().wrapping_add(self.board.forward());
        let mut walked = 0;
        if tcp.sack_len != 0 && self.agreed.sack {
            walked = self.on_sack(tcp, ack, &mut event, &mut progress);
        }
        event.duplicate = ack == self.una
            && tcp.payload == 0
            && tcp.flags & (flags::SYN | flags::FIN) == 0
            && !moved
            && self.board.out() != 0;
        if event.advanced {
            self.una = ack;
            progress.rack.answerable = self.answerable_by(&event, now);
            self.board.acknowledge(ack, &mut progress);
            self.retries = 0;
            self.fill_buffer();
        }
        event.acked = progress.packets;
        event.delivered = progress.delivered + event.duplicated;
        if event.advanced && !self.agreed.sack {
            self.uncount_duplicates(&mut event);
        }
        self.count_delivered(event.delivered);
        if event.echo_ce {
            self.stats.ecn_echoes += u64::from(event.delivered);
            self.sock.delivered_ce = self.sock.delivered_ce.wrapping_add(event.delivered);
        }
        let mut rtt_ns = -1;
        if progress.delivered != 0 {
            rtt_ns = self.on_delivery(&progress, top, &mut event, now);
        } else if !event.nothing_out {
            rtt_ns = self.sample_echo(&event, now);
            self.call_pkts_acked(&progress, rtt_ns, now);
        }
        self.sample_rate(&progress, &event, rtt_ns, now);
        self.finish_ack(&event, now, walked)
    }

    #[inline]
    fn echo_of(&self, tcp: &Tcp) -> Option<u32> {
        (self.agreed.timestamps && tcp.has_timestamps && tcp.ts_ecr != 0).then_some(tcp.ts_ecr)
    }

    /// Updates the window by RFC 9293, section 3.10.7.4, as Linux implements it: on new data acknowledged, newer data
    /// of the peer, or a right edge that moved right. Returns true if the segment is only a window update.
    #[inline]
    fn update_window(&mut self, ack: u64, tcp: &Tcp) -> bool {
        let window = u64::from(tcp.window) << self.agreed.window_shift;
        let end = ack + window;
        let newer = tcp.seq.wrapping_sub(self.peer.from) as i32;
        if ack == self.una && newer <= 0 && (newer < 0 || end <= self.peer.end) {
            return false;
        }
        let update = ack == self.una && end != self.peer.end;
        (self.peer.from, self.peer.end) = (tcp.seq, end);
        self.peer.max = self.peer.max.max(window);
        update
    }

    /// Counts `segments` more segments as delivered.
    #[inline]
    pub(super) fn count_delivered(&mut self, segments: u32) {
        self.delivered = self.delivered.wrapping_add(segments);
        self.delivered_total += u64::from(segments);
    }

    /// Handles segments that are now known to be delivered: round trip, rate, RACK, reordering, the algorithm's hook.
    /// Returns the round trip of the last of them in nanoseconds, -1 if it is not known.
    #[inline]
    fn on_delivery(
        &mut self,
        progress: &Progress,
        top: u32,
        event: &mut AckEvent,
        now: Instant,
    ) -> i64 {
        self.stats.sample_from = (progress.newest.sent, progress.newest.delivered);
        self.stats.sample_to = (now, self.delivered);
        let rtt_ns = match progress.sent {
            Some((first, last)) if !progress.retransmitted => {
                self.rtt.sample(first, now, self.una, self.nxt);
                self.rtt.reset_backoff();
                now.since(last).as_ns() as i64
            }
            _ => self.sample_echo(event, now),
        };
        self.rack.advance(&progress.rack, now);
        if let Some((place, end)) = progress.lowest_original {
            event.original = end <= self.repair.high_seq;
            let distance = top.wrapping_sub(place) as i32;
            if distance > 0 {
                self.note_reordering(distance as u32);
            }
        }
        self.call_pkts_acked(progress, rtt_ns, now);
        rtt_ns
    }

    /// The algorithm's hook, for every ACK while data is out.
    fn call_pkts_acked(&mut self, progress: &Progress, rtt_ns: i64, now: Instant) {
        self.refresh(now);
        if self.algorithm().observes_acks(self.sock.paced) {
            let in_flight = self.delivered.wrapping_sub(progress.newest.delivered);
            let sample = AckSample { rtt_ns, acked: progress.packets, in_flight };
            self.algorithm().pkts_acked(&mut self.sock, &sample);
            self.own_pacing();
        }
    }

    /// Karn's rule forbids a sample by sequence number; the echoed timestamp identifies the transmission (RFC 7323,
    /// section 4.1). Returns the round trip in nanoseconds, -1 if there is none.
    fn sample_echo(&mut self, event: &AckEvent, now: Instant) -> i64 {
        let Some(echo) = event.echo.filter(|_| event.advanced) else { return -1 };
        let tick = self.config.segment.timestamp_tick.as_ps();
        // The clock reads one more than the ticks since the start; see `TimestampClock`.
        let sent = Instant::from_ps(u64::from(echo.wrapping_sub(1)).saturating_mul(tick));
        if sent > now {
            return -1;
        }
        self.rtt.sample(sent, now, self.una, self.nxt);
        self.rtt.reset_backoff();
        now.since(sent).as_ns() as i64
    }

    /// Completes the handling of an ACK: state, timers, window.
    #[inline]
    fn finish_ack(&mut self, event: &AckEvent, now: Instant, walked: u32) -> u32 {
        let mut event = *event;
        if self.probe.high != 0 {
            self.end_tail_probe(&event, now);
        }
        if event.duplicate {
            self.stats.duplicate_acks += 1;
        }
        let dubious = self.state != State::Open
            || event.duplicate
            || event.new_sack
            || event.dsack
            || event.echo_ce;
        if dubious {
            self.handle_unusual_ack(&mut event, now);
        }
        if event.advanced {
            if !event.timer_set {
                self.rearm(now);
            }
        } else if self.timer.is_probe() {
            self.answered_probe(now);
        }
        self.steer_window(&event, now);
        debug_assert!(self.board.recount(), "the scoreboard's counters drifted");
        if dubious && self.config.recovery.walks_queue { self.walked(walked) } else { 0 }
    }

    /// Reduces the window, or lets it grow if nothing forbids that.
    #[inline]
    fn steer_window(&mut self, event: &AckEvent, now: Instant) {
        if event.nothing_out {
            return;
        }
        if self.controls() {
            return self.control(event, now);
        }
        if matches!(self.state, State::Cwr | State::Recovery) {
            return self.reduce_window(event, now);
        }
        let reorders = self.repair.reordering > self.config.recovery.dup_threshold;
        if event.acked != 0 || reorders && event.new_sack {
            let delivered = if self.inflates() { event.acked } else { event.delivered };
            self.grow_window(event.acked, delivered, event.in_flight_before, now);
        }
    }

    /// The window grows by the algorithm's law, if it was used.
    #[inline]
    fn grow_window(&mut self, acked: u32, delivered: u32, in_flight_before: u32, now: Instant) {
        let limited = self.window_was_used(acked, in_flight_before);
        // Linux stamps the window whenever it calls the algorithm (`tcp_cong_avoid`), and asks since 2.6.13 only
        // within that call whether the window was used.
        if limited || self.policy.growth == Growth::LimitedLastRound {
            self.usage.stamp = now;
        }
        if limited || self.policy.calls_unused {
            self.grow(delivered, limited, now);
        }
    }

    #[inline(never)]
    fn grow(&mut self, delivered: u32, limited: bool, now: Instant) {
        let acked = if self.config.window.count_acks { 1 } else { delivered.max(1) };
        if self.policy.refreshes && (self.refreshed != now || self.state != State::Open) {
            self.refresh(now);
        }
        self.sock.cwnd_limited = u32::from(limited);
        let ack = self.space.wire(self.una);
        self.algorithm().cong_avoid(&mut self.sock, ack, acked);
        self.sock.cwnd = self.sock.cwnd.clamp(1, self.sock.cwnd_clamp);
    }
}
