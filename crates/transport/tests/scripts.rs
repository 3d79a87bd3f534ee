//! In packetdrill's spirit: given these segments, expect those, at these times.

mod pipe;

use pipe::{Fate, Pipe, Sent, ms};
use traffic::packet::{ecn, flags};
use traffic::{Duration, FlowId, HostId, Instant, Packet};
use transport::config::*;
use transport::{Config, Connection, Profile};

const MSS: u64 = 1_448;

fn linux6() -> Config {
    let mut config = Profile::by_name("linux-6").unwrap().config();
    config.algorithm = congestion::Algorithm::by_name("newreno").unwrap();
    config.buffers.send = Buffer::Fixed(64 << 20);
    config.buffers.receive = Buffer::Fixed(64 << 20);
    config.emission.tso = false;
    config.rto.tick = Duration::ZERO;
    config
}

fn at(n: u64) -> Instant {
    Instant::ZERO + ms(n)
}

/// A connection whose peer is the script.
struct Script {
    end: Connection,
    now: Instant,
    ack: u32,
    echo: u32,
    seq: u32,
    window: u16,
    /// Wire number of the first data byte.
    base: u32,
}

impl Script {
    /// Established at `rtt` after zero, by a peer with a window scale of 7.
    fn new(config: &Config, rtt: u64, window: u16) -> Self {
        let isn = 0xffff_0000;
        let mut end = Connection::connect(config, FlowId(0), HostId(0), HostId(1), isn);
        let mut syn = Packet::default();
        assert!(end.poll_transmit(Instant::ZERO, &mut syn));
        assert!(syn.tcp.flags & flags::SYN != 0);
        let mut reply = Packet::default();
        reply.tcp.flags = flags::SYN | flags::ACK;
        if syn.tcp.flags & flags::ECE != 0 {
            reply.tcp.flags |= flags::ECE;
        }
        (reply.tcp.seq, reply.tcp.ack) = (1_000, isn.wrapping_add(1));
        (reply.tcp.mss, reply.tcp.window_scale, reply.tcp.window) = (1_460, 7, window);
        (reply.tcp.sack_permitted, reply.tcp.has_timestamps) = (config.segment.sack, true);
        (reply.tcp.ts_val, reply.tcp.ts_ecr) = (1, syn.tcp.ts_val);
        end.receive(&reply, at(rtt));
        let base = isn.wrapping_add(1);
        let mut script = Self { end, now: at(rtt), ack: base, echo: 0, seq: 1_001, window, base };
        let first = script.sends();
        assert!(first.len() == 1 && first[0].tcp.payload == 0, "the handshake's ACK");
        script
    }

    /// What goes out now.
    fn sends(&mut self) -> Vec<Packet> {
        let mut sent = Vec::new();
        let mut packet = Packet::default();
        while self.end.poll_transmit(self.now, &mut packet) {
            sent.push(packet);
        }
        sent
    }

    /// The numbers, in segments from the first byte, of what goes out now.
    fn numbers(&mut self) -> Vec<u64> {
        let base = self.base;
        let data = self.sends().into_iter().filter(|p| p.tcp.payload > 0);
        data.map(|p| u64::from(p.tcp.seq.wrapping_sub(base)) / MSS).collect()
    }

    fn wire(&self, segment: u64) -> u32 {
        self.base.wrapping_add((segment * MSS) as u32)
    }

    fn ack_packet(&self, segments: u64, sacks: &[(u64, u64)]) -> Packet {
        let mut packet = Packet::default();
        packet.tcp.flags = flags::ACK;
        (packet.tcp.seq, packet.tcp.ack) = (self.seq, self.wire(segments));
        packet.tcp.window = self.window;
        (packet.tcp.has_timestamps, packet.tcp.ts_val, packet.tcp.ts_ecr) = (true, 2, self.echo);
        for (block, &(start, end)) in packet.tcp.sack.iter_mut().zip(sacks) {
            (block.start, block.end) = (self.wire(start), self.wire(end));
        }
        packet.tcp.sack_len = sacks.len() as u8;
        packet
    }

    /// An ACK up to segment number `segments`, with SACK blocks in segments, at `now`.
    fn ack(&mut self, ms: u64, segments: u64, sacks: &[(u64, u64)]) {
        self.now = at(ms);
        let packet = self.ack_packet(segments, sacks);
        self.ack = packet.tcp.ack;
        self.end.receive(&packet, self.now);
    }

    /// Time passes to the next timer.
    fn wait(&mut self) -> Instant {
        self.now = self.end.next_wakeup();
        assert_ne!(self.now, Instant::NEVER, "nothing to wait for");
        self.end.wake(self.now);
        self.now
    }

    fn supply(&mut self, segments: u64) {
        self.end.supply(segments * MSS, self.now);
    }
}

#[test]
fn the_initial_window_is_ten_segments_and_each_ack_of_two_brings_four() {
    let mut script = Script::new(&linux6(), 100, 60_000);
    script.supply(1_000);
    assert_eq!(script.numbers(), (0..10).collect::<Vec<_>>());
    script.ack(200, 2, &[]);
    assert_eq!(script.numbers(), [10, 11, 12, 13]);
    assert_eq!(script.end.info().cwnd, 12);
}

#[test]
fn old_stacks_start_with_three_and_one_and_count_acks() {
    for (name, initial) in [("linux-2.4-web100", 3), ("freebsd-2.2.8", 1)] {
        let mut config = Profile::by_name(name).unwrap().config();
        config.buffers.send = Buffer::Fixed(1 << 20);
        let mut script = Script::new(&config, 100, 60_000);
        script.supply(1_000);
        assert_eq!(script.numbers().len(), initial, "{name}");
        script.ack(200, initial as u64, &[]);
        // However much an ACK covers, the window grows by one.
        assert_eq!(script.numbers().len(), initial + 1, "{name}");
    }
}

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
    assert_eq!(woken, at(210) + ms(25));
    assert_eq!(script.end.info().lost, 1);
    assert!(script.numbers().contains(&3));
}

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
fn a_mark_reduces_once_a_round_trip_and_is_answered_with_cwr() {
    let mut config = linux6();
    config.segment.ecn = true;
    let mut script = Script::new(&config, 100, 60_000);
    script.supply(1_000);
    let first = script.sends();
    assert!(first.iter().all(|p| p.tos & ecn::MASK == ecn::ECT0));
    let mut reduced = 0;
    let mut carried = 0;
    for n in 1..=10 {
        let mut packet = script.ack_packet(n, &[]);
        packet.tcp.flags |= flags::ECE;
        script.now = at(199 + n);
        script.end.receive(&packet, script.now);
        reduced = script.end.info().window_reductions;
        carried += script.sends().iter().filter(|p| p.tcp.flags & flags::CWR != 0).count();
    }
    assert_eq!((reduced, carried), (1, 1));
    assert_eq!(script.end.info().ssthresh, 5);
}

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
    let config = linux6();
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

/// Times of the pure ACKs that the receiver of `segments` sends.
fn acks_of(config: &Config, segments: u64) -> (Vec<Sent>, usize) {
    let mut pipe = Pipe::new([config, config], ms(30), |_, _, _| Fate::Pass);
    pipe.ends[1].read_always(pipe.now);
    pipe.establish();
    pipe.keep = true;
    let now = pipe.now;
    pipe.ends[0].supply(segments * MSS, now);
    assert!(pipe.run(Duration::from_secs(100), |e| e[0].acknowledged_bytes() == segments * MSS));
    let acks: Vec<Sent> = pipe.sent.iter().filter(|s| s.side == 1).copied().collect();
    let data = pipe.sent.iter().filter(|s| s.side == 0 && s.packet.tcp.payload > 0).count();
    (acks, data)
}

#[test]
fn sixteen_segments_are_acknowledged_at_once_and_then_every_second() {
    let mut config = linux6();
    config.ack.tick = Duration::ZERO;
    let (acks, data) = acks_of(&config, 400);
    assert_eq!(data, 400);
    let expected = 16 + (400 - 16) / 2;
    assert!(acks.len().abs_diff(expected) <= 20, "{} ACKs", acks.len());
    config.ack.every = 1;
    assert_eq!(acks_of(&config, 400).0.len(), 400);
}

#[test]
fn a_lone_segment_is_acknowledged_after_the_delay() {
    let mut config = linux6();
    (config.ack.quick_acks, config.ack.tick) = (0, Duration::ZERO);
    let (acks, _) = acks_of(&config, 1);
    assert_eq!(acks[0].at, at(90 + 30 + 40), "40 ms, Linux's least delay");
    let mut bsd = Profile::by_name("freebsd-2.2.8").unwrap().config();
    bsd.segment.timestamps = true;
    let (acks, _) = acks_of(&bsd, 1);
    assert_eq!(acks[0].at, at(200), "the next tick of the 200 ms clock");
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

/// Sends in bursts, as with TSO, and never in slow start.
fn bursty(initial: u32) -> Config {
    let mut config = linux6();
    config.emission.tso = true;
    (config.window.initial, config.window.initial_ssthresh) = (initial, initial);
    config
}

#[test]
fn a_burst_waits_for_what_a_millisecond_of_the_pacing_rate_takes() {
    // 10 * 1448 bytes in 100 ms, times 1.2: 170 bytes a millisecond, so the least burst, two.
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
fn small_queues_hold_two_bursts_or_a_millisecond_of_the_pacing_rate() {
    let limit_of = |config: &Config, rtt| {
        let mut script = Script::new(config, rtt, 65_535);
        script.supply(10_000);
        script.numbers();
        script.end.small_queue_limit()
    };
    // Bursts of two full frames.
    assert_eq!(limit_of(&bursty(10), 100), 2 * 2 * 1_518);
    // 400 * 1448 bytes in 1 ms, times 1.2, of which a 1024th.
    assert_eq!(limit_of(&bursty(400), 1), 400 * 1_448 * 1_000 * 6 / 5 / 1_024);
    assert_eq!(limit_of(&bursty(4_000), 1), 1 << 20);
    let mut without = bursty(10);
    without.emission.small_queues = false;
    assert_eq!(limit_of(&without, 100), u64::MAX);
    for profile in ["linux-2.4-web100", "linux-2.6.9", "freebsd-2.2.8"] {
        assert!(!Profile::by_name(profile).unwrap().config().emission.small_queues);
    }
}
