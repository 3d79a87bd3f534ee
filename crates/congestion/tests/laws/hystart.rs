//! HyStart (Ha & Rhee 2011) with Linux' parameters, as `cubic` uses it. The two scenarios of delay are those
//! of packetdrill's gtests/net/tcp/cubic; the numbers follow from the rules in hystart.h.

use congestion::INFINITE_SSTHRESH;

use crate::path::Path;

/// A connection with a window of `cwnd` after one sample of `rtt_us`; the next ACK begins a round.
fn start(cwnd: u32, rtt_us: u32) -> Path {
    let mut path = Path::new("cubic", rtt_us);
    path.ack(cwnd - path.sock.cwnd, u64::from(rtt_us));
    assert_eq!(path.sock.cwnd, cwnd);
    path
}

fn goes_on(path: &Path) -> bool {
    path.sock.ssthresh == INFINITE_SSTHRESH
}

/// ACKs two packets with that round trip, a while after the last ACK.
fn ack(path: &mut Path, rtt_us: u32, after_us: u64) {
    path.rtt_us = rtt_us;
    path.ack(2, after_us);
}

/// ACKs `count` packets one by one, a millisecond apart, within one round.
fn train(path: &mut Path, count: u32) {
    (0..count).for_each(|_| path.ack(1, 1_000));
}

#[test]
fn a_train_of_half_the_least_rtt_ends_slow_start() {
    let mut path = start(100, 40_000);
    path.sock.gso_max = 0; // merging holds nothing back
    path.ack(1, 40_000); // the round begins
    train(&mut path, 20);
    assert!(goes_on(&path), "20 ms, no more than half");
    let cwnd = path.sock.cwnd;
    train(&mut path, 1);
    assert_eq!((path.sock.ssthresh, path.sock.cwnd), (cwnd, cwnd), "21 ms, more than half");
}

#[test]
fn pacing_allows_a_train_of_a_whole_least_rtt() {
    let mut path = start(100, 40_000);
    (path.sock.gso_max, path.sock.paced) = (0, 1);
    path.ack(1, 40_000);
    train(&mut path, 40);
    assert!(goes_on(&path), "40 ms");
    train(&mut path, 1);
    assert!(!goes_on(&path), "41 ms");
}

#[test]
fn merging_allows_a_train_four_segments_more_at_the_pacing_rate_and_at_most_a_millisecond() {
    // 4 * 65 536 bytes take 262 us at 1 GB/s, and 26 ms at 10 MB/s, where the limit of 1 ms applies.
    for (rate, allowance) in [(1_000_000_000, 262), (10_000_000, 1_000)] {
        let mut path = start(100, 10_000);
        path.sock.pacing_rate = rate;
        path.ack(1, 10_000);
        let most = (10_000 + allowance) / 2;
        train(&mut path, 5);
        path.ack(1, most - 5_000);
        assert!(goes_on(&path), "{rate} bytes/s: {most} us");
        path.ack(1, 1);
        assert!(!goes_on(&path), "{rate} bytes/s: {most} us and one");
    }
}

#[test]
fn a_gap_of_more_than_two_milliseconds_ends_the_train_for_its_round() {
    let mut path = start(100, 40_000);
    path.ack(1, 40_000);
    path.ack(1, 2_001);
    train(&mut path, 30);
    assert!(goes_on(&path), "the round's later ACKs are no train");
}

#[test]
fn below_sixteen_packets_nothing_ends_slow_start() {
    let mut path = Path::new("cubic", 20_000);
    for _ in 0..30 {
        path.rtt_us += 20_000;
        path.sock.cwnd = 10;
        path.ack(1, 1_000);
        assert!(goes_on(&path));
    }
}

#[test]
fn a_round_whose_first_nine_samples_rose_by_an_eighth_ends_slow_start() {
    let mut path = start(20, 200_000);
    for sample in 0..8 {
        ack(&mut path, 240_000 + sample * 1_000, 240_000);
        assert!(goes_on(&path), "sample {}", sample + 1);
    }
    let cwnd = path.sock.cwnd;
    assert_eq!(cwnd, 36);
    ack(&mut path, 248_000, 1_000);
    assert_eq!((path.sock.ssthresh, path.sock.cwnd), (36, 36), "the ninth");
    path.round();
    assert!(path.sock.cwnd < 40, "congestion avoidance");
}

#[test]
fn a_new_least_rtt_does_not_make_the_round_s_other_samples_a_rise() {
    let mut path = start(20, 200_000);
    for sample in 0..9 {
        ack(&mut path, 200_000 + sample * 1_000, 3_000);
    }
    ack(&mut path, 29_000, 3_000);
    assert!(goes_on(&path));
}

#[test]
fn the_rise_that_counts_is_an_eighth_between_4_and_16_ms() {
    for (rtt_us, rise_us) in [(10_000, 4_000), (64_000, 8_000), (400_000, 16_000)] {
        for (rtt, ends) in [(rtt_us + rise_us, false), (rtt_us + rise_us + 1, true)] {
            let mut path = start(20, rtt_us);
            (0..9).for_each(|_| ack(&mut path, rtt, 3_000));
            assert_eq!(!goes_on(&path), ends, "{rtt_us} us: {rtt} us");
        }
    }
}

#[test]
fn after_a_timeout_it_watches_slow_start_again() {
    let mut path = start(40, 50_000);
    path.sock.snd_nxt = path.sock.snd_una;
    path.time_out();
    (path.sock.cwnd, path.sock.ssthresh) = (20, 1_000);
    path.ack(1, 50_000);
    (0..8).for_each(|_| ack(&mut path, 90_000, 3_000));
    assert_eq!(path.sock.ssthresh, 1_000);
    ack(&mut path, 90_000, 3_000);
    assert_eq!(path.sock.ssthresh, 37, "ended although a threshold was known");
}
