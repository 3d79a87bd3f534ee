//! RED's arithmetic: the average queue, the probability for it, and the spacing of drops.
//!
//! Sections cited are those of Floyd and Jacobson, "Random Early Detection Gateways for Congestion
//! Avoidance", IEEE/ACM Transactions on Networking 1(4), 1993.

use base::random::Random;

/// An average and its thresholds count in 2^-20 of a packet or byte. With the least weight, 2^-16, an average
/// then settles within 1/16 of a packet of a constant queue.
const FRACTION_BITS: u32 = 20;
/// The longest queue and the highest threshold: 2^40 bytes with the fraction leave a sign and two
/// more bits in 64.
pub(crate) const LEVEL_MAX: u64 = 1 << 40;
/// The least weight of an average, in 2^-32.
pub(crate) const WEIGHT_MIN: u32 = 1 << 16;
/// Certainty, in the unit of probabilities: 2^-32.
const ONE: u64 = 1 << 32;

/// The exponentially weighted moving average of a queue's length (section 4).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Average {
    /// The average, in 2^-20 of a packet or byte.
    value: u64,
    /// The weight of the current queue length, in 2^-32; at least [`WEIGHT_MIN`].
    weight: u32,
}

impl Average {
    pub(crate) const fn new(weight: u32) -> Self {
        Self { value: 0, weight }
    }

    /// The same average, to go on with another weight.
    pub(crate) const fn weighted(self, weight: u32) -> Self {
        Self { weight, ..self }
    }

    /// A packet arrives at a queue of this length: avg += w (q - avg).
    #[inline]
    pub(crate) fn update(&mut self, level: u64) {
        let gap = (level.min(LEVEL_MAX) << FRACTION_BITS) as i64 - self.value as i64;
        let step = (i128::from(gap) * i128::from(self.weight)) >> 32;
        // A weight below one never carries the average past the queue's length.
        self.value = (self.value as i64 + step as i64) as u64;
    }

    /// Decays the average after the queue was empty for `packets` packet times: avg *= (1 - w)^packets.
    pub(crate) fn decay(&mut self, packets: u64) {
        let (mut factor, mut square, mut left) = (ONE, ONE - u64::from(self.weight), packets);
        while left > 0 && factor > 0 {
            if left & 1 == 1 {
                factor = (factor * square) >> 32;
            }
            square = (square * square) >> 32;
            left >>= 1;
        }
        self.value = ((u128::from(self.value) * u128::from(factor)) >> 32) as u64;
    }
}

/// The consequence of an average.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Zone {
    /// No drop.
    Below,
    /// Drop or mark with this probability, in 2^-32.
    Between(u64),
    /// Drop each packet.
    Above,
}

/// The probability of a drop as a function of the average: `p_b` of section 4, and above the upper
/// threshold the "gentle" variant's rise to one (Floyd, "Recommendation on using the gentle_
/// variant of RED", 2000).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Curve {
    /// The thresholds, in 2^-20 of a packet or byte, like the average.
    min: u64,
    max: u64,
    /// Every packet is dropped from here on: `max`, or twice that if gentle.
    top: u64,
    probability_max: u32,
    /// The rise from `min` to `max`, and that from `max` to `top`: 2^-64 for each packet or byte.
    rise: u64,
    rise_gentle: u64,
}

impl Curve {
    /// A curve with thresholds 0 < `min` < `max` <= [`LEVEL_MAX`] and a probability above zero in 2^-32.
    pub(crate) fn new(min: u64, max: u64, probability_max: u32, gentle: bool) -> Self {
        Self {
            min: min << FRACTION_BITS,
            max: max << FRACTION_BITS,
            top: (max << FRACTION_BITS) << u32::from(gentle),
            probability_max,
            rise: (u64::from(probability_max) << 32) / (max - min).max(1),
            rise_gentle: ((ONE - u64::from(probability_max)) << 32) / max.max(1),
        }
    }

    /// Whether the zone is [`Zone::Below`].
    #[inline]
    pub(crate) const fn is_below(&self, average: &Average) -> bool {
        average.value < self.min
    }

    #[inline]
    pub(crate) fn zone(&self, average: &Average) -> Zone {
        if self.is_below(average) {
            return Zone::Below;
        }
        let average = average.value;
        if average < self.max {
            Zone::Between(risen(average - self.min, self.rise))
        } else if average < self.top {
            let more = risen(average - self.max, self.rise_gentle);
            Zone::Between((u64::from(self.probability_max) + more).min(ONE))
        } else {
            Zone::Above
        }
    }
}

/// 2^-20 of a unit, times 2^-64 a unit, in 2^-32.
fn risen(distance: u64, rise: u64) -> u64 {
    ((u128::from(distance) * u128::from(rise)) >> (FRACTION_BITS + 32)) as u64
}

/// The packets that passed since the last drop or mark (`count` of section 4). With it the distance between
/// two drops is uniform over 1..1/p, so drops do not cluster (section 7, method 2).
///
/// After a drop, the paper's figure 2 counts one more packet than its text, and then the distance never
/// reaches 1/p. This follows the text.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spacing {
    passed: u64,
}

impl Spacing {
    pub(crate) const fn new() -> Self {
        Self { passed: 0 }
    }

    /// Whether the zone drops or marks this packet: always, never, or with `p_a = p_b / (1 - count * p_b)`.
    #[inline]
    pub(crate) fn hits(&mut self, zone: Zone, random: &mut Random) -> bool {
        let hit = match zone {
            Zone::Below => {
                self.rest();
                return false;
            }
            Zone::Above => true,
            Zone::Between(probability) => {
                match ONE.checked_sub(self.passed.saturating_mul(probability)) {
                    None | Some(0) => true,
                    Some(room) => (u64::from(random.next_u32()) * room) >> 32 < probability,
                }
            }
        };
        self.passed = if hit { 0 } else { self.passed + 1 };
        hit
    }

    /// Below the threshold the count restarts.
    #[inline]
    pub(crate) fn rest(&mut self) {
        self.passed = 0;
    }

    /// The queue itself was full, and a packet was lost to that.
    pub(crate) fn lost(&mut self) {
        self.passed = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec::Vec;

    impl Average {
        /// The average in packets or bytes.
        pub(crate) fn whole(&self) -> f64 {
            self.value as f64 / f64::from(1_u32 << FRACTION_BITS)
        }
    }

    /// An average of `whole` and `fraction` units of 2^-20.
    fn average(whole: u64, fraction: u64) -> Average {
        Average { value: (whole << FRACTION_BITS) + fraction, weight: WEIGHT_MIN }
    }

    fn share(of: u64, whole: u64) -> u32 {
        u32::try_from(of * ONE / whole).expect("a part of it")
    }

    /// Section 6.2: when a queue goes from empty to 1 packet, the average takes -1/ln(1 - w) arrivals to
    /// reach 0.63: 1000 at 0.001, 500 at 0.002, 333 at 0.003.
    #[test]
    fn an_average_reaches_63_percent_after_one_over_its_weight() {
        for (thousandths, arrivals) in [(1, 1_000), (2, 500), (3, 333)] {
            let mut average = Average::new(share(thousandths, 1_000));
            for _ in 0..arrivals {
                average.update(1);
            }
            let reached = average.whole();
            assert!((0.630..0.634).contains(&reached), "{thousandths}: {reached}");
        }
    }

    /// Section 6.1, equation 3: after a burst of L packets into an empty queue the average is `L +
    /// 1 + ((1 - w)^(L + 1) - 1) / w`; a burst of 50 stays below 5 packets if w <= 0.0042, rounded.
    #[test]
    fn a_burst_of_fifty_stays_below_five_packets_at_the_papers_weight() {
        for ten_thousandths in [10, 41, 43, 200] {
            let mut average = Average::new(share(ten_thousandths, 10_000));
            (1..=50).for_each(|queued| average.update(queued));
            let weight = ten_thousandths as f64 / 10_000.0;
            let expected = 51.0 + ((1.0 - weight).powi(51) - 1.0) / weight;
            let reached = average.whole();
            assert!((reached - expected).abs() < 0.001, "{reached} for {expected}");
            assert_eq!(reached < 5.0, ten_thousandths <= 41);
        }
    }

    #[test]
    fn an_idle_time_decays_the_average_like_its_number_of_empty_arrivals() {
        for packets in [1, 2, 7, 100, 1_000] {
            let mut idle = average(30, 0).weighted(share(1, 512));
            let mut arrivals = idle;
            idle.decay(packets);
            (0..packets).for_each(|_| arrivals.update(0));
            let (idle, arrivals) = (idle.whole(), arrivals.whole());
            assert!((idle - arrivals).abs() < 0.002, "{packets}: {idle} and {arrivals}");
        }
        let mut long = average(30, 0).weighted(WEIGHT_MIN);
        long.decay(u64::MAX);
        assert_eq!(long.value, 0);
    }

    #[test]
    fn the_longest_queue_does_not_overflow() {
        for weight in [WEIGHT_MIN, share(1, 512), u32::MAX] {
            let mut average = Average::new(weight);
            (0..4).for_each(|_| average.update(u64::MAX));
            assert!(average.value <= LEVEL_MAX << FRACTION_BITS);
            assert!(weight < u32::MAX || average.value > (LEVEL_MAX << FRACTION_BITS) / 2);
            (0..4).for_each(|_| average.update(0));
        }
        let curve = Curve::new(1, LEVEL_MAX, u32::MAX, true);
        let middle = Average { value: LEVEL_MAX << FRACTION_BITS, weight: WEIGHT_MIN };
        assert!(matches!(curve.zone(&middle), Zone::Between(p) if (ONE - 4..=ONE).contains(&p)));
    }

    /// ALTQ's thresholds of 5 and 15 and its `p_max` of 1/10, from end to end.
    #[test]
    fn the_probability_rises_linearly_then_steeply_then_to_one() {
        let tenth = share(1, 10);
        let gentle = Curve::new(5, 15, tenth, true);
        let near = |zone, of: u64, whole: u64| match zone {
            Zone::Between(p) => p.abs_diff(of * ONE / whole) < 40,
            _ => false,
        };
        assert_eq!(gentle.zone(&average(4, (1 << 20) - 1)), Zone::Below);
        assert_eq!(gentle.zone(&average(5, 0)), Zone::Between(0));
        assert!(near(gentle.zone(&average(10, 0)), 1, 20));
        assert!(near(gentle.zone(&average(12, 1 << 19)), 75, 1_000));
        assert!(near(gentle.zone(&average(15, 0)), 1, 10));
        assert!(near(gentle.zone(&average(22, 1 << 19)), 55, 100));
        assert!(near(gentle.zone(&average(29, 1 << 19)), 97, 100));
        assert_eq!(gentle.zone(&average(30, 0)), Zone::Above);
        let plain = Curve::new(5, 15, tenth, false);
        assert!(near(plain.zone(&average(14, 0)), 9, 100));
        assert_eq!(plain.zone(&average(15, 0)), Zone::Above);
    }

    /// Section 7: with method 2 the distance between drops is uniform over 1..1/p, its mean
    /// 1/(2p) + 1/2, where independent drops would be 1/p apart with a long tail.
    #[test]
    fn drops_are_spaced_uniformly() {
        let (mut random, mut spacing) = (Random::from_seed(7), Spacing::new());
        let zone = Zone::Between(ONE / 50);
        while !spacing.hits(zone, &mut random) {}
        let mut distances = Vec::new();
        let mut distance = 0_u64;
        while distances.len() < 50_000 {
            distance += 1;
            if spacing.hits(zone, &mut random) {
                distances.push(core::mem::take(&mut distance));
            }
        }
        assert!(distances.iter().all(|distance| (1..=50).contains(distance)));
        for length in 1..=50 {
            // 1000 expected, standard deviation 31.
            let count = distances.iter().filter(|&&distance| distance == length).count();
            assert!((850..1_150).contains(&count), "{count} of {length}");
        }
        let mean = distances.iter().sum::<u64>() as f64 / distances.len() as f64;
        assert!((25.2..25.8).contains(&mean), "{mean}");
    }

    #[test]
    fn below_the_threshold_the_count_restarts() {
        let (mut random, mut spacing) = (Random::from_seed(1), Spacing { passed: 49 });
        assert!(!spacing.hits(Zone::Below, &mut random));
        assert_eq!(spacing.passed, 0);
        assert!(!spacing.hits(Zone::Between(0), &mut random));
        assert_eq!(spacing.passed, 1);
        assert!(spacing.hits(Zone::Above, &mut random));
        assert_eq!(spacing.passed, 0);
        spacing.passed = u64::MAX;
        assert!(spacing.hits(Zone::Between(ONE), &mut random));
    }
}
