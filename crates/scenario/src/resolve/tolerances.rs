//! `[compare]`: tolerances between runs of different drivers.

use measured::Kind;

use super::judgements::{self, Known};
use super::network::Network;
use crate::diagnostic::Problems;
use crate::file::Scenario;
use crate::plan::{Comparison, Tolerance, Within};
use crate::tolerance::{NumberTolerance, RateTolerance, SizeTolerance, TimeTolerance};
use crate::value::Written;

pub(super) fn resolve(
    file: &Scenario,
    network: &Network<'_>,
    known: Known<'_>,
    problems: &mut Problems,
) -> Comparison {
    let mut comparison = Comparison::default();
    let percent = file.compare.tolerance.as_ref().and_then(|percent| percent.read(problems));
    comparison.percent = percent.unwrap_or(comparison.percent);
    let tables = file.compare.tables();
    judgements::each(tables, network, known, problems, |path, quantity, written, problems| {
        let within = value(quantity.kind, written, problems);
        comparison.tolerances.extend(within.map(|within| Tolerance { path, within }));
    });
    comparison
}

/// The tolerance of a quantity of that kind.
fn value(kind: Kind, written: &Written, problems: &mut Problems) -> Option<Within> {
    match kind {
        Kind::Rate => written.quantity::<RateTolerance>().read(problems),
        Kind::Size => written.quantity::<SizeTolerance>().read(problems),
        Kind::Time | Kind::Duration => written.quantity::<TimeTolerance>().read(problems),
        Kind::Share | Kind::Ratio | Kind::Number => {
            written.quantity::<NumberTolerance>().read(problems)
        }
    }
}
