//! `[expect]`: bounds on the summary's quantities, in base units.

use measured::Kind;

use super::judgements::{self, Known};
use super::network::Network;
use crate::diagnostic::Problems;
use crate::file::Scenario;
use crate::plan::Expectation;
use crate::tolerance::Base;
use crate::value::{NumberUnit, RateUnit, RatioUnit, SizeUnit, TimeUnit, Unit, Written};

pub(super) fn resolve(
    file: &Scenario,
    network: &Network<'_>,
    known: Known<'_>,
    problems: &mut Problems,
) -> Vec<Expectation> {
    let mut list = Vec::new();
    let tables = file.expect.tables();
    judgements::each(tables, network, known, problems, |path, quantity, bounds, problems| {
        let mut read = |written: Option<&Written>| match written {
            Some(written) => value(quantity.kind, written, problems).map(Some),
            None => Some(None),
        };
        let (low, high) = (read(bounds.min.as_ref()), read(bounds.max.as_ref()));
        let (Some(low), Some(high)) = (low, high) else { return };
        if let (Some(least), Some(most), Some(written)) = (low, high, &bounds.max)
            && least > most
        {
            let help = "set `min` to at most `max`";
            problems.push(&written.span, format!("`{path}` cannot be met"), help);
        }
        if low.is_some() || high.is_some() {
            list.push(Expectation { path, low, high });
        }
    });
    list
}

/// A quantity of that kind in base units.
fn value(kind: Kind, written: &Written, problems: &mut Problems) -> Option<f64> {
    fn base<U: Unit>(written: &Written, problems: &mut Problems) -> Option<f64>
    where
        U::Value: Base,
    {
        written.quantity::<U>().read(problems).map(Base::base)
    }
    match kind {
        Kind::Rate => base::<RateUnit>(written, problems),
        Kind::Size => base::<SizeUnit>(written, problems),
        Kind::Time | Kind::Duration => base::<TimeUnit>(written, problems),
        Kind::Share | Kind::Ratio => base::<RatioUnit>(written, problems),
        Kind::Number => base::<NumberUnit>(written, problems),
    }
}
