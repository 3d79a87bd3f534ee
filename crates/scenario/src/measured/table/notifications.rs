//! Congestion notification messages (CNMs, IEEE 802.1Qau).

use super::super::Aggregate::Sum;
use super::super::Better::Lower;
use super::super::Kind::Number;
use super::super::Quantity;
use super::quantity;

pub(super) const CNMS_SENT: Quantity = quantity(
    "cnms_sent",
    Number,
    Sum,
    Lower,
    "Congestion notifications (CNMs) that a switch sent of the queues of its port.",
)
.at("cnm.sent");
pub(super) const CNMS_RECEIVED: Quantity = quantity(
    "cnms_received",
    Number,
    Sum,
    Lower,
    "Congestion notifications (CNMs) that a host received by its port.",
)
.at("cnm.received");
pub(super) const FLOWS_LIMITED: Quantity = quantity(
    "flows_limited",
    Number,
    Sum,
    Lower,
    "Flows that they limited, each time that they were not limited before.",
)
.at("cnm.limited");
pub(super) const NODE_CNMS_SENT: Quantity = quantity(
    "cnms_sent",
    Number,
    Sum,
    Lower,
    "Congestion notifications (CNMs) that a switch sent of its queues.",
)
.at("cnm.sent");
pub(super) const NODE_CNMS_RECEIVED: Quantity = quantity(
    "cnms_received",
    Number,
    Sum,
    Lower,
    "Congestion notifications (CNMs) that a host received.",
)
.at("cnm.received");
pub(super) const NODE_FLOWS_LIMITED: Quantity = quantity(
    "flows_limited",
    Number,
    Sum,
    Lower,
    "Flows of a host that they limited, each time that they were not limited before.",
)
.at("cnm.limited");
