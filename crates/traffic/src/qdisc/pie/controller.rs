//! PIE's controller: the probability of a drop, from the waiting time of packets and its growth (RFC 8033,
//! section 4.2).

use crate::qdisc::pie::parameters::Parameters;
use base::units::{Duration, Instant, PS_PER_SECOND};

/// Certainty, in the unit of probabilities: 2^-56. The finest step, 1/2048 of a sixteenth per
/// second of a delay of 1 us, is then still above one.
pub(crate) const ONE: u64 = 1 << 56;
/// The maximum number of missed updates to catch up on after a time without packets. 4096 updates of 15 ms
/// are a minute; by then the probability has long reached one end.
const MISSED_MAX: u64 = 4_096;

/// Longer waits count as this: 75 minutes, above any target.
const DELAY_MAX: u64 = 1 << 52;

/// PIE's state; names in quotes are the RFC's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Controller {
    /// The drop probability in 2^-56, at most one ("drop_prob").
    pub(crate) probability: u64,
    /// The wait of the packet that left last; zero once the queue is empty ("current_qdelay").
    pub(crate) delay: Duration,
    /// The delay at the last update ("qdelay_old").
    pub(crate) delay_old: Duration,
    /// The remaining time in which a burst passes ("burst_allowance").
    pub(crate) burst: Duration,
}

impl Controller {
    /// One update ("calculate_drop_prob").
    pub(crate) fn update(&mut self, parameters: &Parameters) {
        let step = scaled(self.step(parameters), self.probability);
        // Appendix B: the probability rises gently once it is high.
        let step = if self.probability >= ONE / 10 { step.min(ONE as i64 / 50) } else { step };
        self.probability = self.probability.saturating_add_signed(step).min(ONE);
        if self.delay == Duration::ZERO && self.delay_old == Duration::ZERO {
            self.probability -= self.probability / 64;
        }
        self.delay_old = self.delay;
        self.burst = self.burst - parameters.update;
    }

    /// `alpha (delay - target) + beta (delay - delay_old)`, in 2^-56 and bounded by +-2.
    fn step(&self, parameters: &Parameters) -> i64 {
        let ps = |duration: Duration| i128::from(duration.as_ps().min(DELAY_MAX));
        let off = i128::from(parameters.alpha) * (ps(self.delay) - ps(parameters.target));
        let growth = i128::from(parameters.beta) * (ps(self.delay) - ps(self.delay_old));
        // Sixteenths per second times picoseconds: 2^-56 is 2^52 for each 10^12 of them. The sum
        // is below 2^74 in size for gains up to 2^20, the product below 2^126.
        let step = (off + growth) * (1 << 52) / i128::from(PS_PER_SECOND);
        step.clamp(-2 * i128::from(ONE), 2 * i128::from(ONE)) as i64
    }

    /// Whether a burst may pass again: nothing is dropped, and packets hardly wait (section 4.4).
    #[inline]
    pub(crate) fn is_calm(&self, target: Duration) -> bool {
        let half = target.as_ps() / 2;
        self.probability == 0 && self.delay.as_ps() < half && self.delay_old.as_ps() < half
    }

    /// Brings the controller to `now`, with an update at each due instant from `next` on. Returns the next
    /// due instant.
    ///
    /// Between two packets nothing but these updates changes, so they are made up for when a packet arrives,
    /// without a timer.
    #[inline]
    pub(crate) fn run(&mut self, parameters: &Parameters, next: Instant, now: Instant) -> Instant {
        if now < next { next } else { self.catch_up(parameters, next, now) }
    }

    #[cold]
    fn catch_up(&mut self, parameters: &Parameters, next: Instant, now: Instant) -> Instant {
        let due = now.since(next).as_ps() / parameters.update.as_ps() + 1;
        for _ in 0..due.min(MISSED_MAX) {
            let before = *self;
            self.update(parameters);
            if *self == before {
                break;
            }
        }
        next + parameters.update.times(due)
    }
}

/// Section 4.2's automatic tuning: the lower the probability, the smaller its steps.
const fn scaled(step: i64, probability: u64) -> i64 {
    let divisor = match probability {
        p if p < ONE / 1_000_000 => 2_048,
        p if p < ONE / 100_000 => 512,
        p if p < ONE / 10_000 => 128,
        p if p < ONE / 1_000 => 32,
        p if p < ONE / 100 => 8,
        p if p < ONE / 10 => 2,
        _ => 1,
    };
    step / divisor
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The RFC's own pseudo-code (appendices A and B), in floating point.
    struct Reference {
        probability: f64,
        delay_old: f64,
    }

    impl Reference {
        fn update(&mut self, delay: f64) {
            let mut p = 0.125 * (delay - 0.015) + 1.25 * (delay - self.delay_old);
            p /=
                [(0.000001, 2048.0), (0.00001, 512.0), (0.0001, 128.0), (0.001, 32.0), (0.01, 8.0)]
                    .into_iter()
                    .chain([(0.1, 2.0)])
                    .find(|&(below, _)| self.probability < below)
                    .map_or(1.0, |(_, divisor)| divisor);
            if self.probability >= 0.1 && p > 0.02 {
                p = 0.02;
            }
            self.probability += p;
            if delay == 0.0 && self.delay_old == 0.0 {
                self.probability *= 1.0 - 1.0 / 64.0;
            }
            self.probability = self.probability.clamp(0.0, 1.0);
            self.delay_old = delay;
        }
    }

    fn follow(delays_us: impl Iterator<Item = u64>) -> (f64, f64) {
        let mut reference = Reference { probability: 0.0, delay_old: 0.0 };
        let mut controller = Controller::default();
        let mut most = 0.0_f64;
        for us in delays_us {
            controller.delay = Duration::from_us(us);
            controller.update(&Parameters::default());
            reference.update(us as f64 / 1e6);
            let probability = controller.probability as f64 / ONE as f64;
            let off = (probability - reference.probability).abs();
            assert!(off < 1e-9, "{us} us: {probability} for {}", reference.probability);
            most = most.max(probability);
        }
        (reference.probability, most)
    }

    #[test]
    fn the_probability_follows_the_rfcs_pseudo_code() {
        // A queue that builds to 40 ms, stays, drains, and idles.
        let build = (0..40).map(|n| n * 1_000);
        let stay = core::iter::repeat_n(40_000, 300);
        let drain = (0..40).rev().map(|n| n * 1_000);
        let idle = core::iter::repeat_n(0, 600);
        let (last, most) = follow(build.clone().chain(stay).chain(drain).chain(idle));
        assert_eq!((last, most), (0.0, most.max(0.5)));
        // Jitter around the target.
        follow((0..5_000).map(|n: u64| 15_000 + n.wrapping_mul(7_919) % 9_000 - 4_000));
    }

    /// Section 4.2: from zero, at 40 ms above the target, the first step is (0.125 * 0.04 + 1.25 * 0.055) /
    /// 2048; above 0.1 a step is at most 0.02.
    #[test]
    fn steps_by_hand() {
        let mut controller = Controller { delay: Duration::from_ms(55), ..Controller::default() };
        controller.update(&Parameters::default());
        let first = (0.125 * 0.04 + 1.25 * 0.055) / 2048.0 * ONE as f64;
        assert!((controller.probability as f64 - first).abs() < 2.0);
        controller =
            Controller { probability: ONE / 5, delay: Duration::from_secs(1), ..controller };
        controller.update(&Parameters::default());
        assert_eq!(controller.probability, ONE / 5 + ONE / 50);
    }

    #[test]
    fn the_longest_delays_do_not_overflow() {
        let parameters = Parameters { alpha: 1 << 20, beta: 1 << 20, ..Parameters::default() };
        for (delay, delay_old) in [(Duration::MAX, Duration::ZERO), (Duration::ZERO, Duration::MAX)]
        {
            let mut controller = Controller { delay, delay_old, ..Controller::default() };
            (0..3).for_each(|_| controller.update(&parameters));
            assert!(controller.probability <= ONE);
        }
    }

    #[test]
    fn missed_updates_are_made_up_for() {
        let parameters = Parameters::default();
        let ms = |ms| Instant::ZERO + Duration::from_ms(ms);
        let start = Controller {
            probability: ONE / 1_000,
            delay: Duration::from_ms(20),
            delay_old: Duration::from_ms(20),
            burst: Duration::ZERO,
        };
        let (mut late, mut timely) = (start, start);
        assert_eq!(late.run(&parameters, ms(15), ms(14)), ms(15));
        assert_eq!(late, start);
        assert_eq!(late.run(&parameters, ms(15), ms(164)), ms(165));
        (0..10).for_each(|_| timely.update(&parameters));
        assert_eq!(late, timely);
        // Idle for days: the loop terminates, at zero.
        late.delay = Duration::ZERO;
        let next = late.run(&parameters, ms(165), ms(86_400_000));
        assert!(next > ms(86_400_000) && next <= ms(86_400_015));
        assert_eq!(late.probability, 0);
    }
}
