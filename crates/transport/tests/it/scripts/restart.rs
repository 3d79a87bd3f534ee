//! Paced restart (`restart.h`) in the modelled TCP, and the short retransmission timeout with it: paper 2,
//! sections 3.2 and 3.3.

use super::*;

/// NewReno with a threshold of 40 packets, over a round trip of 100 ms: a packet every 2.5 ms.
fn restarting(restart: u32) -> Script {
    let mut config = linux6();
    config.congestion.set("restart", restart).expect("a parameter of newreno");
    config.window.initial_ssthresh = 40;
    Script::new(&config, 100, 60_000)
}

impl Script {
    /// Segments that leave before the next ACK, with the time of each in microseconds.
    fn until(&mut self, end: Instant) -> Vec<(u64, u64)> {
        let mut sent = Vec::new();
        loop {
            sent.extend(self.numbers().into_iter().map(|number| (number, self.now.as_us())));
            if self.end.next_wakeup() >= end {
                return sent;
            }
            self.wait();
        }
    }
}

#[test]
fn what_is_sent_with_nothing_in_flight_is_paced_until_the_first_ack() {
    let mut script = restarting(1);
    script.supply(1_000);
    let sent = script.until(at(200));
    // No connection paces its first ten segments.
    assert!(sent[..10].iter().all(|&(_, us)| us == 100_000), "{sent:?}");
    // Lateness, here of a pacer that begins, is made up for by half a gap.
    let gaps = sent[10..].windows(2).map(|pair| pair[1].1 - pair[0].1);
    assert!(gaps.clone().all(|us| us.abs_diff(2_500) < 2), "{:?}", gaps.collect::<Vec<_>>());
    assert_eq!(sent.len(), 40, "the threshold");
    // From the first ACK on the ACKs clock, two segments for two.
    script.ack(200, 2, &[]);
    assert_eq!(script.numbers().len(), 2);
    let info = script.end.info();
    assert_eq!((info.cwnd, info.ssthresh), (40, 40));
    script.ack(205, 12, &[]);
    assert_eq!(script.numbers().len(), 10, "at once");
}

#[test]
fn the_first_ack_leaves_the_window_that_was_sent() {
    let mut script = restarting(1);
    script.supply(25);
    assert_eq!(script.until(at(200)).len(), 25);
    script.ack(200, 1, &[]);
    assert_eq!(script.end.info().cwnd, 26, "and slow start goes on");
    script.ack(210, 25, &[]);
    assert_eq!(script.end.info().cwnd, 40);
}

#[test]
fn without_it_slow_start_begins_with_the_window_at_once() {
    let mut script = restarting(0);
    script.supply(1_000);
    let sent = script.until(at(200));
    assert!(sent.len() == 10 && sent.iter().all(|&(_, us)| us == 100_000), "{sent:?}");
}

#[test]
fn it_is_paced_after_every_silence() {
    let mut script = restarting(1);
    script.supply(60);
    script.until(at(200));
    script.ack(200, 40, &[]);
    script.until(at(300));
    script.ack(300, 60, &[]);
    script.now = at(20_000);
    script.supply(100);
    let ssthresh = script.end.info().ssthresh;
    let sent = script.until(at(20_100));
    assert_eq!(sent.len() as u32, ssthresh);
    let (first, last) = (sent[0].1, sent[sent.len() - 1].1);
    let spread = (last - first) * u64::from(ssthresh) / u64::from(ssthresh - 1);
    assert!(spread.abs_diff(100_000) < 1_300, "over the round trip: {spread} us");
}

#[test]
fn another_algorithm_ends_it() {
    let mut script = restarting(1);
    script.supply(1_000);
    assert_eq!(script.numbers().len(), 10);
    let cubic = congestion::Algorithm::by_name("cubic").expect("an algorithm");
    let chosen = transport::SocketOption::Congestion(cubic.into());
    script.end.set_option(&chosen, script.now).expect("an option that can be set");
    assert_eq!(script.numbers().len(), 30, "the window that there is, at once");
}

/// Linux up to today floors the variance term by 200 ms; the paper leaves it as it was measured.
#[test]
fn the_timeout_is_the_round_trip_and_200_ms_or_what_is_measured() {
    for (min, least, most) in [(200, 300, 302), (1, 101, 115)] {
        let mut config = Profile::by_name("linux-2.6.9").expect("a profile").config();
        config.rto.min = ms(min);
        let mut script = Script::new(&config, 100, 60_000);
        for round in 0..40 {
            script.supply(1);
            script.numbers();
            let now = script.now.as_us() / 1_000 + 100;
            script.ack(now, round + 1, &[]);
        }
        let rto = script.end.info().rto;
        assert!(rto >= ms(least) && rto <= ms(most), "floor of {min} ms: {rto:?}");
    }
}
