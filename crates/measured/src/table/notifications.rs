//! Congestion notification messages (CNMs, IEEE 802.1Qau).

use crate::quantity::Aggregate::Sum;
use crate::quantity::Better::Lower;
use crate::quantity::Kind::Number;
use crate::quantity::{Quantity, quantity};

pub(super) const NODE_CNMS_SENT: Quantity = quantity(
    "cnms_sent",
    Number,
    Sum,
    Lower,
    "Congestion notifications (CNMs) sent by a switch for its queues.",
)
.at("cnm.sent");
pub(super) const NODE_CNMS_RECEIVED: Quantity = quantity(
    "cnms_received",
    Number,
    Sum,
    Lower,
    "Congestion notifications (CNMs) received by a host.",
)
.at("cnm.received");
pub(super) const NODE_FLOWS_LIMITED: Quantity = quantity(
    "flows_limited",
    Number,
    Sum,
    Lower,
    "Flows of a host newly rate-limited by congestion notifications.",
)
.at("cnm.limited");
