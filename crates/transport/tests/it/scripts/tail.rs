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
    // The timeout would be at 602 ms without new data.
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
fn the_heads_retransmission_restarts_the_timeout() {
    let mut script = Script::new(&linux6(), 100, 60_000);
    script.supply(10);
    script.numbers();
    script.ack(290, 0, &[(1, 10)]);
    assert_eq!(script.numbers(), [0]);
    let rto = script.end.info().rto;
    script.wait();
    assert_eq!(script.now, at(290) + rto);
}

/// A connection that sends bursts and has less of the window free than a burst, so that it waits for more, at
/// 20 ms.
fn deferring(config: &Config) -> Script {
    let mut config = *config;
    config.emission.tso = true;
    config.window.initial = 100;
    let mut script = Script::new(&config, 10, 60_000);
    script.supply(1_000);
    script.numbers();
    script.ack(20, 20, &[]);
    script.numbers();
    script.ack(20, 21, &[]);
    assert!(script.numbers().is_empty(), "less than a burst waits for the next ACK");
    script
}

/// Linux takes it for one that more data may yet join (`tcp_tso_should_defer`).
#[test]
fn a_last_packet_that_fits_waits_for_the_next_ack_unless_it_has_the_fin() {
    for closed in [false, true] {
        let mut config = linux6();
        config.emission.tso = true;
        config.window.initial = 24;
        let mut script = Script::new(&config, 10, 60_000);
        script.supply(36);
        if closed {
            script.end.close(script.now);
        }
        assert_eq!(script.numbers().len(), 24);
        script.ack(20, 5, &[]);
        assert_eq!(script.numbers().len(), 10);
        // Room for four segments; a burst would be more.
        script.ack(20, 7, &[]);
        assert_eq!(script.numbers().len(), if closed { 2 } else { 0 });
        // A third of the window.
        script.ack(20, 16, &[]);
        assert_eq!(script.numbers().len(), if closed { 0 } else { 2 });
    }
}

#[test]
fn a_probe_of_new_data_is_all_that_the_window_allows_of_a_packet() {
    let mut script = deferring(&linux6());
    let info = script.end.info();
    let room = info.cwnd - info.in_flight;
    assert!(room > 1, "{info:?}");
    assert_eq!(script.wait(), at(42));
    assert_eq!(script.numbers().len(), room as usize);
    assert_eq!(script.end.info().tlp_probes, 1);
}

#[test]
fn what_waits_for_a_burst_does_not_leave_before_the_timeouts_tick() {
    let mut config = linux6();
    config.recovery.tlp = false;
    config.rto.tick = ms(4);
    let mut script = deferring(&config);
    // The timeout is 210 ms: 53 ticks from the fifth, plus one for the elapsed part of that tick.
    let woken = [script.wait(), script.wait()];
    assert_eq!(woken[1], at(236), "{woken:?}");
    assert_eq!(script.numbers()[0], 21, "the timer went off");
    assert_eq!(script.end.info().timeouts, 1);
}

#[test]
fn probes_and_timeouts_go_off_with_the_ticks_of_the_wheel() {
    let mut config = linux6();
    config.rto.tick = ms(4);
    let mut script = Script::new(&config, 100, 60_000);
    script.supply(10);
    script.numbers();
    let mut times = Vec::new();
    while times.len() < 5 {
        let now = script.wait();
        if !script.numbers().is_empty() {
            times.push(now);
        }
    }
    // A probe after 51 ticks, which restarts the timeout of 300 ms: 75 ticks, then doubled, with a slot of 8 ticks
    // and from 504 ticks on of 64.
    assert_eq!(times, [at(308), at(612), at(1_220), at(2_436), at(5_092)]);
}
