//! What a wire's impairments did to packets.

use super::super::Aggregate::{Max, Sum};
use super::super::Better::Neither;
use super::super::Kind::{Number, Time};
use super::super::Quantity;
use super::quantity;

pub(super) const LOST: Quantity =
    impaired("lost", "Packets that the impairments of the wire lost.").at("impairments.lost");
pub(super) const PASSED: Quantity =
    impaired("passed", "Packets that passed the impairments of the wire, copies included.")
        .at("impairments.passed");
pub(super) const REORDERED: Quantity =
    impaired("reordered", "Packets held back while later ones passed them.")
        .at("impairments.reordered");
pub(super) const DUPLICATED: Quantity =
    impaired("duplicated", "Copies that the wire made of packets.").at("impairments.duplicated");
pub(super) const CORRUPTED: Quantity =
    impaired("corrupted", "Packets damaged on the wire.").at("impairments.corrupted");
pub(super) const CORRUPTED_UNDETECTED: Quantity = impaired(
    "corrupted_undetected",
    "Packets whose payload was changed on the wire without a checksum telling.",
)
.at("impairments.corrupted_undetected");
pub(super) const ADDED_DELAY_MEAN: Quantity = quantity(
    "added_delay_mean",
    Time,
    Max,
    Neither,
    "Mean of what packets took on the wire beyond its propagation delay.",
)
.at("impairments.added_delay_mean_seconds")
.samples("impairments.passed");
pub(super) const ADDED_DELAY_MAX: Quantity = quantity(
    "added_delay_max",
    Time,
    Max,
    Neither,
    "Max of what packets took on the wire beyond its propagation delay.",
)
.at("impairments.added_delay_max_seconds")
.samples("impairments.passed");

const fn impaired(name: &'static str, what: &'static str) -> Quantity {
    quantity(name, Number, Sum, Neither, what)
}
