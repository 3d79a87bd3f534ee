//! DCTCP against RFC 8257, with Linux's scale of 1/1024.

use congestion::{Algorithm, Config, Event, Refused, State};

use crate::path::{MSS, Path};

const RTT_US: u32 = 100;

/// A connection in congestion avoidance whose packets have been unmarked for long enough that alpha is 0.
fn unmarked(cwnd: u32) -> Path {
    let mut config = Config::from(Algorithm::by_name("dctcp").unwrap());
    assert_eq!(config.set("alpha_on_init", 0), Ok(()));
    let mut path = Path::with(&config, RTT_US, cwnd, 2);
    path.sock.cwnd_limited = 0;
    path
}

/// Acknowledges a window of data; `marked` packets come with an echo.
fn round(path: &mut Path, marked: u32) {
    path.sock.delivered_ce = path.sock.delivered_ce.wrapping_add(marked);
    path.round();
}

/// The reduction of the window by a round trip with a mark, as a share of it.
fn cut(mut path: Path) -> f64 {
    let cwnd = f64::from(path.sock.cwnd);
    path.reduce();
    1.0 - f64::from(path.sock.cwnd) / cwnd
}

#[test]
fn the_window_falls_by_half_of_the_average_share_of_marks() {
    for (share, rounds) in [(1.0, 1), (1.0, 3), (0.5, 10), (0.1, 50), (0.25, 200)] {
        let mut path = Path::avoiding("dctcp", RTT_US, 10_000);
        path.sock.cwnd_limited = 0;
        let mut alpha = 1.0;
        for _ in 0..rounds {
            round(&mut path, (10_000.0 * share) as u32);
            alpha = alpha * 15.0 / 16.0 + share / 16.0;
        }
        let found = cut(path);
        // A sixteenth in whole 1024ths: less than 16 of them stay, and what comes is cut by up to 16.
        let error = (found - alpha / 2.0) * 2.0 * 1024.0;
        assert!(error.abs() < 16.5, "{share}, {rounds}: {found}, {alpha} / 2");
    }
}

#[test]
fn a_connection_starts_as_if_all_were_marked_and_forgets_that() {
    let mut path = Path::avoiding("dctcp", RTT_US, 1_000);
    path.sock.cwnd_limited = 0;
    path.reduce();
    assert_eq!(path.sock.cwnd, 500);
    let mut path = Path::avoiding("dctcp", RTT_US, 1_000);
    path.sock.cwnd_limited = 0;
    (0..16).for_each(|_| round(&mut path, 0));
    // (15/16)^16 = 0.356
    let found = cut(path);
    assert!((0.177..0.186).contains(&found), "{found}");
    let mut path = Path::avoiding("dctcp", RTT_US, 1_000);
    path.sock.cwnd_limited = 0;
    (0..90).for_each(|_| round(&mut path, 0));
    assert!(cut(path) < 1e-9, "nothing is left");
}

/// Linux's arithmetic: what is below 16/1024 has no sixteenth, and a window takes all of it. So a small share that
/// comes after none is never averaged, and a connection's memory of its start (alpha 1) is what keeps it.
#[test]
fn a_small_share_after_none_is_its_last_sample() {
    let mut path = unmarked(10_000);
    (0..50).for_each(|_| round(&mut path, 1_000));
    let found = cut(path);
    assert!((found - 6.0 / 2048.0).abs() < 1e-4, "1024 / 10 / 16 = 6.4: {found}");
}

#[test]
fn the_average_takes_one_sample_a_window_of_data() {
    let mut path = unmarked(1_000);
    path.sock.delivered_ce += 500;
    for _ in 0..900 {
        path.sock.snd_nxt = path.sock.snd_una.wrapping_add(1_000 * MSS);
        path.ack(1, 1);
    }
    assert!(cut(path) < 1e-9, "the window of data is not over");
}

#[test]
fn without_marks_it_is_standard_tcp() {
    let window = |name: &str| {
        let mut path = Path::new(name, RTT_US);
        (0..5).for_each(|_| path.round());
        path.lose();
        (0..20).for_each(|_| path.round());
        path.time_out();
        (0..20).for_each(|_| path.round());
        path.sock.cwnd
    };
    assert_eq!(window("dctcp"), window("newreno"));
}

#[test]
fn a_loss_halves_however_few_marks_there_were() {
    let mut path = unmarked(100);
    path.lose();
    assert_eq!(path.sock.cwnd, 50);
    let mut path = unmarked(100);
    path.time_out();
    assert_eq!(path.sock.ssthresh, 50);
    path.undo();
    assert_eq!(path.sock.cwnd, 100);
}

#[test]
fn its_gain_is_a_parameter() {
    let mut config = Config::from(Algorithm::by_name("dctcp").unwrap());
    assert_eq!(config.set("shift_g", 0), Ok(()));
    assert_eq!(config.set("shift_g", 11), Err(Refused::Range(0..=10)));
    let mut path = Path::with(&config, RTT_US, 1_000, 2);
    path.sock.cwnd_limited = 0;
    round(&mut path, 250);
    let found = cut(path);
    assert!((0.124..=0.125).contains(&found), "the last window alone: {found}");
}

#[test]
fn a_change_of_marks_is_acknowledged_at_once_and_each_mark_is_echoed() {
    let mut path = Path::new("dctcp", RTT_US);
    let mut number = 1_000;
    // The mark of a segment, and what is acknowledged for it first, if the mark has changed.
    for (event, changes) in [
        (Event::EcnNoCe, false),
        (Event::EcnNoCe, false),
        (Event::EcnIsCe, true),
        (Event::EcnIsCe, false),
        (Event::EcnNoCe, true),
    ] {
        let before = number;
        number += MSS;
        (path.sock.rcv_nxt, path.sock.ack_now) = (number, 0);
        path.event(event);
        assert_eq!(path.sock.echo_ce, u16::from(event == Event::EcnIsCe));
        assert_eq!(path.sock.ack_now, u16::from(changes));
        if changes {
            assert_eq!(path.sock.ack_prior, before, "up to the segment before");
        }
    }
    path.sock.ack_now = 0;
    path.event(Event::TxStart);
    assert_eq!((path.sock.echo_ce, path.sock.ack_now), (0, 0));
    assert_eq!(path.sock.state, State::Open as u32);
}
