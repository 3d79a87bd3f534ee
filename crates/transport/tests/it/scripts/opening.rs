//! The SYN, and when it goes out again.

use super::*;

/// The times at which unanswered SYNs go out until the connection is given up, and whether each requests ECN.
fn unanswered(config: &Config) -> Vec<(Duration, bool)> {
    let mut end = Connection::connect(config, FlowId(0), HostId(0), HostId(1), 0);
    let (mut now, mut sent, mut packet) = (Instant::ZERO, Vec::new(), Packet::default());
    loop {
        while end.poll_transmit(now, &mut packet) {
            sent.push((now.since(Instant::ZERO), packet.tcp.flags & flags::ECE != 0));
        }
        now = end.next_wakeup();
        if now == Instant::NEVER {
            return sent;
        }
        end.wake(now);
    }
}

/// When SYNs of a stack go out, in seconds.
fn times(profile: &str) -> Vec<Duration> {
    let config = Profile::by_name(profile).unwrap().config();
    unanswered(&config).into_iter().map(|(at, _)| at).collect()
}

#[test]
fn the_first_timeouts_of_a_syn_are_a_second_each() {
    // And the rest of the slot of the timer wheel: 32 ms, 256 ms from 2 016 ms on, 2 048 ms from 16 128 ms on.
    let expected = [0, 1028, 2052, 3076, 4100, 5124, 7140, 11236, 19428, 35556, 69604];
    assert_eq!(times("linux-6"), expected.map(ms));
}

#[test]
fn older_stacks_double_the_timeout_of_a_syn_from_the_first_on() {
    let expected = [0, 3, 9, 21, 45, 93].map(Duration::from_secs);
    assert_eq!(times("linux-2.4-web100"), expected);
}

#[test]
fn a_syn_that_goes_out_again_does_not_ask_for_ecn() {
    let mut config = linux6();
    config.segment.ecn = Ecn::Request;
    let sent = unanswered(&config);
    let asking: Vec<_> = sent.iter().filter(|(_, asks)| *asks).collect();
    assert_eq!(asking, [&(Duration::ZERO, true)]);
    config.segment.ecn_fallback = false;
    assert!(unanswered(&config).iter().all(|(_, asks)| *asks), "older stacks ask each time");
}

#[test]
fn a_syn_ack_that_goes_out_again_agrees_to_ecn_as_before() {
    let mut config = linux6();
    config.segment.ecn = Ecn::Request;
    let (mut now, mut packet) = (Instant::ZERO, Packet::default());
    let mut client = Connection::connect(&config, FlowId(0), HostId(0), HostId(1), 0);
    let mut server = Connection::listen(&config, FlowId(0), HostId(1), HostId(0), 0);
    assert!(client.poll_transmit(now, &mut packet));
    server.receive(&packet, now);
    let mut sent = Vec::new();
    for _ in 0..4 {
        while server.poll_transmit(now, &mut packet) {
            sent.push((now.since(Instant::ZERO), packet.tcp.flags & flags::ECE != 0));
        }
        now = server.next_wakeup();
        server.wake(now);
    }
    // Only SYNs go out at equal distances.
    assert_eq!(sent, [0, 1, 3, 7].map(|at| (Duration::from_secs(at), true)));
}

/// A server that got a SYN at time zero, and the SYN.
fn called(config: &Config) -> (Connection, Packet) {
    let mut packet = Packet::default();
    let mut client = Connection::connect(config, FlowId(0), HostId(0), HostId(1), 0);
    let mut server = Connection::listen(config, FlowId(0), HostId(1), HostId(0), 0);
    assert!(client.poll_transmit(Instant::ZERO, &mut packet));
    server.receive(&packet, Instant::ZERO);
    (server, packet)
}

/// The milliseconds at which a server sends SYN-ACKs until it waits for nothing; `syns` are those at which the SYN comes again.
fn answers(server: &mut Connection, syn: &Packet, syns: &[u64]) -> Vec<u64> {
    let (mut now, mut sent, mut packet) = (Instant::ZERO, Vec::new(), Packet::default());
    let mut syns = syns.iter().map(|&n| at(n)).peekable();
    loop {
        while server.poll_transmit(now, &mut packet) {
            assert_eq!(packet.tcp.flags, flags::SYN | flags::ACK);
            sent.push(now.since(Instant::ZERO).as_ns() / 1_000_000);
        }
        let timer = server.next_wakeup();
        now = timer.min(syns.peek().copied().unwrap_or(Instant::NEVER));
        if now == Instant::NEVER {
            return sent;
        }
        if syns.next_if_eq(&now).is_some() {
            server.receive(syn, now);
        }
        server.wake(now);
    }
}

#[test]
fn a_server_answers_a_syn_six_times_and_then_listens_on() {
    let (mut server, syn) = called(&linux6());
    let unheard = answers(&mut server, &syn, &[]);
    assert_eq!(unheard, [0, 1_000, 3_000, 7_000, 15_000, 31_000]);
    let info = server.info();
    assert_eq!((info.phase, server.has_failed()), (transport::Phase::Listen, false));
    server.receive(&syn, at(100_000));
    let mut again = Packet::default();
    assert!(server.poll_transmit(at(100_000), &mut again), "it answers the next SYN");
    assert!(!again.retransmission, "as a first one");
}

#[test]
fn syn_acks_for_repeated_syns_are_none_of_the_server_s_retries() {
    let (mut server, syn) = called(&linux6());
    // The SYN comes again half a second after each of the first answers by timeout: the timer restarts.
    let sent = answers(&mut server, &syn, &[500, 2_000, 4_500]);
    let by_timer = [1_500, 4_000, 8_500, 16_500, 32_500].map(|n| (n, true));
    let mut expected: Vec<_> = [0, 500, 2_000, 4_500].map(|n| (n, false)).into();
    expected.extend(by_timer);
    expected.sort_unstable();
    assert_eq!(sent, expected.iter().map(|&(n, _)| n).collect::<Vec<_>>());
}

#[test]
fn a_reset_during_the_handshake_leaves_the_server_listening() {
    let (mut server, syn) = called(&linux6());
    let mut packet = Packet::default();
    assert!(server.poll_transmit(Instant::ZERO, &mut packet));
    let mut reset = Packet::default();
    (reset.tcp.flags, reset.tcp.seq) = (flags::RST, syn.tcp.seq.wrapping_add(1));
    server.receive(&reset, at(10));
    assert_eq!((server.info().phase, server.has_failed()), (transport::Phase::Listen, false));
    server.receive(&syn, at(20));
    assert!(server.poll_transmit(at(20), &mut packet), "the next client is answered");
}
