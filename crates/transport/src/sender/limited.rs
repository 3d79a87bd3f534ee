//! How long this sender is limited, and by what. These accounts affect no decision.
//!
//! A limit counts from when existing data cannot be sent until the next segment leaves. If an ACK ends the limit, the
//! time that it came later than the minimum RTT after the last segment that it acknowledges counts for no limit. The
//! path was busy then, and a larger window would only have queued more.

use base::{Duration, Instant};
use congestion::State;

use super::Sender;
use crate::limit::{self, Limit, LimitedTimes};

/// The accounts of a sender.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Limited {
    /// Whether the limits are counted.
    counts: bool,
    /// The current limit, and since when.
    now: Option<Limit>,
    since: Instant,
    /// What segments carry about the limit that ended last: [`limit::note`].
    note: u64,
    times: LimitedTimes,
}

impl Limited {
    fn add(&mut self, limit: Limit, time: Duration) {
        self.times.add(limit, time);
        self.note = limit::note(limit, self.times[limit]);
    }
}

impl Sender {
    /// Starts to count the limits. Until then counting costs nothing.
    pub(crate) const fn count_limits(&mut self) {
        self.limited.counts = true;
    }

    /// How long it was limited so far, with what limits it now.
    pub(crate) fn limited_times(&self, now: Instant) -> LimitedTimes {
        let mut times = self.limited.times;
        if let Some(limit) = self.limited.now {
            times.add(limit, now.since(self.limited.since));
        }
        times
    }

    /// The minimum round trip time seen; zero before the first sample.
    pub(crate) const fn min_rtt(&self) -> Duration {
        match self.rtt.min_us() {
            u32::MAX => Duration::ZERO,
            us => Duration::from_us(us as u64),
        }
    }

    /// Returns what a segment carries about the limit that ended last.
    #[inline]
    pub(crate) const fn limited_note(&self) -> u64 {
        self.limited.note
    }

    /// Returns the kind of limit while the congestion window limits.
    fn window_limit(&self) -> Limit {
        match self.state {
            State::Loss => Limit::Timeout,
            State::Recovery => Limit::Recovery,
            _ if self.in_slow_start() && !self.controls() => Limit::SlowStart,
            _ => Limit::Window,
        }
    }

    /// Notes that sending stopped with `in_flight` packets in flight. The congestion window was the limit if
    /// `by_window`; it is checked before the peer's window.
    #[inline]
    pub(super) fn note_limit(&mut self, by_window: bool, in_flight: u32, now: Instant) {
        if self.limited.counts && self.nxt < self.supplied {
            let full = in_flight >= self.sock.cwnd && self.nxt < self.written();
            let limit = if by_window || full { self.window_limit() } else { self.other_limit() };
            self.begin_limit(limit, now);
        }
    }

    /// Lost segments wait for the congestion window.
    #[inline]
    pub(super) fn note_repair_limit(&mut self, now: Instant) {
        if self.limited.counts {
            self.begin_limit(self.window_limit(), now);
        }
    }

    /// The next burst waits for the pacer's time, or for more window.
    #[inline]
    pub(super) fn note_burst_limit(&mut self, now: Instant) {
        if self.limited.counts {
            let paced = self.has_to_be_paced(now);
            let limit = if paced { Limit::Pacing } else { self.window_limit() };
            self.begin_limit(limit, now);
        }
    }

    fn other_limit(&self) -> Limit {
        let end = self.written().min(self.nxt + u64::from(self.agreed.mss));
        if end > self.nxt && end <= self.peer.end { Limit::Nagle } else { Limit::Buffer }
    }

    fn begin_limit(&mut self, limit: Limit, now: Instant) {
        if self.limited.now != Some(limit) {
            self.end_limit(now);
            (self.limited.now, self.limited.since) = (Some(limit), now);
        }
    }

    /// A segment leaves.
    #[inline]
    pub(super) fn end_limit(&mut self, now: Instant) {
        if let Some(limit) = self.limited.now.take() {
            self.count_limit(limit, now);
        }
    }

    #[inline(never)]
    fn count_limit(&mut self, limit: Limit, now: Instant) {
        let late = match limit {
            Limit::Timeout | Limit::Pacing => Duration::ZERO,
            _ => self.rack.rtt() - Duration::from_us(u64::from(self.rtt.min_us())),
        };
        self.limited.add(limit, now.since(self.limited.since + late));
    }

    /// A segment is retransmitted. All the silence since the last segment counts for the loss, unless it counts so
    /// already.
    pub(super) fn end_silence(&mut self, now: Instant) {
        if !self.limited.counts {
            return;
        }
        let limit = if self.state == State::Loss { Limit::Timeout } else { Limit::Recovery };
        if self.limited.now != Some(limit) {
            self.limited.now = None;
            self.limited.add(limit, now.since(self.last_sent));
        }
    }
}
