//! Impairments: from the file's tables to parameters.

use network::impairment::{Parameters, gemodel};

use crate::diagnostic::Problems;
use crate::impairment::GilbertElliott;

/// The parameters of burst loss.
pub(super) fn gemodel(table: &GilbertElliott, problems: &mut Problems) -> Option<Parameters> {
    let to_bad = table.to_bad.read(problems);
    let to_good = table.to_good.read(problems);
    let loss_bad = table.loss_bad.as_ref().map_or(Some(u32::MAX), |share| share.read(problems));
    let loss_good = table.loss_good.as_ref().map_or(Some(0), |share| share.read(problems));
    if to_good == Some(0) {
        let help = "give the probability of recovery at each packet: \"25 %\" for bursts of 4";
        problems.push(&table.to_good.span, "the bad state never ends", help);
        return None;
    }
    let (to_bad, to_good, loss_bad, loss_good) = (to_bad?, to_good?, loss_bad?, loss_good?);
    Some(Parameters::Gemodel(gemodel::Parameters { to_bad, to_good, loss_bad, loss_good }))
}
