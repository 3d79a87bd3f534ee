//! End to end: every byte arrives exactly once and in order, for any behaviour of the pipe.

use crate::pipe::{Fate, Pipe, Random, ms};
use base::{Duration, Instant};
use proptest::prelude::*;
use transport::config::IdleRestart;
use transport::{Config, Connection, OptionError, Profile, ProgramPhase, SocketOption};

#[test]
fn every_profile_moves_a_megabyte_over_a_clean_pipe() {
    for profile in Profile::all() {
        let config = profile.config();
        let mut pipe = Pipe::new([&config, &config], ms(10), |_, _, _| Fate::Pass);
        pipe.ends[1].read_always(pipe.now);
        pipe.establish();
        let now = pipe.now;
        pipe.ends[0].supply(1_000_000, now);
        pipe.ends[0].close(now);
        let done = pipe.run(Duration::from_secs(60), |e| {
            e[0].is_send_finished() && e[1].is_receive_finished()
        });
        let info = pipe.ends[0].info();
        assert!(done, "{}: {info:?}", profile.name());
        assert_eq!(pipe.ends[1].delivered_bytes(), 1_000_000);
        assert_eq!((info.retransmissions, info.timeouts), (0, 0), "{}: {info:?}", profile.name());
        println!("{} {:?}", profile.name(), pipe.now);
    }
}

/// A pipe's vices, in per mille of the packets.
#[derive(Clone, Copy, Debug)]
struct Vices {
    drop: u64,
    late: u64,
    twice: u64,
    mark: u64,
    refuse: u64,
    /// Data, ACKs, or both suffer.
    acks_too: bool,
}

fn fate_of(random: &mut Random, vices: Vices, side: usize) -> Fate {
    if side == 1 && !vices.acks_too {
        return Fate::Pass;
    }
    let draw = random.below(1_000);
    if draw < vices.drop {
        return Fate::Drop;
    }
    let draw = random.below(1_000);
    if draw < vices.late {
        return Fate::Late(Duration::from_us(random.below(40_000)));
    }
    match random.below(1_000) {
        n if n < vices.twice => Fate::Twice,
        n if n < vices.twice + vices.mark => Fate::Mark,
        n if n < vices.twice + vices.mark + vices.refuse => Fate::Refuse,
        _ => Fate::Pass,
    }
}

/// Some option with some value.
fn option(random: &mut Random) -> SocketOption {
    let name = |random: &mut Random| ["one", "two"][random.below(2) as usize].into();
    let restarts =
        [IdleRestart::Keep, IdleRestart::RestartWindow, IdleRestart::Rfc2861, IdleRestart::Rfc7661];
    match random.below(9) {
        0 => SocketOption::RtoMin(Duration::from_us(1 + random.below(400_000))),
        1 => {
            let bits = 1_000_000 << random.below(10);
            SocketOption::PacingRate(base::Rate::from_bits_per_second(bits).expect("not 0"))
        }
        2 => SocketOption::IdleRestart(restarts[random.below(4) as usize]),
        3 => SocketOption::NoDelay(random.below(2) == 0),
        4 => SocketOption::SaveWindow(name(random)),
        5 => SocketOption::RestoreWindow(name(random)),
        6 => {
            let age_max = Duration::from_ms(random.below(2_000));
            SocketOption::Phase(ProgramPhase { name: name(random), age_max })
        }
        _ => {
            let all = congestion::Algorithm::all();
            SocketOption::Congestion((&all[random.below(all.len() as u64) as usize]).into())
        }
    }
}

/// Sets some option at some end.
fn set_some(ends: &mut [Connection; 2], random: &mut Random, now: Instant) {
    let end = &mut ends[random.below(2) as usize];
    let option = option(random);
    match end.set_option(&option, now) {
        Ok(()) | Err(OptionError::NotSaved(_)) => {}
        Err(OptionError::NotOpen) => {
            use SocketOption::{Phase, RestoreWindow, SaveWindow};
            let window = matches!(option, SaveWindow(_) | RestoreWindow(_) | Phase(_));
            assert!(end.is_closed() || window && !end.is_established(), "{option:?}");
        }
        Err(error) => panic!("{option:?}: {error}"),
    }
}

/// Moves `bytes` both ways or one way; all arrive exactly once, and the counters balance. An option changes
/// every `options_every` steps.
fn transfer(
    config: &Config,
    vices: Vices,
    seed: u64,
    bytes: [u64; 2],
    options_every: Option<u64>,
) -> [transport::Info; 2] {
    let mut random = Random(seed);
    let isn = [random.next() as u32, random.next() as u32];
    let mut draw = random.clone();
    let mut pipe = Pipe::numbered([config, config], ms(10), isn, move |side, _, _| {
        fate_of(&mut draw, vices, side)
    });
    for (end, &bytes) in pipe.ends.iter_mut().zip(&bytes) {
        end.supply(bytes, pipe.now);
        end.close(pipe.now);
    }
    // An application that reads in lumps, at its leisure.
    let mut reads = 0;
    let mut read = [0u64; 2];
    pipe.send_pending();
    while !pipe.ends.iter().all(Connection::is_closed) && pipe.now < Instant::from_ps(u64::MAX / 64)
    {
        if !pipe.step() {
            break;
        }
        reads += 1;
        if options_every.is_some_and(|every| reads % every == 0) {
            set_some(&mut pipe.ends, &mut random, pipe.now);
            pipe.send_pending();
        }
        if reads % 3 == 0 {
            for (side, read) in read.iter_mut().enumerate() {
                *read += pipe.ends[side].read(random.below(200_000), pipe.now);
            }
            pipe.send_pending();
        }
    }
    let infos = [pipe.ends[0].info(), pipe.ends[1].info()];
    let what = format!("seed {seed} {vices:?} {:?}\n{:?}\n{:?}", pipe.now, infos[0], infos[1]);
    for (side, info) in infos.iter().enumerate() {
        read[side] += pipe.ends[side].read(u64::MAX, pipe.now);
        assert_eq!(read[side], bytes[1 - side], "read by {side}: {what}");
        assert_eq!(pipe.ends[side].acknowledged_bytes(), bytes[side], "acked of {side}: {what}");
        assert!(pipe.ends[side].is_closed(), "{what}");
        assert_eq!(info.phase, transport::Phase::Closed, "{what}");
        assert_eq!((info.in_flight, info.out_of_order), (0, 0), "{what}");
        assert_eq!(info.bytes_sent - info.bytes_retransmitted, bytes[side], "{what}");
    }
    infos
}

fn tweaks(config: &mut Config, choice: u64) {
    use transport::config::*;
    match choice % 8 {
        1 => config.segment.sack = false,
        2 => config.segment.timestamps = false,
        3 => config.emission.pacing = true,
        4 => config.segment.ecn = Ecn::Request,
        5 => config.recovery.timeout_forgets_sack = true,
        6 => config.buffers.receive = Buffer::Fixed(40_000),
        7 => config.recovery.detection = LossDetection::Sack,
        _ => {}
    }
    config.window.idle_restart =
        [IdleRestart::Rfc2861, IdleRestart::Rfc7661, IdleRestart::Keep, IdleRestart::RestartWindow]
            [(choice / 8 % 4) as usize];
    // Of the profiles' algorithms those that have it.
    let _ = config.congestion.set("restart", (choice / 32 % 4) as u32);
    let _ = config.congestion.set("restart_rate", 20);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    #[test]
    fn every_byte_arrives_once_whatever_the_pipe_does(
        seed: u64, choice: u64, profile in 0usize..4, drop in 0u64..120, late in 0u64..200,
        twice in 0u64..60, mark in 0u64..60, refuse in 0u64..100, acks_too: bool,
        there in 0u64..2_000_000, back in 0u64..200_000,
    ) {
        let mut config = Profile::all()[profile].config();
        tweaks(&mut config, choice);
        config.rto.retries_max = 60;
        (config.rto.syn_retries_max, config.rto.synack_retries_max) = (60, 60);
        let vices = Vices { drop, late, twice, mark, refuse, acks_too };
        transfer(&config, vices, seed, [there, back], None);
    }

    /// Every byte arrives once while any options change, for any algorithm.
    #[test]
    fn every_byte_arrives_once_whatever_options_change(
        seed: u64, choice: u64, profile in 0usize..4, every in 1u64..200,
        drop in 0u64..60, late in 0u64..100,
        twice in 0u64..30, mark in 0u64..60, refuse in 0u64..50, acks_too: bool,
        there in 0u64..2_000_000, back in 0u64..200_000,
    ) {
        let mut config = Profile::all()[profile].config();
        tweaks(&mut config, choice);
        config.rto.retries_max = 60;
        (config.rto.syn_retries_max, config.rto.synack_retries_max) = (60, 60);
        let vices = Vices { drop, late, twice, mark, refuse, acks_too };
        transfer(&config, vices, seed, [there, back], Some(every));
    }
}
