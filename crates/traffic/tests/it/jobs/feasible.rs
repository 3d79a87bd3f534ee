//! Guarantees that can all hold do.

use base::{Bytes, Instant, Random, Share};
use proptest::prelude::*;
use traffic::qdisc::jobs::{Class, Parameters};

use crate::jobs::arrivals::{leaky, random_times};
use crate::jobs::guarantees::{Drawn, cases, class};
use crate::jobs::link::{FRAME, LINK, Link, frames, named, roomy};
use crate::wire::rate;

/// Guarantees that together need 95 % of the link at most, and one class without any.
fn feasible() -> impl Strategy<Value = Vec<Drawn>> {
    let delay = (10_u64..400, 20_u64..400, proptest::option::of(1_u32..9))
        .prop_map(|(share, bound, relative)| Drawn::Delay { share, bound, relative });
    let rate =
        (10_u64..400, 64_u32..=1_518).prop_map(|(share, length)| Drawn::Rate { share, length });
    let any = prop_oneof![3 => delay, 2 => rate];
    (proptest::collection::vec(any, 1..6), any_place()).prop_map(|(mut drawn, place)| {
        let mut left = 950;
        drawn.retain(|&guarantee| match guarantee {
            Drawn::Delay { share, .. } | Drawn::Rate { share, .. } if share <= left => {
                left -= share;
                true
            }
            _ => false,
        });
        drawn.insert(place % (drawn.len() + 1), Drawn::Nothing);
        drawn
    })
}

fn any_place() -> impl Strategy<Value = usize> {
    0_usize..6
}

proptest! {
    #![proptest_config(cases(150))]

    /// What the guaranteed classes bring can be served by due times within what is kept of each bound for
    /// that, a half or (beside a relative delay) an eighth; the rest of the link is overloaded.
    #[test]
    fn feasible_delays_and_rates_hold(drawn in feasible(), seed in any::<u64>()) {
        let mut random = Random::from_seed(seed);
        let until = Instant::ZERO + frames(4_000);
        let mut classes = named(drawn.iter().map(class).collect());
        // One class alone with a relative delay is refused.
        if classes.iter().filter(|class| class.relative_delay.is_some()).count() == 1 {
            let nothing = drawn.iter().position(|drawn| matches!(drawn, Drawn::Nothing)).unwrap();
            classes[nothing].relative_delay = Some(1);
        }
        let mut link = Link::new(roomy(classes.clone()));
        let mut offers = Vec::new();
        for (n, guarantee) in (0..).zip(&drawn) {
            match *guarantee {
                Drawn::Delay { share, bound, relative } => {
                    let kept = if relative.is_some() { bound / 8 } else { bound / 2 };
                    let burst = (share * kept * FRAME / 1_000).max(FRAME);
                    // A frame at least comes at once, whatever the share.
                    if burst * 1_000 <= share * kept * FRAME {
                        offers.extend(leaky(&mut random, n, burst, share, until));
                    }
                }
                Drawn::Rate { length, .. } => link.greedy.push((n, length)),
                Drawn::Nothing => link.greedy.push((n, 1_518)),
            }
        }
        link.run(offers, until);
        for ((class, relaxed), seen) in classes.iter().zip(link.relaxed()).zip(&link.seen) {
            prop_assert_eq!(seen.dropped, 0);
            prop_assert_eq!((relaxed.delay, relaxed.rate), (0, 0), "{:?}", class);
            if let Some(bound) = class.delay {
                prop_assert_eq!(seen.late(bound), 0);
            }
            if let Some(rate) = class.rate {
                let bits = rate.bits_per_second();
                let length = seen.sent[0].2 as f64;
                let frame = frames(1).as_secs_f64() * bits as f64 / 8.0;
                let behind = seen.behind(bits);
                prop_assert!(behind <= 2.0 * length + frame + 1.0, "{}", behind);
            }
        }
    }
}

/// A share of the link in thousandths, a burst in frames, a loss guarantee and perhaps a relative loss.
type Lossy = (u64, u64, u32, Option<u32>);

fn lossy() -> impl Strategy<Value = Vec<Lossy>> {
    let loss = prop_oneof![Just(0), 0_u32..1 << 28];
    proptest::collection::vec((20_u64..180, 1_u64..30, loss, proptest::option::of(1_u32..9)), 1..5)
}

proptest! {
    #![proptest_config(cases(150))]

    /// The buffer has room for the bursts of the guaranteed classes, which have the rates that they need; a
    /// class without a guarantee, anywhere in the list, floods the rest.
    #[test]
    fn feasible_losses_hold_at_every_moment(
        drawn in lossy(), place in any_place(), seed in any::<u64>()
    ) {
        let class = |&(share, _, loss, relative_loss): &Lossy| Class {
            loss: Some(Share(loss)),
            rate: Some(rate(LINK / 1_000 * share)),
            relative_loss,
            ..Class::default()
        };
        let mut classes: Vec<_> = drawn.iter().map(class).collect();
        let flood = place % (drawn.len() + 1);
        let relatives = drawn.iter().filter(|(.., relative)| relative.is_some()).count();
        let of_flood = Class { relative_loss: (relatives > 0).then_some(1), ..Class::default() };
        classes.insert(flood, of_flood);
        let room = drawn.iter().map(|(_, burst, ..)| (burst + 3) * FRAME).sum::<u64>() + FRAME;
        let parameters = Parameters {
            packets: 100_000,
            bytes: Some(Bytes(room)),
            classes: named(classes),
            ..Parameters::default()
        };
        let mut random = Random::from_seed(seed);
        let (mut link, until) = (Link::new(parameters), Instant::ZERO + frames(4_000));
        let mut offers = random_times(&mut random, flood as u32, 1_500, until);
        for (n, &(share, burst, ..)) in drawn.iter().enumerate() {
            let class = n + usize::from(n >= flood);
            offers.extend(leaky(&mut random, class as u32, burst * FRAME, share, until));
        }
        link.run(offers, until);
        prop_assert!(link.seen[flood].dropped > 0);
        for (relaxed, seen) in link.relaxed().iter().zip(&link.seen) {
            prop_assert_eq!((relaxed.loss, relaxed.rate), (0, 0));
            prop_assert!(seen.loss_excess <= 0, "{} bytes above", seen.loss_excess);
        }
    }
}
