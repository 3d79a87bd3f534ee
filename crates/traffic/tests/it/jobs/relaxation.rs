//! Guarantees that cannot all hold: which of them are relaxed first, and how that is reported.

use base::{Duration, Instant, Random, Share};
use proptest::prelude::*;
use traffic::Relaxed;
use traffic::qdisc::jobs::{Class, Parameters};

use crate::jobs::arrivals::{leaky, random_times};
use crate::jobs::guarantees::{Drawn, cases, class};
use crate::jobs::link::{FRAME, LINK, Link, Offer, Seen, frames, named, roomy};
use crate::wire::rate;

/// Anything, for classes that bring anything.
fn guarantees() -> impl Strategy<Value = Vec<(Class, u64)>> {
    use proptest::option::of;
    let absolute = (of(1_u64..200), of(0_u32..1 << 30), of(LINK / 100..=LINK));
    let class = (absolute, of(1_u32..9), 10_u64..900);
    proptest::collection::vec(class, 2..6).prop_map(|drawn| {
        let relative = drawn.iter().filter(|(_, relative, _)| relative.is_some()).count() > 1;
        let class = |((delay, loss, bits), number, share): (_, Option<u32>, _)| {
            let number = number.filter(|_| relative);
            let class = Class {
                delay: Option::map(delay, frames),
                loss: Option::map(loss, Share),
                rate: Option::map(bits, rate),
                relative_delay: number,
                relative_loss: number,
                ..Class::default()
            };
            (class, share)
        };
        drawn.into_iter().map(class).collect()
    })
}

proptest! {
    #![proptest_config(cases(150))]

    /// Every violated guarantee is counted, and nothing else; no packet is lost or duplicated meanwhile.
    #[test]
    fn what_is_relaxed_is_reported(
        drawn in guarantees(), packets in 2_u64..400, seed in any::<u64>()
    ) {
        let (classes, shares): (Vec<_>, Vec<_>) = drawn.into_iter().unzip();
        let classes = named(classes);
        let parameters = Parameters { packets, classes: classes.clone(), ..Parameters::default() };
        let mut random = Random::from_seed(seed);
        let (mut link, until) = (Link::new(parameters), Instant::ZERO + frames(2_000));
        let mut offers = Vec::new();
        for (n, share) in (0..).zip(shares) {
            offers.extend(random_times(&mut random, n, share, until));
        }
        link.run(offers, until);
        for ((class, relaxed), seen) in classes.iter().zip(link.relaxed()).zip(&link.seen) {
            prop_assert_eq!(relaxed.delay, class.delay.map_or(0, |bound| seen.late(bound)));
            prop_assert_eq!(relaxed.delay > 0, relaxed.delay_longest > Duration::ZERO);
            prop_assert_eq!(relaxed.loss > 0, class.loss.is_some() && seen.loss_excess > 0);
            prop_assert!(relaxed.relative_delay == 0 || class.relative_delay.is_some());
            prop_assert!(seen.early == 0 || class.delay.is_some());
        }
    }

    /// However much the classes after it are promised and bring, the guarantee of the class listed first
    /// holds if it can hold alone.
    #[test]
    fn the_first_class_is_relaxed_last(
        first in prop_oneof![
            (50_u64..900, 20_u64..200)
                .prop_map(|(share, bound)| Drawn::Delay { share, bound, relative: None }),
            (50_u64..900, 64_u32..=1_518)
                .prop_map(|(share, length)| Drawn::Rate { share, length }),
        ],
        others in guarantees(),
        seed in any::<u64>(),
    ) {
        let mut random = Random::from_seed(seed);
        let until = Instant::ZERO + frames(3_000);
        let (others, shares): (Vec<_>, Vec<_>) = others.into_iter().unzip();
        // Without it, packets may be dropped for the sake of its delay.
        let lossless = Class { loss: Some(Share(0)), ..class(&first) };
        let classes = core::iter::once(lossless).chain(others).collect();
        let mut link = Link::new(roomy(named(classes)));
        let mut offers = Vec::new();
        for (n, share) in (1..).zip(shares) {
            offers.extend(random_times(&mut random, n, share, until));
        }
        match first {
            Drawn::Delay { share, bound, .. } => {
                let burst = (share * bound / 2 * FRAME / 1_000).max(FRAME);
                offers.extend(leaky(&mut random, 0, burst, share, until));
            }
            Drawn::Rate { length, .. } => link.greedy.push((0, length)),
            Drawn::Nothing => {}
        }
        link.run(offers, until);
        let Relaxed { delay, rate, loss, .. } = link.relaxed()[0];
        prop_assert_eq!((delay, rate, loss, link.seen[0].dropped), (0, 0, 0, 0));
    }
}

/// Runs classes that offer these shares of the link in thousandths, with frames of one length; returns what was
/// relaxed, and what became of the packets.
fn relaxed_by(classes: Vec<Class>, shares: &[u64], packets: u64) -> (Vec<Relaxed>, Vec<Seen>) {
    let parameters = Parameters { packets, classes: named(classes), ..Parameters::default() };
    let (mut link, until) = (Link::new(parameters), Instant::ZERO + frames(20_000));
    let mut offers = Vec::new();
    for (class, share) in (0..).zip(shares) {
        let every = frames(1).as_ps() * 1_000 / share;
        let at = |n| Instant::from_ps(n * every);
        offers.extend((0..20 * share).map(|n| Offer { at: at(n), class, length: 1_518 }));
    }
    link.run(offers, until);
    (link.relaxed(), link.seen)
}

#[test]
fn of_rates_that_cannot_all_hold_the_last_is_relaxed() {
    let half = || Class { rate: Some(rate(LINK * 48 / 100)), ..Class::default() };
    let (relaxed, _) = relaxed_by(vec![half(), half(), half()], &[500, 500, 500], 100_000);
    assert_eq!((relaxed[0].rate, relaxed[1].rate), (0, 0));
    assert!(relaxed[2].rate > 500, "{relaxed:?}");
}

/// A bound and a rate are of one rank: what is listed first holds, whichever it is.
#[test]
fn a_bound_and_a_rate_yield_by_their_place() {
    let bound = || Class { delay: Some(frames(50)), loss: Some(Share(0)), ..Class::default() };
    let fast = || Class { rate: Some(rate(LINK * 6 / 10)), ..Class::default() };
    let (relaxed, _) = relaxed_by(vec![bound(), fast()], &[600, 900], 100_000);
    assert_eq!((relaxed[0].delay, relaxed[0].loss), (0, 0));
    assert!(relaxed[1].rate > 1_000, "{relaxed:?}");
    let (relaxed, _) = relaxed_by(vec![fast(), bound()], &[900, 600], 100_000);
    assert_eq!(relaxed[0].rate, 0);
    assert!(relaxed[1].delay > 1_000 && relaxed[1].loss == 0, "{relaxed:?}");
}

/// A bound that a proportion would break: the proportion goes first. Without the bound it holds.
#[test]
fn a_proportion_is_relaxed_before_a_bound() {
    let classes = |bound| {
        let fast = Class { relative_delay: Some(1), relative_loss: Some(1), ..Class::default() };
        vec![fast.clone(), Class { delay: bound, relative_delay: Some(4), ..fast }]
    };
    let ratio = |seen: &[Seen]| {
        let start = Instant::ZERO + frames(10_000);
        seen[1].mean_wait(start) / seen[0].mean_wait(start)
    };
    let (relaxed, seen) = relaxed_by(classes(None), &[800, 400], 300);
    assert!((3.9..4.1).contains(&ratio(&seen)), "{}", ratio(&seen));
    assert_eq!(relaxed, [Relaxed::default(); 2]);
    let (relaxed, seen) = relaxed_by(classes(Some(frames(100))), &[800, 400], 300);
    assert!(ratio(&seen) < 1.0, "{}", ratio(&seen));
    assert_eq!(relaxed[1].delay, 0);
    assert!(relaxed[1].relative_delay > 1_000, "{relaxed:?}");
}

/// Offers twice the link's rate to a class with a delay bound that may cost any loss, an eighth of its packets,
/// or none.
#[test]
fn a_bound_is_relaxed_before_a_loss() {
    let class = |loss| Class { delay: Some(frames(50)), loss, ..Class::default() };
    let (relaxed, seen) = relaxed_by(vec![class(None)], &[2_000], 100_000);
    assert!((0.49..0.51).contains(&seen[0].loss_share()) && seen[0].early == seen[0].dropped);
    assert_eq!(relaxed[0], Relaxed::default());
    for loss in [1 << 29, 0] {
        let (relaxed, seen) = relaxed_by(vec![class(Some(Share(loss)))], &[2_000], 100_000);
        let lost = seen[0].loss_share() - f64::from(loss) / f64::from(1 << 16) / f64::from(1 << 16);
        assert!((-0.001..=0.0).contains(&lost), "{lost}");
        assert!(relaxed[0].loss == 0 && relaxed[0].delay > 10_000, "{relaxed:?}");
    }
}

/// A bound holds by dropping, though a rate listed before it takes half of the link: what the class gets
/// while its bound presses is learnt within the first bounds' time.
#[test]
fn a_bound_holds_beside_a_rate_that_goes_first() {
    let fast = Class { rate: Some(rate(LINK / 2)), ..Class::default() };
    let bound = Class { delay: Some(frames(50)), ..Class::default() };
    let (relaxed, seen) = relaxed_by(vec![fast, bound], &[600, 1_500], 100_000);
    assert_eq!(relaxed[0].rate, 0);
    assert!(seen[1].sent.len() > 9_000, "{}", seen[1].sent.len());
    assert!(relaxed[1].delay < seen[1].sent.len() as u64 / 100, "{relaxed:?}");
}

/// A full buffer of classes that may lose nothing: the last one does, and that is counted.
#[test]
fn of_losses_the_last_is_relaxed() {
    let class = || Class { loss: Some(Share(0)), ..Class::default() };
    let (relaxed, seen) = relaxed_by(vec![class(), class()], &[700, 700], 100);
    assert_eq!((relaxed[0].loss, seen[0].dropped), (0, 0));
    assert_eq!(relaxed[1].loss, seen[1].dropped);
    assert!(relaxed[1].loss > 5_000, "{relaxed:?}");
}

/// A class with a separate full buffer drops what arrives, regardless of its guarantees; the other one keeps
/// its whole buffer.
#[test]
fn a_separate_buffer_is_a_class_s_own() {
    let classes = vec![Class { loss: Some(Share(0)), ..Class::default() }, Class::default()];
    let parameters = Parameters {
        packets: 10,
        separate: true,
        classes: named(classes),
        ..Parameters::default()
    };
    let mut link = Link::new(parameters);
    for n in 0..30 {
        link.offer(Offer { at: Instant::ZERO, class: n % 2, length: 1_518 });
    }
    assert_eq!(link.seen.iter().map(|seen| seen.dropped).collect::<Vec<_>>(), [5, 5]);
    assert_eq!(link.relaxed().iter().map(|relaxed| relaxed.loss).collect::<Vec<_>>(), [5, 0]);
}
