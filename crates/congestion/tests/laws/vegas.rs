//! Vegas against section 3 of Brakmo and Peterson 1995, with Linux' alpha 2, beta 4 and gamma 1.

use congestion::{Algorithm, Config, Event, INFINITE_SSTHRESH, Refused};

use crate::path::Path;

const BASE_US: u32 = 100_000;
/// Packets that the path holds without a queue.
const BDP: u32 = 50;

/// The round trip with `cwnd` packets out: what the path does not hold waits.
fn rtt_us(cwnd: u32) -> u32 {
    BASE_US * cwnd.max(BDP) / BDP
}

/// Runs `count` round trips over a path without cross traffic: the window alone makes the queue.
fn rounds(path: &mut Path, count: u32) {
    for _ in 0..count {
        path.rtt_us = rtt_us(path.sock.cwnd);
        path.round();
    }
}

#[test]
fn two_to_four_packets_wait_whatever_window_it_comes_from() {
    for from in [10, 40, 53, 90] {
        let mut path = Path::avoiding("vegas", BASE_US, from);
        // The base is known: a packet finds the path empty.
        path.ack(1, 1);
        rounds(&mut path, 100);
        let settled = path.sock.cwnd;
        let diff = settled * (rtt_us(settled) - BASE_US) / BASE_US;
        assert!((2..=4).contains(&diff), "from {from}: {settled} packets, {diff} too many");
        rounds(&mut path, 50);
        assert_eq!(path.sock.cwnd, settled, "from {from}: between alpha and beta it stays");
    }
}

#[test]
fn what_it_keeps_in_queues_is_a_parameter() {
    let mut config = Config::from(Algorithm::by_name("vegas").unwrap());
    assert_eq!(config.set("alpha", 20), Ok(()));
    assert_eq!(config.set("beta", 25), Ok(()));
    assert_eq!(config.set("alpha", 0), Err(Refused::Range(1..=65535)));
    assert_eq!(config.set("delta", 1), Err(Refused::Unknown));
    for from in [20, 70, 120] {
        let mut path = Path::with(&config, BASE_US, from, 2);
        path.ack(1, 1);
        rounds(&mut path, 100);
        let settled = path.sock.cwnd;
        let diff = settled * (rtt_us(settled) - BASE_US) / BASE_US;
        assert!((20..=25).contains(&diff), "from {from}: {settled} packets, {diff} too many");
    }
}

#[test]
fn a_round_trip_changes_the_window_by_one_packet() {
    for (from, grows) in [(20, true), (90, false)] {
        let mut path = Path::avoiding("vegas", BASE_US, from);
        // The round that finds the base is a short one.
        path.ack(1, 1);
        rounds(&mut path, 2);
        let before = path.sock.cwnd;
        rounds(&mut path, 10);
        let after = path.sock.cwnd;
        assert_eq!(after > before, grows, "{before} to {after}");
        assert!((9..=10).contains(&after.abs_diff(before)), "{before} to {after} in ten");
    }
}

#[test]
fn slow_start_ends_with_a_queue_and_without_a_loss() {
    let mut path = Path::new("vegas", BASE_US);
    rounds(&mut path, 3);
    assert_eq!((path.sock.cwnd, path.sock.ssthresh), (80, INFINITE_SSTHRESH));
    rounds(&mut path, 2);
    // The RTT of 80 packets is known when 160 are out: of those the base needs 100, and one.
    assert_eq!(path.sock.cwnd, 101);
    assert!(path.sock.ssthresh <= path.sock.cwnd, "{}", path.sock.ssthresh);
    rounds(&mut path, 10);
    assert!((91..=92).contains(&path.sock.cwnd), "from there by one each: {}", path.sock.cwnd);
}

#[test]
fn fewer_than_three_samples_a_round_are_standard_tcp() {
    let mut path = Path::avoiding("vegas", BASE_US, 80);
    path.ack(1, 1);
    path.rtt_us = 3 * BASE_US;
    for _ in 0..5 {
        let before = path.sock.cwnd;
        path.round_at_once();
        assert_eq!(path.sock.cwnd, before + 1);
    }
}

#[test]
fn a_loss_halves_and_recovery_has_no_say_in_delay() {
    let mut path = Path::avoiding("vegas", BASE_US, 80);
    path.lose();
    assert_eq!(path.sock.cwnd, 40);
}

#[test]
fn an_unused_window_stays_and_still_comes_down() {
    let mut path = Path::avoiding("vegas", BASE_US, 20);
    path.sock.cwnd_limited = 0;
    rounds(&mut path, 10);
    assert_eq!(path.sock.cwnd, 20);
    path.rtt_us = 2 * BASE_US;
    (0..5).for_each(|_| path.round());
    assert!((15..=17).contains(&path.sock.cwnd), "{}", path.sock.cwnd);
}

#[test]
fn base_rtt_is_forgotten_when_sending_resumes() {
    let window = |resumes: bool| {
        let mut path = Path::avoiding("vegas", BASE_US, 30);
        rounds(&mut path, 3);
        if resumes {
            path.event(Event::TxStart);
        }
        // Another route, three times as long and as empty.
        path.rtt_us = 3 * BASE_US;
        (0..10).for_each(|_| path.round());
        path.sock.cwnd
    };
    assert!(window(false) < 26, "the longer route is taken for a queue: {}", window(false));
    assert!(window(true) > 38, "a new base: {}", window(true));
}
