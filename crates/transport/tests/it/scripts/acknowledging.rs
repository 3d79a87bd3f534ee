//! The opening of the receive window, and the times of ACKs.

use super::*;

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
fn a_mark_reduces_once_a_round_trip_and_is_answered_with_cwr() {
    let mut config = linux6();
    config.segment.ecn = Ecn::Request;
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
    // A window that is all open from the start.
    config.buffers.receive = Buffer::Fixed(90 * MSS);
    config.ack.tick = Duration::ZERO;
    let (acks, data) = acks_of(&config, 400);
    assert_eq!(data, 400);
    let expected = 16 + (400 - 16) / 2;
    assert!(acks.len().abs_diff(expected) <= 20, "{} ACKs", acks.len());
    config.ack.every = 1;
    assert_eq!(acks_of(&config, 400).0.len(), 400);
}

/// A kernel that asks for a response: neither the handshake's ACK nor the request's is one of the quick ones, and
/// the first segment, with which they begin, opens the window.
#[test]
fn a_response_has_all_of_its_quick_acks() {
    let mut config = linux6();
    config.ack.tick = Duration::ZERO;
    config.buffers.receive = Buffer::Fixed(90 * MSS);
    let mut pipe = Pipe::new([&config, &config], ms(10), |_, _, _| Fate::Pass);
    pipe.ends.iter_mut().for_each(|end| end.read_always(pipe.now));
    pipe.establish();
    pipe.keep = true;
    let now = pipe.now;
    pipe.ends[0].supply(100, now);
    assert!(
        pipe.run(Duration::from_secs(1), |e| e[1].readable() == 0
            && e[0].acknowledged_bytes() == 100)
    );
    let now = pipe.now;
    pipe.ends[1].supply(60 * MSS, now);
    assert!(pipe.run(Duration::from_secs(1), |e| e[1].acknowledged_bytes() == 60 * MSS));
    let acks = pipe.sent.iter().filter(|s| s.side == 0 && s.packet.tcp.payload == 0);
    let acks: Vec<u32> = acks.map(|s| s.packet.tcp.ack).collect();
    let segments = |pair: &[u32]| u64::from(pair[1].wrapping_sub(pair[0])) / MSS;
    let alone = 1 + acks.windows(2).take_while(|pair| segments(pair) == 1).count();
    // Eight segments open the window, and sixteen more are acknowledged at once: as by Linux 6.12.
    assert_eq!(alone, 8 + 16, "{acks:?}");
}

#[test]
fn a_window_that_opens_is_announced_at_once_and_a_segment_opens_it_by_two() {
    let mut config = linux6();
    config.ack.tick = Duration::ZERO;
    config.buffers.receive = Buffer::Fixed(2 * 245 * MSS);
    let (acks, _) = acks_of(&config, 400);
    let windows: Vec<u64> = acks.iter().map(|s| u64::from(s.packet.tcp.window)).collect();
    // The window starts with the most that a SYN can advertise. The first segment shows that 170/256 of the
    // buffer is window, instead of one half (`tcp_measure_rcv_mss`); 140 segments open all of it, except for
    // the size of the segment that opens it. The half needs three bits of scale, and the advertised window is
    // rounded up to that.
    let share = 2 * 245 * MSS * 170 / 256;
    let told = |opened: u64| (65_535 + 2 * opened * MSS).min(share - MSS).div_ceil(8);
    assert!((1..).zip(&windows).all(|(n, &window)| window == told(n)), "{windows:?}");
    // One for each as the window opens, sixteen quick ones, and every second.
    let expected = 140 + 16 + (400 - 156) / 2;
    assert!(acks.len().abs_diff(expected) <= 1, "{} ACKs", acks.len());
    config.buffers.window_slow_start = false;
    let (acks, _) = acks_of(&config, 400);
    assert!(acks.iter().all(|s| u64::from(s.packet.tcp.window) == share >> 3));
    assert!(acks.len() < 16 + (400 - 16) / 2 + 20, "{} ACKs", acks.len());
}

/// Linux' `tcp_measure_rcv_mss` and `tcp_cleanup_rbuf`: once all is read, the ACK of what ends a message does not wait.
#[test]
fn the_end_of_what_was_written_is_acknowledged_once_it_is_read() {
    let first_ack = |after_read, bytes| {
        let mut config = linux6();
        (config.ack.quick_acks, config.ack.tick) = (0, Duration::ZERO);
        config.ack.after_read = after_read;
        let mut pipe = Pipe::new([&config, &config], ms(30), |_, _, _| Fate::Pass);
        pipe.ends[1].read_always(pipe.now);
        pipe.establish();
        pipe.keep = true;
        let now = pipe.now;
        pipe.ends[0].supply(bytes, now);
        assert!(pipe.run(Duration::from_secs(1), |e| e[0].acknowledged_bytes() == bytes));
        pipe.sent.iter().find(|s| s.side == 1).expect("an ACK").at
    };
    let (at_once, delayed) = (at(90 + 30), at(90 + 30 + 40));
    for (after_read, short, full) in [
        (ReadAck::Never, delayed, delayed),
        (ReadAck::Short, at_once, delayed),
        (ReadAck::Pushed, at_once, at_once),
    ] {
        assert_eq!((first_ack(after_read, 100), first_ack(after_read, MSS)), (short, full));
        // Of three segments, the second is acknowledged as usual, and the third as if it were alone.
        assert_eq!(first_ack(after_read, 2 * MSS + 100), at_once);
    }
}

#[test]
fn a_lone_segment_is_acknowledged_after_the_delay() {
    let mut config = linux6();
    (config.ack.quick_acks, config.ack.tick) = (0, Duration::ZERO);
    let at_once = acks_of(&config, 1).0[0].at;
    assert_eq!(at_once, at(90 + 30), "all that was written is read");
    // The segment is full: before Linux 6.7, this was not distinguished from data that continues.
    config.ack.after_read = ReadAck::Short;
    let (acks, _) = acks_of(&config, 1);
    assert_eq!(acks[0].at, at(90 + 30 + 40), "40 ms, Linux's least delay");
    let mut bsd = Profile::by_name("freebsd-2.2.8").unwrap().config();
    bsd.segment.timestamps = true;
    let (acks, _) = acks_of(&bsd, 1);
    assert_eq!(acks[0].at, at(200), "the next tick of the 200 ms clock");
}

/// Linux' `__tcp_ack_snd_check`: after three duplicate ACKs, one ACK covers all that arrives in a twentieth of
/// the round trip plus the timer's slack.
#[test]
fn acks_of_what_is_out_of_order_are_compressed_after_three() {
    let mut config = linux6();
    config.ack.quick_acks = 0;
    for compressed in [true, false] {
        config.ack.compression_max = if compressed { 44 } else { 0 };
        let mut script = Script::new(&config, 10, 60_000);
        let mut acked = Vec::new();
        // Two segments, and one that echoes their ACK after 10 ms; the fourth is missing, and another comes each 100 us.
        let in_order = [(0, 20_000), (1, 20_000), (2, 30_000)];
        let beyond = (4..30).map(|n| (n, 31_000 + 100 * u64::from(n)));
        for (n, arrives) in in_order.into_iter().chain(beyond) {
            let arrives = Instant::ZERO + Duration::from_us(arrives);
            while script.end.next_wakeup() < arrives {
                script.wait();
                acked.extend(script.sends().iter().map(|_| script.now.as_us()));
            }
            script.now = arrives;
            let mut packet = script.ack_packet(0, &[]);
            packet.tcp.seq = script.seq.wrapping_add(MSS as u32 * n);
            packet.tcp.payload = MSS as u32;
            script.end.receive(&packet, script.now);
            let sent = script.sends();
            acked.extend(sent.iter().map(|_| script.now.as_us()));
            script.echo = sent.last().map_or(script.echo, |ack| ack.tcp.ts_val);
        }
        acked.retain(|&at| at > 31_000);
        if compressed {
            // 500 us and 100 after the first that was left out.
            assert_eq!(acked, [31_400, 31_500, 31_600, 32_300, 33_000, 33_700]);
        } else {
            assert_eq!(acked.len(), 26);
        }
    }
}

/// A peer that has sent nothing but its SYN sends this: `payload` bytes at `start`, with `more` flags, at `now`.
fn arrive(script: &mut Script, ms: u64, (start, payload): (u32, u32), more: u8) -> Vec<Packet> {
    script.now = at(ms);
    let mut packet = script.ack_packet(0, &[]);
    packet.tcp.seq = script.seq.wrapping_add(start);
    packet.tcp.payload = payload;
    packet.tcp.flags |= more;
    script.end.receive(&packet, script.now);
    script.sends()
}

/// The blocks of an ACK, in bytes of the peer's data.
fn blocks(script: &Script, ack: &Packet) -> Vec<(u32, u32)> {
    let place = |wire: u32| wire.wrapping_sub(script.seq);
    let told = &ack.tcp.sack[..usize::from(ack.tcp.sack_len)];
    told.iter().map(|block| (place(block.start), place(block.end))).collect()
}

/// Linux' `tcp_send_delayed_ack`: before the first data its delay is zero, so that the next tick sends the ACK.
#[test]
fn a_fin_without_data_is_acknowledged_with_the_next_tick() {
    let mut script = Script::new(&linux6(), 10, 60_000);
    assert!(arrive(&mut script, 21, (0, 0), flags::FIN).is_empty());
    while script.sends().is_empty() {
        script.wait();
    }
    assert_eq!(script.now, at(24), "ticks are of 4 ms");
    // After data it waits for the reply of a program.
    let mut script = Script::new(&linux6(), 10, 60_000);
    assert_eq!(arrive(&mut script, 20, (0, 100), flags::PSH).len(), 1);
    assert!(arrive(&mut script, 21, (100, 0), flags::FIN).is_empty());
    while script.sends().is_empty() {
        script.wait();
    }
    assert_eq!(script.now, at(64), "40 ms, and the next tick");
}

/// Linux' `tcp_ofo_queue`: the first range that is there already.
#[test]
fn data_that_is_filled_over_is_reported() {
    let mut script = Script::new(&linux6(), 10, 60_000);
    for (start, payload) in [(1_000, 1_000), (2_000, 1_000), (4_000, 1_000), (7_000, 1_000)] {
        assert_eq!(arrive(&mut script, 20, (start, payload), 0).len(), 1);
    }
    let acks = arrive(&mut script, 20, (0, 6_000), 0);
    assert_eq!(blocks(&script, &acks[0]), [(1_000, 3_000), (7_000, 8_000)]);
    let acks = arrive(&mut script, 20, (6_000, 2_000), 0);
    assert_eq!(blocks(&script, &acks[0]), [(7_000, 8_000)]);
    let acks = arrive(&mut script, 20, (0, 1_000), 0);
    assert_eq!(blocks(&script, &acks[0]), [(0, 1_000)]);
    assert_eq!(script.end.info().bytes_duplicate, 2_000 + 1_000 + 1_000 + 1_000);
}

/// Linux' `tcp_fin` forgets what was out of order, duplicates too.
#[test]
fn a_fin_on_data_that_came_before_reports_no_duplicate() {
    let mut script = Script::new(&linux6(), 10, 60_000);
    assert_eq!(arrive(&mut script, 20, (0, 1_000), 0).len(), 1);
    let mut acks = arrive(&mut script, 21, (0, 1_000), flags::FIN);
    while acks.is_empty() {
        script.wait();
        acks = script.sends();
    }
    assert!(script.now <= at(64));
    assert_eq!(acks[0].tcp.ack.wrapping_sub(script.seq), 1_001);
    assert_eq!(acks[0].tcp.sack_len, 0);
}

/// Linux' `tcp_delack_timer_handler`: where data comes one way and in parts, the delay grows up to the round trip.
#[test]
fn an_ack_that_nothing_carried_is_delayed_for_longer_next_time() {
    let mut config = linux6();
    (config.ack.quick_acks, config.ack.tick) = (0, Duration::ZERO);
    let mut script = Script::new(&config, 100, 60_000);
    let mut waited = Vec::new();
    for n in 0..4 {
        let start = 200 + u64::from(n) * 500;
        assert!(arrive(&mut script, start, (n * 100, 100), 0).is_empty());
        while script.sends().is_empty() {
            script.wait();
        }
        waited.push(script.now.since(at(start)));
    }
    assert_eq!(waited, [ms(40), ms(80), ms(100), ms(100)]);
}

/// Linux' `__tcp_select_window`, `tcp_try_coalesce` and `__tcp_cleanup_rbuf`: what waits fills the window to its end, and
/// the first of the buffers that hold eighteen frames each is free when all of it is read.
#[test]
fn a_slow_reader_closes_the_window_and_opens_it_by_a_buffer_of_frames() {
    let mut config = linux6();
    config.buffers.receive = Buffer::Auto { initial: 131_072, max: 6_291_456 };
    let mut script = Script::new(&config, 10, 60_000);
    let (mut sent, mut time) = (0, 20);
    loop {
        let room = script.end.info().receive_window.min(MSS) as u32;
        if room == 0 && script.end.next_wakeup() == Instant::NEVER {
            break;
        } else if room == 0 {
            time = script.wait().as_us().div_ceil(1_000);
            script.sends();
        } else {
            arrive(&mut script, time, (sent, room), 0);
            sent += room;
        }
    }
    assert!(sent > 40 * MSS as u32, "{sent}");
    let mut read = 0;
    let told = loop {
        read += script.end.read(4_096, script.now);
        if let Some(ack) = script.sends().first() {
            break u64::from(ack.tcp.window) << 7;
        }
    };
    assert_eq!(read, 7 * 4_096, "the buffer has {} bytes", 18 * MSS);
    assert!((22_000..=25_216).contains(&told), "170/256 of 17 * 1920 + 2176 bytes: {told}");
}
