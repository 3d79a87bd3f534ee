//! Illinois against section 3.2 of Liu, Basar and Srikant 2006, with Linux's constants.

use congestion::{Algorithm, Config, Refused};

use crate::path::Path;

const BASE_US: u32 = 100_000;
/// The longest queue that the path has shown.
const DM_US: u32 = 100_000;

/// A connection that has seen the path empty and its longest queue, and then `rounds` round trips with a queueing
/// delay of `da_us`, at a window of `cwnd`, which does not grow.
fn measured(cwnd: u32, da_us: u32, rounds: u32) -> Path {
    let mut path = Path::avoiding("illinois", BASE_US, cwnd);
    path.sock.cwnd_limited = 0;
    path.ack(1, 1);
    path.rtt_us = BASE_US + DM_US;
    // The round that shows both does not count as a round of low delay.
    (0..2).for_each(|_| path.round());
    path.rtt_us = BASE_US + da_us;
    (0..rounds).for_each(|_| path.round());
    path.sock.cwnd_limited = 1;
    path
}

/// Packets a round trip that the window gains, from how many ACKs the next packet takes.
fn alpha(mut path: Path) -> f64 {
    path.sock.cwnd_cnt = 0;
    let cwnd = path.sock.cwnd;
    let mut acks = 0;
    while path.sock.cwnd == cwnd {
        // Within a round, nothing is decided again.
        path.sock.snd_una -= 1_448;
        path.ack(1, 1);
        acks += 1;
    }
    f64::from(cwnd) / f64::from(acks)
}

/// The share of the window that a loss takes.
fn beta(mut path: Path) -> f64 {
    let cwnd = f64::from(path.sock.cwnd);
    path.lose();
    1.0 - f64::from(path.sock.cwnd) / cwnd
}

#[test]
fn the_increase_is_the_papers_function_of_delay() {
    let (most, least) = (10.0, 0.3);
    for share in [0.02, 0.05, 0.1, 0.3, 0.5, 0.8, 1.0] {
        let (d1, dm) = (0.01, 1.0);
        let k1 = (dm - d1) * least * most / (most - least);
        let k2 = (dm - d1) * least / (most - least) - d1;
        let paper = k1 / (k2 + share);
        let found = alpha(measured(20_000, (share * f64::from(DM_US)) as u32, 8));
        // 38/128 in place of 0.3, and whole 128ths: 3 % at the least.
        assert!((found / paper - 1.0).abs() < 0.03, "{share}: {found}, the paper {paper}");
    }
}

#[test]
fn the_decrease_is_the_papers_function_of_delay() {
    for (share, paper) in [
        (0.0, 0.125),
        (0.1, 0.125),
        (0.2, 0.1786),
        (0.45, 0.3125),
        (0.79, 0.4946),
        (0.8, 0.5),
        (1.0, 0.5),
    ] {
        let found = beta(measured(20_000, (share * f64::from(DM_US)) as u32, 2));
        assert!((0.0..1.0 / 64.0).contains(&(paper - found + 1e-4)), "{share}: {found}, {paper}");
    }
}

#[test]
fn five_round_trips_of_low_delay_bring_the_greatest_increase_back() {
    let after = |rounds| alpha(measured(20_000, 0, rounds));
    assert!(after(4) < 0.31, "{}", after(4));
    assert!((after(5) - 10.0).abs() < 0.01, "{}", after(5));
}

#[test]
fn without_a_queue_the_increase_is_the_greatest_from_the_start() {
    let mut path = Path::avoiding("illinois", BASE_US, 1_000);
    (0..5).for_each(|_| path.round());
    assert!((1_049..=1_050).contains(&path.sock.cwnd), "{}", path.sock.cwnd);
}

#[test]
fn a_small_window_is_standard_tcp() {
    let mut path = Path::avoiding("illinois", BASE_US, 100);
    path.round();
    path.sock.cwnd = 8;
    path.round();
    let before = path.sock.cwnd;
    (0..4).for_each(|_| path.round());
    assert_eq!(path.sock.cwnd, before + 4);
    path.lose();
    assert_eq!(path.sock.cwnd, (before + 4).div_ceil(2));
}

#[test]
fn the_small_window_and_the_patience_are_parameters() {
    let mut config = Config::from(Algorithm::by_name("illinois").unwrap());
    assert_eq!(config.set("win_thresh", 5_000), Ok(()));
    assert_eq!(config.set("theta", 1), Ok(()));
    assert_eq!(config.set("theta", 0), Err(Refused::Range(1..=255)));
    let mut path = Path::with(&config, BASE_US, 1_000, 2);
    path.round();
    let before = path.sock.cwnd;
    (0..5).for_each(|_| path.round());
    assert_eq!(path.sock.cwnd, before + 5);
}

#[test]
fn a_timeout_makes_it_standard_tcp_until_a_round_trip_is_measured() {
    let mut path = measured(1_000, 0, 8);
    path.time_out();
    path.sock.ssthresh = 2;
    path.sock.cwnd = 1_000;
    path.lose();
    assert_eq!(path.sock.cwnd, 500, "beta is 1/2");
    // A round later alpha is 10 again: the delay is low.
    path.round();
    let before = path.sock.cwnd;
    path.round();
    assert!(path.sock.cwnd >= before + 9, "{before} to {}", path.sock.cwnd);
}

#[test]
fn it_is_back_at_its_window_long_before_standard_tcp() {
    let rounds = |name: &str| {
        let mut path = Path::avoiding(name, BASE_US, 1_000);
        (0..2).for_each(|_| path.round());
        let full = path.sock.cwnd;
        path.lose();
        let mut rounds = 0;
        while path.sock.cwnd < full {
            path.round();
            rounds += 1;
        }
        rounds
    };
    // An eighth of 1020 packets by ten each, half of them by one each.
    assert!((12..=14).contains(&rounds("illinois")), "{}", rounds("illinois"));
    assert!(rounds("newreno") >= 500, "{}", rounds("newreno"));
}
