//! Linux's tcp_scalable of 2.6.13: 50 ACKs a packet, an eighth off at a loss.

use crate::path::Path;

#[test]
fn fifty_acks_are_a_packet_at_every_window() {
    for cwnd in [50, 100, 4_096, 60_000] {
        let mut path = Path::avoiding("scalable50", 200_000, cwnd);
        for _ in 0..49 {
            path.ack(1, 10);
        }
        assert_eq!(path.sock.cwnd, cwnd);
        path.ack(1, 10);
        assert_eq!(path.sock.cwnd, cwnd + 1);
    }
}

#[test]
fn below_fifty_packets_it_grows_as_standard_tcp() {
    let mut scalable = Path::avoiding("scalable50", 200_000, 2);
    let mut standard = Path::avoiding("newreno", 200_000, 2);
    while scalable.sock.cwnd < 50 {
        scalable.ack(1, 10);
        standard.ack(1, 10);
        assert_eq!(scalable.sock.cwnd, standard.sock.cwnd);
    }
}

#[test]
fn a_loss_takes_an_eighth_at_every_window() {
    for cwnd in [16, 1_000, 83_000] {
        let mut path = Path::avoiding("scalable50", 200_000, cwnd);
        path.lose();
        assert_eq!(path.sock.cwnd, cwnd * 7 / 8);
    }
}
