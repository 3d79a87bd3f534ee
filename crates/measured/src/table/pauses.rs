//! Results of flow control at a port.

use crate::quantity::Aggregate::{Max, Sum};
use crate::quantity::Better::Lower;
use crate::quantity::Kind::{Number, Time};
use crate::quantity::{Quantity, quantity};

pub(super) const NODE_PAUSES_SENT: Quantity =
    quantity("pauses_sent", Number, Sum, Lower, "PAUSE frames sent by a switch's ports.")
        .at("pause.sent");
pub(super) const NODE_PAUSED: Quantity = quantity(
    "paused",
    Time,
    Max,
    Lower,
    "Time that a switch paused a priority of a far end, for the one paused longest.",
)
.at("pause.stopped_seconds");
/// The paused time per priority.
pub(crate) const PAUSED_PRIORITY: Quantity =
    quantity("paused", Time, Max, Lower, "Time that a priority was paused at its port.");
