//! RFC 5681 section 3.1.

use crate::path::Path;

#[test]
fn slow_start_doubles_every_round_trip() {
    let mut path = Path::new("newreno", 100_000);
    for round in 1..=12 {
        path.round();
        assert_eq!(path.sock.cwnd, 10 << round);
    }
}

#[test]
fn slow_start_ends_at_the_threshold_and_the_rest_of_the_ack_counts_beyond() {
    let mut path = Path::new("newreno", 100_000);
    path.sock.ssthresh = 15;
    path.ack(15, 0);
    assert_eq!((path.sock.cwnd, path.sock.cwnd_cnt), (15, 10));
    path.ack(5, 0);
    assert_eq!((path.sock.cwnd, path.sock.cwnd_cnt), (16, 0));
}

#[test]
fn congestion_avoidance_gains_one_packet_a_round_trip() {
    for cwnd in [2, 10, 333, 5_000, 80_000] {
        let mut path = Path::avoiding("newreno", 100_000, cwnd);
        for round in 1..=5 {
            path.round_at_once();
            assert_eq!(path.sock.cwnd, cwnd + round);
        }
    }
}

#[test]
fn a_loss_halves_and_two_packets_are_the_least() {
    for (cwnd, after) in [(100, 50), (101, 50), (5, 2), (3, 2), (1, 2)] {
        let mut path = Path::avoiding("newreno", 100_000, cwnd);
        path.lose();
        assert_eq!(path.sock.ssthresh, after);
    }
}

#[test]
fn undo_returns_to_the_window_before() {
    let mut path = Path::avoiding("newreno", 100_000, 100);
    path.lose();
    path.undo();
    assert_eq!(path.sock.cwnd, 100);
}

#[test]
fn an_idle_application_gains_nothing() {
    let mut path = Path::avoiding("newreno", 100_000, 100);
    path.sock.cwnd_limited = 0;
    path.round_at_once();
    assert_eq!((path.sock.cwnd, path.sock.cwnd_cnt), (100, 0));
}

#[test]
fn a_carry_from_a_larger_window_is_worth_one_packet_at_most() {
    let mut path = Path::avoiding("newreno", 100_000, 10);
    path.sock.cwnd_cnt = 900;
    path.ack(1, 0);
    assert_eq!((path.sock.cwnd, path.sock.cwnd_cnt), (11, 1));
}

#[test]
fn at_the_clamp_nothing_is_saved_up() {
    let mut path = Path::avoiding("newreno", 100_000, 10);
    path.sock.cwnd_clamp = 10;
    (0..3).for_each(|_| path.ack(3, 0));
    assert_eq!((path.sock.cwnd, path.sock.cwnd_cnt), (10, 0));
}
