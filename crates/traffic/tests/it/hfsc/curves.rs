//! Fluid service curves, exact in 128 bits, and random ones that fit a link.

use base::{Bytes, Duration};
use proptest::prelude::*;
use traffic::qdisc::hfsc::Class;

use crate::hfsc::run::FRAME_MAX;
use crate::wire::rate;

pub(crate) const PICOBITS_PER_BYTE: u128 = 8_000_000_000_000;

/// A fluid service curve: `m1` bit/s for `d` ps, then `m2` bit/s.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fluid {
    pub(crate) m1: u64,
    pub(crate) d: u64,
    pub(crate) m2: u64,
}

impl Fluid {
    /// Picobits by `ps`.
    pub(crate) fn at(self, ps: u64) -> u128 {
        u128::from(self.m1) * u128::from(ps.min(self.d))
            + u128::from(self.m2) * u128::from(ps.saturating_sub(self.d))
    }

    /// The first picosecond at which `picobits` picobits have been served.
    pub(crate) fn reaches(self, picobits: u128) -> u64 {
        let first = u128::from(self.m1) * u128::from(self.d);
        let ps = if self.m1 > 0 && picobits <= first {
            picobits.div_ceil(self.m1.into())
        } else {
            u128::from(self.d) + picobits.saturating_sub(first).div_ceil(self.m2.into())
        };
        ps.try_into().unwrap()
    }

    pub(crate) fn real_time(self, class: &mut Class) {
        let [m1, m2] = [self.m1, self.m2].map(base::Rate::from_bits_per_second);
        let d = Duration::from_ps(self.d);
        (class.real_time_m1, class.real_time_d, class.real_time_m2) = (m1, d, m2);
    }

    pub(crate) fn upper_limit(self, class: &mut Class) {
        let [m1, m2] = [self.m1, self.m2].map(base::Rate::from_bits_per_second);
        let d = Duration::from_ps(self.d);
        (class.upper_limit_m1, class.upper_limit_d, class.upper_limit_m2) = (m1, d, m2);
    }
}

/// Scales curves so that together they come to the link's line, to a millionth, at their highest.
pub(crate) fn fit(curves: &mut [Fluid], link: u64) {
    let sum = |curves: &[Fluid], ps| curves.iter().map(|curve| curve.at(ps)).sum::<u128>();
    // Beyond every breakpoint only the last slopes count.
    let breaks = curves.iter().map(|curve| curve.d).filter(|&d| d > 0);
    let most = breaks
        .map(|d| sum(curves, d) * 1_000_000 / (u128::from(link) * u128::from(d)) + 1)
        .chain([curves.iter().map(|c| u128::from(c.m2)).sum::<u128>() * 1_000_000
            / u128::from(link)
            + 1])
        .max()
        .unwrap();
    let scaled = |bits: u64| u64::try_from(u128::from(bits) * 1_000_000 / most).unwrap();
    for curve in curves {
        let concave = curve.m1 > 0;
        (curve.m1, curve.m2) = (scaled(curve.m1), scaled(curve.m2).max(1));
        if concave {
            curve.m1 = curve.m1.max(curve.m2);
        }
    }
}

/// Curves of every shape, in terms of a link's longest frame and rate: concave, convex, linear.
pub(crate) fn fluid(link: u64) -> impl Strategy<Value = Fluid> {
    let frame = rate(link).time_for(Bytes(FRAME_MAX)).as_ps();
    (0_u8..3, 1_u64..1_000, 1_u64..1_000, frame..200 * frame).prop_map(
        move |(shape, first, last, d)| {
            let part = |thousandths: u64| (link / 1_000 * thousandths).max(1);
            let m2 = part(last.min(first));
            match shape {
                0 => Fluid { m1: part(first.max(last)), d, m2 },
                1 => Fluid { m1: 0, d, m2 },
                _ => Fluid { m1: 0, d: 0, m2 },
            }
        },
    )
}
