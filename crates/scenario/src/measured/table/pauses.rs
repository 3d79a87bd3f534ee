//! What flow control did at a port.

use super::super::Aggregate::{Max, Sum};
use super::super::Better::{Lower, Neither};
use super::super::Kind::{Number, Size, Time};
use super::super::Quantity;
use super::quantity;

pub(super) const PAUSES_SENT: Quantity =
    quantity("pauses_sent", Number, Sum, Lower, "PAUSE frames that its port sent.")
        .at("pause.sent");
pub(super) const PAUSES_RECEIVED: Quantity =
    quantity("pauses_received", Number, Sum, Lower, "PAUSE frames that its port received.")
        .at("pause.received");
pub(super) const PAUSE_STORMS: Quantity = quantity(
    "pause_storms",
    Number,
    Sum,
    Lower,
    "Times that the watchdog of its switch let a stopped priority go on.",
)
.at("pause.storms");
pub(super) const PAUSED: Quantity = quantity(
    "paused",
    Time,
    Max,
    Lower,
    "For how long its port was stopped by the far end, of the priority that was for longest.",
)
.at("pause.stopped_seconds");
pub(super) const HEADROOM_MAX: Quantity = quantity(
    "headroom_max",
    Size,
    Max,
    Lower,
    "The most bytes that came in at its port after the switch had stopped them.",
)
.at("pause.headroom_max_bytes");
pub(super) const HEADROOM: Quantity = quantity(
    "headroom",
    Size,
    Max,
    Neither,
    "The room that its port has for them, of each lossless priority.",
)
.at("pause.headroom_bytes");
pub(super) const NODE_PAUSES_SENT: Quantity =
    quantity("pauses_sent", Number, Sum, Lower, "Pause frames that a switch's ports sent.")
        .at("pause.sent");
pub(super) const NODE_PAUSED: Quantity = quantity(
    "paused",
    Time,
    Max,
    Lower,
    "For how long a switch stopped a priority of a far end, of those that it stopped for longest.",
)
.at("pause.stopped_seconds");
/// By priority.
pub(in crate::measured) const PAUSED_PRIORITY: Quantity =
    quantity("paused", Time, Max, Lower, "For how long a priority was stopped at its port.");
