//! Means of samples.

use base::Rate;
use base::units::PS_PER_SECOND;

/// `amount` per `whole`, or zero of nothing.
pub fn per(amount: f64, whole: f64) -> f64 {
    if whole > 0.0 { amount / whole } else { 0.0 }
}

/// `bytes` as a share of what `rate` carries in that time.
pub(crate) fn share(bytes: u64, rate: Rate, seconds: f64) -> f64 {
    per(bytes as f64 * 8.0 / rate.bits_per_second() as f64, seconds)
}

/// The mean in seconds of times with this sum in picoseconds; `None` without samples.
pub(crate) fn mean_seconds(sum: u128, samples: u64) -> Option<f64> {
    let seconds = sum as f64 / PS_PER_SECOND as f64;
    (samples > 0).then(|| seconds / samples as f64)
}

/// A mean, or none where there were no samples.
pub(crate) trait Mean: Sized {
    /// The mean of two means, each with the number of its samples.
    fn of(a: (Self, u64), b: (Self, u64)) -> Self;
}

impl Mean for f64 {
    fn of(a: (Self, u64), b: (Self, u64)) -> Self {
        per(a.0 * a.1 as Self + b.0 * b.1 as Self, (a.1 + b.1) as Self)
    }
}

impl Mean for Option<f64> {
    fn of(a: (Self, u64), b: (Self, u64)) -> Self {
        match (a.0, b.0) {
            (Some(own), Some(other)) => Some(Mean::of((own, a.1), (other, b.1))),
            (own, other) => own.or(other),
        }
    }
}
