//! BIC: Xu, Harfoush, Rhee 2004, with Linux's parameters.

use congestion::{Algorithm, Config};

use crate::path::Path;

/// The number of round trips that gain one packet while creeping: smooth_part / B.
const CREEP: u32 = 5;

/// The gain of a round trip with the target `distance` packets above the window.
fn searched(distance: u32) -> u32 {
    (distance / 4).min(32)
}

#[test]
fn below_the_target_each_round_trip_goes_a_quarter_of_the_way() {
    let mut path = Path::avoiding("bic", 100_000, 1_000);
    path.lose();
    assert_eq!(path.sock.cwnd, 1_000 * 819 / 1_024);
    while 1_000 - path.sock.cwnd >= 8 {
        let (before, expected) = (path.sock.cwnd, searched(1_000 - path.sock.cwnd));
        path.round_at_once();
        assert_eq!(path.sock.cwnd, before + expected, "from {before}");
    }
    for _ in 0..3 {
        let before = path.sock.cwnd;
        (0..CREEP).for_each(|_| path.round_at_once());
        assert_eq!(path.sock.cwnd, before + 1, "creeping from {before}");
    }
}

#[test]
fn past_the_target_it_creeps_then_accelerates_to_s_max() {
    let mut path = Path::avoiding("bic", 100_000, 1_000);
    path.lose();
    while path.sock.cwnd < 1_004 {
        path.round_at_once();
    }
    while path.sock.cwnd < 1_200 {
        let (before, expected) = (path.sock.cwnd, ((path.sock.cwnd - 1_000) / 3).min(32));
        path.round_at_once();
        assert_eq!(path.sock.cwnd, before + expected, "from {before}");
    }
}

#[test]
fn fast_convergence_aims_below_a_loss_that_came_early() {
    let mut path = Path::avoiding("bic", 100_000, 1_000);
    path.lose();
    path.lose(); // at 799: the target is 799 * (1 + 0.8) / 2
    let target = 799 * (1_024 + 819) / 2_048;
    let (before, expected) = (path.sock.cwnd, searched(target - path.sock.cwnd));
    path.round_at_once();
    assert_eq!(path.sock.cwnd, before + expected);
}

#[test]
fn the_mistake_of_linux_2_6_9_aims_far_beyond_the_window() {
    let mut config = Config::from(Algorithm::by_name("bic").expect("bic"));
    for (name, value) in [("beta", 896), ("smooth_part", 11), ("convergence", 3_840)] {
        config.set(name, value).expect("a parameter");
    }
    let mut path = Path::with(&config, 100_000, 80, 80);
    path.lose();
    assert_eq!(path.sock.cwnd, 70);
    path.lose();
    assert_eq!(path.sock.cwnd, 61);
    // The maximum is 15/4 of 70.
    path.round_at_once();
    assert_eq!(path.sock.cwnd, 61 + searched(262 - 61));
}

#[test]
fn up_to_low_window_it_is_standard_tcp() {
    for cwnd in 2..=14 {
        let mut path = Path::avoiding("bic", 100_000, cwnd);
        path.round_at_once();
        assert_eq!(path.sock.cwnd, cwnd + 1);
        let mut path = Path::avoiding("bic", 100_000, cwnd);
        path.lose();
        assert_eq!(path.sock.ssthresh, (cwnd / 2).max(2));
    }
}

#[test]
fn without_a_target_a_round_trip_gains_five_percent_at_least() {
    let mut path = Path::avoiding("bic", 100_000, 10_000);
    path.round_at_once();
    assert_eq!(path.sock.cwnd, 10_500);
}

#[test]
fn a_timeout_forgets_the_target() {
    let mut path = Path::avoiding("bic", 100_000, 10_000);
    path.lose();
    path.time_out();
    (path.sock.cwnd, path.sock.ssthresh) = (1_000, 2);
    path.round_at_once();
    // The old target would pull by S_max; without one it is 1000 / 20, the 5 % of a fresh start.
    assert_eq!(path.sock.cwnd, 1_050);
}
