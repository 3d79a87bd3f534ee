//! Effects of a link's impairments on packets.

use crate::quantity::Aggregate::{Max, Sum};
use crate::quantity::Better::Neither;
use crate::quantity::Kind::{Number, Time};
use crate::quantity::{Quantity, quantity};

pub(super) const LOST: Quantity =
    impaired("lost", "Packets lost by the impairments of the link.").at("impairments.lost");
pub(super) const PASSED: Quantity =
    impaired("passed", "Packets that passed the impairments of the link, copies included.")
        .at("impairments.passed");
pub(super) const REORDERED: Quantity =
    impaired("reordered", "Packets held back while later ones passed them.")
        .at("impairments.reordered");
pub(super) const DUPLICATED: Quantity =
    impaired("duplicated", "Duplicates made by the impairments of the link.")
        .at("impairments.duplicated");
pub(super) const CORRUPTED: Quantity =
    impaired("corrupted", "Packets damaged on the link.").at("impairments.corrupted");
pub(super) const CORRUPTED_UNDETECTED: Quantity = impaired(
    "corrupted_undetected",
    "Packets with payload damaged on the link that no checksum detects.",
)
.at("impairments.corrupted_undetected");
pub(super) const ADDED_DELAY_MEAN: Quantity = quantity(
    "added_delay_mean",
    Time,
    Max,
    Neither,
    "Mean delay on the link beyond its propagation delay.",
)
.at("impairments.added_delay_mean_seconds")
.samples("impairments.passed");
pub(super) const ADDED_DELAY_MAX: Quantity = quantity(
    "added_delay_max",
    Time,
    Max,
    Neither,
    "Max delay on the link beyond its propagation delay.",
)
.at("impairments.added_delay_max_seconds")
.samples("impairments.passed");

const fn impaired(name: &'static str, what: &'static str) -> Quantity {
    quantity(name, Number, Sum, Neither, what)
}
