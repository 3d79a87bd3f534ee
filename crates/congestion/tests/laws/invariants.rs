//! Invariants of every algorithm of the registry, for any sequence of hooks.

use congestion::{AckSample, Algorithm, Event, INFINITE_SSTHRESH, RateSample, Sock, State};
use proptest::prelude::*;

use crate::path::{established, jiffies};

/// Algorithms that react to delay: an ACK may lower their windows.
const BY_DELAY: [&str; 1] = ["vegas"];

/// An event of a connection.
#[derive(Clone, Debug)]
enum Step {
    Ack {
        acked: u32,
        rtt_ns: i64,
        after_us: u64,
        limited: bool,
    },
    Reduce(State),
    Undo,
    Event(Event),
    /// The transport sets a window of its own: after idle, in recovery, from a cache.
    Window {
        cwnd: u32,
        ssthresh: u32,
        clamp: u32,
    },
    /// The clock and the RTT are anything at all.
    Clock {
        now_us: u64,
        srtt_us8: u32,
        hz: u16,
        last_sent: u32,
    },
}

/// Values at every scale: small ones, and the ends of the type.
fn scaled() -> impl Strategy<Value = u32> {
    (0_u32..32, any::<u32>()).prop_map(|(shift, value)| value >> shift)
}

/// Round trips at every scale, some beyond 2^31 us, and none.
fn rtt_ns() -> impl Strategy<Value = i64> {
    (0_u32..64, any::<i64>()).prop_map(|(shift, value)| value >> shift)
}

fn step() -> impl Strategy<Value = Step> {
    let event = prop_oneof![
        Just(Event::TxStart),
        Just(Event::CwndRestart),
        Just(Event::CompleteCwr),
        Just(Event::Loss),
        Just(Event::EcnNoCe),
        Just(Event::EcnIsCe),
    ];
    let state = prop_oneof![Just(State::Cwr), Just(State::Recovery), Just(State::Loss)];
    prop_oneof![
        8 => (scaled(), rtt_ns(), 0_u64..10_000_000, any::<bool>()).prop_map(
            |(acked, rtt_ns, after_us, limited)| Step::Ack { acked, rtt_ns, after_us, limited }
        ),
        2 => state.prop_map(Step::Reduce),
        1 => Just(Step::Undo),
        1 => event.prop_map(Step::Event),
        1 => (scaled(), scaled(), scaled()).prop_map(|(cwnd, ssthresh, clamp)| Step::Window {
            cwnd: cwnd.max(1),
            ssthresh: ssthresh.max(2),
            clamp: clamp.max(1),
        }),
        1 => (any::<u64>(), any::<u32>(), any::<u16>(), any::<u32>()).prop_map(
            |(now_us, srtt_us8, hz, last_sent)| Step::Clock { now_us, srtt_us8, hz, last_sent }
        ),
    ]
}

/// Applies a step as a transport does, and checks the invariants it relies on.
fn apply(algorithm: &Algorithm, sock: &mut Sock, step: &Step) {
    let before = *sock;
    match *step {
        Step::Ack { acked, rtt_ns, after_us, limited } => {
            sock.now_us = sock.now_us.wrapping_add(after_us);
            sock.jiffies = jiffies(sock.now_us);
            sock.cwnd_limited = u32::from(limited);
            sock.snd_una = sock.snd_una.wrapping_add(acked);
            sock.snd_nxt = sock.snd_una.wrapping_add(sock.cwnd);
            let sample = AckSample { rtt_ns, acked, in_flight: sock.in_flight };
            algorithm.pkts_acked(sock, &sample);
            if algorithm.controls() {
                let rate = RateSample {
                    rtt_ns,
                    interval_ns: after_us.wrapping_mul(1_000),
                    delivered: acked,
                    prior_delivered: sock.delivered.wrapping_sub(sock.cwnd),
                    acked,
                    lost: acked >> 3,
                    in_flight: sock.in_flight,
                    app_limited: u32::from(!limited),
                    ..RateSample::default()
                };
                sock.delivered = sock.delivered.wrapping_add(acked);
                algorithm.cong_control(sock, sock.snd_una, &rate);
                assert!(sock.cwnd <= before.cwnd.max(sock.cwnd_clamp), "growth ends at the clamp");
                return sane(sock);
            }
            algorithm.cong_avoid(sock, sock.snd_una, acked);
            let lowers = BY_DELAY.contains(&algorithm.name());
            assert!(lowers || sock.cwnd >= before.cwnd, "an ACK never lowers the window");
            assert!(sock.cwnd <= before.cwnd.max(sock.cwnd_clamp), "growth ends at the clamp");
            assert!(limited || sock.cwnd <= before.cwnd, "an unused window does not grow");
        }
        Step::Reduce(state) => {
            sock.prior_cwnd = sock.cwnd;
            sock.ssthresh = algorithm.ssthresh(sock);
            let keeps = algorithm.controls();
            assert!(
                keeps || sock.ssthresh <= before.cwnd.max(2),
                "a reduction never raises the window"
            );
            algorithm.set_state(sock, state);
            sock.state = state as u32;
            sock.cwnd = match state {
                State::Loss => 1,
                _ if keeps => sock.cwnd,
                _ => sock.ssthresh,
            };
            algorithm.set_state(sock, State::Open);
            sock.state = State::Open as u32;
        }
        Step::Undo => {
            sock.cwnd = algorithm.undo_cwnd(sock);
            let least = if algorithm.controls() { before.cwnd } else { before.prior_cwnd };
            assert!(sock.cwnd >= least, "undo returns at least what was taken");
        }
        Step::Event(event) => algorithm.cwnd_event(sock, event),
        Step::Window { cwnd, ssthresh, clamp } => {
            (sock.cwnd, sock.ssthresh, sock.cwnd_clamp) = (cwnd, ssthresh, clamp);
        }
        Step::Clock { now_us, srtt_us8, hz, last_sent } => {
            (sock.now_us, sock.jiffies, sock.srtt_us8) = (now_us, jiffies(now_us), srtt_us8);
            (sock.hz, sock.last_sent) = (hz, last_sent);
        }
    }
    let owns = algorithm.controls();
    assert!(owns || sock.pacing_rate == before.pacing_rate, "only some own the pacing rate");
    sane(sock);
}

fn sane(sock: &Sock) {
    assert!(sock.cwnd >= 1, "a window of nothing never opens again");
    assert!(sock.ssthresh >= 2, "RFC 5681, equation 4");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn windows_stay_sane(steps in prop::collection::vec(step(), 1..120)) {
        for algorithm in Algorithm::all() {
            let mut sock = established(10, INFINITE_SSTHRESH);
            algorithm.init(&mut sock);
            for step in &steps {
                apply(algorithm, &mut sock, step);
            }
        }
    }

    #[test]
    fn the_same_calls_give_the_same_bits(steps in prop::collection::vec(step(), 1..60)) {
        for algorithm in Algorithm::all() {
            let run = || {
                let mut sock = established(10, INFINITE_SSTHRESH);
                algorithm.init(&mut sock);
                steps.iter().for_each(|step| apply(algorithm, &mut sock, step));
                (sock.cwnd, sock.ssthresh, sock.cwnd_cnt, sock.private)
            };
            prop_assert_eq!(run(), run());
        }
    }
}

#[test]
fn the_registry_is_in_order_and_its_names_fit_the_kernel() {
    let names: Vec<_> = Algorithm::all().iter().map(Algorithm::name).collect();
    assert!(names.is_sorted(), "{names:?}");
    for algorithm in Algorithm::all() {
        assert!(algorithm.kernel_name().len() <= 15, "{}", algorithm.kernel_name());
        assert_eq!(
            Algorithm::by_name(algorithm.name()).map(Algorithm::name),
            Some(algorithm.name())
        );
        assert!(!algorithm.summary().is_empty());
    }
    assert!(Algorithm::by_name("cubicc").is_none());
}
