//! An algorithm that needs ECN: ECN is negotiated for it, and it is notified of the marks on incoming data.

use std::cell::RefCell;

use congestion::{Algorithm, Event, Hooks, NEEDS_ECN, Sock};

use super::*;

thread_local! {
    /// The events of ECN that came on this thread.
    static EVENTS: RefCell<Vec<u32>> = const { RefCell::new(Vec::new()) };
}

extern "C" fn window(sock: &mut Sock) -> u32 {
    sock.cwnd
}

extern "C" fn grow(sock: &mut Sock, _ack: u32, acked: u32) {
    sock.cwnd += acked;
}

extern "C" fn note(_: &mut Sock, event: u32) {
    if event >= Event::EcnNoCe as u32 {
        EVENTS.with_borrow_mut(|events| events.push(event));
    }
}

const HOOKS: Hooks = Hooks {
    ssthresh: window,
    cong_avoid: grow,
    undo_cwnd: window,
    init: None,
    pkts_acked: None,
    cwnd_event: Some(note),
    set_state: None,
    cong_control: None,
    parameters: &congestion::Parameters::NONE,
    flags: NEEDS_ECN,
};
static NEEDS: Algorithm = Algorithm::of_hooks("needs", &HOOKS);
static DOES_NOT: Algorithm =
    Algorithm::of_hooks("does_not", &const { Hooks { flags: 0, ..HOOKS } });

fn config(algorithm: &'static Algorithm) -> Config {
    let mut config = linux6();
    config.congestion = algorithm.into();
    config
}

/// Full segment number `segment` of the peer's, in a packet with that code point.
fn data(script: &Script, segment: u32, codepoint: u8) -> Packet {
    let mut packet = script.ack_packet(0, &[]);
    packet.tcp.seq = script.seq.wrapping_add(segment * MSS as u32);
    (packet.tcp.payload, packet.tos) = (MSS as u32, codepoint);
    packet
}

/// The events that the algorithm receives for segments with these code points, each (number, code point).
fn events(algorithm: &'static Algorithm, segments: &[(u32, u8)]) -> Vec<u32> {
    let mut config = config(algorithm);
    config.segment.ecn = Ecn::Request;
    let mut script = Script::new(&config, 100, 60_000);
    EVENTS.take();
    for &(segment, codepoint) in segments {
        let packet = data(&script, segment, codepoint);
        script.end.receive(&packet, at(200));
        script.sends();
    }
    EVENTS.take()
}

#[test]
fn each_segment_of_data_is_reported_with_its_mark_once_it_is_taken() {
    let (unmarked, marked) = (Event::EcnNoCe as u32, Event::EcnIsCe as u32);
    let segments = [
        (0, ecn::ECT0),
        (1, ecn::CE),
        // Out of order, but taken; then what fills the hole, and comes without a code point.
        (3, ecn::CE),
        (2, 0),
        (4, ecn::ECT0),
        // Duplicates are not.
        (1, ecn::CE),
        (4, ecn::ECT0),
    ];
    assert_eq!(events(&NEEDS, &segments), [unmarked, marked, marked, unmarked]);
    assert_eq!(events(&DOES_NOT, &segments), [], "as in Linux");
}

#[test]
fn all_that_it_sends_is_capable_and_of_others_only_new_data() {
    for (algorithm, of_acks) in [(&NEEDS, ecn::ECT0), (&DOES_NOT, 0)] {
        let mut config = config(algorithm);
        config.segment.ecn = Ecn::Request;
        let mut script = Script::new(&config, 100, 60_000);
        script.now = at(200);
        // Two segments, the first twice, are answered at once.
        for segment in [0, 1, 0] {
            let packet = data(&script, segment, ecn::ECT0);
            script.end.receive(&packet, script.now);
        }
        let acks: Vec<_> = script.sends().iter().map(|ack| ack.tos & ecn::MASK).collect();
        assert_eq!(acks, [of_acks]);
        script.supply(1);
        let new: Vec<_> = script.sends().iter().map(|data| data.tos & ecn::MASK).collect();
        assert_eq!(new, [ecn::ECT0]);
    }
}

/// Whether both agree on ECN, as what the opener then sends says, and the code point of its SYN.
fn agreed(opener: &Config, listener: &Config) -> (bool, u8) {
    let mut opener = Connection::connect(opener, FlowId(0), HostId(0), HostId(1), 1);
    let mut listener = Connection::listen(listener, FlowId(0), HostId(1), HostId(0), 1);
    let mut packet = Packet::default();
    assert!(opener.poll_transmit(at(0), &mut packet));
    let syn = packet.tos & ecn::MASK;
    listener.receive(&packet, at(1));
    assert!(listener.poll_transmit(at(1), &mut packet));
    opener.receive(&packet, at(2));
    opener.supply(MSS, at(2));
    let mut capable = Vec::new();
    while opener.poll_transmit(at(2), &mut packet) {
        if packet.tcp.payload != 0 {
            capable.push(packet.tos & ecn::MASK == ecn::ECT0);
        }
    }
    assert_eq!(capable.len(), 1);
    (capable[0], syn)
}

#[test]
fn it_is_negotiated_whatever_the_setting_but_only_between_two_that_need_it() {
    let with = |algorithm, ecn| {
        let mut config = config(algorithm);
        config.segment.ecn = ecn;
        config
    };
    for setting in [Ecn::Off, Ecn::Accept, Ecn::Request] {
        let needs = with(&NEEDS, setting);
        assert_eq!(agreed(&needs, &needs), (true, ecn::ECT0), "{setting:?}");
        assert_eq!(agreed(&with(&DOES_NOT, Ecn::Request), &needs), (true, 0), "{setting:?}");
        // A SYN that is ECN-capable asks for more than RFC 3168 has.
        assert_eq!(agreed(&needs, &with(&DOES_NOT, setting)), (false, ecn::ECT0), "{setting:?}");
        assert_eq!(agreed(&with(&DOES_NOT, Ecn::Off), &needs), (false, 0), "{setting:?}");
    }
}

/// RFC 8257, section 3.2: if the mark changes, the pending ACK is sent first with the old echo, then the
/// segment that changed it is acknowledged at once; in between, every other segment as usual. CWR does not end
/// the echo.
#[test]
fn dctcp_echoes_each_mark_and_a_delayed_ack_speaks_for_one_kind() {
    let mut config = config(Algorithm::by_name("dctcp").unwrap());
    config.ack.quick_acks = 0;
    let mut script = Script::new(&config, 100, 60_000);
    script.now = at(200);
    let first = script.seq;
    let mut acks = |segment: u32, codepoint: u8, cwr: u8| -> Vec<(u32, bool)> {
        let mut packet = data(&script, segment, codepoint);
        packet.tcp.flags |= cwr;
        script.end.receive(&packet, script.now);
        let sent = script.sends();
        let segments = |packet: &Packet| packet.tcp.ack.wrapping_sub(first) / MSS as u32;
        sent.iter().map(|packet| (segments(packet), packet.tcp.flags & flags::ECE != 0)).collect()
    };
    assert_eq!(acks(0, ecn::ECT0, 0), []);
    assert_eq!(acks(1, ecn::CE, 0), [(1, false), (2, true)]);
    assert_eq!(acks(2, ecn::CE, 0), []);
    assert_eq!(acks(3, ecn::CE, flags::CWR), [(4, true)]);
    assert_eq!(acks(4, ecn::CE, 0), []);
    assert_eq!(acks(5, ecn::ECT0, 0), [(5, true), (6, false)]);
    // Nothing waits: one ACK is enough.
    assert_eq!(acks(6, ecn::CE, 0), [(7, true)]);
    assert_eq!(acks(7, ecn::ECT0, 0), [(8, false)]);
    assert_eq!(acks(8, ecn::ECT0, 0), []);
    assert_eq!(acks(9, ecn::ECT0, 0), [(10, false)]);
}
