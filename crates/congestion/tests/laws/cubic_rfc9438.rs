//! `cubic-rfc9438`: RFC 9438.

use congestion::Event;

use crate::path::Path;

const C: f64 = 0.4;

/// Figures 1 and 2: the window `t` seconds into an epoch that began at `start`.
fn w_cubic(t: f64, w_max: f64, start: f64) -> f64 {
    let k = ((w_max - start) / C).cbrt();
    C * (t - k).powi(3) + w_max
}

/// A connection that lost at `w_max` and has just taken the first ACK of the new epoch.
fn after_loss(rtt_us: u32, w_max: u32) -> Path {
    let mut path = Path::avoiding("cubic-rfc9438", rtt_us, w_max);
    path.lose();
    path
}

#[test]
fn the_window_follows_the_cubic_function() {
    for (rtt_us, w_max) in
        [(50_000, 1_000), (100_000, 300), (100_000, 5_000), (200_000, 20_000), (100_000, 83_000)]
    {
        let mut path = after_loss(rtt_us, w_max);
        let (start, w_max) = (f64::from(path.sock.cwnd), f64::from(w_max));
        let (begin, rtt) = (path.seconds(), f64::from(rtt_us) / 1e6);
        let k = ((w_max - start) / C).cbrt();
        while path.seconds() - begin < 1.5 * k {
            path.round();
            let t = path.seconds() - begin;
            // A share of the way to W(t + RTT) is gone with each ACK, so cwnd lags at most an RTT.
            let low = w_cubic(t - rtt, w_max, start) - 3.0;
            let high = w_cubic(t + rtt, w_max, start) + 3.0;
            let cwnd = f64::from(path.sock.cwnd);
            assert!((low..=high).contains(&cwnd), "RTT {rtt}, {t} s: {cwnd} not in {low}..{high}");
        }
        assert!(f64::from(path.sock.cwnd) > w_max, "convex growth past W_max");
    }
}

#[test]
fn on_short_round_trips_it_follows_standard_tcp() {
    // Section 4.3: W_est gains alpha = 9/17 packets a round trip up to cwnd_prior, then 1.
    let mut path = after_loss(1_000, 100);
    for round in 1..=56_u32 {
        path.round_at_once();
        // One packet's worth of remainders is lost as the window that they are shares of grows.
        assert!(path.sock.cwnd.abs_diff(70 + round * 9 / 17) <= 1, "round {round}");
    }
    while path.sock.cwnd < 101 {
        path.round_at_once();
    }
    let before = path.sock.cwnd;
    (0..10).for_each(|_| path.round_at_once());
    assert_eq!(path.sock.cwnd, before + 10);
}

#[test]
fn a_loss_leaves_seven_tenths_and_fast_convergence_lowers_the_target() {
    let mut path = after_loss(100_000, 1_000);
    assert_eq!(path.sock.ssthresh, 700);
    path.lose(); // section 4.7: below W_max, so the target is 0.85 of 700
    assert_eq!(path.sock.ssthresh, 490);
    let begin = path.seconds();
    let k = ((595.0 - 490.0) / C).cbrt();
    while path.seconds() - begin < k {
        path.round();
    }
    assert!((593..=597).contains(&path.sock.cwnd), "{} at K", path.sock.cwnd);
}

#[test]
fn after_a_timeout_growth_is_convex_from_the_threshold() {
    // Section 4.8: K is 0, and W_max is the window when congestion avoidance begins.
    let mut path = Path::avoiding("cubic-rfc9438", 100_000, 1_000);
    path.time_out();
    assert_eq!(path.sock.ssthresh, 700);
    while path.sock.cwnd < 700 {
        path.round();
    }
    let begin = path.seconds();
    while path.seconds() - begin < 8.0 {
        path.round();
    }
    let (low, high) = (700.0 + C * 7.8_f64.powi(3), 700.0 + C * 8.3_f64.powi(3));
    assert!((low..=high).contains(&f64::from(path.sock.cwnd)), "{}", path.sock.cwnd);
}

#[test]
fn after_a_timeout_standard_tcp_is_followed_by_nine_seventeenths_up_to_the_window_before() {
    // Section 4.3: alpha is 9/17 until W_est reaches cwnd_prior, here the window of the timeout.
    let mut path = Path::avoiding("cubic-rfc9438", 1_000, 100);
    path.time_out();
    while path.sock.cwnd < 70 {
        path.round_at_once();
    }
    let start = path.sock.cwnd;
    for round in 1..=50_u32 {
        path.round_at_once();
        assert!(path.sock.cwnd.abs_diff(start + round * 9 / 17) <= 1, "round {round}");
    }
}

#[test]
fn a_spurious_reduction_gives_the_curve_back() {
    let mut path = after_loss(100_000, 1_000);
    (0..20).for_each(|_| path.round());
    let (mut undisturbed, window) = (after_loss(100_000, 1_000), path.sock.cwnd);
    (0..20).for_each(|_| undisturbed.round());
    path.lose();
    path.undo();
    assert_eq!(path.sock.cwnd, window);
    for _ in 0..30 {
        path.round();
        undisturbed.round();
        assert!(path.sock.cwnd.abs_diff(undisturbed.sock.cwnd) <= 1, "the same curve");
    }
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

#[test]
fn time_limited_by_the_application_is_no_time() {
    let mut path = after_loss(100_000, 1_000);
    let mut busy = after_loss(100_000, 1_000);
    for round in 0..80 {
        if round == 10 {
            path.sock.cwnd_limited = 0;
            (0..100).for_each(|_| path.ack(1, 100_000));
            path.sock.cwnd_limited = 1;
        }
        path.round();
        busy.round();
        assert!(path.sock.cwnd.abs_diff(busy.sock.cwnd) <= 1, "round {round}");
    }
}

#[test]
fn the_window_never_grows_by_more_than_half_a_round_trip() {
    // Section 4.4 bounds the target by 1.5 cwnd.
    let mut path = after_loss(100_000, 1_000);
    (path.sock.cwnd, path.sock.ssthresh) = (10, 2);
    path.wait(60_000_000);
    let before = path.sock.cwnd;
    path.round_at_once();
    assert_eq!(path.sock.cwnd, before * 3 / 2);
}
