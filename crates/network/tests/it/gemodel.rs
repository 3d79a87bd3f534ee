//! The losses of the Gilbert-Elliott model, against its stationary distribution.

use base::{Instant, Random, Share};
use network::impairment::gemodel::Parameters;
use network::impairment::{self, Impairment, Transit};
use proptest::prelude::*;

/// Which of `count` packets are lost.
fn losses(parameters: Parameters, seed: u64, count: u32) -> Vec<bool> {
    let parameters = impairment::Parameters::Gemodel(parameters);
    let mut link = Impairment::new(parameters, Random::from_seed(seed));
    let lost = |_| {
        let mut frame = Transit::new(Instant::ZERO);
        link.apply(&mut frame);
        frame.lost.is_some()
    };
    (0..count).map(lost).collect()
}

fn share(share: f64) -> Share {
    Share((share * 2_f64.powi(32)) as u32)
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(60) })]

    #[test]
    fn the_loss_is_that_of_the_stationary_distribution(
        seed: u64, p in 0.01..0.5, r in 0.01..0.5, bad in 0.0..1.0, good in 0.0..1.0,
    ) {
        const COUNT: u32 = 200_000;
        let parameters = Parameters {
            to_bad: share(p), to_good: share(r), loss_bad: share(bad), loss_good: share(good),
        };
        let loss = (p * bad + r * good) / (p + r);
        prop_assert!((parameters.loss() - loss).abs() < 1e-8);
        let lost = losses(parameters, seed, COUNT).iter().filter(|&&lost| lost).count();
        // Losses j packets apart have the covariance d^2 pi (1 - pi) (1 - p - r)^j, with d the
        // difference of both shares; the good state at the start weighs at most d / (p + r) packets.
        let (n, d, pi, left) = (f64::from(COUNT), bad - good, p / (p + r), 1.0 - p - r);
        let related = 2.0 * d * d * pi * (1.0 - pi) * left / (p + r);
        let deviation = ((loss * (1.0 - loss) + related) / n).sqrt();
        let error = (lost as f64 / n - loss).abs();
        prop_assert!(error < 5.0 * deviation + d.abs() / (p + r) / n, "{error} of {deviation}");
    }

    /// Gilbert's simple channel, which loses everything in its bad state: bursts are 1/r long in the mean.
    #[test]
    fn a_burst_is_as_long_as_the_bad_state(seed: u64, p in 0.01..0.2, r in 0.05..0.9) {
        let parameters =
            Parameters { to_bad: share(p), to_good: share(r), loss_bad: Share(u32::MAX), loss_good: Share(0) };
        let lost = losses(parameters, seed, 200_000);
        let bursts = lost.windows(2).filter(|pair| !pair[0] && pair[1]).count() as f64;
        let mean = lost.iter().filter(|&&lost| lost).count() as f64 / bursts;
        // Geometric: variance (1 - r) / r^2.
        let deviation = (1.0 - r).sqrt() / r / bursts.sqrt();
        prop_assert!((mean - 1.0 / r).abs() < 5.0 * deviation + 1.0 / (r * bursts), "{mean}");
    }
}
