//! Losses, real and spurious: detection, repair, timeouts, undo.

use super::*;

#[test]
fn three_segments_sacked_above_a_hole_retransmit_it() {
    let mut config = linux6();
    config.recovery.detection = LossDetection::Sack;
    let mut script = Script::new(&config, 100, 60_000);
    script.supply(1_000);
    script.numbers();
    script.ack(200, 0, &[(1, 2)]);
    assert_eq!(script.numbers(), [10], "limited transmit, first duplicate");
    script.ack(201, 0, &[(1, 3)]);
    assert_eq!(script.numbers(), [11], "limited transmit, second duplicate");
    script.ack(202, 0, &[(1, 4)]);
    assert_eq!(script.numbers(), [0], "the hole");
    let info = script.end.info();
    assert_eq!((info.ca_state, info.ssthresh), (congestion::State::Recovery, 5));
    assert_eq!((info.lost, info.retransmitted, info.sacked), (1, 1, 3));
}

#[test]
fn without_limited_transmit_duplicates_let_nothing_out() {
    let mut config = linux6();
    config.recovery.detection = LossDetection::Sack;
    config.recovery.limited_transmit = false;
    let mut script = Script::new(&config, 100, 60_000);
    script.supply(1_000);
    script.numbers();
    script.ack(200, 0, &[(1, 2)]);
    script.ack(201, 0, &[(1, 3)]);
    assert_eq!(script.numbers(), [] as [u64; 0]);
}

#[test]
fn forward_acknowledgement_loses_all_below_the_highest_sack_but_three() {
    let mut config = linux6();
    config.recovery.detection = LossDetection::Fack;
    let mut script = Script::new(&config, 100, 60_000);
    script.supply(1_000);
    script.numbers();
    script.ack(200, 0, &[(8, 9)]);
    // One SACK, nine segments forward: six of them are lost.
    assert_eq!(script.end.info().lost, 6);
}

#[test]
fn rack_waits_a_quarter_of_the_round_trip_once_reordering_was_seen() {
    let mut script = Script::new(&linux6(), 100, 60_000);
    script.supply(1_000);
    script.numbers();
    // Segment 0 is late: SACKs for 1 and 2, then it arrives. That is reordering.
    script.ack(200, 0, &[(1, 2)]);
    script.numbers();
    script.ack(201, 3, &[]);
    assert!(script.end.info().reordering >= 3 && script.end.info().fast_recoveries == 0);
    script.numbers();
    // Now three SACKs above a hole are not enough: RACK waits for min RTT / 4.
    script.ack(210, 3, &[(4, 8)]);
    assert_eq!(script.end.info().lost, 0);
    assert!(script.numbers().iter().all(|&n| n >= 10));
    let woken = script.wait();
    assert_eq!(woken, at(210) + ms(25 + 2), "two ticks of the timer more");
    assert_eq!(script.end.info().lost, 1);
    assert!(script.numbers().contains(&3));
}

#[test]
fn prr_sends_no_more_than_its_bound_per_ack() {
    let mut script = Script::new(&linux6(), 100, 60_000);
    script.supply(1_000);
    script.numbers();
    for n in 1..=10 {
        script.ack(199 + n, n, &[]);
        script.numbers();
    }
    // 20 out: 10..30. 10 is lost, the others arrive one by one.
    let mut sent = 0;
    for n in 12..=30 {
        script.ack(300 + n, 10, &[(11, n)]);
        sent += script.numbers().len();
        let info = script.end.info();
        if info.ca_state == congestion::State::Recovery {
            assert!(info.in_flight <= info.cwnd && info.cwnd <= 20, "{info:?}");
        }
    }
    let info = script.end.info();
    assert_eq!(info.ssthresh, 10);
    // RFC 6937: at the end of recovery the pipe has come down to ssthresh.
    assert!(info.in_flight.abs_diff(10) <= 1, "{info:?} after {sent}");
}

#[test]
fn rate_halving_sends_one_segment_for_every_second_ack() {
    let mut config = linux6();
    config.recovery.detection = LossDetection::Fack;
    config.recovery.reduction = Reduction::RateHalving;
    let mut script = Script::new(&config, 100, 60_000);
    script.supply(1_000);
    script.numbers();
    for n in 1..=10 {
        script.ack(199 + n, n, &[]);
        script.numbers();
    }
    for n in 12..=14 {
        script.ack(300 + n, 10, &[(11, n)]);
        script.numbers();
    }
    assert_eq!(script.end.info().ca_state, congestion::State::Recovery);
    let mut sent = Vec::new();
    for n in 15..=24 {
        script.ack(300 + n, 10, &[(11, n)]);
        sent.push(script.numbers().len());
    }
    assert_eq!(sent.iter().sum::<usize>(), 5, "{sent:?}");
}

#[test]
fn the_timeout_has_linux_s_floor_and_doubles() {
    let mut config = linux6();
    config.recovery.tlp = false;
    let mut script = Script::new(&config, 10, 60_000);
    script.supply(1);
    assert_eq!(script.numbers(), [0]);
    let rto = script.end.info().rto;
    assert_eq!(rto, ms(210), "srtt 10 ms and a floor of 200 ms under the variance");
    let mut expected = at(10);
    for n in 0..4 {
        expected += rto.times(1 << n);
        assert_eq!(script.wait(), expected);
        assert_eq!(script.numbers(), [0]);
    }
    assert_eq!(script.end.info().timeouts, 4);
}

#[test]
fn a_jiffy_clock_fires_on_its_ticks() {
    let mut config = Profile::by_name("linux-2.4-web100").unwrap().config();
    config.rto.initial = Duration::from_ms(3_003);
    let mut script = Script::new(&config, 15, 60_000);
    script.supply(1);
    script.numbers();
    while script.numbers().is_empty() {
        script.wait();
    }
    assert_eq!(script.now.as_us() % 10_000, 0);
}

#[test]
fn frto_undoes_a_spurious_timeout() {
    let mut config = linux6();
    config.recovery.tlp = false;
    config.recovery.undo_timestamps = false;
    let mut script = Script::new(&config, 100, 60_000);
    script.supply(1_000);
    script.numbers();
    script.wait();
    assert_eq!(script.numbers(), [0]);
    assert_eq!(script.end.info().ca_state, congestion::State::Loss);
    // The delayed ACKs of the originals arrive. Step 2b: two new segments.
    let now = script.now.as_us() / 1_000;
    script.ack(now + 1, 1, &[]);
    assert_eq!(script.numbers(), [10, 11]);
    // Step 3b: an ACK for data that was sent only once.
    script.ack(now + 2, 2, &[]);
    let info = script.end.info();
    assert_eq!((info.spurious_timeouts, info.undos), (1, 1));
    assert_eq!(info.ca_state, congestion::State::Open);
    assert!(info.cwnd >= 10, "{info:?}");
    assert!(script.numbers().iter().all(|&n| n >= 12), "no further retransmission");
}

/// The timeout was not spurious: the new segments of step 2b were not all that followed, but the holes
/// are repaired then (step 3a), however much new data there is.
#[test]
fn frto_repairs_the_holes_after_a_real_timeout() {
    let mut config = linux6();
    config.recovery.tlp = false;
    let mut script = Script::new(&config, 100, 60_000);
    script.supply(1_000);
    script.numbers();
    script.wait();
    assert_eq!(script.numbers(), [0]);
    let now = script.now.as_us() / 1_000;
    script.ack(now + 100, 1, &[]);
    assert_eq!(script.numbers(), [10, 11]);
    script.ack(now + 200, 1, &[(10, 11)]);
    let repaired = script.numbers();
    assert_eq!(repaired.first(), Some(&1), "{repaired:?}");
    assert_eq!(script.end.info().spurious_timeouts, 0);
}

#[test]
fn without_frto_the_window_is_retransmitted_as_old_stacks_did() {
    let mut config = linux6();
    (config.recovery.tlp, config.recovery.frto) = (false, false);
    (config.recovery.undo_timestamps, config.recovery.undo_dsack) = (false, false);
    let mut script = Script::new(&config, 100, 60_000);
    script.supply(1_000);
    script.numbers();
    script.wait();
    assert_eq!(script.numbers(), [0]);
    let now = script.now.as_us() / 1_000;
    script.ack(now + 1, 1, &[]);
    assert_eq!(script.numbers(), [1, 2]);
    assert_eq!(script.end.info().undos, 0);
}

#[test]
fn dsacks_for_every_retransmission_undo_the_reduction() {
    let mut config = linux6();
    (config.recovery.tlp, config.recovery.undo_timestamps) = (false, false);
    let mut script = Script::new(&config, 100, 60_000);
    script.supply(1_000);
    script.numbers();
    script.ack(200, 0, &[(1, 5)]);
    assert_eq!(script.numbers()[0], 0);
    assert_eq!(script.end.info().ca_state, congestion::State::Recovery);
    // The original was only late; then its copy arrives and is reported.
    script.ack(201, 5, &[]);
    script.numbers();
    script.ack(202, 5, &[(0, 1)]);
    let info = script.end.info();
    assert_eq!((info.undos, info.dsacks_received), (1, 1));
    assert!(info.cwnd >= 10 && info.ca_state != congestion::State::Recovery, "{info:?}");
}

#[test]
fn an_old_timestamp_in_recovery_undoes_the_reduction() {
    let mut config = linux6();
    config.recovery.tlp = false;
    let mut script = Script::new(&config, 100, 60_000);
    script.supply(1_000);
    script.numbers();
    script.ack(200, 0, &[(1, 5)]);
    script.numbers();
    // The echo is of the original, sent at 100 ms, not of the copy of 200 ms.
    script.echo = 101;
    script.ack(201, 5, &[]);
    let info = script.end.info();
    assert_eq!(info.undos, 1);
    assert!(info.cwnd >= 10, "{info:?}");
}

#[test]
fn what_is_undone_leaves_no_burst_where_the_stack_moderates() {
    let undone = |burst| {
        let mut config = linux6();
        (config.recovery.tlp, config.recovery.undo_timestamps) = (false, false);
        config.window.moderate_burst = burst;
        let mut script = Script::new(&config, 100, 60_000);
        script.supply(1);
        script.numbers();
        // The ACK is delayed for longer than the timeout, and reports both copies.
        script.wait();
        assert_eq!(script.numbers(), [0]);
        let ms = script.now.as_us() / 1_000;
        script.ack(ms + 1, 1, &[(0, 1)]);
        let info = script.end.info();
        assert_eq!((info.timeouts, info.undos), (1, 1), "{info:?}");
        info.cwnd
    };
    assert_eq!(undone(3), 3, "Linux 2.4 and 2.6: nothing in flight, and three");
    assert!(undone(0) >= 10);
}

#[test]
fn the_walk_of_the_2_4_stack_grows_with_the_queue_and_costs_linux_6_nothing() {
    let mut old = Profile::by_name("linux-2.4-web100").unwrap().config();
    old.window.initial = 40;
    let mut new = linux6();
    new.window.initial = 40;
    for (config, least) in [(old, 36), (new, 0)] {
        let mut script = Script::new(&config, 100, 60_000);
        script.supply(1_000);
        assert_eq!(script.numbers().len(), 40);
        let mut packet = script.ack_packet(0, &[(35, 36)]);
        packet.tcp.window = 60_000;
        let work = script.end.receive(&packet, at(200));
        assert!(work.pure_ack && work.walked >= least, "{work:?}");
        assert!(least > 0 || work.walked == 0, "{work:?}");
    }
}

/// RFC 5682, section 3.1, step 3a: an ACK that reports a needless retransmission (RFC 2883) does not say
/// that the new data found a hole.
#[test]
fn a_dsack_is_no_duplicate_ack_to_frto() {
    let mut config = linux6();
    (config.recovery.tlp, config.recovery.undo_timestamps) = (false, false);
    config.recovery.undo_dsack = false;
    let mut script = Script::new(&config, 100, 60_000);
    script.supply(1_000);
    script.numbers();
    script.wait();
    assert_eq!(script.numbers(), [0]);
    let now = script.now.as_us() / 1_000;
    script.ack(now + 1, 1, &[]);
    assert_eq!(script.numbers(), [10, 11]);
    // The needless retransmission arrived too.
    script.ack(now + 2, 1, &[(0, 1)]);
    script.numbers();
    script.ack(now + 3, 2, &[]);
    let info = script.end.info();
    assert_eq!((info.spurious_timeouts, info.ca_state), (1, congestion::State::Open), "{info:?}");
}

/// RFC 8985, section 6.2, step 2: RACK.rtt is of the segment processed last, here an original, and not
/// of the one sent last, here a retransmission: other retransmissions may be as late as originals are.
#[test]
fn rack_takes_its_round_trip_from_the_last_segment_that_an_ack_delivers() {
    let mut script = Script::new(&linux6(), 100, 60_000);
    script.supply(1_000);
    script.numbers();
    for (n, retransmitted) in [(6, 0), (7, 1), (8, 2)] {
        script.ack(200 + 10 * (n - 6), 0, &[(3, n)]);
        assert_eq!(script.numbers(), [retransmitted]);
    }
    // Segment 2's retransmission, 101 ms old, and segment 8, 221 ms old: 9 is as old as 8 and lost, the
    // retransmissions of 0 and 1 have 221 ms.
    script.ack(321, 0, &[(2, 9)]);
    let info = script.end.info();
    assert_eq!((info.lost, info.retransmitted), (3, 2), "{info:?}");
}

/// An echo older than the retransmission (RFC 8985, section 6.2, step 2): the original arrived, and it gives no
/// information about segments sent between the two.
#[test]
fn an_ack_of_the_original_does_not_pass_for_one_of_the_retransmission() {
    let mut config = linux6();
    config.recovery.undo_timestamps = false;
    for (echo, lost) in [(101, 2), (201, 6)] {
        let mut script = Script::new(&config, 100, 60_000);
        script.supply(1_000);
        script.numbers();
        script.ack(200, 0, &[(3, 6)]);
        assert_eq!(script.numbers(), [0]);
        script.echo = echo;
        script.ack(320, 1, &[(3, 6)]);
        assert_eq!(script.end.info().lost, lost, "echo {echo}");
    }
}

#[test]
fn rack_finds_losses_when_the_last_hole_it_knew_of_is_filled() {
    let mut script = Script::new(&linux6(), 100, 60_000);
    script.supply(1_000);
    script.numbers();
    script.ack(200, 0, &[(1, 4)]);
    assert_eq!(script.numbers()[0], 0);
    // The retransmission of 200 ms arrived; 4 to 9, sent at 100 ms, did not.
    script.ack(300, 4, &[]);
    assert_eq!(script.end.info().lost, 6);
}

/// The probe counts among what a DSACK may report, so that recovery is not undone for it alone.
/// The RTO stays doubled until a round trip is measured; a tail is probed for after two round trips.
/// Linux's `tcp_rearm_rto`: when a probe's timer finds a probe out already, the timeout counts from when
/// the head was sent.
/// Retransmitting the head restarts its timeout (RFC 6298, section 5.1), although no ACK advanced.
/// Linux 5.9 on: what is reported as received twice was delivered twice.
#[test]
fn segments_that_a_dsack_reports_count_as_delivered() {
    let mut config = linux6();
    (config.recovery.undo_dsack, config.recovery.undo_timestamps) = (false, false);
    let mut script = Script::new(&config, 100, 60_000);
    script.supply(1_000);
    script.numbers();
    script.ack(200, 0, &[(1, 5)]);
    assert_eq!(script.numbers()[0], 0);
    script.ack(210, 5, &[]);
    assert_eq!(script.end.info().delivered, 5);
    script.numbers();
    script.ack(220, 5, &[(0, 1)]);
    assert_eq!(script.end.info().delivered, 6);
    // Only one segment was sent twice: a second report is not believed.
    script.ack(221, 5, &[(0, 1)]);
    let info = script.end.info();
    assert_eq!((info.delivered, info.dsacks_received), (6, 1));
}

/// RFC 8985, section 6.2, step 4, as Linux reads it: the window widens where reordering was seen, and
/// not for the probe, which no reordering made leave.
#[test]
fn only_after_reordering_and_not_for_the_probe_a_dsack_widens_racks_window() {
    for (reordered, probed, wait) in [(true, false, 50), (false, false, 25), (true, true, 25)] {
        let mut config = linux6();
        (config.recovery.undo_dsack, config.recovery.undo_timestamps) = (false, false);
        let mut script = Script::new(&config, 100, 60_000);
        script.supply(10);
        script.numbers();
        if reordered {
            script.ack(200, 0, &[(1, 2)]);
            script.ack(201, 2, &[]);
        } else {
            script.ack(201, 2, &[]);
        }
        let (una, duplicate) = if probed {
            script.wait();
            assert_eq!(script.numbers(), [9]);
            (10, 9)
        } else {
            // 2 is retransmitted needlessly.
            script.ack(230, 2, &[(3, 6)]);
            while script.numbers().is_empty() {
                script.wait();
            }
            (10, 2)
        };
        let now = script.now.as_us() / 1_000;
        script.ack(now + 1, una, &[]);
        script.ack(now + 2, una, &[(duplicate, duplicate + 1)]);
        script.supply(1_000);
        script.numbers();
        if !reordered {
            script.ack(now + 102, una, &[(11, 12)]);
            script.ack(now + 103, una + 2, &[]);
            script.numbers();
        }
        let una = script.end.info().bytes_acked / MSS;
        let now = script.now.as_us() / 1_000 + 101;
        script.ack(now, una, &[(una + 1, una + 2)]);
        let info = script.end.info();
        assert_eq!(info.lost, 0, "{info:?}");
        assert_eq!(script.wait(), at(now) + ms(wait + 2), "{reordered} {probed}");
    }
}

#[test]
fn without_sack_duplicate_acks_do_not_grow_the_window_twice() {
    let mut config = linux6();
    config.segment.sack = false;
    let mut script = Script::new(&config, 100, 60_000);
    script.supply(1_000);
    script.numbers();
    script.ack(199, 0, &[]);
    assert_eq!(script.end.info().delivered, 0, "it only tells the window");
    // Two duplicate ACKs count for 1 and 2; then 0, which was late, is acknowledged with them.
    script.ack(200, 0, &[]);
    script.ack(201, 0, &[]);
    assert_eq!(script.end.info().delivered, 2);
    script.ack(202, 3, &[]);
    let info = script.end.info();
    assert_eq!((info.cwnd, info.delivered), (11, 3), "one segment more was delivered");
}

/// If the retransmission of a timeout is lost, the network is still congested: another reduction, and from then
/// on no more is sent than is delivered.
#[test]
fn a_retransmission_lost_after_a_timeout_starts_recovery() {
    let mut config = linux6();
    (config.recovery.tlp, config.recovery.frto) = (false, false);
    let mut script = Script::new(&config, 100, 60_000);
    script.supply(10);
    script.numbers();
    script.wait();
    assert_eq!(script.numbers(), [0]);
    let now = script.now.as_us() / 1_000;
    script.echo = now as u32 + 1;
    script.ack(now + 100, 1, &[]);
    assert_eq!(script.numbers(), [1, 2]);
    // 2 arrived, 1 did not, and left before it.
    script.echo = now as u32 + 101;
    script.ack(now + 200, 1, &[(2, 3)]);
    let info = script.end.info();
    assert_eq!((info.ca_state, info.timeouts), (congestion::State::Recovery, 1), "{info:?}");
    assert_eq!(script.numbers(), [1]);
}

/// Linux since 684bad110757 (3.7): a reduction for a mark that turns into one for a loss ends where it would have
/// ended.
#[test]
fn a_loss_during_a_reduction_for_a_mark_does_not_prolong_it() {
    let mut config = linux6();
    config.segment.ecn = Ecn::Request;
    let mut script = Script::new(&config, 100, 60_000);
    script.supply(40);
    assert_eq!(script.numbers().len(), 10);
    script.now = at(200);
    let mut packet = script.ack_packet(1, &[]);
    packet.tcp.flags |= flags::ECE;
    script.end.receive(&packet, script.now);
    assert_eq!(script.end.info().ca_state, congestion::State::Cwr);
    assert_eq!(script.numbers(), [10]);
    script.ack(210, 1, &[(2, 6)]);
    assert_eq!(script.end.info().ca_state, congestion::State::Recovery);
    script.numbers();
    script.ack(310, 10, &[]);
    assert_eq!(script.end.info().ca_state, congestion::State::Open);
}

/// `tcp_rack_reo_timeout` reduces as for one segment delivered.
#[test]
fn a_recovery_that_the_reordering_timer_begins_counts_a_delivery() {
    let mut script = Script::new(&linux6(), 100, 60_000);
    script.supply(100);
    script.numbers();
    script.ack(200, 10, &[]);
    assert_eq!(script.numbers().len(), 20);
    script.ack(300, 10, &[(11, 12)]);
    assert_eq!(script.numbers(), [30]);
    script.wait();
    assert_eq!(script.end.info().ca_state, congestion::State::Recovery);
    assert_eq!(script.numbers(), [10]);
    // Half of 20 for each delivered: RFC 6937's sndcnt is ceil(2 * 10 / 20) - 1, then ceil(3 * 10 / 20) - 1.
    let now = script.now.since(Instant::ZERO).as_us() / 1_000;
    script.ack(now + 1, 10, &[(11, 13)]);
    assert_eq!(script.numbers(), []);
    script.ack(now + 2, 10, &[(11, 14)]);
    assert_eq!(script.numbers(), [31]);
}

/// RFC 3522: the ACK of a delayed original shows how far it was reordered, from the head before the undo
/// (Linux's `tcp_try_undo_partial`).
#[test]
fn a_partial_undo_measures_the_reordering_before_the_scoreboard_forgets() {
    let mut script = Script::new(&linux6(), 100, 60_000);
    script.supply(30);
    assert_eq!(script.numbers().len(), 10);
    script.echo = 101;
    // 0 and 9 are late, and the rest arrived.
    script.ack(200, 0, &[(1, 9)]);
    script.ack(240, 0, &[(1, 9)]);
    while script.end.info().fast_recoveries == 0 {
        script.wait();
    }
    assert_eq!(script.numbers()[0], 0);
    // The original's ACK, up to what is still missing.
    let now = script.now.as_us() / 1_000 + 20;
    script.ack(now, 9, &[]);
    assert_eq!(script.end.info().undos, 1);
    assert_eq!(script.end.info().reordering, 9);
}

/// Ten segments are out, 2 and 3 are SACKed, and then an ACK ends at them.
fn acknowledged_up_to_a_sack(config: &Config) -> Script {
    let mut script = Script::new(config, 100, 60_000);
    script.supply(10);
    assert_eq!(script.numbers().len(), 10);
    script.ack(200, 0, &[(2, 4)]);
    script.ack(201, 2, &[]);
    script
}

#[test]
fn a_receiver_that_drops_what_it_sacked_gets_half_a_round_trip_first() {
    let mut script = acknowledged_up_to_a_sack(&linux6());
    assert_ne!(script.end.info().ca_state, congestion::State::Loss);
    assert!((at(251)..at(252)).contains(&script.wait()));
    let info = script.end.info();
    assert_eq!((info.ca_state, info.sacked, info.timeouts), (congestion::State::Loss, 0, 1));
    assert_eq!(script.numbers(), [2], "from where the ACK ended");
}

#[test]
fn a_sack_that_is_acknowledged_in_time_is_no_loss() {
    let mut script = acknowledged_up_to_a_sack(&linux6());
    script.ack(230, 4, &[]);
    let info = script.end.info();
    assert_eq!((info.ca_state, info.timeouts), (congestion::State::Open, 0));
    assert!(script.wait() > at(252), "the timer is that of what is still out");
}

#[test]
fn a_short_round_trip_gives_a_receiver_that_drops_data_the_least_delay() {
    let mut config = linux6();
    config.recovery.reneging_delay = ms(70);
    assert_eq!(acknowledged_up_to_a_sack(&config).wait(), at(271));
    config.recovery.reneging_delay = Duration::ZERO;
    let info = acknowledged_up_to_a_sack(&config).end.info();
    assert_eq!(info.ca_state, congestion::State::Loss, "Linux before 3.17");
}
