//! What an algorithm learns about the window's use, and when its `cong_avoid` is called.

use std::cell::RefCell;

use congestion::{Algorithm, Hooks, Sock, TOLD_UNUSED};

use super::*;

thread_local! {
    /// `cwnd_limited` and `acked` of each call of `cong_avoid` on this thread.
    static CALLS: RefCell<Vec<(u32, u32)>> = const { RefCell::new(Vec::new()) };
}

extern "C" fn halve(sock: &mut Sock) -> u32 {
    (sock.cwnd / 2).max(2)
}

extern "C" fn note(sock: &mut Sock, _ack: u32, acked: u32) {
    CALLS.with_borrow_mut(|calls| calls.push((sock.cwnd_limited, acked)));
    sock.cwnd = sock.cwnd.max(20);
}

extern "C" fn window(sock: &mut Sock) -> u32 {
    sock.cwnd
}

const HOOKS: Hooks = Hooks {
    cong_control: None,
    ssthresh: halve,
    cong_avoid: note,
    undo_cwnd: window,
    init: None,
    pkts_acked: None,
    cwnd_event: None,
    set_state: None,
    parameters: &congestion::Parameters::NONE,
    flags: 0,
};
static ASKS_NOTHING: Algorithm = Algorithm::of_hooks("asks_nothing", &HOOKS);
static TOLD: Algorithm =
    Algorithm::of_hooks("told", &const { Hooks { flags: TOLD_UNUSED, ..HOOKS } });

fn calls() -> Vec<(u32, u32)> {
    CALLS.take()
}

fn config(profile: &str, algorithm: &'static Algorithm) -> Config {
    let mut config = Profile::by_name(profile).unwrap().config();
    config.emission = linux6().emission;
    config.buffers = linux6().buffers;
    (config.window.initial, config.window.initial_ssthresh) = (10, 2);
    config.congestion = algorithm.into();
    config
}

#[test]
fn only_those_that_ask_are_called_while_the_application_limits() {
    for (profile, algorithm, expected) in [
        ("linux-6", &TOLD, vec![(0, 1), (0, 2)]),
        ("linux-6", &ASKS_NOTHING, vec![]),
        // Before 2.6.13 the stack asked, and not the algorithm.
        ("linux-2.4-web100", &TOLD, vec![]),
    ] {
        let mut script = Script::new(&config(profile, algorithm), 100, 60_000);
        script.supply(3);
        assert_eq!(script.numbers().len(), 3, "{profile}");
        script.ack(200, 1, &[]);
        script.ack(210, 3, &[]);
        assert_eq!(calls(), expected, "{profile} {algorithm:?}");
    }
}

#[test]
fn that_the_window_limited_is_kept_for_a_round_trip_though_more_goes_out_later() {
    // Linux f4ce91ce12a7: a larger flight of a window that does not limit then changes nothing.
    let mut script = Script::new(&config("linux-6", &TOLD), 100, 60_000);
    script.supply(14);
    assert_eq!(script.numbers().len(), 10);
    script.ack(200, 1, &[]);
    assert_eq!((script.numbers().len(), script.end.info().cwnd), (4, 20));
    script.ack(210, 2, &[]);
    // What was sent then ends the round trip, and with it what was known.
    script.ack(220, 14, &[]);
    script.supply(2);
    script.numbers();
    script.ack(330, 15, &[]);
    assert_eq!(calls(), [(1, 1), (1, 1), (1, 12), (0, 1)]);
}

#[test]
fn an_echoed_mark_does_not_stop_growth_after_a_timeout() {
    // tcp_may_raise_cwnd asks for acknowledged data only: marks reduce in Open and Disorder.
    let mut config = config("linux-6", &TOLD);
    config.segment.ecn = Ecn::Request;
    let mut script = Script::new(&config, 100, 60_000);
    script.supply(10);
    script.numbers();
    while script.end.info().timeouts == 0 {
        script.wait();
        script.numbers();
    }
    let ms = script.now.since(Instant::ZERO).as_us() / 1_000 + 100;
    script.now = at(ms);
    let mut packet = script.ack_packet(1, &[]);
    packet.tcp.flags |= flags::ECE;
    script.end.receive(&packet, script.now);
    assert_eq!(script.end.info().ca_state, congestion::State::Loss);
    assert_eq!(calls(), [(1, 1)]);
}

#[test]
fn a_window_that_is_acknowledged_and_not_used_is_kept() {
    // tcp_cong_avoid stamps the window for each ACK in Open, and only one not stamped for a timeout is taken down
    // to what was used (tcp_cwnd_application_limited).
    let mut script = Script::new(&config("linux-6", &ASKS_NOTHING), 100, 60_000);
    script.supply(10);
    script.numbers();
    script.ack(200, 10, &[]);
    assert_eq!(script.end.info().cwnd, 20);
    for round in 1..10 {
        script.supply(5);
        assert_eq!(script.numbers().len(), 5);
        for n in 1..=5 {
            script.ack(200 + 100 * round + n, 5 + 5 * round + n, &[]);
        }
        assert_eq!(script.end.info().cwnd, 20, "in round {round}");
    }
}
