//! Path metrics that a connection saves for the next one between the same hosts (Linux: `tcp_metrics.c`).

use base::{Duration, Instant};
use congestion::{INFINITE_SSTHRESH, State};

use super::Sender;
use crate::config::SavedMetrics;

/// How long saved metrics are valid (`TCP_METRICS_TIMEOUT`).
const VALID: Duration = Duration::from_secs(3_600);

/// The metrics that a host keeps of the path to a peer, from connections that have ended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PathMetrics {
    /// The smoothed round trip in microseconds times 8, and its deviation times 4; 0 if not known.
    srtt8: u32,
    deviation4: u32,
    /// Slow start threshold and degree of reordering, in packets; 0 if not known.
    threshold: u32,
    reordering: u32,
    /// When a connection was last added.
    noted: Instant,
}

impl PathMetrics {
    /// Takes over a longer round trip at once, a shorter one by an eighth; the deviation is at least half of the
    /// change.
    fn note_round_trip(&mut self, srtt8: u32, deviation4: u32) {
        let deviation4 = (self.srtt8.abs_diff(srtt8) >> 1).max(deviation4);
        self.srtt8 = match self.srtt8.checked_sub(srtt8) {
            Some(shorter) => self.srtt8 - (shorter >> 3),
            None => srtt8,
        };
        self.deviation4 = match self.deviation4.checked_sub(deviation4) {
            Some(less) => self.deviation4 - (less >> 2),
            None => deviation4,
        };
    }
}

impl Sender {
    /// Adds the measurements of this connection, as it ends (`tcp_update_metrics`).
    pub(crate) fn leave_metrics(&self, metrics: &mut PathMetrics, now: Instant) {
        if now.since(metrics.noted) > VALID {
            *metrics = PathMetrics::default();
        }
        if self.rtt.backoff() > 0 || self.rtt.srtt8() == 0 {
            metrics.srtt8 = 0;
            return;
        }
        metrics.noted = now;
        metrics.note_round_trip(self.rtt.srtt8(), self.rtt.deviation4());
        match self.config.window.metrics {
            SavedMetrics::None => {}
            SavedMetrics::Threshold => {
                self.leave_threshold(metrics);
                self.leave_reordering(metrics);
            }
            // In congestion avoidance undisturbed it is not (since Linux 3.6).
            SavedMetrics::RoundTrip => {
                let began = self.sock.ssthresh < INFINITE_SSTHRESH;
                if began && (self.in_slow_start() || self.state != State::Open) {
                    self.leave_reordering(metrics);
                }
            }
        }
    }

    fn leave_reordering(&self, metrics: &mut PathMetrics) {
        if self.repair.reordering != self.config.recovery.dup_threshold {
            metrics.reordering = metrics.reordering.max(self.repair.reordering);
        }
    }

    /// The threshold is known where slow start is over and nothing is being recovered from; else it only rises.
    fn leave_threshold(&self, metrics: &mut PathMetrics) {
        let (cwnd, ssthresh) = (self.sock.cwnd, self.sock.ssthresh);
        if ssthresh < INFINITE_SSTHRESH && cwnd > ssthresh && self.state == State::Open {
            metrics.threshold = (cwnd >> 1).max(ssthresh);
        } else if metrics.threshold > 0 {
            let seen = if ssthresh < INFINITE_SSTHRESH { ssthresh } else { cwnd >> 1 };
            metrics.threshold = metrics.threshold.max(seen);
        }
    }

    /// Starts with the measurements of earlier connections (`tcp_init_metrics`).
    pub(crate) fn take_metrics(&mut self, metrics: &PathMetrics, now: Instant) {
        if now.since(metrics.noted) > VALID {
            return;
        }
        if metrics.reordering > 0 {
            self.repair.reordering = metrics.reordering;
        }
        match self.config.window.metrics {
            SavedMetrics::None => return,
            SavedMetrics::RoundTrip => self.rtt.expect(metrics.srtt8),
            SavedMetrics::Threshold => {
                if metrics.threshold > 0 {
                    self.sock.ssthresh = metrics.threshold.min(self.sock.cwnd_clamp);
                }
                // FACK is not trusted where there was reordering (`sack_ok &= ~2`).
                self.repair.reordering_seen |= metrics.reordering > 0;
                self.rtt.adopt(metrics.srtt8, metrics.deviation4, self.nxt);
            }
        }
        self.go_on();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Profile;

    fn sender(profile: &str) -> Sender {
        Sender::new(&Profile::by_name(profile).unwrap().config(), 0)
    }

    /// A connection that had that round trip ends at `cwnd` and `ssthresh`.
    fn ended(profile: &str, ms: u64, cwnd: u32, ssthresh: u32) -> Sender {
        let mut sender = sender(profile);
        let now = Instant::ZERO + Duration::from_ms(ms);
        sender.rtt.sample(Instant::ZERO, now, 1, 1);
        (sender.sock.cwnd, sender.sock.ssthresh) = (cwnd, ssthresh);
        sender
    }

    fn left(senders: &[Sender]) -> PathMetrics {
        let mut metrics = PathMetrics::default();
        for sender in senders {
            sender.leave_metrics(&mut metrics, Instant::ZERO);
        }
        metrics
    }

    #[test]
    fn linux_6_keeps_the_round_trip_for_the_first_timeout_alone() {
        let metrics = left(&[ended("linux-6", 500, 80, 60)]);
        let mut next = ended("linux-6", 20, 10, INFINITE_SSTHRESH);
        next.take_metrics(&metrics, Instant::ZERO);
        assert_eq!(next.sock.ssthresh, INFINITE_SSTHRESH);
        assert_eq!(next.rtt.srtt(), Duration::from_ms(20));
        assert_eq!(next.rtt.rto(), Duration::from_ms(1_500));
        let later = Instant::ZERO + Duration::from_ms(20);
        next.rtt.sample(Instant::ZERO, later, 1, 1);
        assert!(next.rtt.rto() < Duration::from_ms(230), "{:?}", next.rtt.rto());
    }

    #[test]
    fn a_shorter_round_trip_than_the_handshakes_changes_nothing() {
        let metrics = left(&[ended("linux-6", 20, 10, INFINITE_SSTHRESH)]);
        let mut next = ended("linux-6", 60, 10, INFINITE_SSTHRESH);
        let before = next.rtt.rto();
        next.take_metrics(&metrics, Instant::ZERO);
        assert_eq!(next.rtt.rto(), before);
    }

    #[test]
    fn a_longer_round_trip_is_believed_at_once_and_a_shorter_one_by_an_eighth() {
        let ms = |metrics: PathMetrics| metrics.srtt8 / 8_000;
        let [short, long] = [40, 120].map(|ms| ended("linux-2.6.9", ms, 3, INFINITE_SSTHRESH));
        assert_eq!(ms(left(&[long, short])), 110);
        let [short, long] = [40, 120].map(|ms| ended("linux-2.6.9", ms, 3, INFINITE_SSTHRESH));
        assert_eq!(ms(left(&[short, long])), 120);
    }

    #[test]
    fn linux_2_6_keeps_the_threshold_of_congestion_avoidance_and_raises_it_by_others() {
        let kept = |senders: &[(u32, u32)]| {
            let ended = |&(cwnd, ssthresh)| ended("linux-2.6.9", 20, cwnd, ssthresh);
            left(&senders.iter().map(ended).collect::<alloc::vec::Vec<_>>()).threshold
        };
        // Slow start alone says nothing.
        assert_eq!(kept(&[(400, INFINITE_SSTHRESH)]), 0);
        assert_eq!(kept(&[(10, 40)]), 0);
        // Half of the window, or the threshold where that is more.
        assert_eq!(kept(&[(41, 40)]), 40);
        assert_eq!(kept(&[(100, 40)]), 50);
        assert_eq!(kept(&[(41, 40), (21, 20)]), 20);
        // What did not get there only raises it.
        assert_eq!(kept(&[(41, 40), (10, 20)]), 40);
        assert_eq!(kept(&[(41, 40), (10, 70)]), 70);
        assert_eq!(kept(&[(41, 40), (200, INFINITE_SSTHRESH)]), 100);
        let mut next = sender("linux-2.6.9");
        let metrics = left(&[ended("linux-2.6.9", 20, 41, 40)]);
        next.take_metrics(&metrics, Instant::ZERO);
        assert_eq!(next.sock.ssthresh, 40);
    }

    #[test]
    fn after_an_hour_nothing_is_left() {
        let metrics = left(&[ended("linux-2.6.9", 20, 41, 40)]);
        let mut next = sender("linux-2.6.9");
        next.take_metrics(&metrics, Instant::ZERO + VALID + Duration::from_ms(1));
        assert_eq!(next.sock.ssthresh, INFINITE_SSTHRESH);
    }
}
