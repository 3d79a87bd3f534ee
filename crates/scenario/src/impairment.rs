//! Impairments of links as they stand in the file.

use schemars::JsonSchema;
use serde::Deserialize;

use crate::value::{Quantity, ShareUnit};

/// The Gilbert-Elliott model: a good and a bad state, between which a link turns at packets. Linux' `netem loss gemodel`
/// has the same four numbers as p, r, 1-h and 1-k, which are taken as names, too.
#[derive(Clone, Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GilbertElliott {
    /// The probability, at each packet, that the good state turns bad.
    pub(crate) to_bad: Quantity<ShareUnit>,
    /// The probability, at each packet, that the bad state turns good; 1 divided by it is the mean length of a bad
    /// period, in packets.
    pub(crate) to_good: Quantity<ShareUnit>,
    /// The share of packets lost in the bad state; 100 % unless given.
    pub(crate) loss_bad: Option<Quantity<ShareUnit>>,
    /// The share of packets lost in the good state; 0 unless given.
    pub(crate) loss_good: Option<Quantity<ShareUnit>>,
}
