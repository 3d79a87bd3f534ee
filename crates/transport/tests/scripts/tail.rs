//! Tail loss probes and the retransmission timer.

use super::*;

#[test]
fn a_tail_loss_is_probed_after_two_round_trips() {
    let mut script = Script::new(&linux6(), 100, 60_000);
    script.supply(10);
    assert_eq!(script.numbers().len(), 10);
    // srtt 100 ms; RTO 300 ms; probe at 2 * srtt + 2 ms.
    assert_eq!(script.wait(), at(100) + ms(202));
    assert_eq!(script.numbers(), [9], "no new data: the last segment again");
    assert_eq!(script.end.info().tlp_probes, 1);
    // The SACK of the probe shows the rest to be lost, without a timeout.
    script.ack(402, 0, &[(9, 10)]);
    assert_eq!(script.end.info().ca_state, congestion::State::Recovery);
    assert_eq!(script.end.info().lost, 9);
    assert_eq!(script.end.info().timeouts, 0);
}

#[test]
fn a_tail_probe_that_repaired_a_loss_reduces_the_window_once() {
    let mut script = Script::new(&linux6(), 100, 60_000);
    script.supply(10);
    script.numbers();
    script.ack(200, 9, &[]);
    script.wait();
    assert_eq!(script.numbers(), [9]);
    script.supply(1);
    script.numbers();
    let before = script.end.info().cwnd;
    script.ack(script.now.as_us() / 1_000 + 100, 11, &[]);
    let info = script.end.info();
    assert_eq!(info.window_reductions, 1, "{info:?}");
    assert!(info.cwnd < before && info.ssthresh == before / 2, "{before} {info:?}");
}

#[test]
fn a_tail_probe_is_not_in_flight_beside_its_original() {
    let mut script = Script::new(&linux6(), 100, 60_000);
    script.supply(10);
    script.numbers();
    script.wait();
    assert_eq!(script.numbers(), [9]);
    let info = script.end.info();
    assert_eq!((info.tlp_probes, info.retransmissions), (1, 1));
    assert_eq!((info.in_flight, info.retransmitted, info.lost), (10, 0, 0), "{info:?}");
}

#[test]
fn a_dsack_of_the_tail_probe_undoes_no_recovery() {
    let mut config = linux6();
    config.recovery.undo_timestamps = false;
    let mut script = Script::new(&config, 100, 60_000);
    script.supply(10);
    script.numbers();
    script.wait();
    assert_eq!(script.numbers(), [9]);
    // 0 is lost; 1 to 9 arrived, and 9 once more.
    script.ack(350, 0, &[(1, 10)]);
    assert_eq!(script.numbers(), [0]);
    script.ack(420, 0, &[(9, 10), (1, 10)]);
    let info = script.end.info();
    assert_eq!((info.undos, info.ca_state), (0, congestion::State::Recovery), "{info:?}");
}

#[test]
fn a_tail_is_probed_although_the_timeout_is_backed_off() {
    let mut config = linux6();
    (config.recovery.undo_timestamps, config.recovery.undo_dsack) = (false, false);
    config.segment.timestamps = false;
    let mut script = Script::new(&config, 20, 60_000);
    script.supply(1);
    script.numbers();
    while script.end.info().timeouts == 0 {
        script.wait();
        script.numbers();
    }
    // The ACK of a retransmission gives no sample without timestamps: the backoff stays (RFC 6298, 5.7).
    let now = script.now.as_us() / 1_000;
    script.ack(now + 20, 1, &[]);
    assert!(script.end.info().rto > ms(400), "backed off: {:?}", script.end.info().rto);
    script.supply(2);
    assert_eq!(script.numbers(), [1, 2]);
    let sent = script.now;
    assert_eq!(script.wait(), sent + ms(2 * 20 + 2));
    assert_eq!(script.numbers(), [2], "the last segment again");
}

#[test]
fn new_data_after_a_tail_probe_does_not_put_off_the_heads_timeout() {
    let mut script = Script::new(&linux6(), 100, 60_000);
    script.supply(2);
    script.numbers();
    assert_eq!(script.wait(), at(302));
    assert_eq!(script.numbers(), [1]);
    // The timeout would be at 602 ms, but for new data.
    script.now = at(310);
    script.supply(1);
    assert_eq!(script.numbers(), [2]);
    let rto = script.end.info().rto;
    while script.end.info().timeouts == 0 {
        script.wait();
        script.numbers();
    }
    assert!(rto == ms(300) && script.now <= at(310) + ms(202), "at {:?}", script.now);
}

#[test]
fn the_heads_retransmission_starts_the_timeout_anew() {
    let mut script = Script::new(&linux6(), 100, 60_000);
    script.supply(10);
    script.numbers();
    script.ack(290, 0, &[(1, 10)]);
    assert_eq!(script.numbers(), [0]);
    let rto = script.end.info().rto;
    script.wait();
    assert_eq!(script.now, at(290) + rto);
}
