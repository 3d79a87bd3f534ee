//! `normal 10 ms 2 ms`: a normal distribution by its mean and standard deviation, linear between points an eighth of
//! the deviation apart.
//!
//! Draws are within four standard deviations of the mean, as in iproute2's table for netem. Negative draws become
//! zero, as in netem.

use std::sync::Arc;

use base::distribution::{Cdf, Distribution};

use super::written::Written;
use crate::quantity::Error;

/// The normal distribution function at 0, 1/8, 2/8 … 4 standard deviations above the mean, in multiples of 10^-9; the
/// last one is rounded up to one.
const PROBABILITIES: [u32; 33] = [
    500_000_000,
    549_738_225,
    598_706_326,
    646_169_767,
    691_462_461,
    734_014_471,
    773_372_648,
    809_213_047,
    841_344_746,
    869_705_483,
    894_350_226,
    915_434_278,
    933_192_799,
    947_918_721,
    959_940_843,
    969_603_638,
    977_249_868,
    983_206_694,
    987_775_527,
    991_225_525,
    993_790_335,
    995_667_552,
    997_020_237,
    997_979_863,
    998_650_102,
    999_110_975,
    999_422_975,
    999_630_922,
    999_767_371,
    999_855_519,
    999_911_583,
    999_946_688,
    1_000_000_000,
];
/// The number of points per standard deviation.
const STEPS: i128 = 8;

/// Reads the text after `normal`.
pub(super) fn read<T: Written>(text: &str) -> Result<Distribution<T>, Error> {
    let help = || format!("write both: \"normal {0} {0}\"", T::EXAMPLE);
    let (mean, deviation) = mean_and_deviation::<T>(text).ok_or_else(|| {
        let message = format!("`normal {}` has no mean and standard deviation", text.trim());
        Error::new(message, help())
    })?;
    if deviation == 0 {
        return Err(Error::new("a normal distribution with a standard deviation of zero", help()));
    }
    let last = PROBABILITIES.len() as i128 - 1;
    let point = |step: i128| {
        let above = PROBABILITIES[step.unsigned_abs() as usize];
        let probability = if step < 0 { Cdf::<T>::ONE - above } else { above };
        let value = (mean + deviation * step / STEPS).clamp(0, i128::from(u64::MAX));
        (T::of(value as u64), probability)
    };
    let points = (-last..=last).map(point).collect();
    let cdf = Cdf::new(points).map_err(|_| Error::new("no distribution", help()))?;
    Ok(Distribution::Empirical(Arc::new(cdf)))
}

/// A mean and a standard deviation, with or without blanks before their units.
pub(super) fn mean_and_deviation<T: Written>(text: &str) -> Option<(i128, i128)> {
    let text = text.trim();
    let blanks = text.char_indices().filter(|(_, c)| c.is_whitespace());
    let mut parts = blanks.map(|(at, _)| text.split_at(at));
    parts.find_map(|(mean, deviation)| {
        let [mean, deviation] = [mean, deviation].map(|part| T::read(part.trim()).ok());
        Some((mean?.count().into(), deviation?.count().into()))
    })
}

#[cfg(test)]
mod tests {
    use base::{Duration, Random};

    use super::*;

    #[test]
    fn draws_have_the_mean_and_the_deviation() {
        const DRAWS: u32 = 100_000;
        let normal = read::<Duration>(" 10 ms 2 ms").expect("normal");
        let mut random = Random::from_seed(1);
        let drawn: Vec<f64> =
            (0..DRAWS).map(|_| normal.draw(&mut random).as_ps() as f64 / 1e9).collect();
        let mean = drawn.iter().sum::<f64>() / f64::from(DRAWS);
        let variance = drawn.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / f64::from(DRAWS);
        assert!((mean - 10.0).abs() < 0.02, "{mean}");
        assert!((variance.sqrt() - 2.0).abs() < 0.02, "{variance}");
        // 2.275 % are beyond two deviations on either side.
        let beyond = drawn.iter().filter(|&&x| x > 14.0).count();
        assert!((2_100..2_450).contains(&beyond), "{beyond}");
        assert_eq!((normal.min(), normal.mean()), (Duration::from_ms(2), Duration::from_ms(10)));
    }

    #[test]
    fn nothing_is_below_zero_and_mistakes_are_reported() {
        let wide = read::<Duration>("1ms 2ms").expect("normal");
        assert_eq!(wide.min(), Duration::ZERO);
        for (text, message) in [
            ("10 ms", "`normal 10 ms` has no mean and standard deviation"),
            ("10 ms 0 s", "a normal distribution with a standard deviation of zero"),
            ("", "`normal ` has no mean and standard deviation"),
        ] {
            assert_eq!(read::<Duration>(text).expect_err(text).message, message);
        }
    }
}
