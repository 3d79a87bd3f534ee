//! What a node itself did.

use super::super::Aggregate::{Max, Sum};
use super::super::Better::{Lower, Neither};
use super::super::Kind::{Number, Size};
use super::super::Quantity;
use super::notifications::{NODE_CNMS_RECEIVED, NODE_CNMS_SENT, NODE_FLOWS_LIMITED};
use super::pauses::{NODE_PAUSED, NODE_PAUSES_SENT};
use super::quantity;

pub(in crate::measured) const NODE: &[Quantity] = &[
    quantity("drops", Number, Sum, Lower, "Packets that the node itself dropped."),
    quantity(
        "memory_max",
        Size,
        Max,
        Lower,
        "The most bytes that a switch's ports shared at once.",
    )
    .at("memory.bytes_max"),
    quantity(
        "shared_max",
        Size,
        Max,
        Lower,
        "The most bytes in the part of a switch's memory that all ports share.",
    )
    .at("memory.shared_bytes_max"),
    quantity("shared", Size, Max, Neither, "The size of that part.").at("memory.shared_bytes"),
    NODE_PAUSES_SENT,
    NODE_PAUSED,
    NODE_CNMS_SENT,
    NODE_CNMS_RECEIVED,
    NODE_FLOWS_LIMITED,
];
