//! BBR version 3 by the sections of draft-ietf-ccwg-bbr-06, and by the test cases of its appendix A.

use congestion::{Algorithm, INFINITE_SSTHRESH, RateSample, Sock, State};

use crate::bottleneck::Bottleneck;
use crate::path::{MSS, established};

/// The path of the tests: 1448 bytes a millisecond, 40 ms away, hold 40 packets.
fn path() -> Bottleneck {
    Bottleneck::new("bbr3", 40_000, 1_000)
}

/// The pacing rate by what the path delivers, without the margin of 1 %.
fn gain(path: &Bottleneck) -> f64 {
    path.sock.pacing_rate as f64 * path.service_us as f64 / (f64::from(MSS) * 1e6 * 0.99)
}

/// Each pacing gain from there on that lasts for longer than 5 ms, with when it begins.
fn gains(path: &mut Bottleneck, until: f64) -> Vec<(f64, f64)> {
    let mut list: Vec<(f64, f64)> = Vec::new();
    let (mut last, mut since) = (0.0_f64, 0.0);
    while path.seconds() < until {
        path.step();
        let now = gain(path);
        if (now - last).abs() > 0.03 {
            (last, since) = (now, path.seconds());
        }
        let known = list.last().is_some_and(|(_, gain)| (gain - last).abs() <= 0.03);
        if !known && path.seconds() - since > 0.005 {
            list.push((since, last));
        }
    }
    list
}

fn is(value: f64, expected: f64) -> bool {
    (value - expected).abs() < 0.03
}

/// Sections 5.3.1 and 5.3.2, A.1 and A.3.
#[test]
fn startup_ends_at_the_plateau_and_drain_at_the_product() {
    let mut path = path();
    let list = gains(&mut path, 1.5);
    let top = list.iter().position(|(_, gain)| is(*gain, 2.77)).expect("Startup");
    assert!(list[..top].iter().all(|(_, gain)| *gain < 2.80), "{list:?}");
    // Ten packets become forty in two round trips; then three bring no more.
    let (drain, found) = list[top + 1];
    assert!(is(found, 0.5) && (0.16..0.45).contains(&drain), "{list:?}");
    let (down, found) = list[top + 2];
    assert!(is(found, 0.9) || is(found, 1.0), "{list:?}");
    assert!(down - drain < 0.1, "a round trip and a queue as long: {list:?}");
    // The window has twice the product, and no more is in flight.
    assert!((60..=92).contains(&path.most), "{}", path.most);
}

/// Section 5.3.3: 0.9 until the queue is gone, 1 for a while and a round trip, 1.25 for three of them.
#[test]
fn the_cycle_has_its_gains_and_reno_its_time() {
    let mut path = path();
    path.until(1.0);
    let list = gains(&mut path, 4.9);
    let ups: Vec<_> = (0..list.len()).filter(|n| is(list[*n].1, 1.25)).collect();
    for pair in ups.windows(2) {
        let cycle = &list[pair[0]..=pair[1]];
        assert!(cycle.iter().skip(1).any(|(_, gain)| is(*gain, 0.9)), "{cycle:?}");
        assert!(is(cycle[cycle.len() - 2].1, 1.0), "{cycle:?}");
        // As many round trips as the path holds packets, 40, less one at random, and those of REFILL and UP.
        let round = 0.040;
        let rounds = (cycle[cycle.len() - 1].0 - cycle[0].0) / round;
        assert!((39.0..52.0).contains(&rounds), "{rounds} rounds in {cycle:?}");
    }
    assert!(ups.len() >= 2, "{list:?}");
}

/// Section 5.3.3.5.3: where the round trip is long, from one probe to the next it is 2 to 3 s.
#[test]
fn the_time_between_probes_is_two_to_three_seconds_at_most() {
    let mut path = Bottleneck::new("bbr3", 100_000, 500);
    path.until(6.0);
    let list = gains(&mut path, 60.0);
    let ups: Vec<_> = list.iter().filter(|(_, gain)| is(*gain, 1.25)).map(|up| up.0).collect();
    let waits: Vec<_> = ups.windows(2).map(|pair| pair[1] - pair[0]).collect();
    // 1.25 for four round trips with a queue, REFILL for one; ProbeRTT restarts the wait.
    assert!(waits.iter().all(|wait| (2.1..6.2).contains(wait)), "{waits:?}");
    let least = waits.iter().copied().fold(f64::MAX, f64::min);
    assert!(least < 3.8, "{waits:?}");
    assert!(waits.iter().any(|wait| (wait - least).abs() > 0.1), "drawn at random: {waits:?}");
}

/// Sections 5.3.3.4 and 5.5.10.2, A.21: no more is in flight than was when more than 2 % were lost.
#[test]
fn a_probe_that_loses_more_than_2_percent_sets_what_may_be_in_flight() {
    let mut path = path();
    path.buffer = 8;
    path.until(5.0);
    let before = (path.sent, path.sock.lost, path.sock.delivered);
    let mut cruising = Vec::new();
    while path.seconds() < 45.0 {
        path.step();
        if is(gain(&path), 1.0) {
            cruising.push(path.sock.cwnd);
        }
    }
    let lost = f64::from(path.sock.lost - before.1) / (path.sent - before.0) as f64;
    assert!(path.sock.lost > before.1 && lost < 0.01, "{lost} of what was sent");
    let delivered = f64::from(path.sock.delivered - before.2) / 40_000.0;
    assert!(delivered > 0.85, "{delivered} of what the path delivers");
    // The path and its buffer hold 50, and the second packet beyond is 2 % of them: 0.85 of 52 or so.
    cruising.sort_unstable();
    let median = cruising[cruising.len() / 2];
    assert!((38..=46).contains(&median), "{median}");
}

/// Section 5.5.10.3: outside of probes a round trip with a loss takes 30 % at most, and REFILL gives it back.
#[test]
fn a_loss_while_cruising_is_of_this_cycle_only() {
    let mut path = path();
    path.until(1.0);
    while !is(gain(&path), 1.0) {
        path.step();
    }
    path.until(path.seconds() + 0.2);
    let cwnd = path.sock.cwnd;
    // One of forty is lost: 2.5 % a round trip.
    path.loses = 40;
    path.until(path.seconds() + 0.5);
    let slower = gain(&path);
    assert!((0.60..0.99).contains(&slower), "{slower}");
    assert!(path.sock.cwnd < cwnd, "{} of {cwnd}", path.sock.cwnd);
    path.loses = 0;
    let list = gains(&mut path, 4.9);
    assert!(list.iter().any(|(_, gain)| is(*gain, 1.0)), "{list:?}");
}

/// Section 5.3.1.3, A.2: losses end Startup although the application limits.
#[test]
fn startup_ends_where_a_round_trip_loses_too_many() {
    let mut path = path();
    path.application = 100;
    path.loses = 12;
    path.until(2.0);
    assert!(gain(&path) < 1.3, "{}", gain(&path));
    // The loss rate alone does not end it: fewer than six ACKs of a round trip report a loss.
    let mut path = Bottleneck::new("bbr3", 40_000, 1_000);
    (path.application, path.loses) = (15, 12);
    path.until(2.0);
    assert!(path.sock.pacing_rate as f64 > 0.8 * f64::from(MSS) * 1e3, "{}", gain(&path));
    // A.7: without losses it never ends.
    let mut path = Bottleneck::new("bbr3", 40_000, 1_000);
    path.application = 20;
    path.until(4.9);
    let half = gain(&path) / 2.77;
    assert!((0.45..0.55).contains(&half), "{half}: 2.77 times the 20 of 40 that are used");
}

/// Section 5.3.4, A.10: half the product for 200 ms and a round trip, each 5 s.
#[test]
fn the_round_trip_is_probed_every_five_seconds() {
    let mut path = path();
    path.until(3.0);
    let mut probes: Vec<(f64, f64)> = Vec::new();
    while path.seconds() < 40.0 {
        path.step();
        let now = path.seconds();
        if path.sock.cwnd < 30 {
            match probes.last_mut() {
                Some((_, end)) if now - *end < 0.1 => *end = now,
                _ => probes.push((now, now)),
            }
        }
    }
    assert!((7..=8).contains(&probes.len()), "{probes:?}");
    for (from, to) in &probes {
        assert!((0.2..0.35).contains(&(to - from)), "{probes:?}");
    }
    for pair in probes.windows(2) {
        assert!((5.0..5.4).contains(&(pair[1].0 - pair[0].1)), "{probes:?}");
    }
}

/// Section 5.4.1, A.11: after silence the path needs no ProbeRTT, and segments leave at the bandwidth.
#[test]
fn a_restart_from_idle_is_at_the_bandwidth_and_without_probe_rtt() {
    let mut path = path();
    path.until(3.0);
    path.pause(6.0);
    path.step();
    assert!(is(gain(&path), 1.0), "{}", gain(&path));
    let mut least = u32::MAX;
    let end = path.seconds() + 1.0;
    while path.seconds() < end {
        path.step();
        least = least.min(path.sock.cwnd);
    }
    assert!(least > 40, "{least}");
}

/// Section 5.6.4.4 and A.14: a path that holds less than a packet has four in flight. Their own queue is then the round
/// trip, and twice the product, with bursts, at most 14.
#[test]
fn four_packets_are_in_flight_at_least() {
    let mut path = Bottleneck::new("bbr3", 2_000, 10_000);
    path.until(20.0);
    assert!((4..=14).contains(&path.sock.cwnd), "{}", path.sock.cwnd);
    assert!((0.5..=1.26).contains(&gain(&path)), "{}", gain(&path));
}

/// A.15: ten times the bandwidth is found, and a tenth within two cycles.
#[test]
fn a_bandwidth_that_changes_is_followed() {
    let mut path = path();
    path.buffer = 40;
    path.until(4.0);
    path.service_us = 100;
    path.until(30.0);
    let delivered = path.sock.delivered;
    path.until(34.0);
    let share = f64::from(path.sock.delivered - delivered) / 40_000.0;
    assert!(share > 0.85, "{share} of ten times the bandwidth");
    path.service_us = 1_000;
    path.until(44.0);
    assert!((0.4..1.3).contains(&gain(&path)), "{}", gain(&path));
}

/// Section 5.5.11, A.18: a probe that a spurious loss ended begins again, and what may be in flight has no bound again.
#[test]
fn a_spurious_loss_gives_back_what_it_took() {
    let mut path = path();
    path.until(1.0);
    while !is(gain(&path), 1.25) {
        path.step();
    }
    path.until(path.seconds() + 0.06);
    let (cwnd, lost) = (path.sock.cwnd, path.sock.lost);
    path.loses = 10;
    while path.sock.lost < lost + 2 {
        path.step();
    }
    path.loses = 0;
    assert!(is(gain(&path), 0.9) && path.sock.cwnd < cwnd, "{} of {cwnd}", path.sock.cwnd);
    path.sock.cwnd = path.algorithm.undo_cwnd(&mut path.sock);
    assert!(path.sock.cwnd >= cwnd, "{} of {cwnd}", path.sock.cwnd);
    path.algorithm.set_state(&mut path.sock, State::Open);
    path.sock.state = State::Open as u32;
    let end = path.seconds() + 0.15;
    let list = gains(&mut path, end);
    assert!(is(list[0].1, 1.0) && is(list[1].1, 1.25), "{list:?}");
    assert!(path.sock.cwnd >= cwnd, "{} of {cwnd}", path.sock.cwnd);
}

/// The state after a single loss during a probe, with or without selective ACKs. Without, it counts as too many
/// losses.
fn loses_one(sack: u32) -> Sock {
    let mut path = path();
    path.sock.sack = sack;
    path.buffer = 200;
    path.until(1.0);
    while !is(gain(&path), 1.25) {
        path.step();
    }
    path.until(path.seconds() + 0.05);
    path.loses = path.sent + 1;
    path.until(path.seconds() + 0.06);
    path.sock
}

/// IsInflightTooHigh, section 5.5.10.2.
#[test]
fn without_selective_acks_any_loss_ends_a_probe() {
    let (with, without) = (loses_one(1), loses_one(0));
    assert!(without.pacing_rate < with.pacing_rate * 4 / 5, "{without:?} {with:?}");
}

/// Linux reports the handshake's ACK to the accepting end before it calls init.
#[test]
fn an_ack_before_init_changes_nothing() {
    let mut sock = established(10, INFINITE_SSTHRESH);
    let before = sock;
    let rate =
        RateSample { rtt_ns: 30_000, interval_ns: 1, delivered: 1, acked: 1, ..Default::default() };
    Algorithm::by_name("bbr3").expect("registered").cong_control(&mut sock, 0, &rate);
    assert_eq!((sock.cwnd, sock.pacing_rate), (before.cwnd, before.pacing_rate));
}
