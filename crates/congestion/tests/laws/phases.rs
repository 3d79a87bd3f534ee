//! Phases against a plain model: a program enters any of them in any order, and each has the threshold that it ended with.

use core::num::NonZeroU32;
use std::collections::HashMap;

use congestion::{PHASES_MAX, Phases, State};
use proptest::prelude::*;

use crate::path::established;

const WINDOW: u32 = 10;

fn phase(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).expect("phases are numbered from 1")
}

#[derive(Clone, Debug)]
struct Entry {
    phase: u32,
    /// The connection's window and threshold in the meantime.
    cwnd: u32,
    ssthresh: u32,
    /// The time since the last entry.
    jiffies: u32,
    in_flight: u32,
    state: State,
    age_max_ms: u32,
}

fn entries(phases: u32) -> impl Strategy<Value = Vec<Entry>> {
    let state = prop::sample::select(vec![State::Open, State::Disorder, State::Recovery]);
    let entry =
        (1..=phases, 1..2_000_u32, 2..5_000_u32, 0..5_000_u32, 0..2_u32, state, 0..40_000_u32);
    let entry = entry.prop_map(|(phase, cwnd, ssthresh, jiffies, in_flight, state, age_max_ms)| {
        Entry { phase, cwnd, ssthresh, jiffies, in_flight, state, age_max_ms }
    });
    prop::collection::vec(entry, 1..100)
}

proptest! {
    #[test]
    fn each_has_the_threshold_that_it_ended_with(entries in entries(PHASES_MAX as u32)) {
        let mut phases = Phases::default();
        let mut sock = established(1, 2);
        let mut ended: HashMap<u32, (u32, u32)> = HashMap::new();
        let mut current = None;
        for entry in entries {
            sock.jiffies = sock.jiffies.wrapping_add(entry.jiffies);
            (sock.cwnd, sock.ssthresh, sock.state) = (entry.cwnd, entry.ssthresh, entry.state as u32);
            sock.snd_nxt = sock.snd_una.wrapping_add(entry.in_flight);
            let another = phases.enter(&mut sock, phase(entry.phase), WINDOW, entry.age_max_ms);
            prop_assert_eq!(another, current != Some(entry.phase));
            if !another {
                prop_assert_eq!((sock.cwnd, sock.ssthresh), (entry.cwnd, entry.ssthresh));
                continue;
            }
            if let Some(left) = current.replace(entry.phase) {
                ended.insert(left, (entry.ssthresh, sock.jiffies));
            }
            let age_max = u64::from(entry.age_max_ms) * u64::from(sock.hz) / 1_000;
            let young = ended.get(&entry.phase).filter(|(_, since)| {
                u64::from(sock.jiffies.wrapping_sub(*since)) <= age_max
            });
            prop_assert_eq!(sock.ssthresh, young.map_or(entry.ssthresh, |(kept, _)| *kept));
            let calm = matches!(entry.state, State::Open | State::Disorder) && entry.in_flight == 0;
            let cwnd = if calm { entry.cwnd.min(WINDOW) } else { entry.cwnd };
            prop_assert_eq!(sock.cwnd, cwnd);
        }
    }
}

#[test]
fn of_too_many_the_one_that_ended_first_is_forgotten() {
    let mut phases = Phases::default();
    let mut sock = established(5, 2);
    let most = PHASES_MAX as u32;
    // Each ends with its number as its threshold, and the last one is not over.
    for number in 1..=most + 2 {
        phases.enter(&mut sock, phase(number), WINDOW, u32::MAX);
        sock.ssthresh = 100 + number;
        sock.jiffies += 10;
    }
    let entered = |number| {
        let mut of = (phases, sock);
        of.0.enter(&mut of.1, phase(number), WINDOW, u32::MAX);
        of.1.ssthresh
    };
    // The last one ends as another begins, and takes the place of the second.
    assert_eq!((entered(1), entered(2)), (100 + most + 2, 100 + most + 2), "nothing is known");
    assert_eq!((entered(3), entered(most + 1)), (103, 100 + most + 1));
}
