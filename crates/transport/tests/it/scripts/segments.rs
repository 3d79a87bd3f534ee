//! The format of segments, those that are accepted, and the options negotiated in the handshake.

use super::*;

fn client() -> Script {
    let mut config = linux6();
    config.ack.tick = Duration::ZERO;
    Script::new(&config, 100, 60_000)
}

/// `payload` bytes from the peer, `at` bytes into its stream.
fn data(script: &Script, at: u32, payload: u32) -> Packet {
    let mut packet = script.ack_packet(0, &[]);
    packet.tcp.seq = script.seq.wrapping_add(at);
    packet.tcp.payload = payload;
    packet
}

#[test]
fn a_syn_has_linux_s_window_and_scale() {
    let config = Profile::by_name("linux-6").unwrap().config();
    let mut pipe = Pipe::new([&config, &config], ms(1), |_, _, _| Fate::Pass);
    pipe.keep = true;
    pipe.establish();
    let [syn, reply] = [0, 1].map(|n| &pipe.sent[n].packet.tcp);
    // 6 MB of tcp_rmem[2] need 7 bits; 64 KiB hold 44 segments of 1460 bytes, 45 of 1448.
    assert_eq!((syn.window_scale, syn.window), (7, 64_240));
    assert_eq!((reply.window_scale, reply.window), (7, 65_160));
}

#[test]
fn only_the_end_of_what_was_written_is_pushed() {
    let mut script = client();
    script.supply(3);
    let pushed = |packets: Vec<Packet>| {
        packets.iter().map(|p| p.tcp.flags & flags::PSH != 0).collect::<Vec<_>>()
    };
    assert_eq!(pushed(script.sends()), [false, false, true]);
    // Numbers 0 and 2 again: the head by the timeout, the tail by the probe before it.
    script.wait();
    assert_eq!(pushed(script.sends()), [true]);
    script.wait();
    assert_eq!(pushed(script.sends()), [false]);
    script.ack(2_000, 3, &[]);
    script.end.close(script.now);
    let fin = script.sends();
    assert_eq!((fin.len(), fin[0].tcp.payload), (1, 0));
    assert_eq!(fin[0].tcp.flags & (flags::FIN | flags::PSH), flags::FIN);
}

#[test]
fn the_segment_with_the_fin_waits_for_no_congestion_window() {
    for bytes in [11 * MSS, 10 * MSS + 100] {
        let mut script = client();
        script.end.supply(bytes, script.now);
        script.end.close(script.now);
        let sent = script.sends();
        assert_eq!(sent.len(), 11, "{bytes}");
        assert!(sent[10].tcp.flags & flags::FIN != 0);
    }
    let mut config = linux6();
    config.emission.fin_ignores_cwnd = false;
    let mut script = Script::new(&config, 100, 60_000);
    script.supply(11);
    script.end.close(script.now);
    assert_eq!(script.sends().len(), 10);
    // It goes alone: two segments beyond the window wait.
    let mut script = client();
    script.supply(12);
    script.end.close(script.now);
    assert_eq!(script.sends().len(), 10);
}

#[test]
fn a_fin_is_acknowledged_with_a_delay_before_our_own_and_at_once_after_it() {
    for closed_first in [false, true] {
        let mut script = client();
        // The quick ACKs of a new connection are used up.
        for n in 0..40 {
            script.now += ms(1);
            let packet = data(&script, n * 1_448, 1_448);
            script.end.receive(&packet, script.now);
            script.end.read(u64::MAX, script.now);
            script.sends();
        }
        script.now += ms(50);
        script.end.wake(script.now);
        script.sends();
        if closed_first {
            script.end.close(script.now);
            assert_eq!(script.sends().len(), 1, "our FIN");
        }
        let mut fin = data(&script, 40 * 1_448, 0);
        fin.tcp.flags |= flags::FIN;
        fin.tcp.ack = script.base.wrapping_add(u32::from(closed_first));
        script.end.receive(&fin, script.now);
        assert_eq!(script.sends().len(), usize::from(closed_first), "{closed_first}");
        if !closed_first {
            let (since, acked) = (script.now, script.wait());
            assert!(acked >= since + ms(40) && acked <= since + ms(200), "{since:?} {acked:?}");
            assert_eq!(script.sends().len(), 1);
        }
    }
    // Quick ACKs do not answer a FIN either: the program's own is about to carry the ACK.
    let mut script = client();
    let mut fin = data(&script, 0, 0);
    fin.tcp.flags |= flags::FIN;
    script.end.receive(&fin, script.now);
    assert_eq!(script.sends().len(), 0);
}

#[test]
fn a_segment_partly_beyond_the_window_is_trimmed_to_it() {
    let mut config = linux6();
    config.buffers.receive = Buffer::Fixed(20_000);
    config.buffers.window_slow_start = false;
    let mut script = Script::new(&config, 100, 60_000);
    let packet = data(&script, 0, 9_000);
    script.end.receive(&packet, script.now);
    let mut packet = data(&script, 9_000, 9_000);
    packet.tcp.flags |= flags::FIN;
    script.end.receive(&packet, script.now);
    let info = script.end.info();
    // The window is half of the buffer.
    assert_eq!((info.bytes_received, info.receive_window), (10_000, 0));
    assert!(!script.end.is_receive_finished(), "the FIN was beyond too");
    let packet = data(&script, 10_000, 1_000);
    script.end.receive(&packet, script.now);
    assert_eq!(script.end.info().bytes_received, 10_000, "wholly beyond");
}

#[test]
fn data_without_an_ack_or_with_an_unacceptable_one_is_not_taken() {
    let mut script = client();
    let mut packet = data(&script, 0, 100);
    packet.tcp.flags = 0;
    script.end.receive(&packet, script.now);
    assert_eq!((script.end.readable(), script.sends().len()), (0, 0));

    // What it acknowledges was never sent: Linux' `tcp_ack` drops it before anything of it counts.
    let mut packet = data(&script, 0, 100);
    packet.tcp.ack = script.base.wrapping_add(1);
    script.end.receive(&packet, script.now);
    assert_eq!((script.end.readable(), script.sends().len()), (0, 0));
    assert_eq!(script.end.next_wakeup(), Instant::NEVER);

    // It is older than a window.
    packet.tcp.ack = script.base.wrapping_sub(100 << 20);
    for challenges in [1, 0] {
        script.end.receive(&packet, script.now);
        let answer = script.sends();
        assert_eq!((script.end.readable(), answer.len()), (0, challenges), "one in 500 ms");
        assert!(answer.iter().all(|a| a.tcp.ack == script.seq && a.tcp.payload == 0));
    }
    let packet = data(&script, 0, 100);
    script.end.receive(&packet, script.now);
    assert_eq!(script.end.readable(), 100);
}

#[test]
fn ecn_is_agreed_on_if_the_client_asks_and_the_server_accepts() {
    use Ecn::{Accept, Off, Request};
    for (client, server, agreed) in [
        (Request, Request, true),
        (Request, Accept, true),
        (Request, Off, false),
        (Accept, Accept, false),
        (Accept, Request, false),
        (Off, Request, false),
    ] {
        let configs = [client, server].map(|ecn| {
            let mut config = linux6();
            config.segment.ecn = ecn;
            config
        });
        let mut pipe = Pipe::new([&configs[0], &configs[1]], ms(1), |_, _, _| Fate::Pass);
        pipe.establish();
        pipe.keep = true;
        for side in 0..2 {
            let now = pipe.now;
            pipe.ends[side].supply(10 * MSS, now);
        }
        let all = |e: &[Connection; 2]| e.iter().all(|e| e.acknowledged_bytes() == 10 * MSS);
        assert!(pipe.run(Duration::from_secs(10), all));
        for side in 0..2 {
            let data = pipe.sent.iter().filter(|s| s.side == side && s.packet.tcp.payload > 0);
            let mut data = data.filter(|s| !s.packet.retransmission);
            let capable = data.all(|s| s.packet.tos & ecn::MASK == ecn::ECT0);
            assert_eq!(capable, agreed, "{client:?} {server:?} side {side}");
        }
    }
    assert_eq!(Profile::by_name("linux-6").unwrap().config().segment.ecn, Accept);
}
