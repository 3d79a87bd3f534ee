//! The expectations of packetdrill's gtests/net/tcp/cubic for Linux' `cubic`, on a whole connection.

use super::*;

fn cubic() -> Config {
    let mut config = linux6();
    config.congestion = congestion::Algorithm::by_name("cubic").unwrap().into();
    config
}

#[test]
fn an_rtt_that_jumps_up_ends_slow_start_with_the_ninth_sample_of_its_round() {
    // cubic-hystart-delay-rtt-jumps-upward.pkt
    let mut script = Script::new(&cubic(), 200, 60_000);
    script.supply(30);
    assert_eq!(script.numbers().len(), 10);
    script.ack(400, 10, &[]);
    assert_eq!(script.numbers().len(), 20);
    for sample in 0..8 {
        script.ack(640 + sample, 12 + 2 * sample, &[]);
        let info = script.end.info();
        assert_eq!(u64::from(info.cwnd), 22 + 2 * sample);
        assert_eq!(info.ssthresh, congestion::INFINITE_SSTHRESH);
    }
    for sample in 8..10 {
        script.ack(640 + sample, 12 + 2 * sample, &[]);
        assert_eq!((script.end.info().cwnd, script.end.info().ssthresh), (36, 36));
    }
}

#[test]
fn a_round_trip_that_jumps_down_does_not_end_slow_start() {
    // cubic-hystart-delay-min-rtt-jumps-downward.pkt
    let mut script = Script::new(&cubic(), 200, 60_000);
    script.supply(28);
    script.numbers();
    script.ack(400, 10, &[]);
    assert_eq!(script.numbers().len(), 18);
    script.now = at(580);
    script.supply(2);
    assert_eq!(script.numbers(), [28, 29]);
    for sample in 0..10 {
        script.ack(600 + sample, 12 + 2 * sample, &[]);
        let info = script.end.info();
        assert_eq!(u64::from(info.cwnd), 22 + 2 * sample);
        assert_eq!(info.ssthresh, congestion::INFINITE_SSTHRESH);
    }
}

#[test]
fn a_slow_bulk_flow_grows_by_the_clock_and_not_by_idling() {
    // cubic-bulk-166k.pkt and cubic-bulk-166k-idle-restart.pkt, with the end of slow start at 36 that
    // Linux has since 6.14: two segments are acknowledged every 100 ms.
    let window = |idle_ms: u64| {
        let mut config = cubic();
        config.window.idle_restart = IdleRestart::Keep;
        let mut script = Script::new(&config, 100, 60_000);
        script.supply(28);
        script.numbers();
        let mut windows = Vec::new();
        for ack in 1..=14 {
            script.ack(100 + 100 * ack, 2 * ack, &[]);
            script.numbers();
        }
        assert_eq!((script.end.info().cwnd, script.end.info().ssthresh), (36, 36));
        script.now = at(1_500 + idle_ms);
        script.supply(1_000);
        script.numbers();
        for ack in 15..=89 {
            script.ack(100 + idle_ms + 100 * ack, 2 * ack, &[]);
            script.numbers();
            windows.push(script.end.info().cwnd);
        }
        windows
    };
    let (busy, idle) = (window(1), window(4_000));
    assert_eq!(busy, idle, "4 s of silence count for nothing");
    assert!(busy[20] < 40, "the cubic function is flat at first: {busy:?}");
    assert_eq!(busy[74] - busy[64], 10, "in the end an ACK of two opens the window by one");
}
