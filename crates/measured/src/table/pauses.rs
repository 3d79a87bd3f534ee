//! Results of flow control at a port.

use crate::quantity::Aggregate::{Max, Sum};
use crate::quantity::Better::{Lower, Neither};
use crate::quantity::Kind::{Number, Size, Time};
use crate::quantity::{Quantity, quantity};

pub(super) const PAUSES_SENT: Quantity =
    quantity("pauses_sent", Number, Sum, Lower, "PAUSE frames sent by its port.").at("pause.sent");
pub(super) const PAUSES_RECEIVED: Quantity =
    quantity("pauses_received", Number, Sum, Lower, "PAUSE frames received by its port.")
        .at("pause.received");
pub(super) const PAUSE_STORMS: Quantity = quantity(
    "pause_storms",
    Number,
    Sum,
    Lower,
    "Times that the watchdog of its switch released a paused priority.",
)
.at("pause.storms");
pub(super) const PAUSED: Quantity = quantity(
    "paused",
    Time,
    Max,
    Lower,
    "Time that the far end paused its port, for the priority paused longest.",
)
.at("pause.stopped_seconds");
pub(super) const HEADROOM_MAX: Quantity = quantity(
    "headroom_max",
    Size,
    Max,
    Lower,
    "Max bytes received at its port after the switch paused the far end.",
)
.at("pause.headroom_max_bytes");
pub(super) const HEADROOM: Quantity =
    quantity("headroom", Size, Max, Neither, "Headroom of its port for each lossless priority.")
        .at("pause.headroom_bytes");
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
