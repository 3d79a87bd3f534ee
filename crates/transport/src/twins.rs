//! Tests the fast paths against the general ones: header prediction on both sides, the next segment without a full
//! check, the ACK that only advances. Two connections go through the same, one of them without any fast path; every
//! segment and every count must be equal.

#[path = "../tests/pipe/mod.rs"]
mod pipe;

use std::format;
use std::string::String;
use std::vec::Vec;

use base::{Duration, Packet, Rate};
use congestion::Algorithm;
use proptest::prelude::*;

use crate::config::{Buffer, Config, Ecn, LossDetection};
use crate::{Connection, Info, Profile, SocketOption};
use pipe::{Fate, Pipe, Random, ms};

/// The events of the path, in per mille of the packets.
#[derive(Clone, Copy, Debug)]
struct Path {
    drop: u64,
    late: u64,
    twice: u64,
    mark: u64,
    refuse: u64,
}

fn fate(random: &mut Random, path: Path) -> Fate {
    let mut draw = random.below(1_000);
    for (share, fate) in [
        (path.drop, Fate::Drop),
        (path.twice, Fate::Twice),
        (path.mark, Fate::Mark),
        (path.refuse, Fate::Refuse),
        (path.late, Fate::Late(Duration::from_us(random.below(30_000)))),
    ] {
        match draw.checked_sub(share) {
            None => return fate,
            Some(rest) => draw = rest,
        }
    }
    Fate::Pass
}

fn config(random: &mut Random) -> Config {
    let mut config = Profile::all()[random.below(Profile::all().len() as u64) as usize].config();
    let mut yes = |one_of: u64| random.below(one_of) == 0;
    config.segment.sack &= !yes(3);
    config.segment.timestamps &= !yes(3);
    config.segment.ecn = if yes(2) { Ecn::Request } else { Ecn::Accept };
    config.emission.tso = yes(2);
    config.emission.pacing = yes(4);
    config.emission.nagle = yes(2);
    config.rto.retries_max = 60;
    if yes(4) {
        config.recovery.detection = LossDetection::Sack;
    }
    if yes(4) {
        config.buffers.receive = Buffer::Fixed(60_000);
    }
    let all = Algorithm::all();
    config.congestion = (&all[random.below(all.len() as u64) as usize]).into();
    // Where it has that.
    let _ = config.congestion.set("restart", random.below(4) as u32);
    let _ = config.congestion.set("restart_rate", 20);
    config
}

/// Lets the program at an end read, write or do nothing.
fn run_program(end: &mut Connection, random: &mut Random, now: base::Instant) {
    match random.below(40) {
        0 => drop(end.write(random.below(200_000), now)),
        1 => end.supply(random.below(3_000), now),
        2..9 => drop(end.read(random.below(100_000), now)),
        9 if random.below(20) == 0 => {
            let rate = Rate::from_bits_per_second(10_000_000 << random.below(6)).expect("not 0");
            end.set_option(&SocketOption::PacingRate(rate), now).unwrap_or_default();
        }
        _ => {}
    }
}

/// Every segment that was sent, and both ends now and then, of a connection that is drawn from `seed`.
fn run(seed: u64, path: Path, general: bool) -> (Vec<String>, Vec<[Info; 2]>) {
    let mut random = Random(seed);
    let config = config(&mut random);
    let mut draw = Random(seed ^ 1);
    let impaired = random.below(2) == 0;
    let fate = |side: usize, _: &Packet, _: base::Instant| {
        if side == 0 || impaired { fate(&mut draw, path) } else { Fate::Pass }
    };
    let mut pipe = Pipe::new([&config, &config], ms(1 + random.below(40)), fate);
    pipe.keep = true;
    if general {
        pipe.ends.iter_mut().for_each(Connection::predict_nothing);
    }
    if random.below(2) == 0 {
        pipe.ends[1].read_always(pipe.now);
    }
    pipe.send_pending();
    pipe.ends[0].supply(100_000, pipe.now);
    let mut infos = Vec::new();
    for step in 0..3_000 {
        if !pipe.step() {
            break;
        }
        run_program(&mut pipe.ends[(step % 2) as usize], &mut random, pipe.now);
        if step == 2_000 {
            pipe.ends.iter_mut().for_each(|end| end.close(pipe.now));
        }
        pipe.send_pending();
        if step % 50 == 0 {
            infos.push(pipe.ends.each_ref().map(Connection::info));
        }
    }
    infos.push(pipe.ends.each_ref().map(Connection::info));
    (pipe.sent.iter().map(|sent| format!("{sent:?}")).collect(), infos)
}

/// Checks that both paths do the same.
fn compare(seed: u64, path: Path) -> Result<(), TestCaseError> {
    let (sent, infos) = run(seed, path, false);
    let (expected, general) = run(seed, path, true);
    for (n, (fast, slow)) in sent.iter().zip(&expected).enumerate() {
        prop_assert_eq!(fast, slow, "segment {} of {} and {}", n, sent.len(), expected.len());
    }
    prop_assert_eq!(sent.len(), expected.len());
    for (n, (fast, slow)) in infos.iter().zip(&general).enumerate() {
        prop_assert_eq!(fast, slow, "look {}", n);
    }
    Ok(())
}

/// Cases that once differed, each by what its comment says.
#[test]
fn cases_that_differed_are_equal() {
    let path =
        |[drop, late, twice, mark, refuse]: [u64; 5]| Path { drop, late, twice, mark, refuse };
    for (seed, shares) in [
        // Two ACKs at one instant, and the second one leaves one segment out; then more is sent.
        (16_380_772_808_131_394_496, [8, 0, 9, 17, 7]),
        // As above, and the second one leaves nothing out.
        (17_011_159_755_674_781_295, [27, 26, 5, 8, 0]),
        // As above, and the second one brings a block: new data goes out by limited transmit.
        (11_328_968_425_661_568_830, [27, 18, 4, 22, 11]),
        // An ACK older than a window: its timestamp is not kept.
        (14_492_560_715_577_571_864, [26, 69, 13, 4, 4]),
        // Both windows are full when an ACK brings nothing new.
        (10_402_491_482_881_060_854, [8, 36, 4, 7, 6]),
        // Data after this end's own timeout: it is the longer pause after which ACKs are quick again.
        (12_123_766_024_770_152_721, [9, 67, 16, 0, 17]),
    ] {
        compare(seed, path(shares)).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn a_fast_path_does_what_the_general_one_does(
        seed: u64, drop in 0u64..40, late in 0u64..80, twice in 0u64..20, mark in 0u64..40,
        refuse in 0u64..20, clean in 0u64..3,
    ) {
        // A third of the paths is clean, where the fast paths are taken most.
        let path = Path { drop, late, twice, mark, refuse };
        let none = Path { drop: 0, late: 0, twice: 0, mark: 0, refuse: 0 };
        compare(seed, if clean == 0 { none } else { path })?;
    }
}
