//! Distributions of times and sizes, in integers: the same draws on every machine.

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt::Debug;

use crate::random::Random;
use crate::units::{Bytes, Duration};

/// A drawn value: a whole number of a unit.
pub trait Scalar: Copy + Debug + Ord {
    /// A value of `count` units.
    fn of(count: u64) -> Self;
    /// The number of units in the value.
    fn count(self) -> u64;
}

impl Scalar for Duration {
    fn of(ps: u64) -> Self {
        Self::from_ps(ps)
    }

    fn count(self) -> u64 {
        self.as_ps()
    }
}

impl Scalar for Bytes {
    fn of(bytes: u64) -> Self {
        Self(bytes)
    }

    fn count(self) -> u64 {
        self.0
    }
}

/// A value, or a distribution to draw it from. Draws saturate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Distribution<T> {
    /// The same value in every draw.
    Fixed(T),
    /// Uniformly distributed from the least to the greatest, both included.
    Uniform {
        /// The least.
        min: T,
        /// The greatest; above the least.
        max: T,
    },
    /// Exponentially distributed, like the time between Poisson arrivals.
    Exponential {
        /// The mean.
        mean: T,
    },
    /// Pareto distributed: heavy-tailed, like file sizes.
    Pareto {
        /// The mean.
        mean: T,
        /// The tail's exponent in thousandths. It must be above 1000 for a mean to exist. The variance is
        /// infinite up to 2000.
        shape: u32,
    },
    /// Given by a cumulative distribution function.
    Empirical(Arc<Cdf<T>>),
}

impl<T: Scalar> Distribution<T> {
    /// Whether every draw is the same.
    pub const fn is_fixed(&self) -> bool {
        matches!(self, Self::Fixed(_))
    }

    /// The least that it can be.
    pub fn min(&self) -> T {
        match *self {
            Self::Fixed(value) => value,
            Self::Uniform { min, .. } => min,
            Self::Exponential { .. } => T::of(0),
            Self::Pareto { mean, shape } => T::of(pareto_scale(mean.count(), shape)),
            Self::Empirical(ref cdf) => cdf.points[0].0,
        }
    }

    /// The mean, rounded down.
    pub fn mean(&self) -> T {
        match *self {
            Self::Fixed(value) => value,
            Self::Uniform { min, max } => T::of(min.count().midpoint(max.count())),
            Self::Exponential { mean } | Self::Pareto { mean, .. } => mean,
            Self::Empirical(ref cdf) => cdf.mean(),
        }
    }

    /// The next value of that stream.
    pub fn draw(&self, random: &mut Random) -> T {
        match *self {
            Self::Fixed(value) => value,
            Self::Uniform { min, max } => {
                let width = u128::from(max.count() - min.count()) + 1;
                // The high half of the product is uniform below the width.
                let above = (u128::from(random.next_u64()) * width) >> 64;
                T::of(min.count() + above as u64)
            }
            Self::Exponential { mean } => {
                T::of(random.exponential(Duration::from_ps(mean.count())).as_ps())
            }
            Self::Pareto { mean, shape } => {
                let scale = pareto_scale(mean.count(), shape);
                // The logarithm of a Pareto variate is exponential: x = scale * e^(E / shape).
                let exponent = u128::from(random.exponential(Duration::from_ps(1 << 32)).as_ps());
                let doublings = (exponent * LOG2_E * 1_000 / u128::from(shape)) >> 32;
                T::of(doubled(scale, doublings as u64))
            }
            Self::Empirical(ref cdf) => cdf.draw(random),
        }
    }
}

/// log2 e as a multiple of 2^-32.
const LOG2_E: u128 = 6_196_328_019;

/// The least value of a Pareto distribution.
fn pareto_scale(mean: u64, shape: u32) -> u64 {
    let above = u128::from(shape.saturating_sub(1_000));
    (u128::from(mean) * above / u128::from(shape.max(1))) as u64
}

/// 2^(1/2), 2^(1/4), 2^(1/8) … as multiples of 2^-62.
const ROOTS: [u64; 32] = {
    let mut roots = [0; 32];
    let (mut square, mut k) = (1_u128 << 125, 0);
    while k < roots.len() {
        let root = square.isqrt();
        roots[k] = root as u64;
        square = root << 62;
        k += 1;
    }
    roots
};

/// `value` times two to the power of `doublings`, a multiple of 2^-32, exact to within 2^-56 of the result.
fn doubled(value: u64, doublings: u64) -> u64 {
    let mut factor = 1_u128 << 62;
    for (k, root) in ROOTS.iter().enumerate() {
        if doublings & (1 << (31 - k)) != 0 {
            factor = (factor * u128::from(*root)) >> 62;
        }
    }
    // The factor is below 2^63, and so the product below 2^127.
    let product = u128::from(value) * factor;
    let whole = u32::try_from(doublings >> 32).unwrap_or(u32::MAX);
    match whole {
        0..=62 => u64::try_from(product >> (62 - whole)).unwrap_or(u64::MAX),
        _ if value == 0 => 0,
        _ => u64::MAX,
    }
}

/// A cumulative distribution function, linear between points. The first point's value is drawn with its
/// probability.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cdf<T> {
    /// Values, each with the probability, in multiples of 10^-9, of a draw not greater.
    points: Vec<(T, u32)>,
}

/// Why points are not a cumulative distribution function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CdfError {
    /// There are no points.
    Empty,
    /// The point of that number, from 0, has a lower value or probability than the previous one.
    Falling(usize),
    /// The last point's probability is not 1.
    Unfinished,
}

impl<T: Scalar> Cdf<T> {
    /// The probability of certainty.
    pub const ONE: u32 = 1_000_000_000;

    /// A function with these points: values that rise or stay, each with the probability, in multiples of
    /// 10^-9, of a value not greater, up to [`Self::ONE`].
    ///
    /// # Errors
    ///
    /// See [`CdfError`].
    pub fn new(points: Vec<(T, u32)>) -> Result<Self, CdfError> {
        let falls = |pair: &[(T, u32)]| pair[1].0 < pair[0].0 || pair[1].1 < pair[0].1;
        if let Some(index) = points.windows(2).position(falls) {
            return Err(CdfError::Falling(index + 1));
        }
        match points.last() {
            None => Err(CdfError::Empty),
            Some(&(_, Self::ONE)) => Ok(Self { points }),
            Some(_) => Err(CdfError::Unfinished),
        }
    }

    /// The points of the function.
    pub fn points(&self) -> &[(T, u32)] {
        &self.points
    }

    fn mean(&self) -> T {
        let (first, probability) = self.points[0];
        let mut sum = 2 * u128::from(first.count()) * u128::from(probability);
        for pair in self.points.windows(2) {
            let [(low, below), (high, up_to)] = [pair[0], pair[1]];
            let middle = u128::from(low.count()) + u128::from(high.count());
            sum += middle * u128::from(up_to - below);
        }
        T::of((sum / (2 * u128::from(Self::ONE))) as u64)
    }

    fn draw(&self, random: &mut Random) -> T {
        // A probability in multiples of 10^-9 / 2^32.
        let drawn = u64::from(random.next_u32()) * u64::from(Self::ONE);
        let above = |&(_, probability): &(T, u32)| u64::from(probability) << 32 <= drawn;
        let after = self.points.partition_point(above);
        // The probability of the last point is above any draw.
        let (high, up_to) = self.points[after];
        let Some(&(low, below)) = after.checked_sub(1).and_then(|before| self.points.get(before))
        else {
            return high;
        };
        let width = u128::from(high.count() - low.count());
        let share = u128::from(drawn - (u64::from(below) << 32));
        T::of(low.count() + ((width * share / u128::from(up_to - below)) >> 32) as u64)
    }
}

#[cfg(test)]
mod tests {
    use std::vec;

    use super::*;

    const DRAWS: u32 = 200_000;

    fn draws(distribution: &Distribution<Bytes>) -> Vec<f64> {
        let mut random = Random::new(1, "sizes");
        (0..DRAWS).map(|_| distribution.draw(&mut random).0 as f64).collect()
    }

    /// Checks the share of draws above each value against the distribution, within four standard deviations.
    fn check(distribution: &Distribution<Bytes>, shares: &[(f64, f64)]) {
        let (drawn, n) = (draws(distribution), f64::from(DRAWS));
        assert!(drawn.iter().all(|&x| x >= distribution.min().0 as f64));
        for &(value, share) in shares {
            let above = drawn.iter().filter(|&&x| x > value).count() as f64 / n;
            let deviation = (share * (1.0 - share) / n).sqrt();
            assert!((above - share).abs() <= 4.0 * deviation, "{above} above {value}, not {share}");
        }
    }

    #[test]
    fn draws_are_distributed_as_they_say() {
        let (min, max, mean) = (Bytes(1_000), Bytes(5_000), Bytes(3_000));
        check(&Distribution::Fixed(mean), &[(2_999.0, 1.0), (3_000.0, 0.0)]);
        check(&Distribution::Uniform { min, max }, &[(2_000.0, 0.75), (4_000.0, 0.25)]);
        let above = |x: f64| (x, (-x / 3_000.0).exp());
        check(&Distribution::Exponential { mean }, &[1_000.0, 3_000.0, 9_000.0].map(above));
        // With mean 3000 and shape 1.5 the minimum is 1000.
        // Draws are rounded down.
        let above = |x: f64| (x, (1_000.0 / (x + 1.0)).powf(1.5));
        let values = [1_001.0, 1_500.0, 4_000.0, 20_000.0, 400_000.0].map(above);
        check(&Distribution::Pareto { mean, shape: 1_500 }, &values);
    }

    #[test]
    fn an_empirical_distribution_is_straight_between_its_points() {
        let half = Cdf::<Bytes>::ONE / 2;
        let points =
            vec![(Bytes(10_000), half / 2), (Bytes(10_000), half), (Bytes(110_000), half * 2)];
        let cdf = Distribution::Empirical(Arc::new(Cdf::new(points).expect("it rises")));
        check(&cdf, &[(9_999.0, 1.0), (10_000.0, 0.5), (60_000.0, 0.25), (85_000.0, 0.125)]);
        assert_eq!(cdf.mean(), Bytes(35_000));
    }

    #[test]
    fn means_are_those_of_the_draws() {
        let (min, max, mean) = (Bytes(0), Bytes(1_001), Bytes(10_000));
        let points = vec![(Bytes(100), 0), (Bytes(900), Cdf::<Bytes>::ONE)];
        let all = [
            Distribution::Uniform { min, max },
            Distribution::Exponential { mean },
            // Of finite variance.
            Distribution::Pareto { mean, shape: 3_000 },
            Distribution::Empirical(Arc::new(Cdf::new(points).expect("it rises"))),
        ];
        for distribution in all {
            let drawn = draws(&distribution);
            let mean = drawn.iter().sum::<f64>() / f64::from(DRAWS);
            let expected = distribution.mean().0 as f64;
            assert!(
                (mean / expected - 1.0).abs() < 0.01,
                "{mean}, not {expected}: {distribution:?}"
            );
        }
    }

    #[test]
    fn points_that_are_no_function_are_refused() {
        let one = Cdf::<Bytes>::ONE;
        let made = |points: &[(u64, u32)]| {
            Cdf::new(points.iter().map(|&(value, p)| (Bytes(value), p)).collect())
        };
        assert_eq!(made(&[]), Err(CdfError::Empty));
        assert_eq!(made(&[(1, 0), (2, one - 1)]), Err(CdfError::Unfinished));
        assert_eq!(made(&[(1, 0), (2, 5), (1, one)]), Err(CdfError::Falling(2)));
        assert_eq!(made(&[(1, 5), (2, 4), (3, one)]), Err(CdfError::Falling(1)));
        assert!(made(&[(7, one)]).is_ok());
    }

    #[test]
    fn extremes_saturate() {
        assert_eq!(doubled(3, 5 << 32), 96);
        assert_eq!(doubled(0, u64::MAX), 0);
        assert_eq!(doubled(1, 64 << 32), u64::MAX);
        assert_eq!(doubled(u64::MAX, 1 << 31), u64::MAX);
        let pareto = Distribution::Pareto { mean: Bytes(u64::MAX), shape: 1_001 };
        let (min, max) = (Bytes(0), Bytes(u64::MAX));
        for distribution in [pareto, Distribution::Uniform { min, max }] {
            let mut random = Random::from_seed(5);
            assert!((0..1_000).all(|_| distribution.draw(&mut random) >= distribution.min()));
        }
    }
}
