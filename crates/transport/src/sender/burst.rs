//! Bursts and pacing: how many segments leave together, and when the next ones may
//! (Linux: `tcp_tso_autosize`, `tcp_tso_should_defer`, `tcp_update_pacing_rate`).

use base::units::PS_PER_SECOND;
use base::{Duration, Instant};
use congestion::State;

use super::Sender;
use crate::config::EmissionConfig;

/// Segments that leave unpaced when a connection starts, as with Linux's fq.
const UNPACED: u64 = 10;
/// A burst waits for more only if the last write is more recent than this.
const DEFER_WITHIN: Duration = Duration::from_ms(1);

/// Nor does it wait for an ACK that is expected later than this (Linux 6.12.117; before, only half a round trip
/// counted).
const DEFER_AT_MOST: Duration = Duration::from_ms(1);

/// The most that small queues allow in the interface's queue where nothing paces: Linux's `tcp_limit_output_bytes`.
const SMALL_QUEUE_MAX: u64 = 1 << 20;

/// State of the burst being sent.
#[derive(Clone, Copy, Debug)]
pub(super) struct Burst {
    /// Segments of it still to be sent.
    left: u32,
    /// The position after its last segment, which has PSH, if there are several.
    push_end: u64,
    /// The right edge of the peer's window, if the last segment of the burst is short in order to fill that window.
    fill_end: u64,
    /// The next burst may not begin earlier.
    next_at: Instant,
    /// `next_at` while something waits for it, else never.
    wakeup: Instant,
    /// Segments of a burst, as last computed, and the segments delivered by then.
    goal: u32,
    goal_at: u32,
    /// The limit of small queues on the interface's queue, computed with the goal.
    queue_limit: u64,
    /// The position after the last byte of the buffer that is being sent; no burst reaches beyond.
    pub(super) buffer_end: u64,
    /// Segments leave in bursts, or paced, or counted by small queues.
    on: bool,
    /// The pacing rate that the algorithm wrote, in bytes per second, until the next ACK; 0 if the rate is the stack's.
    written: u64,
}

impl Burst {
    pub(super) fn new(config: &EmissionConfig) -> Self {
        Self {
            left: 0,
            push_end: 0,
            fill_end: 0,
            next_at: Instant::ZERO,
            wakeup: Instant::NEVER,
            goal: 0,
            goal_at: 0,
            queue_limit: u64::MAX,
            buffer_end: 0,
            on: config.tso || config.pacing || config.small_queues,
            written: 0,
        }
    }

    /// Whether the pacing rate is the algorithm's until the next ACK.
    pub(super) const fn is_rate_written(&self) -> bool {
        self.written != 0
    }

    #[inline]
    pub(super) fn wakeup(&self) -> Instant {
        self.wakeup
    }

    /// Whether the pacer's time has come.
    pub(super) fn wake(&mut self, now: Instant) -> bool {
        let due = self.wakeup <= now;
        if due {
            self.wakeup = Instant::NEVER;
        }
        due
    }
}

/// `n * over / under`, saturating; 128 bits wide only where the product needs it.
#[inline]
fn scaled(n: u64, over: u64, under: u64) -> u64 {
    match n.checked_mul(over) {
        Some(product) => product / under,
        None => {
            let quotient = u128::from(n) * u128::from(over) / u128::from(under);
            u64::try_from(quotient).unwrap_or(u64::MAX)
        }
    }
}

impl Sender {
    /// Returns the pacing rate in bytes per second: cwnd * MSS / SRTT, times 2 in slow start and 1.2 after it; zero
    /// before a round trip is known. Linux treats a window below half of ssthresh as slow start. An algorithm that
    /// controls the rate sets it.
    pub(super) fn pacing_rate(&self) -> u64 {
        if self.controls() {
            return self.sock.pacing_rate.min(self.config.emission.pacing_rate_max);
        }
        if self.burst.written != 0 {
            return self.burst.written.min(self.config.emission.pacing_rate_max);
        }
        if self.rtt.srtt8() == 0 {
            return 0;
        }
        let emission = &self.config.emission;
        let percent = if self.sock.cwnd < self.sock.ssthresh / 2 {
            emission.pacing_slow_start_percent
        } else {
            emission.pacing_avoidance_percent
        };
        let window = u64::from(self.sock.cwnd.max(self.board.out())) * u64::from(self.agreed.mss);
        // Bytes a microsecond, times 8 for srtt8, times a million for seconds, per cent.
        let scale = 80_000 * u64::from(percent);
        let rate = scaled(window, scale, u64::from(self.rtt.srtt8()));
        rate.min(emission.pacing_rate_max).max(1)
    }

    /// Takes the pacing rate after the algorithm handled an event; `rate` is the one before. A rate that the
    /// algorithm wrote holds until the next ACK, as in Linux, which keeps `sk_pacing_rate` until then.
    pub(super) fn take_pacing(&mut self, rate: u64) {
        if !self.controls() && self.sock.paced != 0 && self.sock.pacing_rate != rate {
            (self.burst.written, self.burst.goal) = (self.sock.pacing_rate, 0);
        }
        self.follow_pacing();
    }

    /// Returns to the stack's own pacing rate after the algorithm handled an ACK (Linux's `tcp_update_pacing_rate`).
    #[inline]
    pub(super) fn own_pacing(&mut self) {
        if self.burst.written != 0 {
            (self.burst.written, self.burst.goal) = (0, 0);
            self.follow_pacing();
        }
    }

    /// Turns pacing on or off as the algorithm wants it.
    pub(super) fn follow_pacing(&mut self) {
        let paces = self.sock.paced != 0;
        if self.policy.paces != paces {
            let emission = &self.config.emission;
            (self.policy.paces, self.burst.written) =
                (paces, if paces { self.burst.written } else { 0 });
            self.burst.on = emission.tso || paces || emission.small_queues;
        }
    }

    /// Returns the segments of a burst, recomputed once a burst was delivered.
    #[inline]
    fn goal(&mut self) -> u32 {
        // No goal yet counts as a goal that was reached.
        if self.delivered.wrapping_sub(self.burst.goal_at) >= self.burst.goal {
            self.set_goal();
        }
        self.burst.goal
    }

    #[inline(never)]
    fn set_goal(&mut self) {
        let rate = self.pacing_rate();
        (self.burst.goal, self.burst.goal_at) = (self.burst_goal(rate), self.delivered);
        self.burst.queue_limit = self.queue_limit(rate);
    }

    /// Linux's `tcp_small_queue_check`: two bursts, or what the pacing rate sends in about a
    /// millisecond (rate >> 10); a ceiling where nothing paces.
    fn queue_limit(&self, rate: u64) -> u64 {
        let emission = &self.config.emission;
        if !emission.small_queues {
            return u64::MAX;
        }
        let bursts = 2 * u64::from(self.burst.goal) * u64::from(self.config.frame_max());
        let limit = bursts.max(rate >> 10);
        if self.policy.paces { limit } else { limit.min(SMALL_QUEUE_MAX) }
    }

    /// Frame bytes that this connection may have in its interface's queue before it waits.
    #[inline]
    pub(crate) const fn small_queue_limit(&self) -> u64 {
        self.burst.queue_limit
    }

    /// Returns the segments that the pacing rate sends in about a millisecond, at least two. On a short path
    /// `tso_max` is added, halved for each `tso_rtt` of the minimum RTT (Linux's `tcp_tso_autosize`).
    fn burst_goal(&self, rate: u64) -> u32 {
        let emission = &self.config.emission;
        if !emission.tso {
            return 1;
        }
        let (mss, most) = (u64::from(self.agreed.mss), self.burst_max());
        if rate == 0 {
            return most as u32;
        }
        let bytes = scaled(rate, emission.tso_time.as_ps(), PS_PER_SECOND);
        let halvings = u64::from(self.rtt.min_us()).checked_div(emission.tso_rtt.as_us());
        let more =
            halvings.map_or(0, |n| u64::from(emission.tso_max).checked_shr(n as u32).unwrap_or(0));
        (bytes.saturating_add(more) / mss).clamp(2, most.max(2)) as u32
    }

    /// Segments of the largest burst.
    fn burst_max(&self) -> u64 {
        u64::from(self.config.emission.tso_max / self.agreed.mss).max(1)
    }

    /// Returns the segments left of the buffer that is being sent. A write fills buffers of the largest burst, or of
    /// half the peer's window (Linux's `tcp_xmit_size_goal`), in whole segments. Linux takes the window at the time
    /// of the write; here it is the window at the time of sending.
    fn buffer_left(&mut self) -> u64 {
        if self.nxt >= self.burst.buffer_end {
            self.burst.buffer_end = self.nxt + self.packet_max();
        }
        (self.burst.buffer_end - self.nxt).div_ceil(u64::from(self.agreed.mss))
    }

    /// Returns the bytes still to be sent of the next packet of the write queue.
    #[inline]
    pub(super) const fn packet_left(&self, written: u64) -> u64 {
        let end = if written < self.burst.buffer_end { written } else { self.burst.buffer_end };
        end.saturating_sub(self.nxt)
    }

    /// Bytes of a packet that a write fills.
    pub(super) fn packet_max(&self) -> u64 {
        let mss = u64::from(self.agreed.mss);
        let most = if self.config.emission.tso { self.burst_max() } else { 1 };
        most.min(self.peer.max / 2 / mss).max(1) * mss
    }

    /// Returns whether new data up to `end` is the last of a burst that ends with PSH.
    #[inline]
    pub(super) const fn is_pushed_at(&self, end: u64) -> bool {
        end == self.burst.push_end
    }

    /// Whether a full new segment may leave now as far as pacing and bursts are concerned; the
    /// window has `room` for more packets, and what is there to send ends at `written`.
    #[inline]
    pub(super) fn burst_may_go(&mut self, room: u32, written: u64, now: Instant) -> bool {
        self.burst.left != 0 || !self.burst.on || self.begin_burst(room, written, now)
    }

    /// Does what [`Self::burst_may_go`] does, for a small segment: a burst of its own.
    pub(super) fn small_may_go(&mut self, now: Instant) -> bool {
        self.burst_may_go(1, self.nxt, now)
    }

    /// Does what [`Self::burst_may_go`] does, for a retransmission, with `room` packets of window.
    pub(super) fn repair_may_go(&mut self, room: u32, now: Instant) -> bool {
        if self.burst.left != 0 || !self.burst.on {
            return true;
        }
        if self.must_wait(now) {
            return false;
        }
        let goal = self.goal();
        let lost = self.board.lost();
        let ready = lost - self.board.retransmitted().min(lost);
        if room < goal && room < ready && self.should_defer(room, now) {
            return false;
        }
        self.burst.left = goal.min(room).max(1);
        true
    }

    #[inline]
    fn begin_burst(&mut self, room: u32, written: u64, now: Instant) -> bool {
        if self.must_wait(now) {
            return false;
        }
        let (goal, mss) = (self.goal(), u64::from(self.agreed.mss));
        if goal == 1 {
            self.burst.left = 1;
            self.piece_leaves(self.burst_end(mss));
            return true;
        }
        let mut allowed = room.min(goal);
        let quota = allowed.min(self.half_window());
        self.fill_first_packet(u64::from(quota) * mss);
        let window = self.peer.end.saturating_sub(self.nxt);
        if window < u64::from(allowed) * mss {
            // Less than a burst, so 32 bits hold it.
            allowed = window as u32 / self.agreed.mss;
        }
        let left = self.buffer_left();
        // The end of a buffer with another one behind it gets no more data, and goes (Linux's `tcp_tso_should_defer`).
        let ends = left <= u64::from(allowed) && written > self.burst.buffer_end;
        let more = written >= self.nxt + u64::from(allowed + 1) * mss;
        let waits =
            allowed < goal && !ends && !self.is_writing() && self.may_grow(allowed, written);
        if waits && self.should_defer(allowed, now) {
            return false;
        }
        let segments = u64::from(allowed.min(quota)).min(left).max(1);
        self.burst.left = segments as u32;
        let mut end = self.burst_end(segments * mss);
        if window < u64::from(quota) * mss && left > segments && more {
            end = self.fill_window(end);
        }
        self.piece_leaves(end);
        if segments > 1 && self.config.emission.tso_push {
            self.burst.push_end = end;
        }
        true
    }

    /// Starts a probe of new data: one packet of what the windows allow, at least one segment (Linux's
    /// `tcp_write_xmit` with `push_one`). Returns where it ends.
    pub(super) fn begin_probe(&mut self) -> u64 {
        if self.burst.left != 0 {
            return self.nxt;
        }
        let mss = u64::from(self.agreed.mss);
        let room = self.sock.cwnd.saturating_sub(self.in_flight());
        let room = room.min(self.goal()).min(self.half_window());
        self.fill_first_packet(u64::from(room.max(1)) * mss);
        let window = (self.peer.end - self.nxt) / mss;
        let segments = u64::from(room).min(window).min(self.buffer_left()).max(1);
        let end = self.burst_end(segments * mss);
        self.burst.left = segments as u32;
        self.piece_leaves(end);
        if segments > 1 && self.config.emission.tso_push {
            self.burst.push_end = end;
        }
        end
    }

    /// The segments of a burst that leaves room in the window for another one (Linux's `tcp_cwnd_test`, since 3.18).
    #[inline]
    fn half_window(&self) -> u32 {
        (self.sock.cwnd / 2).max(1)
    }

    /// Returns where a burst with room for `bytes` bytes ends: its last segment may be a small one.
    #[inline]
    const fn burst_end(&self, bytes: u64) -> u64 {
        let (end, written) = (self.nxt + bytes, self.written());
        if end < written { end } else { written }
    }

    /// Returns where a burst of full segments up to `end` ends: at the right edge of the peer's window if that is
    /// less than a segment later, unless a small segment waits for its ACK (Linux's `tcp_mss_split_point`).
    fn fill_window(&mut self, end: u64) -> u64 {
        if self.config.emission.nagle && self.small_end > self.una {
            return end;
        }
        self.burst.fill_end = self.peer.end;
        self.peer.end
    }

    /// Returns whether a short segment fills the peer's window, which has no room for a full one.
    #[inline]
    pub(super) fn fills_window(&self) -> bool {
        self.burst.fill_end == self.peer.end && self.peer.end > self.nxt
    }

    /// Returns whether the pacer's time for the next burst is in the future.
    #[inline]
    pub(super) fn has_to_be_paced(&self, now: Instant) -> bool {
        now < self.burst.next_at && self.policy.paces
    }

    /// The pacer's time for the next burst has not come.
    #[inline]
    fn must_wait(&mut self, now: Instant) -> bool {
        let waits = self.has_to_be_paced(now);
        if waits {
            self.burst.wakeup = self.burst.next_at;
        }
        waits
    }

    /// Returns whether the next packet has several segments and is incomplete. A packet with the FIN is complete if
    /// `allowed` segments hold it.
    #[inline]
    const fn may_grow(&self, allowed: u32, written: u64) -> bool {
        let (packet, mss) = (self.packet_left(written), self.agreed.mss as u64);
        packet > mss && (packet >= allowed as u64 * mss || !self.ends_at(written))
    }

    /// Waits for more window than `allowed` segments to fill a burst, unless the next ACK is far
    /// off.
    #[inline(never)]
    fn should_defer(&self, allowed: u32, now: Instant) -> bool {
        let divisor = self.config.emission.tso_win_divisor;
        if divisor == 0
            || self.board.out() == 0
            || !matches!(self.state, State::Open | State::Disorder | State::Cwr)
            || now.since(self.last_sent) > DEFER_WITHIN
        {
            return false;
        }
        // In bytes: a third of eleven segments is more than three.
        let mss = u64::from(self.agreed.mss);
        let window = self.peer.end.saturating_sub(self.una).min(u64::from(self.sock.cwnd) * mss);
        if u64::from(allowed) * mss >= window / u64::from(divisor) {
            return false;
        }
        // The first ACK to come is for the head: half a round trip, and a millisecond, are too far away.
        let age = now.since(self.board.segment(self.board.head()).sent);
        let round_trip = self.rtt.srtt();
        let far = Duration::from_ps(round_trip.as_ps() / 2).min(DEFER_AT_MOST);
        age + far >= round_trip
    }

    /// A segment left.
    #[inline]
    pub(super) fn burst_sent(&mut self, bytes: u32, now: Instant) {
        self.burst.left = self.burst.left.saturating_sub(1);
        if self.policy.paces {
            self.pace(bytes, now);
        }
    }

    /// Moves the next burst by the time the segment takes at the pacing rate. Lateness is made up
    /// for by at most half of it (Linux's `tcp_update_skb_after_send`).
    #[inline(never)]
    fn pace(&mut self, bytes: u32, now: Instant) {
        let rate = self.pacing_rate();
        if rate == 0 || rate == u64::MAX || self.stats.data_segments < UNPACED {
            return;
        }
        let length = scaled(u64::from(bytes), PS_PER_SECOND, rate);
        let late = now.since(self.burst.next_at).as_ps();
        let base = if late == 0 { self.burst.next_at } else { now };
        self.burst.next_at = base + Duration::from_ps(length - late.min(length / 2));
        if self.burst.wakeup != Instant::NEVER {
            self.burst.wakeup = self.burst.next_at;
        }
    }

    /// The sender ran out of something: an unfinished burst is over.
    #[inline]
    pub(super) fn burst_ended(&mut self) {
        self.burst.left = 0;
    }
}
