//! HyStart++, RFC 9406, as `cubic-rfc9438` uses it.

use congestion::INFINITE_SSTHRESH;

use crate::path::Path;

/// A connection in its first slow start, driven by the RFC's rounds (section 4.2).
struct Start {
    path: Path,
    /// windowEnd: what was sent last when the round began.
    round_end: u32,
}

impl Start {
    /// Three rounds at `rtt_us`.
    fn new(rtt_us: u32) -> Self {
        let path = Path::new("cubic-rfc9438", rtt_us);
        let mut start = Self { round_end: path.sock.snd_nxt, path };
        for _ in 0..3 {
            assert_eq!(start.round(), 100);
        }
        start
    }

    /// ACKs one packet, as the round's others; returns what it added to the window.
    fn ack(&mut self) -> u32 {
        let before = self.path.sock.cwnd;
        self.path.ack(1, 100);
        self.path.sock.cwnd - before
    }

    /// ACKs until the round is over; returns the packets gained for each hundred acknowledged.
    fn round(&mut self) -> u32 {
        let (mut acks, mut gained) = (0, 0);
        loop {
            let next = self.path.sock.snd_nxt;
            gained += self.ack();
            acks += 1;
            if self.path.sock.snd_una >= self.round_end {
                self.round_end = next;
                return gained * 100 / acks;
            }
        }
    }

    fn goes_on(&self) -> bool {
        self.path.sock.ssthresh == INFINITE_SSTHRESH
    }
}

#[test]
fn a_steady_rtt_never_ends_slow_start() {
    let mut start = Start::new(50_000);
    for _ in 0..8 {
        assert_eq!(start.round(), 100);
    }
    assert!(start.goes_on());
}

#[test]
fn the_rise_that_counts_is_an_eighth_between_4_and_16_ms() {
    // RttThresh = max(4 ms, min(last / 8, 16 ms)), section 4.2.
    for (rtt_us, rise_us) in [(10_000, 4_000), (64_000, 8_000), (400_000, 16_000)] {
        let mut below = Start::new(rtt_us);
        below.path.rtt_us += rise_us - 1;
        assert_eq!(below.round(), 100, "{rtt_us} us, just below");
        let mut at = Start::new(rtt_us);
        at.path.rtt_us += rise_us;
        at.round();
        assert_eq!(at.round(), 25, "{rtt_us} us: a quarter in CSS");
    }
}

#[test]
fn seven_samples_are_too_few_and_the_eighth_begins_css() {
    let mut start = Start::new(50_000);
    start.path.rtt_us = 80_000;
    for sample in 1..=7 {
        assert_eq!(start.ack(), 1, "sample {sample}");
    }
    for _ in 0..3 {
        let four: Vec<u32> = (0..4).map(|_| start.ack()).collect();
        assert_eq!(four, [0, 0, 0, 1], "a quarter of the packets acknowledged");
    }
}

#[test]
fn after_five_rounds_congestion_avoidance_begins() {
    let mut start = Start::new(50_000);
    start.path.rtt_us = 60_000;
    for round in 1..=5 {
        assert!(start.goes_on(), "before round {round}");
        start.round();
    }
    assert_eq!(start.path.sock.ssthresh, start.path.sock.cwnd, "congestion avoidance from here");
    assert!(start.round() < 5);
}

#[test]
fn an_rtt_that_falls_back_resumes_slow_start() {
    let mut start = Start::new(50_000);
    start.path.rtt_us = 60_000;
    start.round();
    assert_eq!(start.round(), 25);
    start.path.rtt_us = 50_000;
    assert!(start.round() > 75, "resumed after eight samples");
    assert_eq!(start.round(), 100);
    assert!(start.goes_on());
}

#[test]
fn a_loss_ends_it_for_good() {
    let mut start = Start::new(50_000);
    start.path.time_out();
    start.path.rtt_us = 90_000;
    start.path.sock.ssthresh = 1_000;
    for _ in 0..9 {
        let before = start.path.sock.cwnd;
        start.path.round();
        assert_eq!(start.path.sock.cwnd, before * 2, "unwatched slow start");
    }
}
