//! The effects of impairments on the packets on a link, against the configured shares and times.

use base::{Distribution, DropReason, Duration, Instant, Packet, PacketId, Random, Share};
use network::impairment::{Impairment, Parameters, Transit, down, duplicate, jitter, reorder};
use network::link::Wire;
use proptest::prelude::*;
use traffic::Packets;

const DELAY: Duration = Duration::from_ms(10);

fn share(share: f64) -> Share {
    Share((share * 2_f64.powi(32)) as u32)
}

/// Sends `count` packets, `gap` apart. Returns the packets in the order sent, and the packets that arrive with
/// their times of arrival.
fn passed(
    parameters: Parameters,
    seed: u64,
    count: u32,
    gap: Duration,
) -> (Vec<PacketId>, Vec<(Instant, PacketId)>) {
    let mut packets = Packets::new();
    let mut wire = Wire::new(DELAY, vec![Impairment::new(parameters, Random::from_seed(seed))]);
    let mut sent = Vec::new();
    let mut arrived = Vec::new();
    let take = |wire: &mut Wire, arrived: &mut Vec<_>| {
        while let Some(at) = wire.next_arrival() {
            arrived.push((at, wire.deliver().expect("one arrives")));
        }
    };
    for number in 0..count {
        let packet = packets.insert(Packet::default());
        sent.push(packet);
        let leaves = Instant::ZERO + gap.times(u64::from(number));
        assert_eq!(wire.send_impaired(packet, leaves, &mut packets).lost, None);
    }
    take(&mut wire, &mut arrived);
    assert_eq!(packets.live(), arrived.len(), "each packet arrives once, and each copy");
    (sent, arrived)
}

fn leaves(number: usize, gap: Duration) -> Instant {
    Instant::ZERO + gap.times(number as u64)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(40) })]

    #[test]
    fn jitter_keeps_the_order_and_makes_no_packet_early(
        seed: u64, most in 0_u64..20_000, gap in 0_u64..5_000,
    ) {
        let (most, gap) = (Duration::from_us(most), Duration::from_us(gap));
        let delay = Distribution::Uniform { min: Duration::ZERO, max: most + Duration::from_ps(1) };
        let parameters = Parameters::Jitter(jitter::Parameters { delay });
        let (sent, arrived) = passed(parameters, seed, 2_000, gap);
        let order: Vec<_> = arrived.iter().map(|&(_, packet)| packet).collect();
        prop_assert_eq!(order, sent);
        let mut least = Instant::ZERO;
        for (number, &(at, _)) in arrived.iter().enumerate() {
            let usual = leaves(number, gap) + DELAY;
            prop_assert!(at >= usual && at >= least);
            // It is late by its own draw, or waits for one before it that is.
            prop_assert!(at <= least.max(usual + most + Duration::from_ps(1)));
            least = at;
        }
    }

    /// Packets are far enough apart that none waits for another.
    #[test]
    fn the_mean_of_jitter_is_that_of_its_distribution(seed: u64, mean in 10_u64..1_000) {
        const COUNT: u32 = 20_000;
        let mean = Duration::from_us(mean);
        let gap = mean.times(40);
        let delay = Distribution::Exponential { mean };
        let parameters = Parameters::Jitter(jitter::Parameters { delay });
        let (_, arrived) = passed(parameters, seed, COUNT, gap);
        let late = |(number, &(at, _)): (usize, &(Instant, PacketId))| {
            at.since(leaves(number, gap) + DELAY).as_ps() as f64
        };
        let measured = arrived.iter().enumerate().map(late).sum::<f64>() / f64::from(COUNT);
        let deviation = mean.as_ps() as f64 / f64::from(COUNT).sqrt();
        prop_assert!((measured - mean.as_ps() as f64).abs() < 5.0 * deviation);
    }

    #[test]
    fn only_what_is_held_back_is_passed_by_others(seed: u64, p in 0.01..0.3, by in 1_u64..50) {
        const COUNT: u32 = 20_000;
        let gap = Duration::from_us(100);
        let by = Duration::from_us(100 * by + 50);
        let asked = reorder::Parameters { share: share(p), by: Distribution::Fixed(by) };
        let (sent, arrived) = passed(Parameters::Reorder(asked), seed, COUNT, gap);
        let place: std::collections::HashMap<_, _> =
            sent.iter().enumerate().map(|(number, &packet)| (packet, number)).collect();
        let mut held = 0_u32;
        for &(at, packet) in &arrived {
            let late = at.since(leaves(place[&packet], gap) + DELAY);
            prop_assert!(late == Duration::ZERO || late == by);
            held += u32::from(late == by);
        }
        let deviation = (p * (1.0 - p) / f64::from(COUNT)).sqrt();
        prop_assert!((f64::from(held) / f64::from(COUNT) - p).abs() < 5.0 * deviation);
    }

    #[test]
    fn what_leaves_in_an_outage_is_lost_and_nothing_else(
        at in 0_u64..3_000, lasts in 1_u64..1_000, more in 0_u64..2_000,
    ) {
        let every = if more == 0 { 0 } else { lasts + more };
        let [start, length, period] = [at, lasts, every].map(Duration::from_us);
        let asked = down::Parameters { at: start, lasts: length, every: period };
        let mut link = Impairment::new(Parameters::Down(asked), Random::from_seed(0));
        for us in 0..10_000_u64 {
            let mut frame = Transit::new(Instant::ZERO + Duration::from_us(us));
            link.apply(&mut frame);
            let since = us.checked_sub(at).map(|us| if every == 0 { us } else { us % every });
            let down = since.is_some_and(|since| since < lasts);
            prop_assert_eq!(frame.lost, down.then_some(DropReason::LinkLoss), "{} us", us);
        }
    }

    #[test]
    fn a_copy_arrives_right_behind_the_packet_that_it_is_a_copy_of(seed: u64, p in 0.01..0.5) {
        const COUNT: u32 = 20_000;
        let gap = Duration::from_us(100);
        let asked = Parameters::Duplicate(duplicate::Parameters { share: share(p) });
        let (sent, arrived) = passed(asked, seed, COUNT, gap);
        let copies = arrived.len() - sent.len();
        let deviation = (p * (1.0 - p) / f64::from(COUNT)).sqrt();
        prop_assert!((copies as f64 / f64::from(COUNT) - p).abs() < 5.0 * deviation);
        let mut originals = sent.iter();
        for pair in arrived.windows(2) {
            if originals.as_slice().first() == Some(&pair[0].1) {
                originals.next();
            } else {
                prop_assert!(pair[1].0 > pair[0].0);
            }
        }
    }
}
