//! Samples of the delivery rate, for algorithms that control by it
//! (draft-cheng-iccrg-delivery-rate-estimation; Linux's `tcp_rate.c`).

use alloc::vec;
use alloc::vec::Vec;

use base::Instant;
use congestion::RateSample;

use super::Sender;
use super::ack::AckEvent;
use crate::scoreboard::{Progress, Scoreboard};

/// The state when a segment is sent, beside what the scoreboard keeps of it.
#[derive(Clone, Copy, Debug, Default)]
struct Stamp {
    /// When the segment was sent that began, by its delivery, the flight that this one belongs to.
    first_sent: Instant,
    /// When something was delivered last.
    delivered_at: Instant,
    /// The number of segments acknowledged with an ECN echo.
    delivered_ce: u32,
    /// The application had no more to send.
    app_limited: bool,
}

/// The sampler of a connection.
#[derive(Clone, Debug)]
pub(super) struct Rates {
    /// The stamps by place, in a ring of a power of two.
    stamps: Vec<Stamp>,
    first_sent: Instant,
    delivered_at: Instant,
    /// Samples count as limited by the application until this many segments are delivered; 0 if they do not.
    app_limited: u32,
    /// The sample of the ACK that is being handled, so far.
    sample: RateSample,
}

const SLOTS_MIN: usize = 64;

impl Rates {
    pub(super) fn new() -> Self {
        Self {
            stamps: vec![Stamp::default(); SLOTS_MIN],
            first_sent: Instant::ZERO,
            delivered_at: Instant::ZERO,
            app_limited: 0,
            sample: RateSample::default(),
        }
    }

    /// Creates a sampler while segments are out; the segment of the last delivery was sent and delivered at `last`.
    /// Whether the application limited the segments out is not known: they count as limited.
    pub(super) fn among(board: &Scoreboard, last: (Instant, Instant), delivered_ce: u32) -> Self {
        let (head, out) = (board.head(), board.out());
        let slots = (out as usize + 1).next_power_of_two().max(SLOTS_MIN);
        let mut rates = Self { stamps: vec![Stamp::default(); slots], ..Self::new() };
        (rates.first_sent, rates.delivered_at) = last;
        for place in (0..out).map(|n| head.wrapping_add(n)) {
            let sent = board.segment(place).sent;
            let slot = rates.slot(place);
            rates.stamps[slot] =
                Stamp { first_sent: sent, delivered_at: sent, delivered_ce, app_limited: true };
        }
        rates
    }

    #[inline]
    fn slot(&self, place: u32) -> usize {
        place as usize & (self.stamps.len() - 1)
    }

    /// Makes room for the places from `head` on; the first `out` of them hold a stamp.
    #[cold]
    fn grow(&mut self, head: u32, out: u32) {
        let slots = 2 * self.stamps.len();
        let mut stamps = vec![Stamp::default(); slots];
        for place in (0..out).map(|n| head.wrapping_add(n)) {
            stamps[place as usize & (slots - 1)] = self.stamps[self.slot(place)];
        }
        self.stamps = stamps;
    }
}

impl Sender {
    /// The segment at `place` is about to be sent, for the first time or again.
    pub(super) fn stamp(&mut self, place: u32, now: Instant) {
        let Some(rates) = &mut self.rates else { return };
        let (head, out) = (self.board.head(), self.board.out());
        if out == 0 {
            (rates.first_sent, rates.delivered_at) = (now, now);
        }
        // The one at `place` may be new.
        if out as usize >= rates.stamps.len() {
            rates.grow(head, out);
        }
        let slot = rates.slot(place);
        rates.stamps[slot] = Stamp {
            first_sent: rates.first_sent,
            delivered_at: rates.delivered_at,
            delivered_ce: self.sock.delivered_ce,
            app_limited: rates.app_limited != 0,
        };
    }

    /// The application is about to write. If nothing waits to be sent although more may be, the data in flight says
    /// nothing about the path. Data that waits in the interface's queue is not considered.
    pub(super) fn note_app_limit(&mut self) {
        let in_flight = self.in_flight();
        let waiting = self.written().saturating_sub(self.nxt);
        let repaired = self.board.lost() <= self.board.retransmitted();
        let idle = waiting < u64::from(self.agreed.mss) && in_flight < self.sock.cwnd && repaired;
        let limit = self.delivered.wrapping_add(in_flight).max(1);
        if let Some(rates) = self.rates.as_mut().filter(|_| idle) {
            rates.app_limited = limit;
        }
    }

    /// An ACK delivers segments; what was counted of them comes before.
    pub(super) fn sample_rate(
        &mut self,
        progress: &Progress,
        event: &AckEvent,
        rtt_ns: i64,
        now: Instant,
    ) {
        let Some(rates) = &mut self.rates else { return };
        let reached = self.delivered.wrapping_sub(rates.app_limited) as i32 > 0;
        if rates.app_limited != 0 && reached {
            rates.app_limited = 0;
        }
        rates.sample = RateSample {
            rtt_ns,
            acked: event.delivered,
            in_flight: event.in_flight_before,
            ..RateSample::default()
        };
        if progress.delivered == 0 {
            return;
        }
        let newest = progress.newest;
        let stamp = rates.stamps[rates.slot(newest.place)];
        rates.first_sent = newest.sent;
        rates.delivered_at = now;
        let sending = newest.sent.since(stamp.first_sent);
        let interval = sending.max(now.since(stamp.delivered_at));
        let sample = &mut rates.sample;
        sample.prior_delivered = newest.delivered;
        // Faster than the path: the segment was delivered before, and retransmitted needlessly.
        let least = u64::from(self.rtt.min_us()).saturating_mul(1_000);
        if interval.as_ns() < least {
            return;
        }
        sample.interval_ns = interval.as_ns();
        sample.delivered = self.delivered.wrapping_sub(newest.delivered);
        sample.delivered_ce = self.sock.delivered_ce.wrapping_sub(stamp.delivered_ce);
        sample.app_limited = u32::from(stamp.app_limited);
        sample.retransmitted = u32::from(newest.retransmitted);
    }

    /// The algorithm decides on window and rate.
    pub(super) fn control(&mut self, event: &AckEvent, now: Instant) {
        let Some(rates) = &self.rates else { return };
        let sample = RateSample { lost: event.newly_lost, ..rates.sample };
        self.sock.cwnd_limited =
            u32::from(self.window_was_used(event.acked, event.in_flight_before));
        self.refresh(now);
        let ack = self.space.wire(self.una);
        self.algorithm().cong_control(&mut self.sock, ack, &sample);
        self.sock.cwnd = self.sock.cwnd.clamp(1, self.sock.cwnd_clamp);
    }
}
