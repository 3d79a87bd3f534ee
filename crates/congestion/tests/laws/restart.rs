//! Paced restart: M. Matsuda et al., "TCP Layer Adapted to MPI Library", section 3.2, of every algorithm that has it.

use congestion::{AckSample, Algorithm, Config, Event, INFINITE_SSTHRESH, Sock, State};
use proptest::prelude::*;

use crate::path::{MSS, established};

/// A round trip of 20 ms.
const SRTT_US8: u32 = 160_000;

/// Each algorithm that takes the part, with the choice made.
fn all(restart: u32, rate: u32) -> impl Iterator<Item = Config> {
    let taking = |algorithm: &&Algorithm| {
        algorithm.parameters().iter().any(|parameter| parameter.name() == "restart")
    };
    Algorithm::all().iter().filter(taking).map(move |algorithm| {
        let mut config = Config::from(algorithm);
        config.set("restart", restart).expect("within its range");
        config.set("restart_rate", rate).expect("within its range");
        config
    })
}

/// A connection with nothing in flight.
fn idle(config: &Config, cwnd: u32, ssthresh: u32) -> Sock {
    let mut sock = established(cwnd, ssthresh);
    sock.srtt_us8 = SRTT_US8;
    sock.pacing_rate = 1_000_000;
    config.init(&mut sock);
    sock
}

fn acknowledged(config: &Config, sock: &mut Sock, acked: u32, rtt_ns: i64) {
    let sample = AckSample { rtt_ns, acked, in_flight: acked };
    config.algorithm().pkts_acked(sock, &sample);
}

#[test]
fn the_algorithms_of_paper_2_take_it() {
    let names: Vec<_> = all(1, 0).map(|config| config.algorithm().name()).collect();
    for name in ["bic", "cubic", "cubic-rfc9438", "newreno"] {
        assert!(names.contains(&name), "{names:?}");
    }
}

#[test]
fn the_threshold_is_sent_in_a_round_trip_and_the_first_ack_ends_it() {
    for config in all(1, 0) {
        let name = config.algorithm().name();
        let mut sock = idle(&config, 10, 582);
        config.algorithm().cwnd_event(&mut sock, Event::TxStart);
        assert_eq!((sock.cwnd, sock.ssthresh, sock.paced), (582, 582, 1), "{name}");
        assert_eq!(sock.pacing_rate, 582 * u64::from(MSS) * 50, "{name}: in 20 ms");
        // 300 packets have left; an ACK that carries data of the peer acknowledges nothing new.
        sock.in_flight = 300;
        acknowledged(&config, &mut sock, 0, -1);
        assert_eq!((sock.cwnd, sock.paced), (582, 1), "{name}");
        // As if the paper's timer had added them one by one.
        sock.in_flight = 298;
        acknowledged(&config, &mut sock, 2, 20_000_000);
        assert_eq!((sock.cwnd, sock.ssthresh, sock.paced), (300, 582, 0), "{name}");
    }
}

#[test]
fn a_new_connection_is_paced_at_the_rate_that_is_configured() {
    for config in all(1, 250) {
        let mut sock = idle(&config, 10, INFINITE_SSTHRESH);
        config.algorithm().cwnd_event(&mut sock, Event::TxStart);
        // 250 Mbit/s for 20 ms are 625 000 bytes.
        assert_eq!((sock.cwnd, sock.paced), (625_000 / MSS, 1));
        assert!(sock.pacing_rate.abs_diff(31_250_000) < 50 * u64::from(MSS));
    }
    for config in all(1, 0) {
        let mut sock = idle(&config, 10, INFINITE_SSTHRESH);
        config.algorithm().cwnd_event(&mut sock, Event::TxStart);
        assert_eq!((sock.cwnd, sock.paced), (10, 0), "no rate is configured");
    }
}

#[test]
fn nothing_is_paced_that_is_off_above_the_threshold_in_recovery_or_of_unknown_round_trip() {
    let check = |config: &Config, change: fn(&mut Sock)| {
        let mut sock = idle(config, 10, 582);
        change(&mut sock);
        let before = (sock.cwnd, sock.paced, sock.pacing_rate);
        config.algorithm().cwnd_event(&mut sock, Event::TxStart);
        assert_eq!((sock.cwnd, sock.paced, sock.pacing_rate), before);
    };
    all(0, 250).for_each(|config| check(&config, |_| {}));
    for config in all(1, 250) {
        check(&config, |sock| sock.cwnd = 582);
        check(&config, |sock| sock.state = State::Recovery as u32);
        check(&config, |sock| sock.state = State::Loss as u32);
        check(&config, |sock| sock.srtt_us8 = 0);
    }
}

#[test]
fn a_program_s_own_pacing_goes_on() {
    for config in all(1, 0) {
        let mut sock = idle(&config, 10, 582);
        sock.paced = 1;
        config.algorithm().cwnd_event(&mut sock, Event::TxStart);
        sock.in_flight = 300;
        acknowledged(&config, &mut sock, 1, 20_000_000);
        assert_eq!((sock.cwnd, sock.paced), (301, 1));
    }
}

#[test]
fn a_timeout_before_the_first_ack_ends_it() {
    for config in all(1, 0) {
        let mut sock = idle(&config, 10, 582);
        let algorithm = config.algorithm();
        algorithm.cwnd_event(&mut sock, Event::TxStart);
        sock.ssthresh = algorithm.ssthresh(&mut sock);
        algorithm.cwnd_event(&mut sock, Event::Loss);
        sock.cwnd = 1;
        algorithm.set_state(&mut sock, State::Loss);
        sock.state = State::Loss as u32;
        algorithm.cwnd_event(&mut sock, Event::TxStart);
        assert_eq!((sock.cwnd, sock.paced), (1, 0));
        // What was chosen is kept where the rest is forgotten.
        sock.state = State::Open as u32;
        algorithm.cwnd_event(&mut sock, Event::TxStart);
        assert_eq!((sock.cwnd, sock.paced), (sock.ssthresh, 1));
    }
}

#[test]
fn beyond_the_paper_the_window_before_the_silence_counts_and_not_for_ever() {
    for config in all(2, 0) {
        let algorithm = config.algorithm();
        for (silence, ssthresh, expected) in
            [(75_000, 299, 369), (75_001, 299, 299), (75_000, INFINITE_SSTHRESH, 369)]
        {
            let mut sock = idle(&config, 369, ssthresh);
            (sock.cwnd_clamp, sock.jiffies) = (1 << 20, sock.last_sent + silence);
            // Two writes; each finds the connection idle.
            for cwnd in [369, 10] {
                sock.cwnd = cwnd;
                algorithm.cwnd_event(&mut sock, Event::CwndRestart);
            }
            algorithm.cwnd_event(&mut sock, Event::TxStart);
            assert_eq!((sock.cwnd, sock.ssthresh), (expected, ssthresh), "{}", algorithm.name());
        }
    }
    for config in all(1, 0) {
        let mut sock = idle(&config, 369, 299);
        config.algorithm().cwnd_event(&mut sock, Event::CwndRestart);
        sock.cwnd = 10;
        config.algorithm().cwnd_event(&mut sock, Event::TxStart);
        assert_eq!(sock.cwnd, 299, "the paper's");
    }
}

/// The timer expired with 400 packets in flight, and the first of them is retransmitted.
fn timed_out(config: &Config) -> Sock {
    let mut sock = idle(config, 400, 300);
    let algorithm = config.algorithm();
    sock.ssthresh = algorithm.ssthresh(&mut sock);
    algorithm.cwnd_event(&mut sock, Event::Loss);
    (sock.cwnd, sock.in_flight) = (1, 0);
    algorithm.set_state(&mut sock, State::Loss);
    sock.state = State::Loss as u32;
    algorithm.cwnd_event(&mut sock, Event::TxStart);
    sock
}

#[test]
fn beyond_the_paper_what_follows_a_timeout_is_sent_in_a_round_trip() {
    for config in all(3, 0) {
        let mut sock = timed_out(&config);
        let ssthresh = sock.ssthresh;
        assert_eq!(sock.cwnd, 1, "one segment tries the path");
        acknowledged(&config, &mut sock, 1, -1);
        assert_eq!((sock.cwnd, sock.paced), (ssthresh, 1), "its ACK opens the window");
        sock.now_us += 19_999;
        sock.in_flight = ssthresh - 2;
        acknowledged(&config, &mut sock, 2, 19_000_000);
        assert_eq!((sock.cwnd, sock.paced), (ssthresh, 1));
        sock.now_us += 3;
        acknowledged(&config, &mut sock, 2, 19_000_000);
        assert_eq!((sock.cwnd, sock.ssthresh, sock.paced), (ssthresh, ssthresh, 0));
    }
    for config in all(1, 0).chain(all(2, 0)) {
        let mut sock = timed_out(&config);
        acknowledged(&config, &mut sock, 1, -1);
        assert_eq!((sock.cwnd, sock.paced), (1, 0), "the paper's is slow start's");
    }
}

/// The window before a silence of 369 packets is kept, by RFC 7661, over one that the stack lowered to ten.
fn kept(config: &Config, silence: u32) -> Sock {
    let mut sock = idle(config, 369, 299);
    sock.jiffies = sock.last_sent + silence;
    config.algorithm().cwnd_event(&mut sock, Event::CwndRestart);
    sock.cwnd = 10;
    // A second write before the first packet finds the window lowered.
    config.algorithm().cwnd_event(&mut sock, Event::CwndRestart);
    config.algorithm().cwnd_event(&mut sock, Event::TxStart);
    sock
}

#[test]
fn by_rfc_7661_the_window_before_the_silence_is_kept_unpaced() {
    for config in all(4, 250) {
        let name = config.algorithm().name();
        // Five minutes, of 250 ticks a second, halve it.
        for (silence, expected) in
            [(1000, 369), (74_999, 369), (75_000, 184), (150_000, 92), (4_000_000_000, 10)]
        {
            let sock = kept(&config, silence);
            assert_eq!((sock.cwnd, sock.ssthresh, sock.paced), (expected, 299, 0), "{name}");
        }
        // A new connection has no window to keep.
        let mut sock = idle(&config, 10, INFINITE_SSTHRESH);
        config.algorithm().cwnd_event(&mut sock, Event::TxStart);
        assert_eq!((sock.cwnd, sock.paced), (10, 0), "{name}");
    }
}

#[test]
fn by_rfc_7661_a_loss_leaves_half_of_what_was_in_flight_until_half_the_window_was() {
    for config in all(4, 0) {
        let (algorithm, name) = (config.algorithm(), config.algorithm().name());
        // What an ordinary loss leaves.
        let ordinary = algorithm.ssthresh(&mut idle(&config, 369, 299));

        let mut sock = kept(&config, 1000);
        sock.in_flight = 98;
        acknowledged(&config, &mut sock, 2, 20_000_000);
        sock.in_flight = 60;
        acknowledged(&config, &mut sock, 2, 20_000_000);
        assert_eq!(sock.cwnd, 369, "{name}: it may be used still");
        // Another silence later: nothing is known of the path since.
        let mut again = sock;
        again.jiffies += 1000;
        algorithm.cwnd_event(&mut again, Event::CwndRestart);
        again.cwnd = 10;
        algorithm.cwnd_event(&mut again, Event::TxStart);
        again.in_flight = 20;
        assert_eq!((again.cwnd, algorithm.ssthresh(&mut again)), (369, 10), "{name}");
        assert_eq!(algorithm.ssthresh(&mut sock), 50, "{name}");
        assert_eq!(algorithm.ssthresh(&mut sock).min(ordinary), ordinary, "{name}: once");

        let mut sock = kept(&config, 1000);
        sock.in_flight = 182;
        acknowledged(&config, &mut sock, 2, 20_000_000);
        assert_eq!((sock.cwnd, algorithm.ssthresh(&mut sock)), (369, ordinary), "{name}");
    }
}

proptest! {
    #[test]
    fn by_rfc_7661_the_window_is_between_both_and_a_loss_leaves_no_more_than_ever(
        before in 2_u32..1 << 27,
        lowered in 2_u32..1 << 27,
        silence in any::<u32>(),
        flights in prop::collection::vec((0_u32..1 << 27, 1_u32..1 << 20), 0..4),
    ) {
        for config in all(4, 0) {
            let (algorithm, lowered) = (config.algorithm(), lowered.min(before));
            let mut sock = idle(&config, before, 299);
            (sock.cwnd_clamp, sock.jiffies) = (1 << 27, sock.last_sent.wrapping_add(silence));
            algorithm.cwnd_event(&mut sock, Event::CwndRestart);
            sock.cwnd = lowered;
            algorithm.cwnd_event(&mut sock, Event::TxStart);
            prop_assert!((lowered..=before).contains(&sock.cwnd) && sock.paced == 0);
            let cwnd = sock.cwnd;
            for (in_flight, acked) in flights.clone() {
                sock.in_flight = in_flight;
                acknowledged(&config, &mut sock, acked, 20_000_000);
            }
            prop_assert_eq!(sock.cwnd, cwnd);
            prop_assert!((2..=cwnd.max(2)).contains(&algorithm.ssthresh(&mut sock)));
        }
    }

    #[test]
    fn it_never_exceeds_the_threshold_and_leaves_no_less_than_it_began_with(
        cwnd in 1_u32..1 << 20,
        ssthresh in 2_u32..1 << 27,
        clamp in 1_u32..1 << 27,
        srtt_us8 in any::<u32>(),
        in_flight in 0_u32..1 << 27,
        acked in 1_u32..1 << 20,
    ) {
        for config in all(1, 250) {
            let mut sock = idle(&config, cwnd, ssthresh);
            (sock.cwnd_clamp, sock.srtt_us8) = (clamp, srtt_us8);
            config.algorithm().cwnd_event(&mut sock, Event::TxStart);
            prop_assert!(sock.cwnd >= cwnd && sock.cwnd <= cwnd.max(ssthresh.min(clamp)));
            prop_assert_eq!(sock.paced != 0, sock.cwnd > cwnd);
            sock.in_flight = in_flight;
            let reached = sock.cwnd;
            acknowledged(&config, &mut sock, acked, 20_000_000);
            prop_assert!(sock.cwnd >= cwnd && sock.cwnd <= reached && sock.paced == 0);
        }
    }
}
