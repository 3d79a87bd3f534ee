//! Kelly 2003: a = 0.01, b = 1/8, legacy window 16.

use crate::path::Path;

#[test]
fn a_hundred_acks_are_a_packet_at_every_window() {
    for cwnd in [17, 100, 4_096, 60_000] {
        let mut path = Path::avoiding("scalable", 200_000, cwnd);
        for _ in 0..99 {
            path.ack(1, 10);
        }
        assert_eq!(path.sock.cwnd, cwnd);
        path.ack(1, 10);
        assert_eq!(path.sock.cwnd, cwnd + 1);
    }
}

#[test]
fn recovery_takes_fourteen_round_trips_at_every_window() {
    // ln(8/7) / ln(1.01) = 13.4
    for cwnd in [1_000, 10_000, 83_000, 1_000_000] {
        let mut path = Path::avoiding("scalable", 200_000, cwnd);
        path.lose();
        assert_eq!(path.sock.cwnd, cwnd * 7 / 8);
        let mut rounds = 0;
        while path.sock.cwnd < cwnd {
            path.round_at_once();
            rounds += 1;
        }
        assert_eq!(rounds, 14, "from {cwnd}");
    }
}

#[test]
fn up_to_the_legacy_window_it_is_standard_tcp() {
    let mut scalable = Path::avoiding("scalable", 200_000, 2);
    let mut standard = Path::avoiding("newreno", 200_000, 2);
    while scalable.sock.cwnd < 16 {
        scalable.ack(1, 10);
        standard.ack(1, 10);
        assert_eq!(scalable.sock.cwnd, standard.sock.cwnd);
    }
    scalable.lose();
    assert_eq!(scalable.sock.cwnd, 8);
}
