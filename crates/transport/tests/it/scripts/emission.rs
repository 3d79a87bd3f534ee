//! When segments leave: Nagle, probes, pacing, bursts, idle restart, a full interface queue.

use super::*;

#[test]
fn idling_decays_the_window_by_rfc_2861_and_not_by_rfc_7661() {
    for (idle_restart, expected) in [
        (IdleRestart::Rfc2861, 10),
        (IdleRestart::RestartWindow, 10),
        (IdleRestart::Keep, 40),
        (IdleRestart::Rfc7661, 40),
    ] {
        let mut config = linux6();
        config.window.idle_restart = idle_restart;
        let mut script = Script::new(&config, 100, 60_000);
        script.supply(70);
        script.numbers();
        for (n, upto) in [10, 30, 70].into_iter().enumerate() {
            script.ack(200 + 100 * n as u64, upto, &[]);
            script.numbers();
        }
        let before = script.end.info().cwnd;
        assert!(before >= 40, "{idle_restart:?} {before}");
        script.now = at(20_000);
        script.supply(1_000);
        let burst = script.numbers().len();
        let wanted = if expected == 40 { before as usize } else { expected };
        assert_eq!(burst, wanted, "{idle_restart:?}");
    }
}

/// Linux' `tcp_cwnd_application_limited`: what counts is the most that was out since the window limited, and nothing
/// while the send buffer is full.
#[test]
fn a_window_that_is_not_filled_comes_half_way_down_to_the_most_that_was_used() {
    for (blocked, expected) in [(false, 16), (true, 20)] {
        let mut config = linux6();
        config.window.validation = Validation::FilledBeforeAck;
        config.window.initial_ssthresh = 20;
        config.window.initial = 5;
        config.buffers.send = Buffer::Fixed(12 * MSS);
        let mut script = Script::new(&config, 100, 60_000);
        script.supply(5);
        script.numbers();
        script.ack(200, 5, &[]);
        script.supply(10);
        script.numbers();
        script.ack(300, 15, &[]);
        assert_eq!(script.end.info().cwnd, 20);
        // Twelve once, then four a round trip, for longer than a timeout; or as many as the buffer holds.
        let mut sent = 15;
        for (n, burst) in [12, 4, 4, 4, 4].into_iter().enumerate() {
            script.now = at(310 + 100 * n as u64);
            script.supply(if blocked { 1_000 } else { burst });
            sent += script.numbers().len() as u64;
            script.ack(400 + 100 * n as u64, sent, &[]);
            sent += script.numbers().len() as u64;
        }
        assert_eq!(script.end.info().cwnd, expected, "blocked {blocked}");
    }
}

#[test]
fn nagle_holds_a_second_small_segment_until_the_first_is_acknowledged() {
    for (nagle, expected) in [(true, 0), (false, 1)] {
        let mut config = linux6();
        config.emission.nagle = nagle;
        let mut script = Script::new(&config, 100, 60_000);
        script.end.write(100, script.now);
        assert_eq!(script.sends().len(), 1);
        script.end.write(100, script.now);
        assert_eq!(script.sends().len(), expected, "nagle {nagle}");
        let mut packet = script.ack_packet(0, &[]);
        packet.tcp.ack = script.base.wrapping_add(if nagle { 100 } else { 200 });
        script.now = at(200);
        script.end.receive(&packet, script.now);
        assert_eq!(script.sends().len(), 1 - expected);
    }
}

#[test]
fn a_zero_window_is_probed_with_backoff_until_it_opens() {
    let mut script = Script::new(&linux6(), 100, 60_000);
    script.supply(20);
    assert_eq!(script.numbers().len(), 10);
    script.window = 0;
    script.ack(200, 10, &[]);
    assert_eq!(script.numbers().len(), 0);
    let first = script.wait();
    let probe = script.sends();
    assert_eq!((probe.len(), probe[0].tcp.payload), (1, 0));
    assert_eq!(probe[0].tcp.seq, script.wire(10).wrapping_sub(1));
    let second = script.wait();
    assert_eq!(script.sends().len(), 1);
    let third = script.wait();
    assert!(third - second > second - first, "backoff");
    script.sends();
    script.window = 60_000;
    script.ack(5_000, 10, &[]);
    assert_eq!(script.numbers(), (10..20).collect::<Vec<_>>());
    assert_eq!(script.end.info().zero_window_probes, 3);
}

#[test]
fn a_refused_segment_is_retried_and_reduces_only_where_that_counts_as_congestion() {
    for (policy, cwnd, reductions) in [
        (LocalCongestion::Retry, 10, 0),
        (LocalCongestion::Reduce, 10, 1),
        (LocalCongestion::Quench, 1, 0),
    ] {
        let mut config = linux6();
        config.window.local_congestion = policy;
        let mut script = Script::new(&config, 100, 60_000);
        script.supply(1_000);
        let mut packet = Packet::default();
        for _ in 0..5 {
            assert!(script.end.poll_transmit(script.now, &mut packet));
        }
        script.end.refused(&packet, script.now);
        let info = script.end.info();
        assert_eq!((info.cwnd, info.window_reductions), (cwnd, reductions), "{policy:?}");
        assert_eq!(info.local_drops, 1);
        assert!(!script.end.poll_transmit(script.now, &mut packet), "{policy:?}");
        if policy == LocalCongestion::Quench {
            assert_eq!(info.packets_out, 5, "the segment counts as sent");
            continue;
        }
        assert_eq!(info.packets_out, 4, "the segment counts as not sent");
        script.ack(200, 2, &[]);
        assert_eq!(script.numbers().first(), Some(&4), "{policy:?}");
    }
}

#[test]
fn a_refused_first_segment_is_retried_by_the_timer() {
    let mut config = linux6();
    config.window.local_congestion = LocalCongestion::Retry;
    let mut script = Script::new(&config, 100, 60_000);
    script.supply(10);
    let mut packet = Packet::default();
    assert!(script.end.poll_transmit(script.now, &mut packet));
    script.end.refused(&packet, script.now);
    assert_eq!(script.numbers().len(), 0);
    script.wait();
    assert_eq!(script.numbers().len(), 10);
}

#[test]
fn the_window_is_scaled_and_never_scaled_on_a_syn() {
    let mut config = linux6();
    config.buffers.window_slow_start = false;
    let mut pipe = Pipe::new([&config, &config], ms(1), |_, _, _| Fate::Pass);
    pipe.keep = true;
    pipe.establish();
    let syn = &pipe.sent[0].packet.tcp;
    // Half of 64 MiB needs a shift of 10.
    assert_eq!((syn.window_scale, syn.window), (10, 65_535));
    assert_eq!(pipe.ends[1].info().peer_window >> 10, (32 << 20) >> 10);
    let mut plain = config;
    plain.segment.window_scaling = false;
    let mut pipe = Pipe::new([&plain, &config], ms(1), |_, _, _| Fate::Pass);
    pipe.establish();
    assert_eq!(pipe.ends[1].info().peer_window, 65_535);
}

#[test]
fn more_than_four_gibibytes_pass_the_wrap() {
    let mut config = linux6();
    (config.segment.mtu, config.window.initial) = (65_000, 100);
    let mut pipe =
        Pipe::numbered([&config, &config], ms(1), [u32::MAX, u32::MAX], |_, _, _| Fate::Pass);
    pipe.ends[1].read_always(pipe.now);
    pipe.establish();
    let bytes = (1u64 << 32) + (1 << 31);
    let now = pipe.now;
    pipe.ends[0].supply(bytes, now);
    pipe.ends[0].close(now);
    assert!(pipe.run(Duration::from_secs(10_000), |e| e[0].is_send_finished()));
    assert_eq!(pipe.ends[1].delivered_bytes(), bytes);
    assert_eq!(pipe.ends[0].info().retransmissions, 0);
}

#[test]
fn pacing_spaces_segments_by_the_window_s_rate() {
    let mut config = linux6();
    config.emission.pacing = true;
    let mut script = Script::new(&config, 100, 60_000);
    script.supply(10_000);
    assert_eq!(script.numbers().len(), 10, "the first ten leave unpaced");
    script.ack(200, 10, &[]);
    let (mut times, mut sent) = (vec![script.now], script.numbers().len());
    while sent < 20 {
        times.push(script.wait());
        sent += script.numbers().len();
    }
    // 20 segments in a round trip of 100 ms, at twice the rate: 2.5 ms apart.
    for pair in times[2..].windows(2) {
        let gap = (pair[1] - pair[0]).as_us();
        assert!((2_300..=2_700).contains(&gap), "{gap} us");
    }
}

/// Sends in bursts, as with TSO, and never in slow start.
fn bursty(initial: u32) -> Config {
    let mut config = linux6();
    config.emission.tso = true;
    (config.window.initial, config.window.initial_ssthresh) = (initial, initial);
    config
}

#[test]
fn a_burst_waits_for_what_a_millisecond_of_the_pacing_rate_takes() {
    // 10 * 1448 bytes in 100 ms, times 1.2: 170 bytes per millisecond, so the minimum burst, two.
    let mut script = Script::new(&bursty(10), 100, 65_535);
    script.supply(1_000);
    assert_eq!(script.numbers().len(), 10);
    script.ack(200, 1, &[]);
    // Nothing was sent within a millisecond: no reason to believe that more will come.
    assert_eq!(script.numbers(), [10]);
    script.ack(200, 2, &[]);
    assert_eq!(script.numbers(), []);
    script.ack(200, 3, &[]);
    assert_eq!(script.numbers(), [11, 12]);
    // Room for three: a burst goes, and the third waits for company.
    script.ack(200, 6, &[]);
    assert_eq!(script.numbers(), [13, 14]);
    script.ack(200, 7, &[]);
    assert_eq!(script.numbers(), [15, 16]);
}

#[test]
fn the_last_segment_of_a_buffer_waits_for_no_other() {
    let mut config = bursty(10);
    config.emission.tso_max = 5 * MSS as u32;
    let mut script = Script::new(&config, 100, 65_535);
    script.supply(1_000);
    assert_eq!(script.numbers().len(), 10);
    script.ack(200, 2, &[]);
    assert_eq!(script.numbers(), [10, 11]);
    // A millisecond without anything sent lets a lone segment go, so within this one:
    script.ack(200, 3, &[]);
    assert_eq!(script.numbers(), []);
    script.ack(200, 4, &[]);
    assert_eq!(script.numbers(), [12, 13]);
    script.ack(200, 5, &[]);
    assert_eq!(script.numbers(), [14], "what a write filled ends here");
    script.ack(200, 6, &[]);
    assert_eq!(script.numbers(), []);
    // Two are a burst, and the third waits for company, though the buffer goes on.
    script.ack(200, 8, &[]);
    assert_eq!(script.numbers(), [15, 16]);
}

#[test]
fn what_waits_for_an_ack_a_millisecond_away_waits_no_longer() {
    let mut script = Script::new(&bursty(10), 100, 65_535);
    script.supply(1_000);
    assert_eq!(script.numbers().len(), 10);
    script.ack(150, 2, &[]);
    assert_eq!(script.numbers(), [10, 11]);
    // The next ACK is expected in 50 ms, half a round trip.
    script.ack(150, 3, &[]);
    assert_eq!(script.numbers(), [12]);
}

/// The limit of small queues after a first window, `rtt` milliseconds after a handshake that took as long.
fn limit_of(config: &Config, rtt: u64) -> u64 {
    let mut script = Script::new(config, rtt, 65_535);
    script.supply(10_000);
    script.numbers();
    script.end.small_queue_limit()
}

#[test]
fn small_queues_hold_two_bursts_or_a_millisecond_of_the_pacing_rate() {
    // Bursts of two full frames.
    assert_eq!(limit_of(&bursty(10), 100), 2 * 2 * 1_518);
    // 400 * 1448 bytes in 1 ms, times 1.2, and 1/1024 of that.
    assert_eq!(limit_of(&bursty(400), 1), 400 * 1_448 * 1_000 * 6 / 5 / 1_024);
    assert_eq!(limit_of(&bursty(4_000), 1), 1 << 20);
    let mut without = bursty(10);
    without.emission.small_queues = false;
    assert_eq!(limit_of(&without, 100), u64::MAX);
    for profile in ["linux-2.4-web100", "linux-2.6.9", "freebsd-2.2.8"] {
        assert!(!Profile::by_name(profile).unwrap().config().emission.small_queues);
    }
}

/// Linux' `tcp_tso_autosize`: 64 KiB on a path below 512 us, half of it below 1024, an eighth below 2048, plus
/// what the pacing rate sends in a millisecond: 16968, 8484 and 2828 bytes.
#[test]
fn a_burst_is_longer_on_a_short_path() {
    for (rtt, with, without) in [(1, 34, 11), (2, 11, 5), (6, 2, 2)] {
        let mut config = bursty(10);
        assert_eq!(limit_of(&config, rtt), 2 * with * 1_518, "{rtt} ms");
        config.emission.tso_rtt = Duration::ZERO;
        assert_eq!(limit_of(&config, rtt), 2 * without * 1_518, "{rtt} ms");
    }
}

/// Linux' `tcp_mss_split_point`: a burst of full segments takes what the window has beyond them, unless a small segment
/// waits for its ACK.
#[test]
fn a_burst_fills_the_peer_s_window() {
    for (tso, expected) in [(true, [vec![MSS; 7], vec![616]].concat()), (false, vec![MSS; 7])] {
        let mut config = linux6();
        config.emission.tso = tso;
        // Seven segments and 616 bytes; a write fills packets of three.
        let mut script = Script::new(&config, 100, 84);
        script.ack(101, 0, &[]);
        script.supply(1_000);
        let sent = script.sends();
        let payloads: Vec<u64> = sent.iter().map(|p| u64::from(p.tcp.payload)).collect();
        assert_eq!(payloads, expected);
    }
}
