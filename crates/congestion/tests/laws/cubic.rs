//! `cubic`: CUBIC as in Linux. The facts of packetdrill's gtests/net/tcp/cubic that concern the window's
//! law alone are here; those of whole connections in the transport's scripts.

use congestion::Event;

use crate::path::Path;

/// Linux' C: 410/1024 packets/s^3.
const C: f64 = 410.0 / 1024.0;

/// A connection that lost at `w_max`.
fn after_loss(rtt_us: u32, w_max: u32) -> Path {
    let mut path = Path::avoiding("cubic", rtt_us, w_max);
    path.round();
    path.sock.cwnd = w_max;
    path.lose();
    path
}

#[test]
fn the_window_follows_the_cubic_function() {
    for (rtt_us, w_max) in [(50_000, 1_000), (100_000, 300), (100_000, 5_000), (200_000, 20_000)] {
        let mut path = after_loss(rtt_us, w_max);
        let (start, w_max) = (f64::from(path.sock.cwnd), f64::from(w_max));
        let (begin, rtt) = (path.seconds(), f64::from(rtt_us) / 1e6);
        let k = ((w_max - start) / C).cbrt();
        let w = |t: f64| C * (t - k).powi(3) + w_max;
        while path.seconds() - begin < 1.5 * k {
            path.round();
            let t = path.seconds() - begin;
            // The increment is a whole number of ACKs a packet, so cwnd runs ahead by up to a round trip.
            let (low, high) = (w(t - rtt) - 3.0, w(t + 2.0 * rtt) + 3.0 + 0.01 * w_max);
            let cwnd = f64::from(path.sock.cwnd);
            assert!((low..=high).contains(&cwnd), "RTT {rtt}, {t} s: {cwnd} not in {low}..{high}");
        }
        assert!(f64::from(path.sock.cwnd) > w_max, "convex growth past W_max");
    }
}

#[test]
fn a_loss_leaves_717_of_1024_and_fast_convergence_lowers_the_target() {
    let mut path = after_loss(100_000, 1_000);
    assert_eq!(path.sock.ssthresh, 700);
    path.lose();
    assert_eq!(path.sock.ssthresh, 490);
    let begin = path.seconds();
    // The target is 700 * (1024 + 717) / 2048 = 595.
    let k = ((595.0 - 490.0) / C).cbrt();
    while path.seconds() - begin < k {
        path.round();
    }
    assert!((594..=600).contains(&path.sock.cwnd), "{} at K", path.sock.cwnd);
    path.sock.cwnd = 2;
    path.lose();
    assert_eq!(path.sock.ssthresh, 2, "the least");
}

#[test]
fn on_short_round_trips_it_follows_standard_tcp_by_eight_fifteenths_for_good() {
    let mut path = after_loss(20_000, 100);
    let begin = path.sock.cwnd;
    for round in 1..=90_u32 {
        path.round_at_once();
        let due = begin + round * 8 / 15;
        assert!(path.sock.cwnd.abs_diff(due) <= 2, "round {round}: {} not {due}", path.sock.cwnd);
    }
    assert!(path.sock.cwnd > 110, "beyond the window of the loss at the same pace");
}

#[test]
fn what_standard_tcp_would_have_counts_only_when_the_window_is_recalculated() {
    // cubic-rto-ss-ca-cwnd-bump.pkt: in congestion avoidance at 7 after a timeout, ACKs 2 ms apart in
    // bursts of seven. From the 14th on standard TCP's window would be 8, but while the window stays the
    // same that is seen once in HZ/32 jiffies: with the first ACK of the next burst.
    let mut path = Path::avoiding("cubic", 100_000, 7);
    for (ack, gap_ms) in [2, 98, 2, 2, 2, 2, 2, 2, 98, 2, 2, 2, 2, 2, 2].into_iter().enumerate() {
        path.ack(1, gap_ms * 1_000);
        assert_eq!(path.sock.cwnd, 7, "ACK {}", ack + 1);
    }
    path.ack(1, 98_000);
    assert_eq!(path.sock.cwnd, 8);
}

#[test]
fn before_any_loss_twenty_acks_bring_a_packet_at_least() {
    let mut path = Path::avoiding("cubic", 1_000, 200);
    for acked in 1..=19 {
        path.ack(1, 10);
        assert_eq!(path.sock.cwnd, 200, "{acked} packets");
    }
    path.ack(1, 10);
    assert_eq!(path.sock.cwnd, 201);
}

#[test]
fn growth_ends_at_one_packet_for_two() {
    let mut path = after_loss(100_000, 1_000);
    (path.sock.cwnd, path.sock.ssthresh) = (60, 2);
    path.round_at_once();
    path.wait(20_000_000);
    for _ in 0..50 {
        let before = path.sock.cwnd;
        path.ack(2, 100_000);
        assert_eq!(path.sock.cwnd, before + 1);
    }
}

#[test]
fn a_timeout_forgets_the_window_of_the_loss() {
    let mut path = Path::avoiding("cubic", 100_000, 1_000);
    path.time_out();
    assert_eq!(path.sock.ssthresh, 700);
    path.sock.cwnd = 700;
    let begin = path.seconds();
    // Without W_max the window gains 5 % a round trip at least.
    for round in 1..=10 {
        let before = path.sock.cwnd;
        path.round();
        assert!(path.sock.cwnd >= before + before / 21, "round {round} of {before}");
    }
    assert!(path.sock.cwnd > 1_000 && path.seconds() - begin < 1.1, "past the loss in a second");
}

#[test]
fn idle_time_is_no_time() {
    let mut path = after_loss(100_000, 1_000);
    let mut busy = after_loss(100_000, 1_000);
    for round in 0..80 {
        if round == 10 {
            path.wait(30_000_000);
            path.event(Event::TxStart);
        }
        path.round();
        busy.round();
        assert!(path.sock.cwnd.abs_diff(busy.sock.cwnd) <= 1, "round {round}");
    }
}

/// cubic-bulk-166k.pkt: two packets are acknowledged every 100 ms, and fq paces.
struct Bulk {
    path: Path,
    /// The ACK that let each packet out.
    sent: Vec<usize>,
    acks: usize,
}

impl Bulk {
    fn new() -> Self {
        let mut path = Path::new("cubic", 100_000);
        path.sock.paced = 1;
        Self { path, sent: vec![0; 10], acks: 0 }
    }

    /// One more ACK; returns the window after it.
    fn ack(&mut self) -> u32 {
        self.acks += 1;
        self.path.rtt_us = 100_000 * (self.acks - self.sent[2 * self.acks - 1]) as u32;
        self.path.ack(2, 100_000);
        self.sent.resize(2 * self.acks + self.path.sock.cwnd as usize, self.acks);
        self.path.sock.cwnd
    }

    /// Where the script's slow start ended: with ACK 20 at 48.
    fn at_48() -> Self {
        let mut bulk = Self::new();
        while bulk.acks < 19 {
            bulk.path.sock.ssthresh = u32::MAX;
            bulk.ack();
        }
        (bulk.path.sock.cwnd, bulk.path.sock.ssthresh) = (48, 48);
        assert_eq!(bulk.ack(), 48);
        bulk
    }
}

#[test]
fn a_slow_bulk_flow_leaves_slow_start_with_the_ninth_sample_of_a_round_that_rose() {
    // The script has 48, with ACK 20. Linux 6.14, and the stable releases of its time, mended where a round
    // begins while the window is below 16 packets; since then it is ACK 14: the second round begins with
    // ACK 6, when the first ten packets are acknowledged.
    let mut bulk = Bulk::new();
    for ack in 1..=13 {
        assert_eq!(bulk.ack(), 10 + 2 * ack);
    }
    assert_eq!((bulk.ack(), bulk.path.sock.ssthresh), (36, 36));
}

#[test]
fn a_slow_bulk_flow_grows_as_linux_does_after_slow_start() {
    let mut bulk = Bulk::at_48();
    for (acks, cwnd) in [(30, 49), (40, 50), (50, 52), (60, 58)] {
        while bulk.acks < acks {
            bulk.ack();
        }
        // The script lets times, and so the window, vary by an ACK of two.
        assert!(bulk.path.sock.cwnd.abs_diff(cwnd) <= 1, "ACK {acks}: {}", bulk.path.sock.cwnd);
    }
    // From here on each ACK of two opens the window by one.
    let before = bulk.path.sock.cwnd;
    for more in 1..=140 {
        assert_eq!(bulk.ack(), before + more, "ACK {}", 60 + more);
    }
}

#[test]
fn growth_goes_on_after_idling_where_it_was() {
    // cubic-bulk-166k-idle-restart.pkt: 4 s of silence after ACK 20 count for nothing. (What idling costs
    // the window is the transport's affair, and disabled there.)
    let mut bulk = Bulk::at_48();
    bulk.path.wait(4_000_000);
    bulk.path.event(Event::TxStart);
    for (acks, cwnd) in [(30, 48), (40, 49), (50, 52), (60, 58)] {
        while bulk.acks < acks {
            bulk.ack();
        }
        assert!(bulk.path.sock.cwnd.abs_diff(cwnd) <= 1, "ACK {acks}: {}", bulk.path.sock.cwnd);
    }
}
