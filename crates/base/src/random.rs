//! Random numbers, for links that lose packets and disciplines that drop at random. Each entity's stream
//! derives from the run's seed and the entity's name, so adding a node does not change the streams of other
//! nodes.

use crate::units::Duration;

/// ln 2 as a fraction of 2^64.
const LN_2: u64 = 0xb172_17f7_d1cf_79ab;

/// `sum_{i=1..k} (ln 2)^i / i!` for k from 1 on, as fractions of 2^64: [`Random::exponential`] uses it to
/// draw the minimum of several uniform numbers. The sum tends to 1; the last entry does not reach 2^64, and a
/// number above it ends the search there.
const EXPONENTIAL: [u64; 18] = {
    let mut sums = [0; 18];
    let (mut term, mut sum, mut k) = (LN_2, LN_2, 1);
    sums[0] = sum;
    while k < sums.len() {
        term = ((term as u128 * LN_2 as u128) >> 64) as u64 / (k as u64 + 1);
        sum += term;
        sums[k] = sum;
        k += 1;
    }
    sums
};

/// A stream of random numbers: SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), a counter and a mixer.
#[derive(Clone, Debug)]
pub struct Random(u64);

impl Random {
    /// The stream of the entity called `name` in a run with `seed`.
    pub fn new(seed: u64, name: &str) -> Self {
        // FNV-1a over the name, so that streams of different names start far apart.
        let hash = name.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
        });
        let mut stream = Self(seed);
        Self(stream.next_u64() ^ hash)
    }

    /// The stream that starts from `seed` itself.
    pub const fn from_seed(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 random bits.
    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// An exponentially distributed time of that mean, saturating: the spacing of Poisson arrivals.
    ///
    /// Uses Ahrens and Dieter 1972, "Computer methods for sampling from the exponential and normal
    /// distributions", algorithm SA, which needs no logarithm: the leading zeros of a uniform number count
    /// whole multiples of ln 2, and the remainder is the number's low part or the minimum of several others.
    pub fn exponential(&mut self, mean: Duration) -> Duration {
        let uniform = self.next_u64();
        let zeros = uniform.leading_zeros();
        // The bits below the leading one may be few, so draw a fresh number.
        let rest = self.next_u64();
        let fraction = if rest < LN_2 {
            rest
        } else {
            let mut least = self.next_u64();
            for &sum in &EXPONENTIAL[1..] {
                least = least.min(self.next_u64());
                if rest < sum {
                    break;
                }
            }
            ((u128::from(least) * u128::from(LN_2)) >> 64) as u64
        };
        // In units of 2^-32 of the mean: at most 64 ln 2 + 1, so that the product fits 128 bits.
        let whole = (u128::from(zeros) * u128::from(LN_2)) >> 32;
        let times = whole + u128::from(fraction >> 32);
        let ps = (u128::from(mean.as_ps()) * times) >> 32;
        Duration::from_ps(u64::try_from(ps).unwrap_or(u64::MAX))
    }

    /// 32 random bits.
    pub fn next_u32(&mut self) -> u32 {
        (self.next_u64() >> 32) as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An exponential distribution has mean 1, variance 1 and no memory: the share above x is e^-x. Over n
    /// draws these are within four standard deviations of the estimate.
    #[test]
    fn exponential_times_are_distributed_as_they_say() {
        const DRAWS: u32 = 1_000_000;
        let mut random = Random::new(1, "arrivals");
        let mean = Duration::from_us(1_200);
        let (mut sum, mut squares, mut above) = (0.0, 0.0, [0_u32; 8]);
        for _ in 0..DRAWS {
            let x = random.exponential(mean).as_ps() as f64 / mean.as_ps() as f64;
            (sum, squares) = (sum + x, squares + x * x);
            for (half, count) in above.iter_mut().enumerate() {
                *count += u32::from(x > half as f64 / 2.0);
            }
        }
        let n = f64::from(DRAWS);
        let (mean, variance) = (sum / n, squares / n - (sum / n) * (sum / n));
        assert!((mean - 1.0).abs() < 4.0 / 1e3, "{mean}");
        assert!((variance - 1.0).abs() < 4.0 * 8.0_f64.sqrt() / 1e3, "{variance}");
        // e^-x for x = 0, 1/2, 1, .. 7/2.
        let expected = [1.0, 0.606_53, 0.367_88, 0.223_13, 0.135_34, 0.082_08, 0.049_79, 0.030_20];
        for (count, share) in above.into_iter().zip(expected) {
            let deviation = (share * (1.0 - share) / n).sqrt();
            let measured = f64::from(count) / n;
            assert!((measured - share).abs() <= 4.0 * deviation + 1e-5, "{measured} for {share}");
        }
    }

    #[test]
    fn an_exponential_time_saturates_and_may_be_nothing() {
        let mut random = Random::from_seed(3);
        let draws = |random: &mut Random, mean| (0..100).map(|_| random.exponential(mean)).max();
        assert_eq!(draws(&mut random, Duration::MAX), Some(Duration::MAX));
        assert_eq!(draws(&mut random, Duration::ZERO), Some(Duration::ZERO));
    }
}
