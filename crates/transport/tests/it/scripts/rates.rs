//! What an algorithm with `cong_control` receives, and that it sets window and pacing rate itself.

use std::cell::{Cell, RefCell};

use congestion::{Algorithm, Hooks, INFINITE_SSTHRESH, RateSample, Sock, State, UNPACED};

use super::*;

thread_local! {
    /// The samples that came on this thread, whether the window limited at the last, and what window and rate the
    /// algorithm sets.
    static SAMPLES: RefCell<Vec<RateSample>> = const { RefCell::new(Vec::new()) };
    static LIMITED: Cell<bool> = const { Cell::new(false) };
    static ANSWER: RefCell<(u32, u64)> = const { RefCell::new((10, UNPACED)) };
}

extern "C" fn init(sock: &mut Sock) {
    assert_eq!(sock.pacing_rate, UNPACED);
    sock.paced = 1;
}

extern "C" fn keep(sock: &mut Sock) -> u32 {
    sock.ssthresh
}

extern "C" fn window(sock: &mut Sock) -> u32 {
    sock.cwnd
}

extern "C" fn never(_: &mut Sock, _ack: u32, _acked: u32) {
    panic!("cong_control is in place of cong_avoid");
}

extern "C" fn control(sock: &mut Sock, _ack: u32, rate: &RateSample) {
    SAMPLES.with_borrow_mut(|samples| samples.push(*rate));
    LIMITED.set(sock.cwnd_limited == 1);
    (sock.cwnd, sock.pacing_rate) = ANSWER.with_borrow(|&answer| answer);
}

static SAMPLED: Algorithm = Algorithm::of_hooks(
    "sampled",
    &Hooks {
        ssthresh: keep,
        cong_avoid: never,
        undo_cwnd: window,
        init: Some(init),
        pkts_acked: None,
        cwnd_event: None,
        set_state: None,
        cong_control: Some(control),
        parameters: &congestion::Parameters::NONE,
        flags: 0,
    },
);

fn script() -> Script {
    let mut config = linux6();
    config.congestion = (&SAMPLED).into();
    config.window.initial = 10;
    ANSWER.set((10, UNPACED));
    SAMPLES.take();
    Script::new(&config, 100, 60_000)
}

fn last() -> RateSample {
    SAMPLES.with_borrow(|samples| *samples.last().expect("a sample"))
}

#[test]
fn a_sample_is_what_was_delivered_since_the_newest_segment_was_sent() {
    let mut script = script();
    script.supply(40);
    assert_eq!(script.numbers().len(), 10);
    script.ack(200, 1, &[]);
    let first = last();
    assert_eq!((first.delivered, first.interval_ns), (1, 100_000_000));
    assert_eq!((first.rtt_ns, first.acked, first.in_flight), (100_000_000, 1, 10));
    assert_eq!(script.numbers(), [10]);
    script.ack(250, 9, &[]);
    // Nine in the 150 ms since the first flight left.
    assert_eq!((last().delivered, last().interval_ns), (9, 150_000_000));
    script.numbers();
    script.ack(300, 11, &[]);
    // Number 10 left when one was delivered; the ten after it came in the 100 ms since then.
    let third = last();
    assert_eq!((third.delivered, third.interval_ns), (10, 100_000_000));
    assert_eq!(third.prior_delivered, first.prior_delivered + 1);
    assert_eq!((third.acked, third.in_flight, third.app_limited), (2, 10, 0));
}

#[test]
fn segments_sent_while_the_application_has_no_more_are_distinguished() {
    let mut script = script();
    script.supply(4);
    script.numbers();
    script.ack(200, 4, &[]);
    assert_eq!(last().app_limited, 1, "the write found nothing waiting");
    assert!(!LIMITED.get());
    // What the second write finds is a window that is not full; what follows it is limited by the window.
    script.supply(40);
    script.numbers();
    script.ack(300, 14, &[]);
    assert_eq!(last().app_limited, 1);
    script.numbers();
    script.ack(400, 24, &[]);
    assert_eq!(last().app_limited, 0);
    assert!(LIMITED.get(), "the window is full");
}

#[test]
fn the_rate_is_the_algorithms() {
    let mut script = script();
    script.supply(40);
    script.numbers();
    // A segment every 2 ms, from the ack on.
    ANSWER.set((20, MSS * 500));
    script.ack(200, 10, &[]);
    let mut times = Vec::new();
    for _ in 0..6 {
        times.extend(script.numbers().iter().map(|_| script.now));
        script.wait();
    }
    assert_eq!(script.end.info().pacing_rate, MSS * 500);
    let gaps: Vec<_> = times.windows(2).map(|pair| pair[1].since(pair[0]).as_us()).collect();
    assert!(gaps.iter().filter(|&&gap| gap == 2_000).count() >= 4, "{gaps:?}");
}

#[test]
fn the_window_is_the_algorithms_in_recovery_and_after_idleness() {
    let mut script = script();
    script.supply(60);
    script.numbers();
    ANSWER.set((12, UNPACED));
    for n in 1..=4 {
        script.ack(200 + n, 0, &[(2, 3 + n)]);
    }
    assert_eq!(script.end.info().ca_state, State::Recovery);
    assert_eq!((script.end.info().cwnd, script.end.info().ssthresh), (12, INFINITE_SSTHRESH));
    assert_eq!(SAMPLES.with_borrow(|samples| samples.iter().map(|s| s.lost).sum::<u32>()), 2);
    script.numbers();
    script.ack(300, 12, &[]);
    assert_eq!((script.end.info().ca_state, script.end.info().cwnd), (State::Open, 12));
    // Everything is acknowledged, and nothing sent for longer than a timeout.
    let mut done = 12;
    let mut ms = 300;
    while done < 60 {
        script.numbers();
        done = (done + 12).min(60);
        ms += 100;
        script.ack(ms, done, &[]);
    }
    script.now = at(ms + 60_000);
    script.supply(20);
    assert_eq!(script.numbers().len(), 12);
}

#[test]
fn marks_are_counted_with_what_they_came_with() {
    let mut config = linux6();
    config.congestion = (&SAMPLED).into();
    config.window.initial = 10;
    config.segment.ecn = Ecn::Request;
    ANSWER.set((10, UNPACED));
    SAMPLES.take();
    let mut script = Script::new(&config, 100, 60_000);
    script.supply(40);
    script.numbers();
    for (ms, segments, marked) in [(200, 2, false), (201, 5, true), (202, 6, false)] {
        script.now = at(ms);
        let mut packet = script.ack_packet(segments, &[]);
        if marked {
            packet.tcp.flags |= flags::ECE;
        }
        script.end.receive(&packet, script.now);
    }
    assert_eq!((last().delivered, last().delivered_ce), (6, 3));
}
