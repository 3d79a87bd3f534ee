//! Relative guarantees: delays and losses in proportion.

use base::{Instant, Random};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use traffic::Relaxed;
use traffic::qdisc::jobs::{Class, Parameters};

use crate::jobs::arrivals::random_times;
use crate::jobs::guarantees::cases;
use crate::jobs::link::{Link, frames, named};

/// A share of classes `0`, `1`, ... of the link in thousandths, and their numbers.
fn overload() -> impl Strategy<Value = Vec<(u64, u32, u32)>> {
    let class = (150_u64..600, 1_u32..5, 1_u32..5);
    let drawn = (proptest::collection::vec(class, 2..5), 1_200_u64..1_600);
    let drawn = drawn.prop_map(|(mut classes, load)| {
        let sum: u64 = classes.iter().map(|(share, ..)| share).sum();
        for (share, ..) in &mut classes {
            *share = *share * load / sum;
        }
        (classes, load)
    });
    // What the link cannot carry is lost in that proportion: nine tenths of a class at most.
    let possible = |(classes, load): &(Vec<(u64, u32, u32)>, u64)| {
        let (mut sum, mut most) = (0, 0);
        for &(share, _, loss) in classes {
            sum += share * u64::from(loss);
            most = most.max(u64::from(loss));
        }
        10 * (load - 1_000) * most < 9 * sum
    };
    drawn.prop_filter("a class would lose all", possible).prop_map(|(classes, _)| classes)
}

proptest! {
    // The same cases every time: what is measured is a mean over random arrivals.
    #![proptest_config(ProptestConfig { rng_seed: RngSeed::Fixed(1), ..cases(40) })]

    /// Random arrivals at 1.2 to 1.6 times what the link carries, after a start of 20 000 frames: mean
    /// delays are within 3 % of the proportion given (of 1200 pairs of classes one was 2.1 % off, the others
    /// within 2 %), shares lost within 1 %.
    #[test]
    fn delays_and_losses_are_in_proportion(drawn in overload(), seed in any::<u64>()) {
        let class = |&(_, delay, loss): &(u64, u32, u32)| Class {
            relative_delay: Some(delay),
            relative_loss: Some(loss),
            ..Class::default()
        };
        let classes = named(drawn.iter().map(class).collect());
        let parameters = Parameters { packets: 400, classes, ..Parameters::default() };
        let mut random = Random::from_seed(seed);
        let (mut link, until) = (Link::new(parameters), Instant::ZERO + frames(80_000));
        let mut offers = Vec::new();
        for (n, (share, ..)) in (0..).zip(&drawn) {
            offers.extend(random_times(&mut random, n, *share, until));
        }
        offers.sort_by_key(|offer| offer.at);
        let (mut offers, start) = (offers.into_iter().peekable(), Instant::ZERO + frames(20_000));
        link.serve(&mut offers, start);
        let before = link.seen.clone();
        link.serve(&mut offers, until);
        let delay = |n: usize| link.seen[n].mean_wait(start) / f64::from(drawn[n].1);
        let loss = |n: usize| link.seen[n].loss_share_since(&before[n]) / f64::from(drawn[n].2);
        for n in 1..drawn.len() {
            let (delays, losses) = (delay(n) / delay(0), loss(n) / loss(0));
            prop_assert!((0.97..1.03).contains(&delays), "delay of {}: {}", n, delays);
            prop_assert!((0.99..1.01).contains(&losses), "loss of {}: {}", n, losses);
        }
        prop_assert!(link.relaxed().iter().all(|relaxed| *relaxed == Relaxed::default()));
    }
}
