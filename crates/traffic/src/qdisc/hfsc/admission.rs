//! Whether a sum of curves stays below another curve, exactly.

use alloc::string::String;
use alloc::vec::Vec;

use super::curve::Curve;
use super::parameters::{Class, Curves};
use base::text;
use base::units::Duration;

/// The first point where a sum of curves is above its limit, in whole bits: the guarantee is rounded up, the
/// limit down.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Excess {
    /// At a breakpoint.
    By {
        /// The time.
        by: String,
        promised: u128,
        limit: u128,
        excess: u128,
    },
    /// Beyond the last one; in bit/s.
    AtLast { promised: u128, limit: u128, excess: u128 },
}

/// Picobits in a bit.
const PICOBITS_PER_BIT: u128 = 1_000_000_000_000;

/// The first point where `curves` together exceed `limit`; `None` if there is none.
///
/// Both are straight between two breakpoints, so it is enough to check the breakpoints and the last slopes.
/// One pass over the breakpoints in order, with the slope between them.
pub(super) fn excess(curves: &[Curve], limit: Curve) -> Option<Excess> {
    let mut breaks: Vec<_> = curves.iter().filter(|curve| curve.d > 0).copied().collect();
    breaks.sort_unstable_by_key(|curve| curve.d);
    let at_first = |curve: &Curve| u128::from(if curve.d > 0 { curve.m1 } else { curve.m2 });
    let mut slope: u128 = curves.iter().map(at_first).sum();
    let (mut promised, mut before, mut limit_checked) = (0_u128, 0, limit.d == 0);
    for curve in breaks {
        if !limit_checked && limit.d <= curve.d {
            limit_checked = true;
            let at_limit = line(promised, slope, limit.d - before);
            if at_limit > limit.at(limit.d) {
                return Some(by(limit.d, at_limit, limit));
            }
        }
        promised = line(promised, slope, curve.d - before);
        before = curve.d;
        if promised > limit.at(curve.d) {
            return Some(by(curve.d, promised, limit));
        }
        slope = slope - u128::from(curve.m1) + u128::from(curve.m2);
    }
    if !limit_checked {
        let at_limit = line(promised, slope, limit.d - before);
        if at_limit > limit.at(limit.d) {
            return Some(by(limit.d, at_limit, limit));
        }
    }
    let last = u128::from(limit.m2);
    let excess = slope.checked_sub(last).filter(|&excess| excess > 0)?;
    Some(Excess::AtLast { promised: slope, limit: last, excess })
}

/// A point of a line, saturating: a limit never comes near 2^128, so a saturated sum is above it.
fn line(from: u128, slope: u128, ps: u64) -> u128 {
    from.saturating_add(slope.saturating_mul(ps.into()))
}

fn by(ps: u64, promised: u128, limit: Curve) -> Excess {
    let (promised, limit) = (promised.div_ceil(PICOBITS_PER_BIT), limit.at(ps) / PICOBITS_PER_BIT);
    Excess::By { by: text::time(Duration::from_ps(ps)), promised, limit, excess: promised - limit }
}

/// The guarantee of a class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Guarantee {
    pub(super) name: String,
    pub(super) curve: Curve,
}

/// The classes with a guarantee.
pub(super) fn guaranteed(classes: &[Class], curves: &[Curves]) -> Vec<Guarantee> {
    let guarantee = |(class, curves): (&Class, &Curves)| {
        Some(Guarantee { name: class.name.clone(), curve: curves.real_time? })
    };
    classes.iter().zip(curves).filter_map(guarantee).collect()
}
