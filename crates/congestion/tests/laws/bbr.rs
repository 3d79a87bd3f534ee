//! BBR on a path with a bottleneck and a queue, a packet at a time.

use congestion::State;

use crate::bottleneck::Bottleneck;
use crate::path::MSS;

/// The path of the tests: 1448 bytes a millisecond, 40 ms away, hold 40 packets.
fn path() -> Bottleneck {
    Bottleneck::new("bbr", 40_000, 1_000)
}

#[test]
fn it_paces_at_the_bandwidth_and_keeps_the_queue_short() {
    let mut path = path();
    path.until(3.0);
    let (mut queues, mut rates) = (Vec::new(), Vec::new());
    let before = path.sock.delivered;
    for n in 0..400 {
        path.until(3.0 + f64::from(n) * 0.01);
        queues.push(path.in_flight() as f64);
        rates.push(path.sock.pacing_rate as f64);
    }
    let mean = |list: &[f64]| list.iter().sum::<f64>() / list.len() as f64;
    let delivered = path.sock.delivered - before;
    assert!((3_880..=4_000).contains(&delivered), "{delivered} of 3990");
    assert!((38.0..52.0).contains(&mean(&queues)), "{}", mean(&queues));
    // 5/4, 3/4 and six times 1 of 99 % of the bandwidth.
    let bandwidth = f64::from(MSS) * 1e3;
    assert!((mean(&rates) / bandwidth - 0.99).abs() < 0.02, "{}", mean(&rates) / bandwidth);
    let most = rates.iter().copied().fold(0.0, f64::max);
    let least = rates.iter().copied().fold(f64::MAX, f64::min);
    assert!((most / least - 5.0 / 3.0).abs() < 0.02, "{most} {least}");
}

#[test]
fn startup_doubles_and_ends_within_three_rounds_of_a_full_pipe() {
    let mut path = path();
    path.until(1.0);
    // 2 / ln 2 of what the path holds, and what came beyond in three rounds: three times at most.
    assert!((80..=160).contains(&path.most), "{}", path.most);
    assert!(path.sock.cwnd <= 100, "twice what the path holds: {}", path.sock.cwnd);
}

#[test]
fn the_least_round_trip_is_looked_for_every_ten_seconds() {
    let mut path = path();
    path.until(5.0);
    // Since the queue of the bottleneck never was empty again, the path seems longer.
    path.rtt_us = 60_000;
    let mut small = 0.0;
    let mut at = 5.0;
    while at < 30.0 {
        at += 0.001;
        path.until(at);
        if path.sock.cwnd <= 4 {
            small += 0.001;
        }
    }
    assert!((0.3..2.0).contains(&small), "{small} s with four packets, twice in 25 s");
}

#[test]
fn the_bandwidth_is_remembered_while_the_round_trip_is_probed() {
    let mut path = path();
    path.until(9.0);
    let mut least = u64::MAX;
    let mut at = 9.0;
    while at < 60.0 {
        at += 0.001;
        path.until(at);
        least = least.min(path.sock.pacing_rate);
    }
    // The draining phase has the lowest rate.
    let bandwidth = u64::from(MSS) * 1_000;
    assert!(least >= bandwidth * 7 / 10, "{least} of {bandwidth}");
}

#[test]
fn a_loss_changes_nothing_for_longer_than_the_recovery() {
    let mut path = path();
    path.until(5.0);
    let (cwnd, rate) = (path.sock.cwnd, path.sock.pacing_rate);
    let threshold = path.sock.ssthresh;
    assert_eq!(path.algorithm.ssthresh(&mut path.sock), threshold);
    let mut least = cwnd;
    for state in [State::Recovery, State::Open] {
        path.algorithm.set_state(&mut path.sock, state);
        path.sock.state = state as u32;
        let delivered = path.sock.delivered;
        while path.sock.delivered == delivered {
            path.step();
        }
        least = least.min(path.sock.cwnd);
    }
    assert!(least < cwnd, "the recovery sends what is delivered");
    assert!(path.sock.cwnd.abs_diff(cwnd) <= 6, "{} after {cwnd}", path.sock.cwnd);
    assert!(path.sock.pacing_rate * 2 > rate);
}

#[test]
fn a_policer_s_rate_is_found_by_what_it_drops_and_kept_for_a_while() {
    // Of 100 packets a second and 7 at once, behind which a packet takes 120 us.
    let mut path = Bottleneck::new("bbr", 40_000, 120);
    (path.policed_us, path.burst) = (10_000, 7);
    path.until(20.0);
    let (delivered, lost) = (path.sock.delivered, path.sock.lost);
    assert!((1_900..=2_010).contains(&delivered), "{delivered} of 2000");
    // Without it 357 are lost, as each cycle asks for more.
    assert!(lost < 220, "{lost} lost of {}", delivered + lost);
}
