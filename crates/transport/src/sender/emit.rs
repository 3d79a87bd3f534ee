//! Choosing the next segment to send: forced ones, retransmissions, new data, FIN.

use base::Instant;
use base::packet::flags;
use congestion::{Event, State};

use super::Sender;
use super::parts::Forced;
use crate::config::LocalCongestion;
use crate::scoreboard::{FIN, PUSHED, Segment};
use crate::seq::SequenceSpace;

/// A segment with data or FIN, or a probe, for the connection to put into a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Outgoing {
    pub(crate) at: u64,
    pub(crate) payload: u32,
    /// FIN, PSH and CWR.
    pub(crate) flags: u8,
    pub(crate) retransmission: bool,
}

/// The result of [`Sender::next_plain`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// The next segment.
    Segment(Outgoing),
    /// No segment goes out now.
    Nothing,
    /// The general path has to decide: [`Sender::next`].
    Unclear,
}

impl Sender {
    /// Position after the last byte that is in the send buffer.
    #[inline]
    pub(super) const fn written(&self) -> u64 {
        self.written
    }

    /// Returns whether the data in the send buffer, up to `written`, is the last of the stream.
    #[inline]
    pub(super) const fn ends_at(&self, written: u64) -> bool {
        self.closing && written == self.supplied
    }

    /// Whether there is data, or a FIN, that was never sent.
    pub(super) fn has_new_data(&self) -> bool {
        self.nxt < self.written() || self.fin_is_due()
    }

    fn fin_is_due(&self) -> bool {
        self.closing && !self.fin_sent && self.nxt == self.supplied
    }

    /// Returns the next segment to send now, a full one or none, if the fast path can decide that.
    #[inline]
    pub(crate) fn next_plain(&mut self, now: Instant) -> Next {
        if !self.fast_path {
            return Next::Unclear;
        }
        debug_assert!(self.is_fast_path());
        self.take_written(false);
        let (out, cwnd) = (self.board.out(), self.sock.cwnd);
        let mss = self.agreed.mss;
        let written = self.written();
        let full = self.nxt + u64::from(mss) <= self.peer.end.min(written);
        if !full && (out == 0 || self.ends_at(written) || !self.has_no_segment(written)) {
            return Next::Unclear;
        }
        if !full || out >= cwnd {
            if self.closing && self.is_last(mss) {
                return Next::Unclear;
            }
            // The congestion window is asked first, of whatever there is to send (Linux's `tcp_write_xmit`).
            self.stop_at(out >= cwnd && self.nxt < written, out, now);
            return Next::Nothing;
        }
        if !self.burst_may_go(cwnd - out, written, now) {
            self.resting = true;
            self.note_wait(out, now);
            return Next::Nothing;
        }
        let segment = self.send_new(mss, written, now);
        self.stopping =
            !self.policy.queues && !self.ends_at(written) && self.has_no_full_segment(written);
        Next::Segment(segment)
    }

    /// Ends sending as [`Self::next_plain`] foresaw when it sent its last segment, for the poll after it: no other
    /// segment goes out.
    #[inline(never)]
    pub(super) fn stop_as_foreseen(&mut self, now: Instant) {
        self.stopping = false;
        self.stop_at(false, self.board.out(), now);
    }

    /// Returns whether no full segment is there or fits, and no smaller one goes either.
    #[inline]
    fn has_no_full_segment(&self, written: u64) -> bool {
        let end = self.nxt + u64::from(self.agreed.mss);
        end > self.peer.end.min(written) && self.has_no_segment(written)
    }

    /// While a full segment is not there or does not fit the peer's window, and an ACK is to come:
    /// there is nothing, or the window is too small for it, or Nagle's rule holds it back
    /// (Minshall's variant, as in [`Self::next_small`]).
    #[inline]
    fn has_no_segment(&self, written: u64) -> bool {
        let end = written.min(self.nxt + u64::from(self.agreed.mss));
        end <= self.nxt
            || end > self.peer.end && !self.fills_window()
            || self.config.emission.nagle && self.small_end > self.una
    }

    /// The next segment to send now.
    #[inline(never)]
    pub(crate) fn next(&mut self, now: Instant) -> Option<Outgoing> {
        let outgoing = self.choose(now);
        self.resting = outgoing.is_none();
        self.refresh_fast_path();
        outgoing
    }

    fn choose(&mut self, now: Instant) -> Option<Outgoing> {
        if (self.probe.forced.is_some() || self.repair.send_new_first)
            && let Some(decided) = self.next_forced(now)
        {
            return decided;
        }
        if self.board.lost() != 0
            && let Some(index) = self.board.next_pending()
        {
            return self.next_retransmission(index, now);
        }
        self.next_new(now)
    }

    /// Returns a segment that goes out of turn; `Some(None)` if nothing may go at all.
    #[cold]
    fn next_forced(&mut self, now: Instant) -> Option<Option<Outgoing>> {
        match self.probe.forced.take() {
            Some(Forced::Head) if self.board.out() != 0 => {
                return Some(Some(self.retransmit(self.board.head(), now)));
            }
            Some(Forced::TailProbe) => {
                if let Some(probe) = self.tail_probe(now) {
                    return Some(Some(probe));
                }
            }
            Some(Forced::WindowProbe) => return Some(Some(self.window_probe(now))),
            _ => {}
        }
        if self.repair.send_new_first {
            if let Some(new) = self.next_new(now) {
                return Some(Some(new));
            }
            // RFC 5682, section 3.1, step 2b: what was sent decides; without new data it is over.
            if self.nxt > self.repair.high_seq {
                return Some(None);
            }
            (self.repair.send_new_first, self.repair.frto) = (false, false);
        }
        None
    }

    fn next_retransmission(&mut self, index: u32, now: Instant) -> Option<Outgoing> {
        let (in_flight, cwnd) = (self.in_flight(), self.sock.cwnd);
        if in_flight >= cwnd {
            self.burst_ended();
            self.note_repair_limit(now);
            // A retransmission does not count as use of the window: `tcp_write_xmit` checks that for new data only.
            if self.has_new_data() {
                self.note_usage(true, in_flight, now);
            }
            return None;
        }
        if !self.repair_may_go(cwnd - in_flight, now) {
            self.note_burst_limit(now);
            return None;
        }
        Some(self.retransmit(index, now))
    }

    fn retransmit(&mut self, index: u32, now: Instant) -> Outgoing {
        self.start_flight(now);
        self.board.retransmit(index, now, self.delivered);
        let stamp = self.clock.read(now);
        self.note_retransmission(stamp);
        if index == self.board.head() && !self.timer.is_reordering() {
            self.arm_retransmission(now);
        }
        self.send_again(index, now)
    }

    /// Sends the segment at `index` again.
    fn send_again(&mut self, index: u32, now: Instant) -> Outgoing {
        self.end_silence(now);
        let start = self.board.start_of(index).max(self.una);
        let segment = *self.board.segment(index);
        let fin = segment.flags & FIN != 0;
        let payload = (segment.end - start) as u32 - u32::from(fin);
        self.stamp(index, now);
        self.stats.retransmissions += 1;
        self.stats.bytes_retransmitted += u64::from(payload);
        self.sent(payload, now);
        let push = if segment.flags & PUSHED != 0 { flags::PSH } else { 0 };
        let flags = push | if fin { flags::FIN } else { 0 };
        Outgoing { at: start, payload, flags, retransmission: true }
    }

    /// Counts a segment that leaves.
    #[inline]
    fn sent(&mut self, payload: u32, now: Instant) {
        self.end_limit(now);
        self.stats.data_segments += 1;
        self.stats.bytes_sent += u64::from(payload);
        self.prr.out = self.prr.out.wrapping_add(1);
        self.burst_sent(payload, now);
        self.last_sent = now;
        if self.timer.is_idle() {
            self.arm_retransmission(now);
        }
    }

    /// Packets in flight as they count against new data: without limited transmit the first
    /// duplicate ACKs let nothing out (RFC 3042).
    #[inline]
    fn in_flight_for_new(&self) -> u32 {
        let held = self.state == State::Disorder && !self.config.recovery.limited_transmit;
        self.in_flight() + if held { self.board.sacked() + self.repair.reno_sacked } else { 0 }
    }

    fn next_new(&mut self, now: Instant) -> Option<Outgoing> {
        self.take_written(false);
        let written = self.written();
        if self.nxt >= written && !self.fin_is_due() {
            return self.stop(false, now);
        }
        let (in_flight, cwnd) = (self.in_flight_for_new(), self.sock.cwnd);
        let mss = self.agreed.mss;
        let payload = (written - self.nxt).min(u64::from(mss)) as u32;
        let full = in_flight >= cwnd;
        if full && !(self.config.emission.fin_ignores_cwnd && self.is_last(payload)) {
            return self.stop(true, now);
        }
        let window = self.peer.end.saturating_sub(self.nxt);
        if u64::from(payload) > window || payload < mss || full {
            return self.next_small(payload, window, now);
        }
        if !self.burst_may_go(cwnd - in_flight, written, now) {
            self.note_wait(self.in_flight(), now);
            return None;
        }
        Some(self.send_small(payload, now))
    }

    /// Whether the next segment, with `payload`, carries the FIN.
    fn is_last(&self, payload: u32) -> bool {
        self.closing && !self.fin_sent && self.nxt + u64::from(payload) == self.supplied
    }

    /// Less than a full segment, or more than the peer's window takes.
    fn next_small(&mut self, payload: u32, window: u64, now: Instant) -> Option<Outgoing> {
        let alone = self.board.out() == 0;
        if u64::from(payload) > window {
            if self.fills_window() {
                return Some(self.send_small(window as u32, now));
            }
            // Sender's silly window avoidance (RFC 9293, section 3.8.6.2.1): half the largest
            // window seen is worth a segment when nothing else will bring an ACK.
            if alone && window > 0 && window >= self.peer.max / 2 {
                return Some(self.send_small(window as u32, now));
            }
            if alone {
                self.arm_window_probe(now);
            }
            return self.stop(false, now);
        }
        // Minshall: a small segment waits for the last small one, unless it ends the stream.
        let last = self.is_last(payload);
        if self.config.emission.nagle && !last && self.small_end > self.una {
            return self.stop(false, now);
        }
        if !self.small_may_go(now) {
            self.note_burst_limit(now);
            return None;
        }
        Some(self.send_small(payload, now))
    }

    /// Ends sending for now.
    fn stop(&mut self, limited: bool, now: Instant) -> Option<Outgoing> {
        self.stop_at(limited, self.in_flight(), now);
        None
    }

    /// Ends sending for now, with `in_flight` packets in flight.
    #[inline]
    fn stop_at(&mut self, limited: bool, in_flight: u32, now: Instant) {
        self.resting = true;
        self.burst_ended();
        self.note_limit(limited, in_flight, now);
        self.note_stop(limited, in_flight, now);
    }

    /// Sending stopped, for whatever reason: what Linux's `tcp_write_xmit` does at its end.
    #[inline]
    fn note_stop(&mut self, limited: bool, in_flight: u32, now: Instant) {
        if limited || self.nxt != self.usage.stopped_at {
            self.usage.stopped_at = self.nxt;
            self.note_usage(limited, in_flight, now);
            self.arm_tail_probe_after(now);
        }
    }

    /// The next burst waits for the pacer's time; or for more window, and then that is what limits, if it is the
    /// congestion window (Linux's `tcp_tso_should_defer`).
    #[inline]
    fn note_wait(&mut self, in_flight: u32, now: Instant) {
        let room = u64::from(self.sock.cwnd.saturating_sub(in_flight)) * u64::from(self.agreed.mss);
        // What fits the window waits for more data (Linux's `tcp_tso_should_defer`).
        let limited = !self.has_to_be_paced(now)
            && self.nxt + room < self.peer.end
            && room <= self.packet_left(self.written());
        self.note_burst_limit(now);
        self.note_stop(limited, in_flight, now);
    }

    /// Notes that the interface's queue holds enough of this connection (TCP small queues); the window is not the
    /// limit then.
    #[inline]
    pub(crate) fn held_back(&mut self, now: Instant) {
        if self.nxt != self.usage.stopped_at {
            self.note_stop(false, self.in_flight(), now);
            self.takes_more();
        }
    }

    /// A segment is about to leave. It is the first in flight also if all others are lost or SACKed.
    fn start_flight(&mut self, now: Instant) {
        if self.in_flight() == 0 {
            self.notify(Event::TxStart, now);
        }
    }

    /// New data, of any length.
    fn send_small(&mut self, payload: u32, now: Instant) -> Outgoing {
        if self.board.out() != 0 {
            self.start_flight(now);
        }
        self.stamp(self.board.tail(), now);
        let written = self.written();
        self.send_new(payload, written, now)
    }

    /// New data; what there is to send ends at `written`.
    #[inline(always)]
    fn send_new(&mut self, payload: u32, written: u64, now: Instant) -> Outgoing {
        let at = self.nxt;
        let end = at + u64::from(payload);
        if self.board.out() == 0 {
            self.notify(Event::TxStart, now);
        }
        let (mut flags, mut fin, mut fate) = (0, false, 0);
        let ends = if self.policy.queues { end >= self.burst.buffer_end } else { end >= written };
        if payload != 0 && (ends && self.packet_ended(end) || self.is_pushed_at(end)) {
            (flags, fate) = (flags::PSH, PUSHED);
        }
        if end >= written {
            fin = self.closing && !self.fin_sent && end == self.supplied;
            if fin {
                (self.fin_sent, self.fast_path) = (true, false);
                (flags, fate) = (flags | flags::FIN, fate | FIN);
            }
        }
        self.nxt = end + u64::from(fin);
        let delivered = self.delivered;
        self.board.push(Segment { end: self.nxt, sent: now, delivered, flags: fate });
        if payload < self.agreed.mss {
            self.small_end = self.nxt;
        }
        self.sent(payload, now);
        if self.cwr_pending && payload > 0 {
            self.cwr_pending = false;
            flags |= flags::CWR;
        }
        Outgoing { at, payload, flags, retransmission: false }
    }

    /// Sends a tail loss probe (RFC 8985, section 7.3): a packet of new data if there is any and the peer takes it,
    /// else the last segment. As in Linux, that is not a repair: it is not in flight beside its original, no undo
    /// waits for it, and it does not count as the first retransmission that timestamps distinguish from its original.
    fn tail_probe(&mut self, now: Instant) -> Option<Outgoing> {
        if self.board.out() == 0 || self.probe.high != 0 {
            return None;
        }
        let ready = (self.written().saturating_sub(self.nxt)).min(u64::from(self.agreed.mss));
        let new = ready > 0 && self.nxt + ready <= self.peer.end;
        self.probe.retransmitted = !new;
        let mut end = self.nxt;
        let probe = if new {
            end = self.begin_probe();
            self.send_small(ready as u32, now)
        } else {
            let last = self.board.tail().wrapping_sub(1);
            if self.board.segment(last).flags & crate::scoreboard::SACKED != 0 {
                return None;
            }
            self.start_flight(now);
            self.board.probe(last, now, self.delivered);
            self.send_again(last, now)
        };
        self.probe.high = self.nxt.max(end);
        self.stats.tlp_probes += 1;
        self.arm_after_probe(now);
        Some(probe)
    }

    /// Whether the peer's window takes the next segment whole.
    pub(super) fn next_segment_fits(&self) -> bool {
        let ready = (self.written() - self.nxt).min(u64::from(self.agreed.mss));
        self.nxt + ready <= self.peer.end
    }

    /// Sends the data that the window allows, or else a segment below the window, which makes the peer answer
    /// (Linux's `tcp_write_wakeup`).
    fn window_probe(&mut self, now: Instant) -> Outgoing {
        self.stats.zero_window_probes += 1;
        let window = self.peer.end.saturating_sub(self.nxt);
        let payload =
            (self.written() - self.nxt).min(u64::from(self.agreed.mss)).min(window) as u32;
        if payload != 0 {
            return self.send_small(payload, now);
        }
        Outgoing { at: self.una - 1, payload: 0, flags: 0, retransmission: false }
    }

    /// The interface's queue refused the segment at wire number `seq`, the last that was sent.
    pub(crate) fn refused(&mut self, seq: u32, payload: u32, retransmission: bool, now: Instant) {
        self.stats.local_drops += 1;
        let policy = self.config.window.local_congestion;
        if policy == LocalCongestion::Quench {
            self.stopping = false;
            return self.set_cwnd(1, now);
        }
        self.take_back(self.space, seq, payload, retransmission);
        (self.resting, self.stopping) = (true, false);
        self.burst_ended();
        if policy == LocalCongestion::Reduce {
            self.enter_cwr(now);
        }
        if self.board.out() == 0 {
            self.timer = super::Timer::default();
            self.arm_window_probe(now);
        }
        self.refresh_fast_path();
    }

    /// The interface's queue dropped an earlier segment for the last that was sent.
    pub(crate) fn displaced(&mut self, now: Instant) {
        if self.config.window.local_congestion == LocalCongestion::Reduce {
            self.enter_cwr(now);
            self.refresh_fast_path();
        }
    }

    /// Takes back a segment: it counts as not sent.
    fn take_back(&mut self, space: SequenceSpace, seq: u32, payload: u32, retransmission: bool) {
        let at = space.unwrap(seq, self.nxt);
        self.stats.data_segments -= 1;
        self.stats.bytes_sent -= u64::from(payload);
        self.prr.out = self.prr.out.saturating_sub(1);
        if retransmission {
            self.stats.retransmissions -= 1;
            self.stats.bytes_retransmitted -= u64::from(payload);
            let index = self.board.find(at, self.agreed.mss);
            if self.board.clear_retransmitted(index) {
                self.undo.retransmissions -= 1;
            }
        } else if self.board.out() != 0 {
            let fin = self.board.pop_back();
            self.fin_sent &= !fin;
            self.nxt = at;
            self.small_end = if self.small_end > at { 0 } else { self.small_end };
        }
        if self.probe.high > self.nxt || retransmission && self.probe.high != 0 {
            self.probe.high = 0;
        }
    }
}
