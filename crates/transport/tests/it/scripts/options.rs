//! Options that change during a connection.

use std::sync::Arc;

use transport::{OptionError, ProgramPhase, SocketOption};

use super::*;

fn congestion(name: &str) -> SocketOption {
    SocketOption::Congestion(congestion::Algorithm::by_name(name).unwrap().into())
}

impl Script {
    fn set(&mut self, option: &SocketOption) {
        self.end.set_option(option, self.now).expect("an option that can be set");
    }

    /// Everything is acknowledged, `rounds` times, a round trip of 100 ms after it was sent.
    fn rounds(&mut self, rounds: u64) {
        for _ in 0..rounds {
            self.supply(1_000);
            self.numbers();
            let sent = self.end.info().bytes_acked / MSS + u64::from(self.end.info().packets_out);
            let ms = self.now.as_us() / 1_000;
            self.ack(ms + 100, sent, &[]);
        }
    }
}

#[test]
fn another_algorithm_takes_over_at_the_window_that_there_is() {
    let mut config = linux6();
    config.window.initial_ssthresh = 10;
    let mut script = Script::new(&config, 100, 60_000);
    script.rounds(4);
    let before = script.end.info();
    assert_eq!((before.cwnd, before.ssthresh), (14, 10), "a packet a round trip");
    script.set(&congestion("scalable"));
    let info = script.end.info();
    assert_eq!((info.cwnd, info.ssthresh), (14, 10));
    script.rounds(6);
    let grown = script.end.info().cwnd;
    assert!((14..20).contains(&grown), "{grown}: a packet for each hundred acknowledged");
    // BBR knows no threshold, and paces.
    script.set(&congestion("bbr"));
    script.supply(1_000);
    assert!(script.numbers().len() < grown as usize);
    let info = script.end.info();
    assert_eq!((info.cwnd, info.ssthresh), (grown, congestion::INFINITE_SSTHRESH));
    // Its gain of 2.89 in STARTUP.
    let rate = 2_885 * u64::from(grown) * MSS / 100;
    assert!(info.pacing_rate.abs_diff(rate) < rate / 20, "{info:?}");
    // A paced connection stays paced.
    script.set(&congestion("newreno"));
    assert_eq!(script.end.info().cwnd, grown);
    let paced = script.end.next_wakeup();
    assert!(paced < script.now + ms(20), "{paced:?}");
}

#[test]
fn the_same_algorithm_goes_on_where_it_is() {
    let mut script = Script::new(&linux6(), 100, 60_000);
    script.set(&congestion("cubic"));
    script.rounds(2);
    let before = script.end.info();
    script.set(&congestion("cubic"));
    assert_eq!(script.end.info(), before);
}

#[test]
fn the_timeouts_floor_comes_down_with_the_round_trips() {
    let mut script = Script::new(&linux6(), 100, 60_000);
    script.rounds(20);
    assert_eq!(script.end.info().rto, ms(300), "100 ms and Linux' floor of 200 ms");
    script.set(&SocketOption::RtoMin(ms(12)));
    assert_eq!(script.end.info().rto, ms(300), "until the next sample");
    script.rounds(20);
    let rto = script.end.info().rto;
    assert!((ms(112)..ms(114)).contains(&rto), "{rto:?}");
    script.set(&SocketOption::RtoMin(ms(400)));
    script.rounds(1);
    assert!(script.end.info().rto >= ms(400), "{:?}", script.end.info().rto);
    for wrong in [Duration::ZERO, Duration::from_secs(3_600)] {
        let refused = script.end.set_option(&SocketOption::RtoMin(wrong), script.now);
        assert!(matches!(refused, Err(OptionError::OutOfRange(_))), "{refused:?}");
    }
}

#[test]
fn segments_are_paced_from_then_on() {
    let mut script = Script::new(&linux6(), 100, 60_000);
    script.rounds(2);
    script.supply(1_000);
    let burst = script.numbers().len();
    assert!(burst > 20, "unpaced: {burst} at once");
    let acked = script.end.info().bytes_acked / MSS + burst as u64;
    // A segment each 10 ms.
    let rate = base::Rate::from_bits_per_second(MSS * 8 * 100).unwrap();
    script.set(&SocketOption::PacingRate(rate));
    script.ack(script.now.as_us() / 1_000 + 100, acked, &[]);
    let mut times = Vec::new();
    while times.len() < 5 {
        if !script.numbers().is_empty() {
            times.push(script.now);
        }
        script.wait();
    }
    // Of the time that it was late with the first it makes up half.
    for pair in times[1..].windows(2) {
        assert_eq!(pair[1].since(pair[0]), ms(10), "{times:?}");
    }
}

#[test]
fn a_window_is_saved_and_restored_by_name() {
    let [first, second]: [Arc<str>; 2] = ["first".into(), "second".into()];
    let mut script = Script::new(&linux6(), 100, 60_000);
    script.rounds(2);
    script.set(&SocketOption::SaveWindow(first.clone()));
    let saved = script.end.info();
    // A loss: the threshold is known from then on.
    script.supply(1_000);
    let sent = script.numbers().len() as u64;
    let (una, now) = (saved.bytes_acked / MSS, script.now.as_us() / 1_000);
    for n in 1..5 {
        script.ack(now + 100, una, &[(una + 1, una + 1 + n)]);
    }
    let reduced = script.end.info();
    assert_eq!(reduced.ca_state, congestion::State::Recovery);
    assert!(reduced.ssthresh < saved.cwnd);
    // While the window comes down its end is restored, and where it is on its way is the reduction's to say.
    script.set(&SocketOption::RestoreWindow(first.clone()));
    assert_eq!(script.end.info().cwnd, reduced.cwnd);
    assert_eq!(script.end.info().ssthresh, saved.ssthresh);
    script.numbers();
    script.ack(now + 200, una + sent, &[]);
    assert_eq!(script.end.info().ca_state, congestion::State::Open);
    script.set(&SocketOption::SaveWindow(second.clone()));
    let small = script.end.info();
    script.set(&SocketOption::RestoreWindow(first));
    assert_eq!(script.end.info().cwnd, saved.cwnd);
    script.set(&SocketOption::RestoreWindow(second));
    let info = script.end.info();
    assert_eq!((info.cwnd, info.ssthresh), (small.cwnd, small.ssthresh));
    let never: Arc<str> = "never".into();
    let refused = script.end.set_option(&SocketOption::RestoreWindow(never.clone()), script.now);
    assert_eq!(refused, Err(OptionError::NotSaved(never)));
}

#[test]
fn small_segments_that_waited_go_at_once() {
    let mut script = Script::new(&linux6(), 100, 60_000);
    script.end.write(100, script.now);
    script.end.write(100, script.now);
    assert_eq!(script.sends().len(), 1);
    script.end.write(100, script.now);
    assert_eq!(script.sends().len(), 0, "Nagle's rule");
    script.set(&SocketOption::NoDelay(true));
    assert_eq!(script.sends().len(), 1);
}

#[test]
fn options_of_one_that_is_not_open_are_its_from_the_start() {
    let config = linux6();
    let (flow, hosts) = (FlowId(0), [HostId(0), HostId(1)]);
    let mut end = Connection::listen(&config, flow, hosts[0], hosts[1], 1);
    assert_eq!(end.set_option(&congestion("bbr"), Instant::ZERO), Ok(()));
    let save = SocketOption::SaveWindow("phase".into());
    assert_eq!(end.set_option(&save, Instant::ZERO), Err(OptionError::NotOpen));
    let mut changed = config;
    congestion("vegas").configure(&mut changed).unwrap();
    SocketOption::NoDelay(true).configure(&mut changed).unwrap();
    assert_eq!(changed.congestion.algorithm().name(), "vegas");
    assert!(!changed.emission.nagle);
    assert_eq!(save.configure(&mut changed), Err(OptionError::NotOpen));
}

#[test]
fn each_phase_has_the_threshold_that_it_ended_with() {
    let phase = |name: &str, age_max| {
        SocketOption::Phase(ProgramPhase { name: name.into(), age_max: ms(age_max) })
    };
    let mut config = linux6();
    config.window.initial_ssthresh = 500;
    let mut script = Script::new(&config, 100, 60_000);
    let enter = |script: &mut Script, name, age_max| {
        script.set(&phase(name, age_max));
        let info = script.end.info();
        (info.cwnd, info.ssthresh)
    };
    // Nothing is known of a phase that has not been there: the threshold stays, and the window is a new connection's.
    assert_eq!(enter(&mut script, "pairs", 5_000), (10, 500));
    script.rounds(2);
    let grown = script.end.info().cwnd;
    assert!(grown > 10);
    assert_eq!(enter(&mut script, "pairs", 5_000), (grown, 500), "it is the one that there is");
    assert_eq!(enter(&mut script, "all", 5_000), (10, 500));
    // A loss in it: its threshold is small.
    script.supply(1_000);
    let sent = script.numbers().len() as u64;
    let (una, now) = (script.end.info().bytes_acked / MSS, script.now.as_us() / 1_000);
    for n in 1..5 {
        script.ack(now + 100, una, &[(una + 1, una + 1 + n)]);
    }
    let small = script.end.info().ssthresh;
    assert!(small < 10, "{small}");
    // What is in flight keeps its window.
    let cwnd = script.end.info().cwnd;
    assert_eq!(enter(&mut script, "pairs", 5_000), (cwnd, 500));
    assert_eq!(enter(&mut script, "all", 5_000), (cwnd, small));
    script.numbers();
    script.ack(now + 200, una + sent, &[]);
    assert_eq!(enter(&mut script, "pairs", 5_000).1, 500);
    script.now += ms(1_800);
    assert_eq!(enter(&mut script, "all", 1_000).1, 500, "that of 1.8 s ago counts no more");
    assert_eq!(enter(&mut script, "pairs", 5_000).1, 500);
}
