//! Means with confidence intervals, over runs that differ only in their seed.
//!
//! Student's t for one sample's mean, Welch's test for the difference of two (B. L. Welch, "The
//! generalization of Student's problem when several different population variances are involved",
//! Biometrika 34, 1947).

use statrs::distribution::{ContinuousCDF, StudentsT};

/// The confidence level of an interval.
const LEVEL: f64 = 0.95;

/// An estimate with its confidence interval at [`LEVEL`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The estimate: the sample's mean, or the difference of two means.
    pub mean: f64,
    /// The low and the high end; none where the spread is unknown: for a single value, and for several equal values,
    /// where chance had no part.
    pub ends: Option<(f64, f64)>,
}

/// A sample: the number of values, their mean and their variance.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// How many values there are.
    pub count: usize,
    /// Their mean; 0 for an empty sample.
    pub mean: f64,
    /// Their variance, with one less than the number of values as divisor; 0 for fewer than two.
    pub variance: f64,
}

impl Sample {
    /// Creates the sample of `values`.
    pub fn of(values: &[f64]) -> Self {
        let count = values.len();
        let mean = values.iter().sum::<f64>() / count.max(1) as f64;
        // Equal values have no spread, whatever the rounding of their mean.
        let equal = values.windows(2).all(|pair| pair[0] == pair[1]);
        let mean = if equal { values.first().copied().unwrap_or(0.0) } else { mean };
        let squares: f64 = values.iter().map(|value| (value - mean).powi(2)).sum();
        let variance = if count > 1 { squares / (count - 1) as f64 } else { 0.0 };
        Self { count, mean, variance }
    }

    /// The mean with its interval; without one where nothing varied.
    pub fn interval(&self) -> Interval {
        let ends = (self.count > 1 && self.variance > 0.0).then(|| {
            let freedom = (self.count - 1) as f64;
            around(self.mean, self.squared_error(), freedom)
        });
        Interval { mean: self.mean, ends }
    }

    /// Returns the difference from this sample's mean to `other`'s.
    ///
    /// If one of them is a single value, the spread of the other one is used for it: the interval then shows whether
    /// one more run could have come out so far off. There is no interval between two single values, nor where nothing
    /// varied.
    pub fn difference(&self, other: &Self) -> Interval {
        let mean = other.mean - self.mean;
        let ends = match (self.count, other.count) {
            _ if self.variance == 0.0 && other.variance == 0.0 => None,
            (0 | 1, 0 | 1) => None,
            (0, _) | (_, 0) => None,
            (1, _) => Some(other.distance_to_one(mean)),
            (_, 1) => Some(self.distance_to_one(mean)),
            _ => {
                let [a, b] = [self, other].map(Self::squared_error);
                let freedom = welch((a, self.count), (b, other.count));
                Some(around(mean, a + b, freedom))
            }
        };
        Interval { mean, ends }
    }

    /// The square of the mean's standard error.
    fn squared_error(&self) -> f64 {
        self.variance / self.count as f64
    }

    /// Returns the interval around the difference `mean` to a single value.
    fn distance_to_one(&self, mean: f64) -> (f64, f64) {
        around(mean, self.variance + self.squared_error(), (self.count - 1) as f64)
    }
}

impl Interval {
    /// Returns whether the interval includes zero, so that there may be no difference. Without an interval, whether
    /// the mean is zero.
    pub fn includes_zero(&self) -> bool {
        self.ends.map_or(self.mean == 0.0, |(low, high)| low <= 0.0 && high >= 0.0)
    }
}

fn around(mean: f64, squared_error: f64, freedom: f64) -> (f64, f64) {
    let half = t_quantile(0.5 + LEVEL / 2.0, freedom) * squared_error.sqrt();
    (mean - half, mean + half)
}

/// The degrees of freedom of Welch and Satterthwaite, of two squared errors and counts.
fn welch((a, count_a): (f64, usize), (b, count_b): (f64, usize)) -> f64 {
    let [n, m] = [count_a - 1, count_b - 1].map(|freedom| freedom as f64);
    let below = a * a / n + b * b / m;
    // Without any spread the interval has no width, whatever the degrees of freedom.
    if below > 0.0 { (a + b).powi(2) / below } else { n + m }
}

/// Returns the quantile `p` of Student's t with `freedom` degrees of freedom, at least 1.
fn t_quantile(p: f64, freedom: f64) -> f64 {
    StudentsT::new(0.0, 1.0, freedom).map_or(f64::NAN, |t| t.inverse_cdf(p))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(measured: f64, wanted: f64) {
        assert!((measured - wanted).abs() < 5e-4 * wanted.abs().max(1.0), "{measured} {wanted}");
    }

    #[test]
    fn quantiles_are_those_of_the_printed_tables() {
        // NIST/SEMATECH e-Handbook of Statistical Methods, 1.3.6.7.2, to three places.
        let table = [
            (0.975, 1.0, 12.706),
            (0.975, 2.0, 4.303),
            (0.975, 4.0, 2.776),
            (0.975, 9.0, 2.262),
            (0.975, 30.0, 2.042),
            (0.975, 100.0, 1.984),
            (0.95, 5.0, 2.015),
            (0.99, 10.0, 2.764),
        ];
        for (p, freedom, wanted) in table {
            near(t_quantile(p, freedom), wanted);
        }
        // Closed forms: tan(pi (p - 1/2)) for one degree, and 2a/sqrt(2(1 - a^2)), a = 2p - 1, for two.
        let tangent = (std::f64::consts::PI * 0.475).tan();
        assert!((t_quantile(0.975, 1.0) - tangent).abs() < 1e-9);
        let two = 1.9 / (2.0 * (1.0_f64 - 0.95 * 0.95)).sqrt();
        assert!((t_quantile(0.975, 2.0) - two).abs() < 1e-9);
        // For infinitely many degrees it is the normal distribution.
        near(t_quantile(0.975, 1e6), 1.959_96);
    }

    #[test]
    fn a_mean_has_students_interval() {
        // 1..5: mean 3, variance 2.5, t(4) = 2.776.
        let interval = Sample::of(&[1.0, 2.0, 3.0, 4.0, 5.0]).interval();
        let (low, high) = interval.ends.expect("five values");
        assert_eq!(interval.mean, 3.0);
        near(low, 3.0 - 2.776 * 0.5_f64.sqrt());
        near(high, 3.0 + 2.776 * 0.5_f64.sqrt());
        assert_eq!(Sample::of(&[7.0]).interval(), Interval { mean: 7.0, ends: None });
    }

    #[test]
    fn a_difference_has_welchs_interval() {
        // Variances 1 and 4 of three and five values: errors 1/3 and 4/5, freedom 5.9615.
        let (a, b) = (Sample::of(&[1.0, 2.0, 3.0]), Sample::of(&[8.0, 8.0, 10.0, 12.0, 12.0]));
        assert_eq!((a.variance, b.variance), (1.0, 4.0));
        let freedom = welch((1.0 / 3.0, 3), (0.8, 5));
        near(freedom, (1.0_f64 / 3.0 + 0.8).powi(2) / (1.0 / 18.0 + 0.16));
        let difference = a.difference(&b);
        assert_eq!(difference.mean, 8.0);
        let half = t_quantile(0.975, freedom) * (1.0_f64 / 3.0 + 0.8).sqrt();
        near(difference.ends.expect("an interval").0, 8.0 - half);
        assert!(!difference.includes_zero());
        assert!(a.difference(&Sample::of(&[0.0, 2.0, 3.0])).includes_zero());
    }

    #[test]
    fn what_did_not_vary_has_no_interval_and_one_value_borrows_the_others_spread() {
        let same = Sample::of(&[0.1, 0.1, 0.1]);
        assert_eq!(same.variance, 0.0);
        assert_eq!(same.interval(), Interval { mean: 0.1, ends: None });
        assert_eq!(same.difference(&Sample::of(&[0.2, 0.2])).ends, None);
        assert!(same.difference(&Sample::of(&[0.1, 0.2, 0.3])).ends.is_some());
        assert!(same.difference(&same).includes_zero());
        assert!(!same.difference(&Sample::of(&[0.2, 0.2])).includes_zero());
        let three = Sample::of(&[1.0, 2.0, 3.0]);
        let (low, high) = three.difference(&Sample::of(&[5.0])).ends.expect("an interval");
        near((high - low) / 2.0, 4.303 * (4.0_f64 / 3.0).sqrt());
        assert_eq!(Sample::of(&[1.0]).difference(&Sample::of(&[2.0])).ends, None);
    }
}
